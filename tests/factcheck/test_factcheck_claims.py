"""Our claims and claims of any origin, and what is read in their texts."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from cases import not_refused

from casebook.errors import InputError
from casebook.factcheck.claims import read_plain
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.words import proper_names
from casebook.readers import read_yaml

CASES = read_yaml(Path(__file__).with_name("cases.yml"))


def test_own_claims_are_balanced_split_by_source_and_labelled_by_their_atoms(own):
    claims = own.train + own.test
    counts = Counter((claim.split, claim.label) for claim in claims)
    sources = {}
    for claim in claims:
        sources.setdefault(claim.split, set()).update(
            atom.doc_id.rsplit("-", 1)[0] for atom in claim.atoms
        )
        labels = {atom.label for atom in claim.atoms}
        expected = NOT_SUPPORTED if NOT_SUPPORTED in labels else SUPPORTED
        assert claim.label == (expected if labels else INSUFFICIENT_EVIDENCE)
    assert len(claims) == 196 and {claim.hops for claim in claims} == {0, 1, 2, 3}
    assert all(
        counts[split, SUPPORTED] == counts[split, NOT_SUPPORTED] for split in ("train", "test")
    )
    assert not sources["train"] & sources["test"]


def test_plain_claims(tmp_path):
    path = tmp_path / "claims.txt"
    path.write_text("Hail is covered.\n\nFrost is not.\n")
    first, second = read_plain(path)[0]
    assert (first.id, second.id, second.text) == ("1", "3", "Frost is not.")


def test_damaged_claims_are_named(tmp_path):
    path = tmp_path / "c.jsonl"

    def read(content):
        path.write_text(content)
        return read_plain(path)

    assert not_refused(read, CASES["refused_claims"]) == []


def test_evidence_is_looked_up_in_its_document(tmp_path):
    documents = pd.DataFrame({"doc_id": ["d"], "text": ["Hail is covered. Frost is not."]})
    path = tmp_path / "c.jsonl"

    def read(doc_id, quote):
        row = {
            "claim": "a",
            "label": "NOT_SUPPORTED",
            "evidence": [{"doc_id": doc_id, "quote": quote}],
        }
        path.write_text(json.dumps(row))
        return read_plain(path, documents)[0][0].atoms[0]

    atom = read("d", "Frost is not")
    assert documents["text"][0][atom.start : atom.end] == atom.quote == "Frost is not"
    with pytest.raises(InputError, match="'e' is not in the collection"):
        read("e", "Frost")
    with pytest.raises(InputError, match="does not hold the quote 'Snow'"):
        read("d", "Snow")


def test_labels_as_the_user_says_and_what_was_read(tmp_path):
    path = tmp_path / "c.jsonl"
    rows = [{"claim": "a", "label": "REFUTES"}, {"claim": "b", "label": None}, {"claim": "c"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    claims, reading = read_plain(path, values={"REFUTES": "NOT_SUPPORTED"})
    assert [claim.label for claim in claims] == ["NOT_SUPPORTED", "", ""]
    assert "read: claim, label; not read: nothing" in str(reading)
    path.write_text('{"text": "a", "lable": "SUPPORTED"}\n')
    ((claim,), _) = read_plain(path, columns={"claim": "text"})
    assert (claim.text, claim.label, claim.group) == ("a", "", "1")


def test_names_leave_out_what_only_opens_a_sentence():
    text = "The Bank of Leeds pays. Money is lost in Leeds. Under Vale Direct EUR 5 is due."
    assert proper_names(text) == ("Bank of Leeds", "Leeds", "Vale Direct EUR")
    assert proper_names("Money. It pays") == ()
