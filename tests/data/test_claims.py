"""Sets of claims: every public format, every defect."""

import json

import pytest
from beir_folders import json_lines
from cases import not_refused

from casebook.data.claims import load_claims
from casebook.errors import InputError

S = "SUPPORTED"
N = "NOT_SUPPORTED"
C = "CONFLICTING"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        lines = json_lines if name.endswith("jsonl") else json.dumps
        path.write_text(content if isinstance(content, str) else lines(content), encoding="utf-8")
        return path

    return write


def claim(**fields):
    return {"id": 1, "claim": "Rent is due."} | fields


EXAMPLES = {  # record, label, and of each passage: id, set, source, text, label
    "feverous_s": (
        claim(label="supports", challenge="Numbers", evidence="Town\tIt is old.\n\nIt is small."),
        S,
        [("1:0", 0, "Town", "It is old.", None), ("1:1", 0, "It is small.", "It is small.", None)],
    ),
    "climate_fever": (
        {"claim_id": "7", "claim": "c", "claim_label": "DISPUTED"}
        | {
            "evidences": [
                {"evidence_id": "A:1", "evidence_label": "REFUTES", "article": "A", "evidence": "t"}
            ]
        },
        C,
        [("A:1", 0, "A", "t", N)],
    ),
    "plain": (
        claim(label=S, evidence="Section 4.", weather="fine"),
        S,
        [("1:0", 0, None, "Section 4.", None)],
    ),
}


def test_every_format_gives_label_and_evidence(write):
    names = ["evidence_id", "set", "source", "text", "label"]
    for kind, (record, label, passages) in EXAMPLES.items():
        claim_set = load_claims(write("claims.json", [record]), kind)
        assert claim_set.claims["label"].tolist() == [label], kind
        rows = claim_set.evidence[names].astype(object)
        assert [tuple(row) for row in rows.where(rows.notna(), None).to_numpy()] == passages, kind
        assert claim_set.claims["claim_id"].tolist() == [record.get("claim_id", "1")], kind


REFUSED = [
    ([claim(label=S), claim(label=N)], r"claims\.jsonl:2: id '1' stood already"),
    ([claim(label="True")], r"claims\.jsonl:1: is not a record of plain: no field or label 'True'"),
    ('{"label": "SUPPORTED"}\n', r":1: is not a record of plain: no field or label 'id'$"),
]


def test_defects_are_named(write):
    assert not_refused(lambda rows: load_claims(write("claims.jsonl", rows)), REFUSED) == []
    with pytest.raises(InputError, match="unknown format 'cfever': choose from plain"):
        load_claims("claims.jsonl", "cfever")
