"""Explanations: corrected ones say what the passage shows, documented ones may not."""

import re
from collections import Counter

import pytest
from annotated_texts import read_gold
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from casebook.explain.templates import (
    Explainer,
    Passage,
    TermWeights,
    explain_edge,
    explain_result,
    terms,
)
from casebook.sensitivity import facts
from casebook.sensitivity.cases import read_cases
from casebook.sensitivity.edits import edit_fact, single_fact_edits

GOLD = read_gold()
TEXTS = {one.id: one.text for one in GOLD}
WEIGHTS = TermWeights(TEXTS.values())
SHEET = facts.from_dict(
    {
        "case_id": "c",
        "parties": {"petitioner_type": "State", "respondent_type": "Minor"},
        "sections_cited": ["IPC-302"],
        "evidence_items": [{"evidence_type": "FIR"}],
        "numerical_facts": {"amounts": [{"value": 5000}]},
    }
)


def passage(text):
    return Passage("d", text)


def kinds(explanation):
    return [sentence.kind for sentence in explanation.sentences]


def test_a_substring_is_no_party_and_nothing_shared_is_said():
    for text in ("He made a statement about minority.", "Green apples ripen."):
        assert kinds(explain_result(SHEET, passage(text), WEIGHTS)) == ["nothing"]


def test_sentences_come_in_order_and_are_two_at_most():
    text = passage("STATE OF BIHAR v. RAM LAL\nAn FIR was lodged under s. 302 IPC over Rs 5,000.")
    found = explain_result(SHEET, text, WEIGHTS)
    assert kinds(found) == ["sections", "petitioner"]
    assert found.text.startswith("Both cite IPC-302.")
    less = SHEET.model_copy(update={"parties": facts.Parties(), "sections_cited": ()})
    assert kinds(explain_result(less, text, WEIGHTS)) == ["evidence", "numbers"]


def test_every_corrected_sentence_is_borne_out_where_it_points():
    texts = TEXTS | {"titled": "STATE OF BIHAR v. RAM LAL\nThe appeal was heard."}
    explainer = Explainer(texts, max_words=60)
    sheets = read_cases().sheets
    seen = set()
    for sheet in sheets:
        for document in [*list(TEXTS)[::4], "titled"]:
            found = explainer.result(sheet, document)
            shown_part = explainer.passage(sheet, document)
            for sentence in found.sentences:
                seen.add(sentence.kind)
                assert sentence.support or sentence.kind == "nothing"
                for one in sentence.support:
                    assert texts[one.document_id][one.start : one.end] == one.quote
                    assert (
                        shown_part.start
                        <= one.start
                        < one.end
                        <= shown_part.start + len(shown_part.text)
                    )
    assert seen >= {"sections", "petitioner", "respondent", "evidence", "terms"}


def test_weights_are_the_smoothed_frequencies_of_another_implementation():
    texts = list(TEXTS.values())[:20]
    oracle = TfidfVectorizer(tokenizer=lambda t: [x for x, _, _ in terms(t)], token_pattern=None)
    oracle.fit(texts)
    ours = TermWeights(texts)
    for term, at in oracle.vocabulary_.items():
        assert ours.weight(term) == pytest.approx(oracle.idf_[at], abs=1e-12)


CITING = passage("He was convicted under section 302 IPC.")
OTHER = passage("He was convicted under section 304 IPC.")
SECTION = edit_fact(SHEET, "sections_cited/IPC-302", "IPC-304")


def edge(before, after, listed):
    return explain_edge(SHEET, SECTION, (before, after), listed)


def test_edge_counts_who_tells_the_old_and_the_new_fact():
    listed = {"a": CITING, "b": OTHER, "c": CITING}
    found = edge(["a", "c", "x"], ["b", "x"], listed)
    assert kinds(found) == ["change", "lists", "lists", "reason", "reason"]
    assert found.sentences[0].text == "Section: IPC-302 to IPC-304."
    assert found.sentences[3].text == ("Of 2 that left, 2 tell of IPC-302 in the passage shown.")
    assert [one.quote for one in found.sentences[4].support] == ["304"]


def test_edge_without_any_witness_says_so():
    listed = {"a": passage("apples"), "b": passage("pears")}
    assert edge(["a"], ["b"], listed).sentences[-1].text.startswith("No passage shown")


NUMBERS = st.sampled_from([1, 2, 3, 6, 12, 500, 1000, 25_000, 250_000, 500_000])
SHEETS = st.builds(
    lambda sides, evidence, sections, amounts, ages, durations: facts.from_dict(
        {
            "case_id": "x",
            "parties": dict(zip(("petitioner_type", "respondent_type"), sides, strict=True)),
            "evidence_items": [
                {"evidence_type": name, "description": str(at)} for at, name in enumerate(evidence)
            ],
            "sections_cited": [f"IPC-{number}" for number in sections],
            "numerical_facts": {
                "amounts": [{"value": value} for value in amounts],
                "ages": [{"value": value} for value in ages],
                "durations": [{"value": v, "unit": unit} for v, unit in durations],
            },
        },
        empty=True,
    ),
    st.tuples(*[st.sampled_from(facts.PARTY_TYPES)] * 2),
    st.lists(st.sampled_from(facts.EVIDENCE_TYPES[:4]), max_size=3),
    st.lists(st.integers(300, 306), unique=True, max_size=3),
    st.lists(NUMBERS, max_size=3),
    st.lists(st.sampled_from([6, 7, 11, 12, 17, 18]), max_size=3),
    st.lists(st.tuples(NUMBERS, st.sampled_from(["hours", "days", "months", "years"])), max_size=3),
)


def told_by(sheet):
    """Count what a sheet says, written by hand: a second opinion on the sentences."""
    numbers = sheet.numerical_facts
    found = [
        *(e.evidence_type for e in sheet.evidence_items),
        *sheet.sections_cited,
        *(f"{a.value} {a.unit}" for a in (*numbers.amounts, *numbers.durations)),
        *(f"age {a.value}" for a in numbers.ages),
    ]
    return Counter(found)


@given(st.data(), SHEETS)
def test_every_checked_sentence_holds_for_the_two_sheets(data, sheet):
    edits = single_fact_edits(
        sheet, lambda name: [f"IPC-{n}" for n in range(300, 307)], bounded=False
    )
    assume(edits)
    edit = data.draw(st.sampled_from(edits))
    names = st.lists(st.sampled_from(list(TEXTS)[:12]), unique=True, max_size=5)
    before, after = data.draw(names), data.draw(names)
    listed = {case: Passage(case, TEXTS[case]) for case in (*before, *after)}
    found = explain_edge(sheet, edit, (before, after), listed)
    gone = told_by(sheet) - told_by(edit.sheet)
    come = told_by(edit.sheet) - told_by(sheet)
    if edit.fact_type == "PartyType":
        gone, come = Counter([edit.old]), Counter([edit.new])
    assert "nothing" not in found.text
    left, new = set(before) - set(after), set(after) - set(before)
    for sentence in found.sentences:
        text = sentence.text.removesuffix(".")
        if sentence.kind == "change":
            assert text == edit.description
        if sentence.kind == "lists":
            which = left if "left" in text else new
            count, _, cases = text.partition(": ")
            assert int(count.split()[0]) == len(which)
            assert set(cases.split(", ")) == which
        if sentence.kind == "order":
            assert ("the same order" in text) == (before == after)
            assert not left and not new
        if sentence.support:
            match = re.fullmatch(
                r"Of (\d+) that (left|came in), (\d+) tells? of (.+) in the passage "
                "shown",
                text,
            )
            which, fact = (left, gone) if match[2] == "left" else (new, come)
            assert (int(match[1]), {match[4]: 1}) == (len(which), dict(fact))
            assert len(sentence.support) == int(match[3])
            for one in sentence.support:
                assert one.document_id in which
                assert TEXTS[one.document_id][one.start : one.end] == one.quote


def test_one_of_two_witnesses_taken_away_is_no_reason():
    items = [{"evidence_type": "Witness", "description": who} for who in "ab"]
    sheet = facts.from_dict({"case_id": "x", "evidence_items": items})
    edit = edit_fact(sheet, "evidence_items/0", None)
    found = explain_edge(sheet, edit, (["a"], []), {"a": passage("A witness saw it.")})
    assert found.sentences[0].text == "Evidence: Witness removed."
    assert found.sentences[-1].text.startswith("No passage shown")
