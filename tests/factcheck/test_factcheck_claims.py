"""Our claims and claims of any origin, and what is read in their texts."""

import json
from collections import Counter

import pandas as pd
import pytest
from cases import not_refused

from casebook.factcheck.claims import read_plain
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, SUPPORTED
from casebook.factcheck.verdict import NOT_SUPPORTED as N


def test_own_claims_are_balanced_split_by_source_and_labelled_by_their_atoms(own):
    claims = own.train + own.test
    counts = Counter((claim.split, claim.label) for claim in claims)
    sources = {}
    for claim in claims:
        sources.setdefault(claim.split, set()).update(
            atom.doc_id.rsplit("-", 1)[0] for atom in claim.atoms
        )
        labels = {atom.label for atom in claim.atoms}
        expected = N if N in labels else SUPPORTED
        assert claim.label == (expected if labels else INSUFFICIENT_EVIDENCE)
    assert len(claims) == 196 and {claim.hops for claim in claims} == {0, 1, 2, 3}
    assert all(counts[split, SUPPORTED] == counts[split, N] for split in ("train", "test"))
    assert not sources["train"] & sources["test"]


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "c.jsonl"

    def read(content, *documents, **said):
        path.write_text(content)
        return read_plain(path, *documents, **said)

    return read


def test_plain_claims(tmp_path):
    path = tmp_path / "claims.txt"
    path.write_text("Hail is covered.\n\nFrost is not.\n")
    first, second = read_plain(path)[0]
    assert (first.id, second.id, second.text) == ("1", "3", "Frost is not.")


def test_damaged_claims_are_named(read, cases):
    assert not_refused(read, cases["refused_claims"]) == []


def test_evidence_is_looked_up_in_its_document(read):
    documents = pd.DataFrame({"doc_id": ["d"], "text": ["Hail is covered. Frost is not."]})

    def atom(doc_id, quote):
        row = {"claim": "a", "label": N, "evidence": [{"doc_id": doc_id, "quote": quote}]}
        return read(json.dumps(row), documents)[0][0].atoms[0]

    found = atom("d", "Frost is not")
    assert documents["text"][0][found.start : found.end] == found.quote == "Frost is not"
    bad = [("e", "Frost", "'e' is not in the collection"), ("d", "Snow", "the quote 'Snow'")]
    assert not_refused(atom, bad) == []


def test_labels_as_the_user_says_and_what_was_read(read):
    rows = [{"claim": "a", "label": "REFUTES"}, {"claim": "b", "label": None}, {"claim": "c"}]
    text = "\n".join(map(json.dumps, rows))
    claims, reading = read(text, values={"REFUTES": N})
    assert [claim.label for claim in claims] == [N, "", ""]
    assert "read: claim, label; not read: nothing" in str(reading)
    text = '{"text": "a", "lable": "SUPPORTED"}'
    ((claim,), _) = read(text, columns={"claim": "text"})
    assert (claim.text, claim.label, claim.group) == ("a", "", "1")
