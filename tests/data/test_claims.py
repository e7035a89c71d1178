"""Sets of claims: every public format, every defect."""

import json

import pytest
from cases import not_refused

from casebook.data.sets import load_claims
from casebook.errors import InputError

PLAIN = {"id": 1, "claim": "Rent is due."}
FEVEROUS = {"label": "supports", "evidence": "Town\tIt is old.\n\nIt is small."}
CLIMATE = {"claim_id": "1", "claim": "c", "claim_label": "DISPUTED"}
SENTENCE = {"evidence_id": "A:1", "evidence_label": "REFUTES", "article": "A", "evidence": "t"}
EXAMPLES = {  # record, label, and source and text of each passage
    "feverous_s": (
        PLAIN | FEVEROUS,
        "SUPPORTED",
        [["Town", "It is old."], ["It is small.", "It is small."]],
    ),
    "climate_fever": (CLIMATE | {"evidences": [SENTENCE]}, "CONFLICTING", [["A", "t"]]),
    "plain": (
        PLAIN | {"label": "NOT_SUPPORTED", "evidence": "Section 4.", "weather": "fine"},
        "NOT_SUPPORTED",
        [[None, "Section 4."]],
    ),
}


def test_every_format_gives_label_and_evidence(tmp_path):
    path = tmp_path / "claims.json"
    for kind, (record, label, passages) in EXAMPLES.items():
        path.write_text(json.dumps([record]))
        found = load_claims(path, kind)
        assert found.claims[["claim_id", "label"]].to_numpy().tolist() == [["1", label]], kind
        assert found.evidence[["source", "text"]].to_numpy().tolist() == passages, kind


REFUSED = [
    ([PLAIN | {"label": "SUPPORTED"}] * 2, r"claims\.json:2: id '1' stood already"),
    ([PLAIN | {"label": "True"}], r"claims\.json:1: is not a record of plain: .* label 'True'"),
    ([{"label": "SUPPORTED"}], r":1: is not a record of plain: no field or label 'id'$"),
]


def test_defects_are_named(tmp_path):
    def read(rows):
        path = tmp_path / "claims.json"
        path.write_text(json.dumps(rows))
        load_claims(path)

    assert not_refused(read, REFUSED) == []
    with pytest.raises(InputError, match="unknown format 'cfever': choose from plain"):
        load_claims("claims.json", "cfever")
