import math
from collections import Counter, defaultdict

import numpy as np
import pytest
import pytrec_eval

from casebook.datasets import load
from casebook.errors import InputError
from casebook.retrieval.ranked import to_run
from casebook.retrieval.search import BM25Index

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
    index = BM25Index(texts, "okapi", k1=1.2, b=0.3, stopwords=None, token_pattern=r"\w+")
    lists = index.search(["b c"], 4)
    words = [text.split() for text in texts]
    df = Counter(word for text in words for word in set(text))
    idf = {w: math.log(4 - n + 0.5) - math.log(n + 0.5) for w, n in df.items()}
    floor = 0.25 * sum(idf.values()) / len(idf)
    mean_length = sum(map(len, words)) / 4

    def score(text):
        length = 1.2 * (1 - 0.3 + 0.3 * len(text) / mean_length)
        return sum((idf[w] if idf[w] >= 0 else floor) * text.count(w) / (text.count(w) + length) for w in "bc")

    expected = sorted(range(4), key=lambda i: (-score(words[i]), i))
    assert lists.ids[0].tolist() == expected
    np.testing.assert_allclose(lists.scores[0], [score(words[i]) for i in expected])


def test_stemming_and_stop_lists_change_what_matches():
    assert BM25Index(TEXTS).search(["tenants"], 5).lengths.tolist() == [1]
    stemmed = BM25Index(TEXTS, stemmer="english").search(["tenants"], 5)
    assert stemmed.ids[0, :3].tolist() == [0, 1, -1]
    kept = BM25Index(TEXTS, stopwords=None).search(["of the"], 5)
    assert kept.ids[0].tolist() == [3, 0, -1, -1, -1]
    own = BM25Index(TEXTS, stopwords=["tenant"]).search(["tenant"], 5)
    assert own.lengths.tolist() == [0]


def test_queries_without_a_known_word_retrieve_nothing():
    lists = BM25Index(TEXTS).search(["", "of the", "quasar"], 3)
    assert lists.lengths.tolist() == [0, 0, 0]
    assert BM25Index(TEXTS).search([], 3).shape == (0, 3)


def test_equal_texts_keep_the_order_of_the_collection():
    lists = BM25Index(["tenant law"] * 40 + ["premium"]).search(["tenant"], 7)
    assert lists.ids[0].tolist() == list(range(7))


def test_pools_differ_by_query_and_survive_blocks(monkeypatch):
    queries, pools = ["tenant return", "return deposit"], [[0, 2], [1]]
    index = BM25Index(TEXTS)
    lists = index.search(queries, 5, pools)
    assert lists.ids[:, :2].tolist() == [[0, 2], [1, -1]]
    mask = np.array([True, True, False, False, False])
    shared = index.search(queries, 5, mask)
    monkeypatch.setattr("casebook.retrieval.search._BLOCK_SCORES", 5)
    np.testing.assert_array_equal(lists.ids, index.search(queries, 5, pools).ids)
    np.testing.assert_array_equal(shared.ids, index.search(queries, 5, mask).ids)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"texts": []}, "at least one text"),
        ({"texts": ["of the", ""]}, "holds a word"),
        ({"method": "bm42"}, "unknown BM25 method 'bm42'"),
        ({"k1": -1}, "k1 >= 0"),
        ({"b": 1.5}, "b in"),
        ({"stopwords": "de"}, "unknown stop list 'de'"),
        ({"stemmer": "german"}, "unknown stemmer 'german'"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        BM25Index(**({"texts": TEXTS} | settings))


def test_unknown_preset_is_refused():
    with pytest.raises(InputError, match="unknown BM25 preset 'best': choose from"):
        BM25Index.from_preset(TEXTS, "best")


@pytest.fixture
def pdpabench(mirror, monkeypatch):
    """Give a loader of the statute with the questions of a split."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    return lambda split: load("pdpabench", split)


def retrieved(preset, dataset, k):
    """Rank the documents for every question, as a run."""
    index = BM25Index.from_preset(dataset.documents["text"], preset)
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


@pytest.mark.data
def test_the_leaderboard_baseline_on_consumer_contracts(require):
    require("consumer_contracts_qa")
    dataset = load("consumer_contracts_qa")
    assert round(measured("leaderboard", dataset)[0], 3) == 0.711
    assert round(measured("default", dataset)[0], 3) == 0.673
