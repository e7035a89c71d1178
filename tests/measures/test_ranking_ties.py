import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.measures.ranking import evaluate, tie_bounds

CLOSED = [
    "nDCG",
    "nDCG@2",
    "nDCG(dcg='exp-log2')@3",
    "AP",
    "AP@2",
    "AP(rel=2)",
    "RR",
    "RR@2",
    "P@2",
    "P(rel=2)@1",
    "R@3",
    "Success@2",
    "Rprec",
    "RBP(p=0.7)@3",
    "Judged@2",
    "original:MRR@3",
    "original:NDCG@2",
    "original:Recall@1",
    "original:map@1",
    "original:ndcg@3",
    "NumRelRet",
]
OPEN = ["bpref", "IPrec@0.5"]

grades = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1)
tied_scores = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2).map(float), min_size=1, max_size=6)


def all_orders(run):
    """Every tie-free run that agrees with the scores, each equally likely."""
    levels = sorted(set(run.values()), reverse=True)
    groups = [[d for d in run if run[d] == level] for level in levels]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        ranked = itertools.chain.from_iterable(parts)
        yield {document: -float(i) for i, document in enumerate(ranked)}


@pytest.mark.parametrize("judged_only", [False, True])
@settings(max_examples=25, deadline=None)
@given(judged=grades, run=tied_scores)
def test_bounds_and_mean_equal_those_over_all_orders(judged_only, judged, run):
    names = [*CLOSED, *OPEN]
    orders = list(all_orders(run))
    qrels = {f"q{i}": judged for i in range(len(orders))}
    runs = {f"q{i}": order for i, order in enumerate(orders)}
    values = evaluate(qrels, runs, names, judged_only=judged_only).matrix
    bounds = tie_bounds({"q": judged}, {"q": run}, names, judged_only=judged_only)
    assert np.allclose(bounds.low[0], values.min(axis=0), atol=1e-12)
    assert np.allclose(bounds.high[0], values.max(axis=0), atol=1e-12)
    mean = values.mean(axis=0)
    assert np.allclose(bounds.expected[0][: len(CLOSED)], mean[: len(CLOSED)])
    assert np.isnan(bounds.expected[0][len(CLOSED) :]).all()


def test_a_constant_scorer_is_shown_for_what_it_is():
    documents = [f"d{i}" for i in range(10)]
    qrels = {"q": {"d9": 1}, "r": {"d0": 1}}
    run = {query: dict.fromkeys(documents, 0.5) for query in qrels}
    bounds = tie_bounds(qrels, run, ["RR", "P@1", "gm_map"])
    frame = bounds.frame()
    assert bounds.tie_mass.tolist() == [1.0, 1.0]
    assert frame.loc["RR", "low"] == 0.1
    assert frame.loc["RR", "high"] == 1.0
    assert frame.loc["RR", "expected"] == pytest.approx(np.mean(1 / np.arange(1, 11)))
    assert frame.loc["RR", "actual"] == (1.0 + 0.1) / 2
    assert frame.loc["P@1", "expected"] == pytest.approx(0.1)
    assert np.isnan(frame.loc["gm_map", "expected"])


def test_without_ties_all_values_coincide():
    qrels = {"q": {"a": 2, "b": 1}, "r": {"z": 1}}
    run = {"q": {"a": 1.0, "b": 3.0, "c": 2.0}, "r": {"a": 1.0}}
    bounds = tie_bounds(qrels, run, CLOSED)
    for values in (bounds.low, bounds.expected, bounds.high):
        assert np.allclose(values, bounds.actual, atol=1e-15)
    assert bounds.tie_mass[0] == 0.0
    assert np.isnan(bounds.tie_mass[1])
