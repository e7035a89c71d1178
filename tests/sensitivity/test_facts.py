"""Fact sheets: what is read is checked, hashed by its facts, and told in one way."""

import json
import re
from pathlib import Path

from cases import not_refused

from casebook.readers import read_yaml
from casebook.sensitivity import facts
from casebook.sensitivity.cases import read_cases
from casebook.sensitivity.edits import edit_fact

RECORD = {
    "case_id": "state-v-nobody",
    "parties": {"petitioner_type": "Individual", "respondent_type": "UnionOfIndia"},
    "evidence_items": [
        {"evidence_type": "Witness", "description": "neighbour"},
        {"evidence_type": "FIR", "description": ""},
        {"evidence_type": "Witness", "description": "daughter"},
    ],
    "sections_cited": ["IPC-302", "IPC-34"],
    "numerical_facts": {
        "amounts": [{"value": 500000.0, "unit": "rupees", "context": "compensation"}],
        "ages": [{"value": 15, "descriptor": "victim"}],
        "durations": [{"value": 2.5, "unit": "years", "context": "delay"}],
    },
    "outcome": "Dismissed",
}


def test_query_follows_the_documented_order_and_leaves_the_outcome_out():
    sheet = facts.from_dict(RECORD)
    assert facts.query_text(sheet) == (
        "Individual versus UnionOfIndia. Sections cited: IPC-302, IPC-34. "
        "Evidence: FIR, Witness. Amounts: 500000 rupees (compensation). "
        "Ages: 15 years (victim). Durations: 2.5 years (delay)."
    )
    assert facts.query_text(sheet, outcome=True).endswith(" Outcome: Dismissed.")
    assert "Union Of India" in facts.in_words(facts.query_text(sheet))


def test_edit_beyond_the_caps_is_a_noop_():
    sections = [f"IPC-{n}" for n in range(1, 11)]
    many = facts.from_dict(RECORD | {"sections_cited": sections})
    assert edit_fact(many, "sections_cited/IPC-9", "IPC-99").noop
    assert not edit_fact(many, "sections_cited/IPC-8", "IPC-99").noop


def test_wrong_sheet_names_file_and_field_in_one_line(tmp_path):
    path = tmp_path / "sheet.json"

    def read(fields):
        path.write_text(json.dumps(RECORD | fields))
        return read_cases(path)

    wrong = read_yaml(Path(__file__).with_name("examples.yml"))["wrong_sheets"]
    bad = [(fields, re.escape(f"{path}:1: field {field}: ")) for fields, field in wrong]
    assert not_refused(read, bad) == []
