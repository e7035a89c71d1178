"""Titles belong to the text that every stage reads, and can be left out."""

import json

import pytest

from casebook.data import load
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.pipeline import documents_of
from casebook.retrieval.ablation import data_table
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.shards import ShardStore, encode_folder
from casebook.sensitivity.cases import extracted_collection

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


@pytest.mark.parametrize("mode", ["bm25", "dense", "dense_chunked", "full"])
def test_words_of_titles_are_found_by_every_list(titled, hashing, mode):
    data = load(titled)
    retriever = HybridRetriever(data.documents, hashing, mode=mode)
    first = [retriever.retrieve(query)[0] for query in WORDS]
    assert [hit.doc_id for hit in first] == [f"d{n}" for n in range(len(WORDS))]
    assert [hit.text.split()[0] for hit in first] == WORDS
    if mode == "full":
        assert [hit.ranks["rerank"] for hit in first] == [1] * len(WORDS)


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
        index.passages().dense()
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
