"""Fact types and acts of the user's own: read, found, edited and measured like the library's."""

import json
import re

import pytest
import yaml
from cases import not_refused

from casebook import extract_sheet
from casebook.paths import ROOT
from casebook.sensitivity import facts
from casebook.sensitivity.domain import FACT_TYPES, SHIPPED_DOMAIN, read_domain
from casebook.sensitivity.edits import single_fact_edits

PAGE = (ROOT / "book/methods/counterfactual_sensitivity.md").read_text(encoding="utf-8")
HULL = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
TEXT = (
    "The insured owned the Liberian carrier Aster and claimed for a constructive total loss. She "
    "had given 14 days' notice under s. 39 of the Marine Insurance Act and relied on M.I.A. 33. "
    "She did not fly the flag of Panama. The claim was for $500,000."
)


@pytest.fixture(scope="module")
def hull(tmp_path_factory):
    path = tmp_path_factory.mktemp("hull") / "hull.yml"
    path.write_text(HULL, encoding="utf-8")
    return read_domain(path)


def read(folder, text):
    path = folder / "mine.yml"
    if not isinstance(text, str):
        text = yaml.safe_dump(json.loads(json.dumps(text)))  # without anchors
    path.write_text(text, encoding="utf-8")
    return read_domain(path)


# ---- the file


def test_without_a_file_the_tables_are_the_librarys(hull):
    assert read_domain(None) is SHIPPED_DOMAIN and SHIPPED_DOMAIN.fact_types == FACT_TYPES
    assert hull.fact_types == (*FACT_TYPES, "vessel flag", "loss", "notice period")
    assert set(hull.acts) == {*SHIPPED_DOMAIN.acts, "MIA"}
    assert hull.notes == ("hull.yml adds or replaces vessel flag, loss, notice period, MIA",)


FLAG = {"name": "flag", "values": {"Malta": "Malta", "Panama": ["Panama"]}}
PERIOD = {"name": "period", "pattern": r"(?P<value>\d+) days"}
ACT = {"code": "MIA", "titles": ["Marine Insurance Act"]}


WRONG = [
    ("", "valid dictionary"),
    ({"fact": [FLAG]}, "field fact: Extra inputs are not permitted; the keys are facts, acts"),
    ({"facts": {"flag": {}}}, "field facts: Input should be a valid list"),
    ({"facts": [{"values": {}}]}, r"field facts.0.name: Field required"),
    ({"facts": [FLAG | {"colour": 1}]}, r"field facts.0.colour: Extra inputs"),
    ({"facts": [FLAG | {"pattern": "xx"}]}, "give either values .words. or pattern"),
    ({"facts": [FLAG | {"values": {"Malta": "((", "Panama": "Pa"}}]}, "valid regular expression"),
    ({"facts": [PERIOD | {"pattern": r"(\d+) days"}]}, r"needs the group \(\?P<value>"),
    ({"facts": [PERIOD | {"alternatives": [float("nan")]}]}, "field facts.0.alternatives.0"),
    ({"acts": [{"code": "MIA"}]}, r"field acts.0.titles: Field required"),
    ({"acts": [ACT | {"code": "M I A"}]}, "field acts.0.code"),
    ("facts:\n- name: flag\n  name: loss\n", "twice|duplicate"),
]


def test_a_file_that_cannot_be_used_is_refused_by_file_and_entry(tmp_path):
    path = re.escape(str(tmp_path / "mine.yml"))
    bad = [(content, f"^{path}.*{problem}") for content, problem in WRONG]
    assert not_refused(lambda content: read(tmp_path, content), bad) == []


# ---- found, written, edited


def test_facts_and_acts_are_found_with_their_place(hull):
    found = extract_sheet(TEXT, domain=hull)
    assert [(fact.fact_type, fact.value) for fact in found.sheet.further_facts] == [
        ("vessel flag", "Liberia"),  # and not Panama, which is negated
        ("loss", "constructive total loss"),
        ("notice period", 14),
    ]
    assert found.sheet.sections_cited == ("MIA-39", "MIA-33")
    assert found.sheet.numerical_facts.durations == ()  # 14 days are the notice period
    assert [amount.value for amount in found.sheet.numerical_facts.amounts] == [500_000]
    places = {span.key: TEXT[span.start : span.end] for span in found.spans}
    assert places["vessel flag", "Liberia"] == "Liberian"
    assert places["notice period", "14 days"] == "14 days' notice"
    ours = extract_sheet(TEXT).sheet
    assert ours.further_facts == () and ours.numerical_facts.durations


def facts_of_a_case(record, domain):
    return facts.from_dict({"case_id": "x", **record}, domain=domain)


def test_a_sheet_is_read_and_written_the_same_and_checked_by_its_domain(hull):
    sheet = extract_sheet(TEXT, "aster", domain=hull).sheet
    assert facts.from_dict(json.loads(sheet.model_dump_json()), domain=hull) == sheet
    query = facts.query_text(sheet)
    assert query.endswith(
        "vessel flag: Liberia. loss: constructive total loss. notice period: 14 days."
    )
    for unit, said in ({}, "days"), ({"unit": "nights"}, "nights"):
        period = {"fact_type": "notice period", "value": 14} | unit
        found = facts_of_a_case({"further_facts": [period]}, hull).further_facts
        assert [str(fact) for fact in found] == [f"14 {said}"]
    flag = {"fact_type": "vessel flag", "value": "Liberia"}
    one_fact = [
        (
            {"fact_type": "colour", "value": "red"},
            "colour 'red': choose from v",
        ),
        ({"fact_type": "vessel flag", "value": "Peru"}, "'Peru': choose from Liberia, Panama, Mal"),
        ({"fact_type": "notice period", "value": "14"}, "give a number"),
        ({"fact_type": "notice period", "value": float("nan")}, "further_facts.0.value"),
        ({"fact_type": "notice period", "value": True}, "valid integer"),
    ]
    bad = [({"further_facts": [fact]}, hull, problem) for fact, problem in one_fact]
    bad.append(({"further_facts": [flag]}, SHIPPED_DOMAIN, "choose from"))
    assert not_refused(facts_of_a_case, bad) == []


def test_edits_exchange_one_value_for_every_other(hull):
    sheet = extract_sheet(TEXT, domain=hull).sheet
    changes = {}
    for edit in single_fact_edits(sheet, domain=hull):
        if edit.fact_type not in hull.types:
            continue
        assert not edit.noop and edit.removed and edit.added
        changes.setdefault(edit.fact_type, []).append(edit.new)
    assert changes == {
        "vessel flag": ["Panama", "Malta"],
        "loss": ["partial loss", "actual total loss"],
        "notice period": ["7 days", "30 days", "90 days"],
    }
    assert edit.description == "notice period: 14 days to 90 days"
