"""Every term of the four documents is on its page; what the pages name exists."""

import json
import re
import runpy
from pkgutil import resolve_name

import pytest
from toy_records import seal

from casebook import paths
from casebook.book.concordance import (
    concordance_page,
    documents,
    example_sentences,
    measured_sentences,
    read_concordance,
)
from casebook.book.results import ChapterResults, read_chapters
from casebook.paths import ROOT, run_dir

ALL = [(name, row) for name in documents() for row in read_concordance(name)["rows"]]
CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(
    r"(?:casebook|measures|retrieval|sensitivity|explain|factcheck|raters|shift|audits|runs|data)(?:\.\w+)+"
)


def test_the_four_documents_have_pages_with_their_terms_in_order():
    assert documents() == ["countercase", "embeddingshift", "factchecker", "pdpabench"]
    for name in documents():
        page = concordance_page(name)
        heads = [
            line.removeprefix("## ").strip("` ")
            for line in page.splitlines()
            if line.startswith("## ")
        ]
        assert heads == [str(row["term"]) for row in read_concordance(name)["rows"]]
        assert len(heads) == len(set(heads)), "a term twice"


def test_every_python_name_can_be_imported():
    spans = {span for _, row in ALL for span in CODE.findall(str(row["here"]))}
    names = sorted(filter(NAME.fullmatch, {span.partition("(")[0] for span in spans}))
    wrong = []
    for name in names:
        try:
            resolve_name(f"casebook.{name.removeprefix('casebook.')}")
        except (AttributeError, ImportError) as error:
            wrong.append(f"{name}: {error}")
    assert len(names) > 10 and wrong == []


def test_every_sentence_of_an_example_has_its_numbers():
    examples = [(name, row) for name, row in ALL if "example" in row]
    assert examples
    for name, row in examples:
        assert len(example_sentences(name, row)) == len(row["example"]), f"{name}: {row['term']}"


@pytest.mark.faults
def test_the_example_of_embeddingshift_is_what_its_commands_give():
    module = runpy.run_path(str(ROOT / "data" / "make" / "embeddingshift_example.py"))
    stored = json.loads(module["EXAMPLE"].read_text())
    assert module["numbers_of_example"]() == pytest.approx(stored, abs=2e-6)


def test_measured_sentences_hold_the_numbers_of_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    folder = tmp_path / "mine"
    for kind in ("numbers", "contrasts", "tables"):
        (folder / kind).mkdir(parents=True)
    share = {"value": 0.5, "ci": [0.4, 0.6], "n": 20, "control": 0.25, "reason": None}
    (folder / "numbers" / "cell.json").write_text(
        json.dumps({"chapter": {"votes": {"panel": {"share": share}}}})
    )
    (folder / "tables" / "cell.alpha.csv").write_text(
        "scale,alpha,low,high\nclarity,0.1,0.0,0.2\nuse,0.3,0.2,0.4\n"
    )
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / "cell.ipynb").touch()
    seal(folder)
    values = {
        "share": {"number": ["panel", "share"]},
        "alpha": {"table": "alpha", "row": {"scale": "use"}, "columns": ["alpha", "low", "high"]},
        "absent": {"table": "alpha", "row": {"scale": "other"}, "columns": ["alpha"]},
    }
    says = ["{share.value:.2f} {share.bounds}", "{alpha.value} {alpha.bounds}", "{absent.value}"]
    row = {
        "measured": {
            "experiment": "chapter",
            "datasets": ["none", "votes"],
            "values": values,
            "says": says,
        }
    }
    assert measured_sentences([ChapterResults("mine", "cell")], row) == [
        "0.50 [0.400, 0.600]",
        "0.3 [0.200, 0.400]",
    ]
    assert measured_sentences([], row) == []


@pytest.mark.parametrize("run", ["smoke", "report"])
def test_every_number_of_ours_is_in_the_run(run):
    """Each path of the concordances leads to a number, in the shipped run and in a default report
    if one is here."""
    if not (run_dir(run) / "numbers.json").is_file():
        pytest.skip(f"no run {run} here: make {run}")
    numbers = json.loads((run_dir(run) / "numbers.json").read_text())
    contrasts = json.loads((run_dir(run) / "contrasts.json").read_text())
    for name, row in ALL:
        measured = row.get("measured", {"experiment": "", "datasets": []})
        held = {
            **numbers.get(measured["experiment"], {}),
            **contrasts.get(measured["experiment"], {}),
        }
        if set(held) & set(measured["datasets"]):
            sentences = measured_sentences(read_chapters(run), row)
            # The shipped run has fewer systems; some sentences are said of each data set.
            assert len(sentences) >= len(measured["says"]) or (run == "smoke" and sentences), (
                f"{name}: {row['term']}"
            )


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
    sections = [
        "run.json",
        "map@1",
        "PerQueryEval",
        "segment-compare",
        "acceptance_gate.json",
        "posneg-train",
    ]
    places = [terms.index(term) for term in sections]
    assert places == sorted(places)
