"""Annotated cases: what is shipped holds together, what is wrong is named by line."""

import json
import re
from pathlib import Path

import pytest
from cases import not_refused
from planting import plant_cases

from casebook.data.tables import read_table
from casebook.sensitivity import facts
from casebook.sensitivity.cases import (
    ANNOTATED_CASES,
    planted_cases,
    read_case,
    read_cases,
)
from casebook.sensitivity.domain import normalise_section

GOOD = {
    "case_id": "a-v-b",
    "fact_sheet": {"sections_cited": ["IPC-302"]},
    "dispositive_facts": ["Section"],
    "non_dispositive_facts": ["PartyType"],
    "expert_importance_ranking": {"Section": 1, "PartyType": 2},
}


def write(folder, *changes):
    path = folder / "cases.jsonl"
    lines = [GOOD | {"case_id": f"c{at}"} | change for at, change in enumerate(changes)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_shipped_cases_are_complete_and_their_own_words_are_there():
    sheets, annotations, account = read_cases()
    assert (len(sheets), account["not read"], account["annotated"]) == (16, "nothing", 16)
    table = read_table(ANNOTATED_CASES)
    assert table[["title", "citation", "rationale"]].map(len).min().min() > 0
    assert table["facts"].str.split().map(len).between(60, 100).all()
    for sheet in sheets:
        ranks = annotations.query("case_id == @sheet.case_id")["importance"].dropna()
        assert set(ranks) == set(range(1, len(ranks) + 1))
        assert len(facts.present_types(sheet)) >= 3
        for section in sheet.sections_cited:
            assert normalise_section(section) == section


WRONG = [
    (
        {"dispositive_facts": ["Weather"]},
        r"field dispositive_facts\.0: Input should be .*'Section'",
    ),
    ({"non_dispositive_facts": ["Section"]}, "a fact type is named twice"),
    ({"dispositive_facts": "Section"}, "valid list"),
    ({"dispositive_facts": ["Section", "Section"]}, "twice"),
    ({"expert_importance_ranking": {"Weather": 1}}, "ranking.Weather"),
    ({"expert_importance_ranking": {"Section": 5}}, "less than or equal to 4"),
    ({"expert_importance_ranking": {"Section": 0.9}}, "greater than or equal to 1"),
    ({"expert_importance_ranking": {"Section": "1"}}, "valid number"),
    ({"expert_importance_ranking": {"Section": float("nan")}}, "Section: Input should be"),
    ({"expert_importance_ranking": ["Section"]}, "valid dictionary"),
    ({"fact_sheet": {}}, "no fact"),
    ({"fact_sheet": {"outcome": "Won"}}, "field outcome"),
    ({"case_id": "c0"}, "earlier row already"),
    ({"case_id": " "}, "case_id.* is empty"),
]


def test_wrong_case_names_file_and_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a long path would leave no room for the problem
    place = re.escape(f"{write(Path(), {})}:2")
    bad = [(change, f"{place}.*{problem}") for change, problem in WRONG]
    assert not_refused(lambda change: read_cases(write(Path(), {}, change)), bad) == []


FLAT = {"case_id": "a-v-b", **GOOD["fact_sheet"]}
ANNOTATED = FLAT | {key: GOOD[key] for key in GOOD if key not in ("case_id", "fact_sheet")}
FORMS = {
    "one.json": json.dumps(FLAT, indent=1),
    "one.jsonl": json.dumps(FLAT),
    "annotated.json": json.dumps(ANNOTATED, indent=1),
    "annotated.jsonl": json.dumps(ANNOTATED),
    "nested.json": json.dumps(GOOD, indent=1),
    "nested.jsonl": json.dumps(GOOD),
    "list.json": json.dumps([GOOD], indent=1),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_case_is_the_same_in_every_form(tmp_path, name):
    path = tmp_path / name
    path.write_text(FORMS[name], encoding="utf-8")
    ((sheet,), annotations, _) = read_cases(path)
    assert sheet == facts.from_dict(FLAT) == read_case(path)[0]
    rows = annotations[["fact_type", "dispositive", "importance"]].to_numpy().tolist()
    assert rows == ([["Section", True, 1], ["PartyType", False, 2]] if "one" not in name else [])


def test_shipped_planted_cases_are_those_of_the_script():
    shipped = planted_cases("planted_small")
    made = plant_cases(cases=2, values=3)
    assert shipped.sheets == made.sheets
    assert shipped.documents["text"].tolist() == made.documents["text"].tolist()
    pairs = [found.annotations.astype(str) for found in (shipped, made)]
    assert pairs[0].equals(pairs[1])
