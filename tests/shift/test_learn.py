"""Learners against documented values and closed forms; divisions and folds; what is held out stays
out."""

import numpy as np
import pytest
from cases import not_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import Simulated

from casebook.data import load
from casebook.errors import InputError
from casebook.shift import study
from casebook.shift.embedded import divide, embed, folds, group_labels, per_query
from casebook.shift.learn import (
    DOCUMENTED_MODE,
    TRAINING_MODES,
    cross_fit,
    learn_posneg,
    learn_ridge,
    select_shift,
)

NAMES = {
    "sha256": "sha256",
    "semantic-hash ngrams=0": "semantic-hash",
    "semantic-hash ngrams=1": "semantic-hash+ngrams",
}


@pytest.fixture(scope="module")
def smoke():
    return embed(load("smoke"), Simulated("semantic-hash"))


@pytest.mark.data
@pytest.mark.parametrize("top_k", [1, 2])
@pytest.mark.parametrize("label", NAMES)
def test_built_in_samples_give_the_documented_values(expected, samples, label, top_k):
    case = expected["posneg_samples_insurance"][f"{label} hardneg-topk={top_k}"]
    data = embed(samples, Simulated(NAMES[label]))
    shift = learn_posneg(data, hard_negatives=top_k)
    stats = shift.stats
    for name, value in case["stats"].items():
        if isinstance(value, bool | int):
            assert stats[name] == value
        else:  # computed there in single precision
            assert stats[name] == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert (shift.cancel_reason is not None) is case["IsCancelled(eps=1e-3)"]
    for name, moved in (("baseline", 0.0), ("posneg", 1.0)):
        vectors = data.queries + moved * shift.move(data.queries)
        scores = data.score(vectors, measures=["original:map@1", "original:ndcg@3", "P@1"])
        assert dict(zip(data.query_ids, 1 / scores["original:map@1"], strict=True)) == (
            pytest.approx(case[name]["ranks"])
        )
        assert scores["original:map@1"].mean() == pytest.approx(case[name]["map@1"], abs=1e-15)
        assert scores["original:ndcg@3"].mean() == pytest.approx(case[name]["ndcg@3"], abs=1e-15)
        assert scores["P@1"].mean() == case[name]["precision@1"]


def test_shift_is_the_mean_of_positive_minus_negative(planted):
    documents = {"a": [1.0, 0, 0], "b": [0, 2.0, 0], "c": [0, 0, 1.0]}
    queries = {"q1": [0.9, 1, 0], "q2": [0, 0.1, 1], "q3": [1, 0, 0]}
    data = planted(queries, documents, {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1}})
    shift = learn_posneg(data, max_norm=np.inf)
    # q1 ranks b before a, q2 ranks c before b; q3 is right and teaches nothing.
    assert shift.vector == pytest.approx(np.array([0.5, 0.0, -0.5]))
    assert (shift.stats["Cases"], shift.stats["QueriesWithoutError"]) == (2, 1)
    unit = learn_posneg(data, mode="posneg-unit")
    root = np.sqrt(5)
    assert unit.vector == pytest.approx(np.array([1, 0, -1]) / root / 2)
    assert unit.stats["ResultantLength"] == pytest.approx(np.sqrt(2) / root / 2)


def test_clips(planted):
    data = planted({"q": [0.5, 1]}, {"a": [9.0, 0], "b": [0, 9.0]}, {"q": {"a": 1}})
    shift = learn_posneg(data)
    assert shift.norm == pytest.approx(1.5)
    assert shift.stats["NormClipApplied"]
    assert shift.stats["PreClipDeltaNorm"] == pytest.approx(9 * np.sqrt(2))
    relative = learn_posneg(data, mode="posneg-relative")
    assert relative.norm == pytest.approx(0.13 * np.sqrt(1.25))
    assert learn_posneg(data, max_norm=np.inf).norm == pytest.approx(9 * np.sqrt(2))


def test_a_planted_direction_is_found(decoys):
    before = decoys.score(decoys.queries)["RR"].mean()
    for mode in TRAINING_MODES:
        shift = learn_posneg(decoys, mode)
        moved = decoys.queries + shift.move(decoys.queries) / shift.norm
        assert decoys.score(moved)["RR"].mean() > before + 0.3
        assert shift.vector[0] / shift.norm > 0.95


def test_a_planted_direction_helps_on_held_out_queries(decoys):
    fit = cross_fit(decoys, DOCUMENTED_MODE)
    before = decoys.score(decoys.queries)["RR"].mean()
    assert decoys.score(fit.shifted())["RR"].mean() > before + 0.3
    assert abs(study.random_directions(fit, draws=5)["RR"].mean() - before) < 0.2


def test_held_out_judgements_change_nothing_about_their_own_shift(smoke):
    """Whatever a fold's labels say, its movements come from the other folds."""
    fit = cross_fit(smoke, DOCUMENTED_MODE)
    fold = fit.folds[0]
    relevant = list(smoke.relevant)
    for row in fold:
        relevant[row] = relevant[row][::-1].copy()
    flipped = embed(smoke.dataset, Simulated("semantic-hash"))
    flipped.relevant[:] = relevant
    train = np.setdiff1d(range(len(smoke)), fold)
    for data in (smoke, flipped):
        chosen = select_shift(data, train, DOCUMENTED_MODE)
        assert np.array_equal(chosen.shift.vector, fit.selections[0].shift.vector)
        assert chosen.scale == fit.selections[0].scale


def test_ridge_solves_its_equations(decoys):
    """Every query has one relevant document: its contrast is that minus the mean of the others."""
    X, documents = decoys.queries, decoys.documents
    right = documents[::2]
    Y = right - (documents.sum(axis=0) - right) / (len(documents) - 1)
    expected = np.linalg.solve(X.T @ X + 2 * np.eye(12), X.T @ Y)
    assert learn_ridge(decoys, penalty=2.0).move(np.eye(12)) == pytest.approx(expected)


def test_candidates_are_respected_and_dropped_queries_are_counted(planted):
    documents = {"a": [1.0, 0], "b": [0.5, 0.5], "c": [0, 1.0]}
    queries = {"q1": [1.0, 0], "q2": [1.0, 0], "q3": [1.0, 0]}
    data = planted(
        queries,
        documents,
        {"q1": {"c": 1}, "q2": {"a": 1}},
        candidates={"q1": ["b", "c"], "q2": ["b", "c"]},
    )
    assert data.query_ids == ["q1"]
    assert set(data.run(data.queries)["q1"]) == {"b", "c"}
    account = data.account()
    assert account["reasons"] == {"no_relevant": 1, "no_judgement": 1}
    assert account["n_total"] == 3
    with pytest.raises(InputError, match="no query has a relevant document"):
        planted(queries, documents, {})


@given(st.integers(0, 10_000), st.integers(2, 40))
@settings(max_examples=25, deadline=None)
def test_folds_share_no_group_and_make_the_whole(smoke, seed, k):
    labels = group_labels(smoke)
    parts = folds(smoke, k, seed=seed)
    assert sorted(row for part in parts for row in part) == list(range(len(smoke)))
    seen = [{labels[row] for row in part} for part in parts]
    assert sum(map(len, seen)) == len(set(labels))
    assert all(parts)


def test_records_of_a_ranking(planted):
    documents = {"a": [1.0, 0], "b": [0.8, 0.6], "c": [0, 1.0]}
    data = planted({"q": [1.0, 0]}, documents, {"q": {"b": 1, "c": 1}})
    (row,) = per_query(data, data.queries).to_dict("records")
    assert (row["RelevantDocId"], row["Rank"], row["Ap1"]) == ("b", 2, 0.5)
    assert row["Ndcg3"] == pytest.approx(1 / np.log2(3))
    assert [row["TopDocId"], row["Top2DocId"], row["Top3DocId"]] == ["a", "b", "c"]
    assert row["Top2Score"] == pytest.approx(0.8)
    few = planted({"q": [1.0, 0]}, {"a": [1.0, 0]}, {"q": {"a": 1}})
    (row,) = per_query(few, few.queries).to_dict("records")
    assert np.isnan(row["Top2DocId"]) and np.isnan(row["Top2Score"])


def test_zero_directions_are_counted_and_left_out(planted):
    """By hand: c is first, and b has the vector of the relevant a."""
    documents = {"a": [1.0, 0], "b": [1.0, 0], "c": [0, 1.0]}
    data = planted({"q": [0.9, 1]}, documents, {"q": {"a": 1}})
    shift = learn_posneg(data, hard_negatives=2)
    stats = shift.stats
    assert (stats["Cases"], stats["ZeroDirections"], stats["QueriesUsed"]) == (1, 1, 1)
    assert shift.vector.tolist() == [1.0, -1.0]


def test_directions_that_cancel_are_suspected_and_not_applied(planted):
    """By hand: one question asks for a against c, the other for c against a."""
    documents = {"a": [1.0, 0], "c": [0, 1.0]}
    qrels = {"q1": {"a": 1}, "q2": {"c": 1}}
    data = planted({"q1": [0.5, 1], "q2": [1, 0.5]}, documents, qrels)
    shift = learn_posneg(data)
    stats = shift.stats
    assert (stats["Cases"], stats["UniquePairs"], stats["ContradictoryPairs"]) == (2, 2, 1)
    assert stats["CancelOutSuspected"] and stats["ResultantLength"] == pytest.approx(0, abs=1e-12)
    assert stats["AvgDirectionNorm"] == pytest.approx(np.sqrt(2))
    assert "0.001" in shift.cancel_reason and not shift.move(data.queries).any()


def test_scores_of_a_record_are_cosines(planted):
    documents = {"a": [3.0, 4.0], "b": [0, 2.0], "c": [-5.0, 0]}
    data = planted({"q": [10.0, 0]}, documents, {"q": {"b": 1}})
    (row,) = per_query(data, data.queries).to_dict("records")
    assert [row[f"Top{n}DocId"] for n in ("", "2", "3")] == ["a", "b", "c"]
    assert [row[f"Top{n}Score"] for n in ("", "2", "3")] == pytest.approx([0.6, 0, -1])


def test_too_few_groups_are_an_error(planted):
    documents = {"a": [1.0, 0], "b": [0, 1.0]}
    queries = {"q1": [1.0, 0], "q2": [0, 1.0]}
    data = planted(queries, documents, {query: {"a": 1} for query in queries})
    cases = [("group", "1 groups of queries are too few"), ("topic", "unknown grouping")]
    assert not_refused(lambda by: divide(data, by=by), cases) == []
