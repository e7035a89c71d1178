"""Loaders of real datasets: the counts that others published or measured, and their structure."""

import hashlib
import json

import pytest

from casebook.data import load, registry, sources
from casebook.data.folders import load_folder

# Fingerprint of what a loader gives (documents, questions, judgements; claims; votes; ratings),
# and of its groups.
FINGERPRINTS = {
    "climate_fever_claims": "58551877",
    "consumer_contracts_qa": "e6640af3 455ff361",
    "consumer_contracts_qa_dev": "e78c4ced ef8caebf",
    "consumer_contracts_qa_test": "27fc78a0 200dcb1e",
    "factcheck_claims": "9b401c99",
    "factcheck_claims_train": "55ef6eed",
    "feverous_s": "76848d73",
    "fire2017_irled": "1342a940",
    "insurance": "fbeb432e 34942c77",
    "insurance_dev": "55a34988 219748a8",
    "insurance_test": "5c29f127 b8a477ed",
    "pdpabench": "7db3c4a7",
    "pdpabench_dev": "a73b68d7",
    "pdpabench_test_paraphrases": "0f1272ab d4bf226f",
    "pdpabench_test_single": "d5024da8",
    "pdpabench_train": "2c8bd646",
    "planted": "8fa5b63b",
    "privacy_qa": "fe27e940 0a417fa3",
    "privacy_qa_dev": "29b830ba 2d7f6462",
    "privacy_qa_test": "bec4169c 905fc404",
    "smoke": "f957dcb7 77ae7820",
    "smoke_dev": "061dd1a9 92bdb75f",
    "smoke_test": "0532a04d 1bc18947",
}


def fingerprint(dataset):
    """That of a retrieval set, or of claims with their evidence."""
    if hasattr(dataset, "fingerprint"):
        return dataset.fingerprint
    frames = [
        [list(frame), frame.to_dict("records")] for frame in (dataset.claims, dataset.evidence)
    ]
    texts = [json.dumps(frame, sort_keys=True, default=str) for frame in frames]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


@pytest.mark.data
@pytest.mark.parametrize("name", FINGERPRINTS)
def test_loaders_give_what_published_numbers_were_computed_from(require, name):
    card, split = registry.resolve(name)
    require(card.key)
    split = split or card.default_split
    # Compares counts with the card's.
    dataset = registry.read_split(card, sources.present(card), split)
    groups = getattr(dataset, "groups", None)
    digest = hashlib.sha256(json.dumps(groups).encode()).hexdigest()[:8] if groups else ""
    assert f"{fingerprint(dataset)[:8]} {digest}".strip() == FINGERPRINTS[name]
    assert dataset.name == name


@pytest.mark.data
@pytest.mark.parametrize(
    ("split", "queries", "judgements"),
    [("train", 399, 422), ("dev", 49, 52), ("test", 52, 55), ("test_single", 52, 52)],
)
def test_pdpabench_equals_an_independent_conversion(
    mirror, monkeypatch, split, queries, judgements
):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    ours = load("pdpabench", split)
    theirs = load_folder(mirror / "pdpabench_beir", split)
    assert (len(ours.queries), ours.counts["judgements"]) == (queries, judgements)
    assert ours.qrels == theirs.qrels
    columns = ["doc_id", "text", "citation", "part", "section", "subsection"]
    assert ours.documents[columns].equals(theirs.documents[columns])
    renamed = theirs.queries.rename(columns={"abstain_allowed": "abstain"})
    assert renamed["split"].eq(split.split("_")[0]).all()
    renamed = renamed[ours.queries.columns]
    assert ours.queries.to_dict("records") == renamed.to_dict("records")
