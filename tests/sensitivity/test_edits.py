from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.readers import read_yaml
from casebook.sensitivity.edits import (
    Inert,
    Vocabulary,
    changed_words,
    inert_words,
    placebo_edits,
    single_fact_edits,
    targets,
    with_context,
)
from casebook.sensitivity.facts import (
    EVIDENCE_TYPES,
    PARTY_TYPES,
    Age,
    Amount,
    Duration,
    from_dict,
    query_text,
    sheet_hash,
)

EXAMPLES = read_yaml(Path(__file__).with_name("examples.yml"))
NUMBERS = {"ages": Age, "durations": Duration, "amounts": Amount}
SHEETS = st.builds(
    lambda parties, sections, evidence, ages, amounts: from_dict(
        {
            "case_id": "x",
            "parties": dict(zip(("petitioner_type", "respondent_type"), parties, strict=True)),
            "sections_cited": [f"IPC-{n}" for n in sections],
            "evidence_items": [{"evidence_type": e} for e in evidence],
            "numerical_facts": {
                "ages": [{"value": a} for a in ages],
                "amounts": [{"value": a} for a in amounts],
            },
        },
        empty=True,
    ),
    st.tuples(st.sampled_from(PARTY_TYPES), st.sampled_from(PARTY_TYPES)),
    st.lists(st.integers(100, 500), unique=True, max_size=10),
    st.lists(st.sampled_from(EVIDENCE_TYPES), unique=True, max_size=8),
    st.lists(st.integers(0, 90), max_size=3),
    st.lists(st.integers(0, 10**7) | st.floats(0, 1e6), max_size=3),
)


def neighbours(section):
    number = int(section.split("-")[1])
    return [f"IPC-{number - 1}", f"IPC-{number + 1}"]


@given(SHEETS)
@settings(max_examples=40, deadline=None)
def test_exactly_one_fact_changes(sheet):
    before = sheet.model_dump()
    for edit in single_fact_edits(sheet, neighbours):
        after = edit.sheet.model_dump()
        changed = [name for name in before if before[name] != after[name]]
        assert len(changed) == 1
        lists = {
            "Numerical": "numerical_facts",
            "Section": "sections_cited",
            "PartyType": "parties",
            "Evidence": "evidence_items",
        }
        assert changed == [lists[edit.fact_type]]
        assert edit.noop == (edit.query == query_text(sheet))
        assert sheet_hash(edit.sheet) != sheet_hash(sheet)


def test_documented_numbers_cross_every_limit():
    for kind, fact, expected in EXAMPLES["crossed"]:
        number = NUMBERS[kind](**fact)
        assert targets(kind, number, bounded=False) == expected, (kind, fact)
        assert set(targets(kind, number)) <= set(expected), (kind, fact)


def test_numbers_stay_within_legal_sense_and_in_their_units():
    rows = [[kind, fact, sorted(expected)] for kind, fact, expected in EXAMPLES["bounded"]]
    assert [[kind, fact, targets(kind, NUMBERS[kind](**fact))] for kind, fact, _ in rows] == rows


@given(
    st.integers(1, 400),
    st.sampled_from(["hours", "days", "weeks", "months", "years"]),
    st.sampled_from(["delay", "imprisonment", "service", ""]),
)
def test_lengths_of_time_keep_their_order_and_their_units(value, unit, context):
    for other in targets("durations", Duration(value=value, unit=unit, context=context)):
        week = other <= {"hours": 168, "days": 7, "weeks": 1}.get(unit, 0)
        assert week or value / 10 <= other <= 10 * value
        assert unit in {"months", "years"} or other == int(other)
        if context == "imprisonment":
            years = {"hours": 8760, "days": 365, "weeks": 365 / 7, "months": 12}
            assert other / years.get(unit, 1) <= 30


def test_words_are_counted_as_multisets_without_labels():
    before = "State versus Minor. Evidence: FIR. Ages: 17 years."
    after = "State versus Minor. Ages: 18 years. Amounts: 2.5 lakh."
    assert changed_words(before, after) == (2, 3)
    assert changed_words(before, before) == (0, 0)


# ---- placebos


def inert_of(texts, sheets=()):
    return inert_words(Vocabulary(texts), sheets)


FEW = from_dict(
    {"case_id": "x", "sections_cited": ["IPC-302"], "parties": {"petitioner_type": "State"}}
)
SIZES = [(1, 1), (1, 0), (0, 1), (2, 2), (4, 1), (0, 3), (3, 5)]


@pytest.mark.parametrize(("removed", "added"), SIZES)
def test_placebos_change_as_many_words_as_asked_and_no_fact(removed, added):
    write = with_context("x", Inert())
    edits = placebo_edits(FEW, write, removed, added, Inert(), draws=5)
    assert len(edits) == 5
    for edit in edits:
        assert changed_words(write(FEW), edit.query) == (removed, added)
        assert edit.query.startswith(query_text(FEW))
        assert edit.sheet is FEW
        assert edit.fact_type == "Placebo"
    assert placebo_edits(FEW, write, removed, added, Inert()) == edits[:1]
    assert len({edit.query for edit in edits}) > 1 or (removed, added) == (4, 0)


def test_a_collection_without_months_gives_words_of_its_own_that_no_fact_holds():
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    texts = [f"{words[at]} {words[at + 1]} witness tenant everywhere 1234" for at in range(7)]
    sheet = from_dict({"case_id": "x", "sections_cited": ["the beta rule"]})
    assert inert_of(texts, [sheet]) == Inert((), (), ())  # seven words are too few
    inert = inert_of([*texts, "iota theta", "only"], [sheet])
    assert set(inert.own) == {*words, "iota", "only"} - {"beta"}
    write = with_context("x", inert)
    assert "docket" not in write(sheet)
    (placebo,) = placebo_edits(sheet, write, 2, 2, inert)
    assert changed_words(write(sheet), placebo.query) == (2, 2)
    assert inert_of(["nothing"], [sheet]) == Inert((), (), ())
    numbered = [f"{2101 + number} {('March', 'April')[number % 2]}" for number in range(10)]
    assert inert_of(numbered) == Inert((), tuple(str(2101 + n) for n in range(10)), ())
