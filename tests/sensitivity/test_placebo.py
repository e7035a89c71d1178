import pytest

from casebook.sensitivity.edits import (
    COUNSEL,
    MONTHS,
    SIZE,
    Inert,
    changed_words,
    inert_words,
    placebo_edits,
    with_context,
)
from casebook.sensitivity.facts import from_dict, query_text

SHEET = from_dict({"case_id": "x", "sections_cited": ["IPC-302"], "parties": {"petitioner_type": "State"}})
SIZES = [(1, 1), (1, 0), (0, 1), (2, 2), (4, 1), (0, 3), (3, 5)]


@pytest.mark.parametrize(("removed", "added"), SIZES)
def test_placebos_change_as_many_words_as_asked_and_no_fact(removed, added):
    write = with_context("x", Inert())
    edits = placebo_edits(SHEET, write, removed, added, Inert(), draws=5)
    assert len(edits) == 5
    for edit in edits:
        assert changed_words(write(SHEET), edit.query) == (removed, added)
        assert edit.query.startswith(query_text(SHEET))
        assert edit.sheet is SHEET
        assert edit.fact_type == "Placebo"
    assert placebo_edits(SHEET, write, removed, added, Inert()) == edits[:1]
    assert len({edit.query for edit in edits}) > 1 or (removed, added) == (4, 0)


def test_more_words_than_the_context_holds_cannot_be_dropped():
    write = with_context("x", Inert())
    assert placebo_edits(SHEET, write, SIZE + 1, 0, Inert()) == []
    few = Inert(MONTHS[:4], (), COUNSEL[:4])
    assert placebo_edits(SHEET, with_context("x", few), 0, 20, few) == []


def test_words_depend_on_case_seed_and_size_alone():
    write = with_context("x", Inert())
    again = with_context("x", Inert())
    assert write == again
    assert write != with_context("y", Inert())
    assert write != with_context("x", Inert(), seed=1)
    first = placebo_edits(SHEET, write, 1, 1, Inert(), draws=2)
    more = placebo_edits(SHEET, write, 1, 1, Inert(), draws=4)
    assert more[:2] == first


def test_only_words_of_the_collection_are_drawn():
    texts = ["Heard in March, April, May and June.", "Counsel: Rao, Iyer, Mehta, Khan."]
    inert = inert_words([*texts, "Docket 2101."])
    assert set(inert.months) == {"March", "April", "May", "June"}
    assert set(inert.counsel) == {"Iyer", "Khan", "Mehta", "Rao"}
    assert inert.dockets == ()
    assert len(inert_words([*texts, "Lim Goh Ng"]).counsel) == 7
    assert inert_words(["March, April, May.", "Rao, Iyer, Mehta, Khan, Das."]).months == ("March", "April", "May")
    assert inert_words(["nothing of the kind"]) == Inert((), (), ())
    everywhere = [f"May {month}, Rao, Iyer, Mehta, Khan." for month in MONTHS[:4]]
    assert inert_words(everywhere) == Inert((), (), ())  # words of all documents move nothing
    write = with_context("x", inert)
    edit = placebo_edits(SHEET, write, 2, 2, inert)[0]
    words = {w for kind in inert for w in kind}
    assert changed_words(edit.query, query_text(SHEET))[0] >= SIZE
    assert set(edit.query.split(": ")[-1].rstrip(".").split(", ")) <= words
