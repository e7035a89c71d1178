"""Some numbers of every chapter on the smoke data, apart from the reference that nbval compares
with."""

import pandas as pd
import pytest

from casebook.paths import run_dir
from casebook.readers import read_json

# The rater chapter's are the document's own figures; bm25 on smoke was recomputed by a formula of
# its own.
EXPECTED = {
    ("retrieval_ablation", "smoke"): {
        ("bm25", "nDCG@10"): 0.587149,
        ("bm25", "P@1"): 18 / 34,
        ("full", "nDCG@10"): 0.830055,
    },
    ("embedding_shift", "smoke"): {
        ("baseline", "original:map@1"): 0.909314,
        ("baseline", "RR"): 0.909314,
        ("baseline", "P@1"): 29 / 34,
    },
    ("counterfactual_sensitivity", "planted"): {
        ("bm25", "share of placebos above the threshold"): 0.765217,
    },
    ("counterfactual_sensitivity", "planted_Evidence"): {
        ("bm25", "normalised footrule beyond placebos"): 0.110341,
    },
    ("deciding_facts", "planted"): {("bm25", "AUROC"): 0.890625},
    ("deciding_facts", "annotated_cases_on_planted"): {("bm25", "AUROC"): 0.568182},
    ("explanation_quality", "smoke"): {
        ("documented", "faithfulness"): 21 / 34,
        ("code", "faithfulness"): 26.5 / 34,
        ("documented", "drops of faithfulness, quotation stitched"): 7 / 32,
    },
    ("rater_agreement", "reconstruction"): {
        ("documented", "rag_wins / n_effective"): 113 / 176,
        ("documented", "p_value_sign_test"): 0.000202,
        ("documented", "raw_observed_agreement"): 0.507,
        ("RAG", "win rate, these raters"): 0.625,
        ("the votes", "krippendorff_alpha"): 0.134503,
    },
    ("rating_agreement", "reconstructed_votes"): {
        ("preference", "percent_agreement"): 0.506667,
        ("preference", "fleiss_kappa"): 0.130154,
        ("preference", "krippendorff_alpha"): 0.134503,
    },
    ("factcheck_confusion", "factcheck_claims"): {("claim only", "accuracy"): 48 / 100},
    ("factcheck_transfer", "factcheck_claims"): {
        ("public", "accuracy"): 147 / 172,
        ("public", "AUROC"): 0.846877,
    },
    ("audits", "factchecker"): {
        ("All reported rows", "share of rows that some confusion matrix gives"): 23 / 36
    },
    ("assistant", "smoke"): {
        ("Retrieval", "share of questions answered"): 31 / 34,
        ("Retrieval", "token F1"): 0.338805,
        ("No retrieval", "share of questions answered"): 32 / 34,
    },
    ("query_length", "smoke_short"): {("bm25", "nDCG@10"): 0.494151},
    ("query_length", "smoke_long"): {
        ("bm25", "nDCG@10"): 0.680148,
        ("full", "nDCG@10"): 0.872655,
    },
}


@pytest.mark.parametrize(("chapter", "dataset"), EXPECTED)
def test_numbers_of_a_chapter(chapter, dataset):
    written = read_json(run_dir("smoke") / "numbers.json")[chapter][dataset]
    expected = EXPECTED[chapter, dataset]
    found = {(system, measure): written[system][measure]["value"] for system, measure in expected}
    assert found == pytest.approx(expected, abs=1e-5)


def test_the_comparison_lists_the_runs_of_all_other_chapters():
    runs = pd.read_csv(run_dir("smoke") / "tables" / "run_comparison-smoke.runs.csv")
    assert len(runs) >= len({chapter for chapter, _ in EXPECTED})
