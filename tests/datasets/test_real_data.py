"""Real datasets: the counts that others published or measured, and their structure."""

import numpy as np
import pytest

from casebook.datasets import load, registry
from casebook.datasets.beir import load_beir
from casebook.datasets.pdpabench import TRIPLES

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def pulled(require):
    """Give a loader of packaged datasets, or skip if the package index is away."""

    def pull_and_load(name, split=None):
        require(name)
        return load(name, split)

    return pull_and_load


@pytest.fixture
def mirrored(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    return mirror


def relevant_documents(dataset):
    return {doc for row in dataset.qrels.values() for doc, g in row.items() if g}


def test_consumer_contracts(pulled):
    dataset = pulled("consumer_contracts_qa")
    assert dataset.counts == {"documents": 154, "queries": 396, "judgements": 396}
    assert dataset.queries["answer"].sum() == 178
    words = dataset.documents["text"].str.split().str.len()
    assert (words.median(), words.max()) == (386.5, 1323)
    assert dataset.candidates is None
    assert len(set(dataset.groups.values())) == 153


def test_consumer_contracts_halves_share_no_clause(pulled):
    dev, test = (pulled(f"consumer_contracts_qa_{split}") for split in ("dev", "test"))
    assert len(dev.queries) == len(test.queries) == 198
    assert not relevant_documents(dev) & relevant_documents(test)
    assert not set(dev.groups.values()) & set(test.groups.values())
    assert dev.documents.equals(test.documents)
    assert dev.fingerprint != test.fingerprint


def test_privacy_qa(pulled):
    dataset = pulled("privacy_qa")
    assert dataset.counts["documents"] == 1025
    assert len(dataset.queries) == 355
    assert {len(set(row.values())) for row in dataset.qrels.values()} == {2}
    assert all(set(dataset.candidates[q]) == set(dataset.qrels[q]) for q in dataset.qrels)
    assert len(set(dataset.groups.values())) == 5


def test_privacy_qa_order_gives_nothing_away(pulled):
    """The file's own order puts relevant sentences first; ours must be like chance."""
    dataset = pulled("privacy_qa")

    def precision(row, order):
        return np.mean([dataset.qrels[row][doc] for doc in order[:5]])

    for step in (1, -1):
        gains = [
            precision(query, ranked[::step]) - np.mean(list(dataset.qrels[query].values()))
            for query, ranked in dataset.candidates.items()
        ]
        assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(len(gains))


def test_privacy_qa_halves_share_no_sentence(pulled):
    dev, test = (pulled("privacy_qa", split) for split in ("dev", "test"))
    judged = [{doc for row in half.qrels.values() for doc in row} for half in (dev, test)]
    assert not judged[0] & judged[1]
    assert len(dev.queries) + len(test.queries) == 355


def test_licence_notices(pulled):
    dataset = pulled("licence_notices")
    assert dataset.counts == {"documents": 1909, "queries": 584, "judgements": 584}
    assert len(set(dataset.groups.values())) == 293
    words = dataset.queries["text"].str.split().str.len()
    assert words.between(12, 120).all()
    assert dataset.queries["licence"].value_counts().max() == 3


def test_unnamed_notices_do_not_name_their_licence(pulled):
    dataset = pulled("licence_notices_unnamed")
    titles = dataset.documents.set_index("doc_id")["title"]
    for row in dataset.queries.itertuples():
        assert titles[row.licence].lower() not in " ".join(row.text.lower().split())


@pytest.mark.parametrize(
    ("split", "queries", "judgements"),
    [("train", 399, 422), ("dev", 49, 52), ("test", 52, 55), ("test_single", 52, 52)],
)
def test_pdpabench_equals_an_independent_conversion(mirrored, split, queries, judgements):
    ours = load("pdpabench", split)
    theirs = load_beir(mirrored / "pdpabench_beir", split)
    assert (len(ours.queries), ours.counts["judgements"]) == (queries, judgements)
    assert ours.qrels == theirs.qrels
    columns = ["doc_id", "text", "citation", "part", "section", "subsection"]
    assert ours.documents[columns].equals(theirs.documents[columns])
    renamed = theirs.queries.rename(columns={"abstain_allowed": "abstain"})
    assert renamed["split"].eq(split.split("_")[0]).all()
    renamed = renamed[ours.queries.columns]
    assert ours.queries.to_dict("records") == renamed.to_dict("records")


def test_pdpabench_types_and_paraphrases(mirrored):
    test, other = load("pdpabench"), load("pdpabench_test_paraphrases")
    assert test.split == "test"
    assert test.queries["abstain"].sum() == 7
    assert len(other.queries) == 104
    assert set(other.groups.values()) == set(test.queries["query_id"])
    wordings = test.queries.set_index("query_id")["variants"]
    for row in other.queries.itertuples():
        assert row.text in wordings[row.question_id]
        assert other.qrels[row.query_id] == test.qrels[row.question_id]
    assert set(TRIPLES) == {"train", "dev", "test"}


def test_irled(mirrored):
    dataset = load("fire2017_irled")
    assert dataset.counts == {"documents": 2000, "queries": 200, "judgements": 1000}
    assert {len(row) for row in dataset.qrels.values()} == {5}
    assert len(relevant_documents(dataset)) == 815
    assert (dataset.documents["text"].str.strip() == "").sum() == 6


def test_every_dataset_at_hand_passes_its_check(mirrored, pulled):
    pulled("consumer_contracts_qa")
    table = registry.check(["consumer_contracts_qa", "pdpabench"])
    assert set(table["status"]) == {"ok"}
