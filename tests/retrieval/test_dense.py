import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from casebook.errors import InputError
from casebook.retrieval.ranked import from_scores
from casebook.retrieval.search import DenseIndex

small = st.integers(-2, 2).map(float)
collections = st.tuples(st.integers(1, 25), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float32, shape, elements=small), arrays(np.float32, (3, shape[1]), elements=small)
    )
)


def unit(vectors):
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


@given(collections, st.integers(1, 30))
def test_inner_products_rank_as_a_full_sort_ties_included(data, k):
    vectors, queries = data
    lists = DenseIndex(vectors, metric="inner_product").search(queries, k)
    exact = from_scores(queries.astype(float) @ vectors.T.astype(float), k)
    np.testing.assert_array_equal(lists.ids, exact.ids)
    np.testing.assert_array_equal(lists.scores, exact.scores)


@given(collections, st.integers(1, 30))
def test_cosine_ranks_as_a_full_sort_up_to_rounding(data, k):
    vectors, queries = data
    lists = DenseIndex(vectors).search(queries, k)
    scores = unit(queries.astype(float)) @ unit(vectors.astype(float)).T
    np.testing.assert_allclose(lists.scores, from_scores(scores, k).scores, atol=1e-6)
    own = np.take_along_axis(scores, lists.ids, axis=1)
    np.testing.assert_allclose(lists.scores, own, atol=1e-6)


def test_equal_vectors_keep_the_order_of_the_collection():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 24))
    copies = rng.permutation(500)[:90]
    vectors[copies] = vectors[copies[0]]
    lists = DenseIndex(vectors).search(vectors[copies[:1]], 60)
    assert lists.ids[0].tolist() == np.sort(copies)[:60].tolist()
    assert np.ptp(lists.scores) == 0


@given(collections, st.integers(1, 30), st.data())
def test_pools_and_masks_are_searches_of_a_part(data, k, draws):
    vectors, queries = data
    mask = draws.draw(arrays(bool, (3, len(vectors))))
    index = DenseIndex(vectors, metric="inner_product")
    exact = from_scores(queries.astype(float) @ vectors.T.astype(float), k, mask)
    pools = [np.flatnonzero(row) for row in mask]
    for allowed in (mask, pools):
        np.testing.assert_array_equal(index.search(queries, k, allowed).ids, exact.ids)
    shared = index.search(queries, k, mask[0])
    np.testing.assert_array_equal(shared.ids[0], exact.ids[0])


def test_a_pair_scores_the_same_whatever_else_is_searched():
    rng = np.random.default_rng(1)
    vectors, queries = rng.normal(size=(300, 33)), rng.normal(size=(9, 33))
    index = DenseIndex(vectors)
    whole = index.search(queries, 20)
    alone = index.search(queries[4:5], 20)
    np.testing.assert_array_equal(whole.scores[4], alone.scores[0])
    part = index.search(queries, 20, np.isin(np.arange(300), whole.ids[4]))
    np.testing.assert_array_equal(whole.scores[4], part.scores[4])


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_approximate_indexes_report_their_recall(kind):
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(20, 16))
    vectors = np.repeat(centres, 100, axis=0) + 0.3 * rng.normal(size=(2000, 16))
    queries = centres + 0.1 * rng.normal(size=centres.shape)
    index = DenseIndex(vectors, kind)
    recall = index.measured_recall(queries, 10)
    assert 0.9 < recall <= 1
    assert index.measured_recall(queries, 10, sample=5, seed=1) <= 1
    mask = np.arange(2000) % 2 == 0
    filtered = index.search(queries, 10, mask)
    np.testing.assert_array_equal(filtered.ids, DenseIndex(vectors).search(queries, 10, mask).ids)


def test_exact_search_has_recall_one_and_auto_is_exact_when_small(monkeypatch):
    vectors = np.random.default_rng(3).normal(size=(50, 4))
    index = DenseIndex(vectors)
    assert index.kind == "flat"
    assert index.measured_recall(vectors, 7) == 1
    monkeypatch.setattr("casebook.retrieval.search.EXACT_LIMIT", 50)
    assert DenseIndex(vectors).kind == "hnsw"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 3)),), "at least one vector"),
        ((np.zeros(3),), "finite array"),
        ((np.full((2, 3), np.nan),), "finite array"),
        ((np.ones((2, 3)), "tree"), "unknown kind of index 'tree'"),
        ((np.ones((2, 3)), "flat", "l2"), "unknown metric 'l2'"),
    ],
)
def test_wrong_indexes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        DenseIndex(*arguments)


def test_wrong_queries_are_refused():
    index = DenseIndex(np.eye(3))
    with pytest.raises(InputError, match="2 dimensions, the index 3"):
        index.search(np.ones((1, 2)), 1)
    with pytest.raises(InputError, match="at least one query"):
        index.measured_recall(np.ones((0, 3)), 1)
    assert index.search(np.ones((0, 3)), 2).shape == (0, 2)
