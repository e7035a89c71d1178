"""BM25 and nearest vectors against their definitions; stemmers against published stems."""

import math
from collections import Counter, defaultdict

import hypothesis.strategies as st
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis.extra.numpy import arrays

from casebook.data import load
from casebook.errors import InputError
from casebook.retrieval.ranked import from_scores, to_run
from casebook.retrieval.search import (
    PRESETS,
    BM25Index,
    DenseIndex,
    load_stemmer,
)

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


def test_okapi_ranks_as_rank_bm25_does():
    texts = ["a a b", "b c", "b c c d", "b e"]
    index = BM25Index(texts, "okapi", k1=1.2, b=0.3, stopwords=(), token_pattern=r"\w+")
    lists = index.search(["b c"], 4)
    words = [text.split() for text in texts]
    df = Counter(word for text in words for word in set(text))
    idf = {w: math.log(4 - n + 0.5) - math.log(n + 0.5) for w, n in df.items()}
    floor = 0.25 * sum(idf.values()) / len(idf)
    mean_length = sum(map(len, words)) / 4

    def score(text):
        length = 1.2 * (1 - 0.3 + 0.3 * len(text) / mean_length)
        return sum(
            (idf[w] if idf[w] >= 0 else floor) * text.count(w) / (text.count(w) + length)
            for w in "bc"
        )

    expected = sorted(range(4), key=lambda i: (-score(words[i]), i))
    assert lists.ids[0].tolist() == expected
    np.testing.assert_allclose(lists.scores[0], [score(words[i]) for i in expected])


def test_pools_differ_by_query():
    pools = np.array([[1, 0, 1, 0, 0], [0, 1, 0, 0, 0]], dtype=bool)
    lists = BM25Index(TEXTS).search(["tenant return", "return deposit"], 5, pools)
    assert lists.ids[:, :2].tolist() == [[0, 2], [1, -1]]


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


@pytest.fixture
def pdpabench(mirror, monkeypatch):
    """Give a loader of the statute with the questions of a split."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    return lambda split: load("pdpabench", split)


def retrieved(preset, dataset, k):
    """Rank the documents for every question, as a run."""
    index = BM25Index(dataset.documents["text"], **PRESETS[preset])
    lists = index.search(dataset.queries["text"], k)
    query_ids = dataset.queries["query_id"].tolist()
    return to_run(lists, query_ids, dataset.documents["doc_id"])


def measured(preset, dataset):
    """nDCG@10, MRR@10 and Recall@10 by pytrec_eval, ties in the order of the list."""
    run = {
        query: {doc: 1 / rank for rank, doc in enumerate(scores, start=1)}
        for query, scores in retrieved(preset, dataset, 10).items()
    }
    names = "ndcg_cut_10", "recip_rank", "recall_10"
    evaluator = pytrec_eval.RelevanceEvaluator(dataset.qrels, names)
    values = evaluator.evaluate(run).values()
    return [sum(row[name] for row in values) / len(dataset.qrels) for name in names]


@pytest.mark.data
@pytest.mark.parametrize(
    ("preset", "split", "expected"),
    [
        ("default", "test", [0.504960, 0.462073, 0.653846]),
        ("default", "test_single", [0.495058, 0.446047, 0.653846]),
        ("okapi_porter", "test", [0.559224, 0.511424, 0.724359]),
        ("okapi_porter_untuned", "test", [0.564653, 0.520696, 0.730769]),
    ],
)
def test_measured_table_of_pdpabench(pdpabench, preset, split, expected):
    np.testing.assert_allclose(measured(preset, pdpabench(split)), expected, atol=5e-7)


@pytest.mark.data
def test_the_stored_report_of_pdpabench_is_reproduced(pdpabench):
    report = [0.5571556199504542, 0.5075778388278388, 0.7115384615384616]
    ours = measured("okapi_porter", pdpabench("test_single"))
    np.testing.assert_allclose(ours, report, rtol=1e-12)


@pytest.mark.data
@pytest.mark.parametrize(
    ("preset", "settings"), [("okapi_porter", "k1.2_b0.3"), ("okapi_porter_untuned", "k1.5_b0.75")]
)
def test_rankings_are_those_of_the_stored_okapi_runs(mirror, pdpabench, preset, settings):
    stored = defaultdict(list)
    file = mirror / "pdpabench_beir" / f"run.okapi_porter_{settings}.trec"
    for row in file.read_text().splitlines():
        stored[row.split()[0]].append(row.split()[2])
    ours = retrieved(preset, pdpabench("test"), 100)
    assert {query: list(scores) for query, scores in ours.items()} == stored


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


# Examples of Porter (1980), by the step they illustrate.
_PAPER = """
caresses:caress ponies:poni cats:cat agreed:agre plastered:plaster bled:bled motoring:motor
sing:sing conflated:conflat troubled:troubl sized:size hopping:hop falling:fall hissing:hiss
failing:fail filing:file happy:happi relational:relat conditional:condit rational:ration
digitizer:digit operator:oper feudalism:feudal decisiveness:decis hopefulness:hope
sensibiliti:sensibl triplicate:triplic electrical:electr goodness:good allowance:allow
replacement:replac adoption:adopt effective:effect probate:probat rate:rate cease:ceas
controll:control roll:roll generalizations:gener oscillators:oscil
"""
PAPER = dict(pair.split(":") for pair in _PAPER.split())
# Outputs of the Natural Language Toolkit 3.10 where it departs from the paper.
_DEPARTURES = """
is:is proceed:proceed exceed:exceed dying:die skies:sky day:day employed:employ try:tri lies:lie
died:die carried:carri lawfully:law intentionally:intent archaeology:archaeolog
"""
DEPARTURES = dict(pair.split(":") for pair in _DEPARTURES.split())


def test_published_stems():
    expected = PAPER | DEPARTURES
    assert load_stemmer("porter_extended")([*expected]) == [*expected.values()]


@pytest.mark.parametrize("texts", [[], ["of the", ""]])
def test_texts_without_words_are_refused(texts):
    with pytest.raises(InputError):
        BM25Index(texts)
