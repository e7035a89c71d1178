"""Sets of claims: every public format, every defect."""

import json

import pytest
from beir_folders import json_lines

from casebook.data import load
from casebook.data.claims import load_claims
from casebook.errors import InputError

S = "SUPPORTED"
N = "NOT_SUPPORTED"
NEI = "INSUFFICIENT"
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
    "fever": (
        claim(
            label="REFUTES", evidence=[[[1, 2, "Page", 4], [1, 2, "Other", 0]], [[3, 4, "Page", 7]]]
        ),
        N,
        [
            ("Page:4", 0, "Page", None, None),
            ("Other:0", 0, "Other", None, None),
            ("Page:7", 1, "Page", None, None),
        ],
    ),
    "feverous": (
        claim(
            label="NOT ENOUGH INFO",
            challenge="Numbers",
            evidence=[{"content": ["Town_cell_0_1_2", "Hill_item_0"]}],
        ),
        NEI,
        [("Town_cell_0_1_2", 0, "Town", None, None), ("Hill_item_0", 0, "Hill", None, None)],
    ),
    "feverous_s": (
        claim(label="supports", evidence="Town\tIt is old.\n\nIt is small."),
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
    "scifact": (
        claim(
            evidence={
                "9": [
                    {"label": "SUPPORT", "sentences": [1]},
                    {"label": "CONTRADICT", "sentences": [4]},
                ]
            }
        ),
        C,
        [("9:1", 0, "9", None, S), ("9:4", 1, "9", None, N)],
    ),
    "scifact_open": (
        claim(evidence={"9": {"label": "SUPPORT", "sentences": [3]}}),
        S,
        [("9:3", 0, "9", None, S)],
    ),
    "averitec": (
        {"claim": "c", "label": "Conflicting Evidence/Cherrypicking"}
        | {
            "questions": [
                {"question": "Who?", "answers": [{"answer": "He.", "source_url": "https://a.org"}]}
            ]
        },
        C,
        [("q0", 0, "https://a.org", "Who? He.", None)],
    ),
    "plain": (
        claim(label=S, evidence="Section 4.", weather="fine"),
        S,
        [("1:0", 0, None, "Section 4.", None)],
    ),
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_format_gives_label_and_evidence(write, kind):
    record, label, passages = EXAMPLES[kind]
    claim_set = load_claims(write("claims.json", [record]), kind)
    assert claim_set.claims["label"].tolist() == [label]
    rows = claim_set.evidence[["evidence_id", "set", "source", "text", "label"]].astype(object)
    assert [tuple(row) for row in rows.where(rows.notna(), None).to_numpy()] == passages
    assert claim_set.claims["claim_id"].map(type).tolist() == [str]


def test_further_columns_come_from_the_fields_of_the_format(write):
    rows = {
        kind: load_claims(write("c.json", [EXAMPLES[kind][0]]), kind).claims.iloc[0]
        for kind in EXAMPLES
    }
    assert rows["feverous"]["category"] == "Numbers" and rows["feverous"]["difficulty"] is None
    assert rows["plain"]["weather"] == "fine" and rows["averitec"]["claim_id"] == "1"


def test_scifact_without_evidence_is_insufficient(write):
    cited = claim(evidence={"9": [{"label": "CONTRADICT", "sentences": [2]}]})
    claim_set = load_claims(write("claims.jsonl", [cited, claim(id=2, evidence={})]), "scifact")
    assert claim_set.claims["label"].tolist() == [N, NEI]


def test_the_blank_first_record_of_feverous_is_no_claim(write):
    path = write("f.jsonl", [{"id": "", "claim": ""}, EXAMPLES["feverous"][0]])
    assert len(load_claims(path, "feverous").claims) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([claim(label=S), claim(label=N)], r"claims\.jsonl:2: id '1' stood already"),
        ([claim(label="True")], r"claims\.jsonl:1: .*unknown label 'True'"),
        ([claim(label=7)], r"claims\.jsonl:1: .*unknown label 7"),
        (
            json.dumps(claim(label=S)) + '\n{"id": 2, "cla',
            ":2: is not JSON",
        ),
        ('{"label": "SUPPORTED"}\n', r":1: is not a record of plain: no field 'id'$"),
    ],
)
def test_defects_are_named(write, rows, message):
    path = write("claims.jsonl", rows)
    with pytest.raises(InputError, match=message):
        load_claims(path)
    with pytest.raises(InputError, match="unknown format 'cfever': choose from averitec"):
        load_claims(path, "cfever")


@pytest.mark.data
def test_feverous_s_and_climate_fever_have_the_published_counts(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    claims = load("feverous_s", kind="claims").claims
    assert claims["category"].value_counts()["Numerical Reasoning"] == 103
    evidence = load("climate_fever_claims", kind="claims").evidence
    counts = evidence["label"].value_counts().to_dict()
    assert counts == {NEI: 4930, S: 1943, N: 802}
