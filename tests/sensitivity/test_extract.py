"""Extraction: each fact as it is written, at its place, and nothing that is none."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from annotated_texts import read_gold
from hypothesis import given
from hypothesis import strategies as st

from casebook.readers import read_yaml
from casebook.sensitivity import extract, facts
from casebook.sensitivity.extract import extract_sheet, extract_with_model

EXAMPLES = read_yaml(Path(__file__).with_name("examples.yml"))


@pytest.mark.parametrize("kind", ["amounts", "ages", "durations", "evidence", "sides"])
def test_texts_are_read_as_a_person_reads_them(kind):
    for text, expected in EXAMPLES[kind].items():
        sheet = extract_sheet(text).sheet
        numbers = sheet.numerical_facts
        found = {
            "amounts": [[amount.value, amount.unit] for amount in numbers.amounts],
            "ages": [age.value for age in numbers.ages],
            "durations": [[length.value, length.unit] for length in numbers.durations],
            "evidence": sorted(item.evidence_type for item in sheet.evidence_items),
            "sides": [sheet.parties.petitioner_type, sheet.parties.respondent_type],
        }
        assert found[kind] == expected, text


def test_quantities_in_figures_and_words():
    texts = EXAMPLES["quantity"]
    assert {text: extract.quantity(text) for text in texts} == texts


def test_every_fact_has_a_place_in_the_text_and_every_sheet_is_valid():
    for one in read_gold():
        found = extract_sheet(one.text, one.id)
        assert facts.from_dict(found.sheet.model_dump(), empty=True) == found.sheet
        assert {s.key for s in found.spans} == {s.key for s in facts.facts_of(found.sheet)}
        for span in found.spans:
            words = one.text[span.start : span.end]
            assert words.strip()
            if span.kind == "evidence_items":
                assert span.value.description == words


@given(
    st.text(
        alphabet="aged of Rs.$,/-0123456789 yearsmonthFIR'\"()\n%²١", min_size=1, max_size=200
    ).filter(str.strip)
)
def test_any_text_gives_a_sheet_that_can_be_written(text):
    found = extract_sheet(text)
    assert facts.from_dict(found.sheet.model_dump(), empty=True) == found.sheet
    assert all(0 <= s.start < s.end <= len(text) for s in found.spans)


def model(answer):
    return Mock(complete_json=Mock(return_value=answer))


TEXT = "The appellant, a farmer aged 40, was fined Rs. 5,000 under section 302 IPC."
ANSWER = {
    "parties": {"petitioner_type": "Individual"},
    "sections_cited": ["section 302 IPC"],
    "evidence_items": [{"evidence_type": "Witness", "description": "a farmer"}],
    "numerical_facts": {"ages": [{"value": 40}], "amounts": [{"value": 6000}]},
}


def test_model_gives_the_sheet_and_what_it_made_up_is_counted():
    found = extract_with_model(TEXT, model(ANSWER))
    assert found.sheet.sections_cited == ("IPC-302",)
    assert found.notes == ("3 facts of the model were not found by the patterns",)
    for bad in ({"outcome": "Won"}, {"x": 1}, ["a list"], None):
        found = extract_with_model(TEXT, model(bad))
        assert found._replace(notes=()) == extract_sheet(TEXT)
        assert "the patterns were used" in found.notes[-1]
