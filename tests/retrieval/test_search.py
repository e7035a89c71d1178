"""BM25 and nearest vectors against their definitions; stemmers against published stems."""

import math
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis.extra.numpy import arrays

from casebook.data import load
from casebook.retrieval.ranked import RankedLists, from_scores, to_run
from casebook.retrieval.search import BM25Index, DenseIndex

TEXTS = [
    "The tenant shall return the keys at the end of the tenancy.",
    "A deposit is returned to tenants within thirty days.",
    "Insurers return no premium after a claim.",
    "of the and",
    "",
]


def test_default_scores_are_those_of_the_formula():
    lists = BM25Index(TEXTS).search(["tenant deposit deposit"], 5)
    # Six words of each of the first two texts are no stop words, five of the third.
    mean_length = (6 + 6 + 5) / 5
    idf = math.log(1 + (5 - 1 + 0.5) / (1 + 0.5))
    one = idf / (1 + 1.5 * (1 - 0.75 + 0.75 * 6 / mean_length))
    assert lists.ids[0].tolist() == [1, 0, -1, -1, -1]
    np.testing.assert_allclose(lists.scores[0, :2], [2 * one, one])


COMMON = ["court", "party", "claim"]


def made_texts(n=60, seed=0):
    """Texts of 5 to 60 words, some of them common."""
    rng = np.random.default_rng(seed)
    words = [*COMMON, *(f"word{number}" for number in range(80))]
    shares = np.array([8.0] * len(COMMON) + [1.0] * 80)
    sizes = rng.integers(5, 60, n)
    return [" ".join(rng.choice(words, size, p=shares / shares.sum())) for size in sizes]


@pytest.mark.parametrize("limit", [1, 4, 12])
def test_a_long_query_is_cut_to_the_words_of_largest_idf_and_frequency(limit):
    texts = made_texts()
    queries = [" ".join(made_texts(4, seed)) + " unheard" for seed in range(1, 6)]
    df = Counter(word for text in texts for word in set(text.split()))

    def value(word, query):
        idf = math.log(1 + (len(texts) - df[word] + 0.5) / (df[word] + 0.5))
        return idf * math.log(1 + query.count(word))

    cut = []
    for query in queries:
        words = query.split()
        of_collection = [word for word in dict.fromkeys(words) if word in df]
        best = sorted(of_collection, key=lambda word: -round(value(word, words), 9))[:limit]
        cut.append(" ".join(word for word in words if word in best))
    index = BM25Index(texts)
    found = index.search(queries, 60, words=limit)
    expected = index.search(cut, 60)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert (found.ids != index.search(queries, 60).ids).any()


@pytest.mark.data
@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("test", [0.504960, 0.462073, 0.653846]),
        ("test_single", [0.495058, 0.446047, 0.653846]),
    ],
)
def test_measured_table_of_pdpabench(mirror, monkeypatch, split, expected):
    """nDCG@10, MRR@10 and Recall@10 by pytrec_eval, ties in the order of the list."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    data = load("pdpabench", split)
    lists = BM25Index(data.documents["text"]).search(data.queries["text"], 10)
    lists = RankedLists(lists.ids, 1 / np.arange(1.0, 11) + np.zeros(lists.ids.shape))
    run = to_run(lists, data.queries["query_id"], data.documents["doc_id"])
    names = "ndcg_cut_10", "recip_rank", "recall_10"
    values = pytrec_eval.RelevanceEvaluator(data.qrels, names).evaluate(run).values()
    means = [sum(row[name] for row in values) / len(data.qrels) for name in names]
    np.testing.assert_allclose(means, expected, atol=5e-7)


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
def test_cosine_ranks_as_a_full_sort_up_to_rounding(data, k):
    vectors, queries = data
    lists = DenseIndex(vectors).search(queries, k)
    scores = unit(queries.astype(float)) @ unit(vectors.astype(float)).T
    np.testing.assert_allclose(lists.scores, from_scores(scores, k).scores, atol=1e-6)
    own = np.take_along_axis(scores, lists.ids, axis=1)
    np.testing.assert_allclose(lists.scores, own, atol=1e-6)


@given(collections, st.integers(1, 30), st.data())
def test_pools_and_masks_are_searches_of_a_part(data, k, draws):
    vectors, queries = data
    mask = draws.draw(arrays(bool, (3, len(vectors))))
    index = DenseIndex(vectors)
    whole = index.search(queries, len(vectors))
    masked = index.search(queries, k, mask)
    for row, ids in enumerate(masked.ids):
        expected = [i for i in whole.ids[row] if mask[row, i]][:k]
        assert ids[ids >= 0].tolist() == expected
    shared = index.search(queries, k, mask[:1]).ids[0]
    assert shared[shared >= 0].tolist() == masked.ids[0][masked.ids[0] >= 0].tolist()


def test_a_pair_scores_the_same_whatever_else_is_searched():
    rng = np.random.default_rng(1)
    vectors, queries = rng.normal(size=(300, 33)), rng.normal(size=(9, 33))
    index = DenseIndex(vectors)
    whole = index.search(queries, 20)
    alone = index.search(queries[4:5], 20)
    np.testing.assert_array_equal(whole.scores[4], alone.scores[0])
    part = index.search(queries, 20, np.isin(np.arange(300), whole.ids[4])[None])
    np.testing.assert_array_equal(whole.scores[4], part.scores[4])
