import importlib.util
import json
import os
import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from casebook.errors import InputError
from casebook.retrieval import fuse as fusion
from casebook.retrieval.fuse import reciprocal_rank_fusion, weighted_sum
from casebook.retrieval.ranked import RankedLists, from_scores, to_run


@st.composite
def several_lists(draw):
    """Two or three retrievers over one to four queries, ragged and tie-heavy."""
    n_queries, n_items = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    values = st.sampled_from([-np.inf, 0.0, 0.25, 1.0, 3.0])
    row = st.lists(values, min_size=n_items, max_size=n_items)
    scores = st.lists(row, min_size=n_queries, max_size=n_queries)
    return [from_scores(draw(scores), draw(st.integers(1, n_items))) for _ in range(draw(st.integers(1, 3)))]


def rows_of(lists):
    """Each list as pairs of id and score, without the padding."""
    return [
        list(zip(ids[:n].tolist(), scores[:n].tolist(), strict=True))
        for ids, scores, n in zip(lists.ids, lists.scores, lists.lengths, strict=True)
    ]


def slow_fusion(lists, part):
    """Fuse with dicts: part(retriever, row, rank) is what an entry adds."""
    fused = []
    for query in range(lists[0].shape[0]):
        parts = {}
        for retriever, entry in enumerate(lists):
            row = rows_of(entry)[query]
            for rank, (item, _) in enumerate(row, start=1):
                added = (rank, retriever, part(retriever, row, rank))
                parts[item] = sorted([*parts.get(item, []), added])
        totals = {i: p[0][2] + sum(v for *_, v in p[1:]) for i, p in parts.items()}
        order = sorted(parts, key=lambda i: (-totals[i], parts[i][0][0], i))
        fused.append([(item, totals[item]) for item in order])
    return fused


@given(several_lists(), st.sampled_from([0, 20, 60]), st.integers(1, 10))
def test_reciprocal_ranks_equal_a_slow_fusion(lists, k, depth):
    cut = [entry.truncate(depth) for entry in lists]
    expected = slow_fusion(cut, lambda retriever, row, rank: 1 / (k + rank))
    assert rows_of(reciprocal_rank_fusion(lists, k, depth)) == expected


@given(several_lists())
def test_weights_multiply_what_a_list_adds(lists):
    weights = [0.5, 0.25, 2.0][: len(lists)]
    fused = reciprocal_rank_fusion(lists, 20, weights=weights)
    expected = slow_fusion(lists, lambda at, row, rank: weights[at] / (20 + rank))
    assert rows_of(fused) == expected


@given(several_lists(), st.sampled_from([0, 1, 20]))
def test_reciprocal_rank_scores_keep_their_bounds(lists, k):
    fused = reciprocal_rank_fusion(lists, k)
    scores = fused.scores[fused.ids >= 0]
    assert (scores > 0).all()
    assert (scores <= len(lists) / (k + 1) * (1 + 1e-12)).all()
    first = [np.unique(entry.ids[:, 0]) for entry in lists]
    if len(lists) > 1 and len(np.unique(np.concatenate(first))) == 1 != first[0][0]:
        top = fused.scores[:, 0]
        np.testing.assert_allclose(top[fused.lengths > 0], len(lists) / (k + 1))


@given(several_lists(), st.randoms())
def test_the_order_of_the_lists_does_not_matter(lists, random):
    shuffled = random.sample(lists, len(lists))
    ours, theirs = reciprocal_rank_fusion(lists), reciprocal_rank_fusion(shuffled)
    assert rows_of(ours) == rows_of(theirs)


@given(several_lists())
def test_fusion_of_one_list_keeps_its_order(lists):
    fused = reciprocal_rank_fusion(lists[:1])
    for ours, own in zip(rows_of(fused), rows_of(lists[0]), strict=True):
        assert [item for item, _ in ours] == [item for item, _ in own]


@given(several_lists())
def test_min_max_sum_equals_a_slow_fusion(lists):
    def part(retriever, row, rank):
        values = [value for _, value in row]
        span = max(values) - min(values)
        return (row[rank - 1][1] - min(values)) / span if span else 1.0

    assert rows_of(weighted_sum(lists)) == slow_fusion(lists, part)


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    lists = [from_scores(rng.random((20, 30)), 10) for _ in range(2)]
    whole = reciprocal_rank_fusion(lists)
    monkeypatch.setattr(fusion, "_BLOCK", 3)
    np.testing.assert_array_equal(whole.ids, reciprocal_rank_fusion(lists).ids)


@pytest.mark.parametrize(
    ("normalisation", "expected"),
    [
        ("min-max", [1.0, 0.25, 0.0]),
        ("sum", [0.8, 0.2, 0.0]),
        ("none", [6.0, 3.0, 2.0]),
        ("z", [1.37281295, -0.39223227, -0.98058068]),
    ],
)
def test_normalisations_by_hand(normalisation, expected):
    lists = from_scores([[6.0, 3.0, 2.0]], 3)
    fused = weighted_sum([lists], normalisation=normalisation)
    np.testing.assert_allclose(fused.scores, [expected])


def test_equal_scores_are_not_the_same_as_not_retrieved():
    constant, other = from_scores([[5.0, 5.0, -np.inf]], 3), from_scores([[0, 1, 2]], 3)
    fused = weighted_sum([constant, other])
    assert rows_of(fused) == [[(1, 1.5), (0, 1.0), (2, 1.0)]]
    assert weighted_sum([constant], normalisation="sum").scores[0, 0] == 0.5
    assert weighted_sum([constant], normalisation="z").scores[0, 0] == 0.0


def test_empty_lists_fuse_to_empty_lists():
    empty = from_scores([[-np.inf, -np.inf]], 2)
    assert rows_of(reciprocal_rank_fusion([empty, empty])) == [[]]
    nothing = RankedLists(np.empty((2, 0)), np.empty((2, 0)))
    assert rows_of(reciprocal_rank_fusion([nothing])) == [[], []]


FUSE_WITH_RANX = """
import json, sys, ranx
runs = [ranx.Run(run) for run in json.load(sys.stdin)]
rrf = ranx.fuse(runs, norm=None, method="rrf", params={"k": 20})
weights = {"weights": (0.3, 0.7)}
wsum = ranx.fuse(runs, norm="min-max", method="wsum", params=weights)
json.dump([{q: dict(run[q]) for q in run.keys()} for run in (rrf, wsum)], sys.stdout)
"""


@pytest.mark.slow
def test_equal_to_ranx_without_ties():
    if importlib.util.find_spec("ranx") is None:
        pytest.skip("ranx is a benchmark peer, not required")
    rng = np.random.default_rng(3)
    lists = [from_scores(rng.random((4, 30)), 12) for _ in range(2)]
    queries, items = list("abcd"), [str(item) for item in range(30)]
    # For four queries it need not be compiled, which a process decides as a whole.
    theirs = subprocess.run(
        [sys.executable, "-c", FUSE_WITH_RANX],
        input=json.dumps([to_run(entry, queries, items) for entry in lists]),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    rrf, wsum = json.loads(theirs.stdout)
    for ours, theirs in ((reciprocal_rank_fusion(lists, 20), rrf), (weighted_sum(lists, (0.3, 0.7)), wsum)):
        found = to_run(ours, queries, items)
        assert found.keys() == theirs.keys()
        for query, scores in found.items():
            assert scores == pytest.approx(theirs[query], abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((),), "at least one"),
        ((["two"],), "same queries"),
        ((["one"], -1), "rank constant"),
        ((["one"], 20, 0), "depth"),
        ((["one"], 20, None, [0.0]), "not all 0"),
        ((["one"], 20, None, [1.0, 1.0]), "as many weights"),
        ((["one"], 20, None, [-1.0]), "at least 0"),
    ],
)
def test_wrong_use_is_refused(arguments, message):
    one, two = from_scores([[1.0]], 1), from_scores([[1.0], [1.0]], 1)
    lists = [one, two] if "two" in arguments[0] else [one for _ in arguments[0]]
    with pytest.raises(InputError, match=message):
        reciprocal_rank_fusion(lists, *arguments[1:])


def test_unknown_normalisation_is_refused():
    with pytest.raises(InputError, match="unknown normalisation 'max'"):
        weighted_sum([from_scores([[1.0]], 1)], normalisation="max")
