"""Titles belong to the text that every stage reads, and can be left out."""

import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from bm25s.stopwords import STOPWORDS_EN

from casebook.counterfactual.collections import extracted_collection
from casebook.datasets import load
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.pipeline import documents_of
from casebook.retrieval.corpus_files import encode_folder
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.report import data_table
from casebook.retrieval.shards import ShardStore

WORDS = ["flood", "theft", "storm", "delay", "cancel", "refund", "court", "arbiter"]


def write(folder, titles, texts, queries):
    """Write a BEIR folder whose query n is answered by document n."""
    (folder / "qrels").mkdir(parents=True)
    documents = [
        {"_id": f"d{n}", "title": title, "text": text}
        for n, (title, text) in enumerate(zip(titles, texts, strict=True))
    ]
    asked = [{"_id": f"q{n}", "text": text} for n, text in enumerate(queries)]
    for name, rows in (("corpus", documents), ("queries", asked)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines)
    judged = "".join(f"q{n}\td{n}\t1\n" for n in range(len(queries)))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


@pytest.fixture
def titled(tmp_path):
    """Give a folder in which the words of a query stand in a title alone."""
    texts = [f"common words about clause {n}" for n in range(len(WORDS))]
    return write(tmp_path / "titled", WORDS, texts, WORDS)


def bm25(texts, query, k1=1.5, b=0.75):
    """Score texts by the formula of Lucene, from the definition."""

    def words(text):
        found = re.findall(r"(?u)\b\w\w+\b", text.lower())
        return [word for word in found if word not in STOPWORDS_EN]

    counts = [Counter(words(text)) for text in texts]
    lengths = np.array([sum(count.values()) for count in counts])
    scores = np.zeros(len(texts))
    for word in words(query):
        tf = np.array([count[word] for count in counts])
        df = (tf > 0).sum()
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        scores += idf * tf / (tf + k1 * (1 - b + b * lengths / lengths.mean()))
    return scores


@pytest.mark.parametrize("titles", [True, False])
def test_bm25_equals_the_formula_on_title_and_text(titles):
    data = load("smoke", titles=titles)
    raw = load("smoke", titles=False).documents
    assert raw["title"].all()
    whole = [f"{t} {x}" if titles else x for t, x in zip(raw.title, raw.text)]  # noqa: B905
    queries = data.queries["text"].tolist()
    found = HybridRetriever(data.documents, mode="bm25").retrieve_many(queries)
    bm25_list = found.stages["bm25"]
    for query, ids, scores in zip(queries, bm25_list.ids, bm25_list.scores):  # noqa: B905
        expected = bm25(whole, query)
        assert scores[ids >= 0] == pytest.approx(expected[ids[ids >= 0]], rel=1e-5)
        assert (ids >= 0).sum() == (expected > 0).sum()


@pytest.mark.parametrize("mode", ["bm25", "dense", "dense_chunked", "full"])
def test_words_of_titles_are_found_by_every_list(titled, hashing, mode):
    data = load(titled)
    retriever = HybridRetriever(data.documents, hashing, mode=mode)
    first = [retriever.retrieve(query)[0] for query in WORDS]
    assert [hit.doc_id for hit in first] == [f"d{n}" for n in range(len(WORDS))]
    assert [hit.text.split()[0] for hit in first] == WORDS
    if mode == "full":
        assert [hit.ranks["rerank"] for hit in first] == [1] * len(WORDS)


def test_without_titles_nothing_is_found(titled, hashing):
    data = load(titled, titles=False)
    retriever = HybridRetriever(data.documents, hashing, mode="bm25")
    assert not any(retriever.retrieve(query) for query in WORDS)


def test_titles_count_in_the_hash_and_in_what_is_embedded(titled, tmp_path, hashing):
    prints = {load(titled, titles=flag).fingerprint for flag in (True, False)}
    assert len(prints) == 2
    asked = []

    class Recording(type(hashing)):
        def encode_documents(self, texts):
            asked.extend(texts)
            return super().encode_documents(texts)

    for flag in (True, False):
        index = CorpusIndex(load(titled, titles=flag).documents, Recording())
        index.dense(HybridRetriever(index, mode="dense").config)
    assert asked[0] == "flood common words about clause 0"
    assert asked[len(WORDS)] == "common words about clause 0"


def test_shards_hold_titles(titled, tmp_path):
    stores = {flag: ShardStore(str(tmp_path / f"shards{flag}")) for flag in (True, False)}
    for flag, store in stores.items():
        encode_folder(titled, store.url, titles=flag)
    vectors = {f: s.vectors(s.index()["shards"][0]) for f, s in stores.items()}
    assert abs(vectors[True] - vectors[False]).max() > 0.01


def test_cases_and_claims_are_searched_in_titles_too(titled, tmp_path):
    case = (
        "The landlord sued the tenant, aged 45, for Rs 50,000 in rent. The tenant "
        "relied on two witnesses and a medical report. Section 106 of the Transfer of "
        "Property Act 1882 was cited."
    )
    # Words of the case's sheet; a sheet of fewer than three is too poor to search with.
    titles = ["MedicalReport", "rupees", "rent", "TPA 106"]
    texts = [f"common words about clause {n}" for n in range(len(titles))]
    found = load(write(tmp_path / "cases", titles, texts, [case] * len(titles)))
    cases = extracted_collection(found)
    assert cases.documents["text"][0].startswith("MedicalReport common")
    base = EvidenceBase(documents_of([str(titled)]), mode="bm25")
    assert [base.search(word)[0] for word in WORDS] == list(range(len(WORDS)))
    assert base.whole(0).text == "common words about clause 0"
    assert base.whole(0).header == "flood"


def test_the_page_says_whether_titles_are_searched(titled):
    def row(**options):
        return data_table(load(titled, **options)).set_index("item")["value"]["titles"]

    assert row() == "searched with the texts"
    assert row(titles=False) == "not searched"
