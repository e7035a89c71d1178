import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.evaluation import (
    DECISIVE_DISPLACEMENT,
    decided_pairs,
    documented_evaluation,
    documented_scores,
    importance_agreement,
    sensitivity,
    stated_evaluation,
)

ANNOTATIONS = pd.DataFrame(
    [
        ("a", "Section", True, 1),
        ("a", "Numerical", False, 3),
        ("a", "Evidence", True, 2),
        ("b", "Section", False, float("nan")),
        ("b", "PartyType", True, float("nan")),
    ],
    columns=["case_id", "fact_type", "dispositive", "importance"],
).astype({"dispositive": object})
SCORES = pd.DataFrame(
    [[0.5, 2.0, 1.0, 1.6], [0.0, 1.7, 3.0, 0.0], [9.0, 9.0, 9.0, 9.0]],
    index=["a", "b", "c"],
    columns=list(FACT_TYPES),
)


def test_documented_conventions():
    assert DECISIVE_DISPLACEMENT == 1.5
    found = documented_evaluation(SCORES, ANNOTATIONS, edges=3)
    # a: 2 of 2, b: 1 of 1, c has none and scores 0.
    assert found["dispositive_accuracy"] == round(2 / 3, 4)
    # a: 1 of 1, b: Section 1.7 is above 1.5, c: 0.
    assert found["non_dispositive_accuracy"] == round(1 / 3, 4)
    assert found["mean_spearman"] == 1.0
    assert found["llm_accept_rate"] == 1.0


def test_corrected_evaluation_leaves_out_what_nobody_knows():
    found = importance_agreement(SCORES, ANNOTATIONS, n_resamples=200)
    assert (found["mean_spearman"], found["cases_ranked"]) == (pytest.approx(1.0), 1)
    assert found["exact_p"] == pytest.approx(2 / 6)
    pairs = decided_pairs(ANNOTATIONS, score=SCORES)
    assert pairs["dispositive"].tolist() == [True, False, True, False, True]
    assert pairs["score"].tolist() == [2.0, 0.5, 1.6, 1.7, 3.0]
    scores = SCORES.copy()
    scores.loc["a", "Evidence"] = np.nan  # unassessed pairs are never zero
    assert len(decided_pairs(ANNOTATIONS, score=scores)) == 4


EDGES = [
    ("a", "Section", "ok", 0.6, 0.1, None),
    ("a", "Section", "ok", 0.4, 0.1, None),
    ("b", "Section", "ok", 0.5, 0.3, None),
    ("a", "Numerical", "noop", 0.0, np.nan, None),
    ("a", "Numerical", "ok", 0.2, np.nan, None),
    ("b", "Evidence", "both_empty", np.nan, np.nan, None),
    ("b", "PartyType", "poor_query", 0.9, 0.1, "too poor"),
]
COLUMNS = ["case_id", "fact_type", "status", "footrule", "placebo_footrule", "reason"]
FRAME = pd.DataFrame(EDGES, columns=COLUMNS)
FRAME["displacement"] = FRAME["footrule"]
FRAME["no_placebo"] = FRAME["placebo_footrule"].map({np.nan: "no matched placebo"})


def row(frame, name):
    return frame.set_index("fact type").loc[name]


def test_means_excess_and_what_is_left_out():
    found = sensitivity(FRAME, n_resamples=500)
    section = row(found, "Section")
    assert section["change"] == pytest.approx(0.5)
    assert section["change by placebos"] == pytest.approx(0.5 / 3)
    assert section["value"] == pytest.approx(1 / 3)
    assert section["p"] == pytest.approx(0.5)  # two cases: 2 of 4 sign vectors
    assert (section["n"], section["groups"]) == (3, 2)
    numerical = row(found, "Numerical")
    assert (numerical["noops"], numerical["n"]) == (1, 1)
    reasons = found.set_index("fact type").loc[found["value"].isna().to_numpy(), "reason"]
    assert reasons.to_dict() == {
        "Numerical": "no matched placebo",
        "PartyType": "too poor",
        "Evidence": "a fact type without an edit",
    }


def test_the_aggregate_score_is_the_mean_over_all_edges_of_a_type():
    """By hand: edits without effect and poor queries count, a type without an edge is 0."""
    found = documented_scores(FRAME, ["a", "b", "c"])
    expected = {
        "a": {"Section": 0.5, "Numerical": 0.1, "PartyType": 0, "Evidence": 0},
        "b": {"Section": 0.5, "Numerical": 0, "PartyType": 0.9, "Evidence": 0},
        "c": dict.fromkeys(FACT_TYPES, 0),
    }
    for case, scores in expected.items():
        assert found.loc[case].to_dict() == pytest.approx(scores)


def test_shares_of_facts_and_of_proposed_edits_as_the_document_says():
    """Dispositive: 2.0, 1.6 and 3.0; not: 0.5 and 1.7; what equals the threshold is not above."""
    outcomes = pd.Series(["accept", "reject", "undetermined", "accept", "accept"])
    names = ("dispositive_accuracy", "non_dispositive_accuracy", "llm_accept_rate")
    shares = {1.5: (1, 1 / 2), 1.6: (2 / 3, 1 / 2), 0.5: (1, 1 / 2), 0.4: (1, 0), 1.7: (2 / 3, 1)}
    for threshold, expected in shares.items():
        found = stated_evaluation(SCORES, ANNOTATIONS, threshold, outcomes)
        assert [found[name] for name in names] == pytest.approx([*expected, 3 / 5], abs=5e-5)


def test_spearmans_correlation_is_the_documents_formula():
    """rho = 1 - 6 sum d^2 / (n (n^2 - 1)) over the four types, and scipy's."""
    types = ["Section", "Evidence", "PartyType", "Numerical"]
    for order in itertools.permutations(range(1, 5)):
        ranked = {"case_id": "a", "fact_type": types, "dispositive": True, "importance": order}
        scores = pd.DataFrame([[4.0, 3.0, 2.0, 1.0]], ["a"], types)
        squares = sum((place - rank) ** 2 for place, rank in enumerate(order, 1))
        rho = 1 - 6 * squares / (4 * (4**2 - 1))
        assert rho == pytest.approx(stats.spearmanr([1, 2, 3, 4], order).statistic)
        found = documented_evaluation(scores, pd.DataFrame(ranked))["mean_spearman"]
        corrected = importance_agreement(scores, pd.DataFrame(ranked), n_resamples=100)
        assert (found, corrected["mean_spearman"]) == pytest.approx((rho, rho))
