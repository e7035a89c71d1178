"""The page of EmbeddingShift's terms names everything that its document names."""

from casebook.book.concordance import concordance_page, read_concordance

# As the document writes them.
TERMS = (
    "run.json runs-compare runs-active runs-history runs-matrix segment-compare NdcgEvaluator.delta "
    "MrrEvaluator.delta acceptance_gate.json DirectoryLayout EMBEDDINGSHIFT_ROOT EMBEDDINGSHIFT_TENANT "
    "repo-root/results repo-root/data insurance MiniInsurance-PosNeg-Baseline MiniInsurance-PosNeg "
    "eval.perQuery.baseline.json eval.perQuery.posneg.json metrics-posneg.json metrics-posneg.md "
    "shift-training-result.json shift-training-result.md run_manifest.json RunId Workflow Tenant StartedAtUtc "
    "CompletedAtUtc Labels Metrics map@1 ndcg@3 --metric PerQueryEval QueryId RelevantDocId Rank Ap1 Ndcg3 "
    "TopDocId TopScore Top2DocId Top2Score Metric Eps BaselinePath PosNegPath Decisions ApplyShift SkipShift "
    "CosineSimilarityEvaluator MarginEvaluator NdcgEvaluator MrrEvaluator duration_ms evaluation.duration_ms "
    ".baseline .shift .delta -0.005 FileSystemShiftTrainingResultRepository LoadBest WorkflowName CreatedUtc "
    "BaseDirectory ComparisonRuns TrainingMode posneg-uniform CancelOutEpsilon IsCancelled CancelReason "
    "DeltaVector DeltaNorm ImprovementFirst ImprovementFirstPlusDelta DeltaImprovement posneg-train "
    "PosNegDeltaVectorLearnerStats training_stats.json "
)


def test_every_term_of_the_document_is_on_the_page_in_its_order():
    page = concordance_page("embeddingshift")
    assert [term for term in TERMS.split() if term not in page] == []
    terms = [row["term"] for row in read_concordance("embeddingshift")["rows"]]
    sections = ["run.json", "map@1", "PerQueryEval", "segment-compare", "acceptance_gate.json", "posneg-train"]
    places = [terms.index(term) for term in sections]
    assert places == sorted(places)
