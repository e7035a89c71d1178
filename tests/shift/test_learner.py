import numpy as np
import pytest
from casebook.shift.simulators import SimulatedEncoder

from casebook.errors import InputError
from casebook.shift.embedded import embed
from casebook.shift.learn import MODES, learn_posneg

NAMES = {
    "sha256": "sha256",
    "semantic-hash ngrams=0": "semantic-hash",
    "semantic-hash ngrams=1": "semantic-hash+ngrams",
}


@pytest.mark.data
@pytest.mark.parametrize("top_k", [1, 2])
@pytest.mark.parametrize("label", NAMES)
def test_built_in_samples_give_the_documented_values(expected, samples, label, top_k):
    case = expected["posneg_samples_insurance"][f"{label} hardneg-topk={top_k}"]
    data = embed(samples, SimulatedEncoder(NAMES[label]))
    shift = learn_posneg(data, hard_negatives=top_k)
    stats = shift.stats.as_dict()
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
    shift = learn_posneg(data, max_norm=None)
    # q1 ranks b before a, q2 ranks c before b; q3 is right and teaches nothing.
    assert shift.vector == pytest.approx(np.array([0.5, 0.0, -0.5]))
    assert (shift.stats.Cases, shift.stats.QueriesWithoutError) == (2, 1)
    unit = learn_posneg(data, mode="posneg-unit")
    root = np.sqrt(5)
    assert unit.vector == pytest.approx(np.array([1, 0, -1]) / root / 2)
    assert unit.stats.ResultantLength == pytest.approx(np.sqrt(2) / root / 2)


def test_contradictory_pairs_cancel(planted):
    documents = {"a": [1.0, 0], "b": [0, 1.0]}
    queries = {"q1": [0.2, 1], "q2": [1, 0.2]}
    shift = learn_posneg(planted(queries, documents, {"q1": {"a": 1}, "q2": {"b": 1}}))
    assert shift.stats.ContradictoryPairs == 1
    assert shift.stats.CancelOutSuspected
    assert "below epsilon" in shift.cancel_reason
    assert not shift.move(np.ones((2, 2))).any()
    assert shift.stats.ResultantLength == pytest.approx(0)


def test_equal_vectors_do_not_use_up_the_budget(planted):
    documents = {"a": [1.0, 0], "a2": [1.0, 0], "b": [0.9, 0.1], "c": [0, 1.0]}
    queries = {"q": [0.1, 1]}
    data = planted(queries, documents, {"q": {"a": 1}})
    stats = learn_posneg(data, hard_negatives=3).stats
    assert (stats.Cases, stats.ZeroDirections, stats.UniquePairs) == (2, 1, 3)


def test_violation_takes_negatives_above_the_positive_only(planted):
    documents = {"a": [1.0, 1], "b": [0, 1.0], "c": [-1.0, 0]}
    data = planted({"q": [0, 1.0]}, documents, {"q": {"a": 1}})
    assert learn_posneg(data, hard_negatives=5).stats.Cases == 2
    shift = learn_posneg(data, mode="posneg-violation", hard_negatives=5)
    assert shift.stats.Cases == 1


def test_clips(planted):
    documents = {"a": [9.0, 0], "b": [0, 9.0]}
    data = planted({"q": [0.5, 1]}, documents, {"q": {"a": 1}})
    shift = learn_posneg(data)
    assert shift.norm == pytest.approx(1.5)
    assert shift.stats.NormClipApplied
    assert shift.stats.PreClipDeltaNorm == pytest.approx(9 * np.sqrt(2))
    relative = learn_posneg(data, mode="posneg-relative")
    assert relative.norm == pytest.approx(0.13 * np.sqrt(1.25))
    assert learn_posneg(data, max_norm=None).norm == pytest.approx(9 * np.sqrt(2))


@pytest.mark.parametrize("mode", MODES)
def test_a_planted_direction_is_found(decoys, mode):
    shift = learn_posneg(decoys, mode=mode)
    before = decoys.score(decoys.queries)["RR"].mean()
    moved = decoys.queries + shift.move(decoys.queries) / shift.norm
    assert decoys.score(moved)["RR"].mean() > before + 0.3
    assert shift.vector[0] / shift.norm > 0.95


def test_nothing_to_learn_from_is_cancelled_not_an_error(planted):
    data = planted({"q": [1.0, 0]}, {"a": [1.0, 0], "b": [0, 1.0]}, {"q": {"a": 1}})
    shift = learn_posneg(data)
    assert shift.stats.Cases == 0 and shift.stats.ResultantLength is None
    assert shift.cancel_reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "production"}, "unknown mode"),
        ({"hard_negatives": 0}, "at least 1"),
        ({"max_norm": 0}, "clip"),
        ({"cancel_epsilon": -1}, "epsilon"),
    ],
)
def test_wrong_options(decoys, options, message):
    with pytest.raises(InputError, match=message):
        learn_posneg(decoys, **options)
