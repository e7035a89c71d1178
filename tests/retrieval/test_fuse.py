"""Fusion against slow sums and ranx; marginal relevance against a naive loop and langchain_core."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from casebook.retrieval.fuse import (
    maximal_marginal_relevance,
    reciprocal_rank_fusion,
    standardised_sum,
    weighted_sum,
)
from casebook.retrieval.ranked import from_scores


@st.composite
def several_lists(draw):
    """Two or three retrievers over one to four queries, ragged and tie-heavy."""
    n_queries, n_items = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    values = st.sampled_from([-np.inf, 0.0, 0.25, 1.0, 3.0])
    row = st.lists(values, min_size=n_items, max_size=n_items)
    scores = st.lists(row, min_size=n_queries, max_size=n_queries)
    return [
        from_scores(draw(scores), draw(st.integers(1, n_items)))
        for _ in range(draw(st.integers(1, 3)))
    ]


def rows_of(lists):
    """Each list as pairs of id and score, without the padding."""
    return [
        list(zip(ids[:n].tolist(), scores[:n].tolist(), strict=True))
        for ids, scores, n in zip(lists.ids, lists.scores, lists.lengths, strict=True)
    ]


def slow_fusion(lists, part):
    """Fuse with dicts: part(retriever, row, rank) is what an entry adds."""
    fused = []
    for query in range(len(lists[0].ids)):
        parts = {}
        for retriever, entry in enumerate(lists):
            row = rows_of(entry)[query]
            for rank, (item, _) in enumerate(row, start=1):
                added = (rank, retriever, part(retriever, row, rank))
                parts[item] = sorted([*parts.get(item, []), added])
        totals = {i: sum(v for *_, v in p) for i, p in parts.items()}
        order = sorted(parts, key=lambda i: (-totals[i], parts[i][0][0], i))
        fused.append([(item, totals[item]) for item in order])
    return fused


@given(
    several_lists(),
    st.sampled_from([0, 20, 60]),
    st.integers(1, 10),
    st.sampled_from([[1, 1, 1], [0.5, 0.25, 2]]),
)
def test_reciprocal_ranks_equal_a_slow_fusion(lists, k, depth, weights):
    cut = [entry.truncate(depth) for entry in lists]
    expected = slow_fusion(cut, lambda at, row, rank: weights[at] / (k + rank))
    assert rows_of(reciprocal_rank_fusion(lists, k, depth, weights[: len(lists)])) == expected


@given(several_lists())
def test_min_max_sum_equals_a_slow_fusion(lists):
    def part(retriever, row, rank):
        values = [value for _, value in row]
        span = max(values) - min(values)
        return (row[rank - 1][1] - min(values)) / span if span else 1.0

    assert rows_of(weighted_sum(lists)) == slow_fusion(lists, part)


def test_standardised_sum_is_the_sum_of_z_scores():
    draw = np.random.default_rng(0)
    raw = draw.normal(5, 2, (2, 3, 30))  # lists, queries, documents
    weights = np.array([[1, 1, 0.5], [1, 0.25, 0]])
    lists = [from_scores(scores, 12) for scores in raw]
    fused = standardised_sum(lists, weights, pool=5, depth=12)
    for row in range(3):
        proposed = set(lists[0].ids[row, :5]) | set(lists[1].ids[row, :5])
        total = dict.fromkeys(proposed, 0.0)
        for scores, entry, weight in zip(raw, lists, weights, strict=True):
            held = dict(zip(entry.ids[row], entry.scores[row], strict=True))
            values = {d: held.get(d, entry.scores[row, -1]) for d in proposed}
            assert all(values[d] == scores[row, d] for d in proposed & set(held))
            mean, spread = np.mean([*values.values()]), np.std([*values.values()])
            for d, value in values.items():
                total[d] += weight[row] * (value - mean) / spread
        found = dict(zip(fused.ids[row], fused.scores[row], strict=True))
        assert sorted(total) == sorted(d for d in found if d >= 0)
        assert all(found[d] == pytest.approx(total[d], abs=1e-8) for d in total)
        best_first = sorted(total, key=total.get, reverse=True)
        assert fused.ids[row, : len(total)].tolist() == best_first


pools = st.tuples(st.integers(1, 3), st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape[:2], elements=st.sampled_from([-np.inf, 0.0, 0.125, 0.5, 1.0])),
        arrays(float, shape, elements=st.integers(-3, 3).map(float)),
    )
)


def cosine(a, b):
    norm = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norm) if norm else 0.0


def is_best_choice(relevance, vectors, picked, pick, lambda_):
    """Whether a pick has the largest value, and no earlier candidate ties with it."""

    def value(candidate):
        if not picked:
            return relevance[candidate]
        redundancy = max(cosine(vectors[candidate], vectors[p]) for p in picked)
        return lambda_ * relevance[candidate] - (1 - lambda_) * redundancy

    rest = [
        candidate
        for candidate in range(len(relevance))
        if candidate not in picked and relevance[candidate] > -np.inf
    ]
    values = np.array([value(candidate) for candidate in rest])
    return not [c for c, v in zip(rest, values, strict=True) if v > value(pick) + 1e-9]


@given(pools, st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(1, 9))
def test_every_pick_is_the_best_of_a_naive_loop(pool, lambda_, k):
    relevance, vectors = pool
    order, values = maximal_marginal_relevance(relevance, vectors, lambda_, k)
    assert order.shape == values.shape == (len(relevance), k)
    for row, picks in enumerate(order):
        entries = picks[picks >= 0].tolist()
        assert len(entries) == min(k, (relevance[row] > -np.inf).sum())
        assert len(set(entries)) == len(entries)
        assert (picks[len(entries) :] == -1).all()
        assert (values[row, len(entries) :] == -np.inf).all()
        for step, pick in enumerate(entries):
            assert is_best_choice(relevance[row], vectors[row], entries[:step], pick, lambda_)
