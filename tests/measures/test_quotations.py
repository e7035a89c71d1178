"""Quotations on hard cases, and what holds for any text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.measures.quotations import (
    bracket_references,
    quote_states,
    share_quoted_rightly,
)

SOURCES = [
    "The advice given by the minister was unlawful, and the order that it led to was of no effect. "
    "It is for the assembly, and not for the minister's office, to decide what happens next. "
    "The minister’s reasons were never stated.",
    "A tenant who has paid the rent may stay until the end of the term. "
    "The landlord shall return the deposit within fourteen days, unless the tenant's rent is owed. "
    "The landlords' duty to repair is not affected by this section.",
    "The data intermediary must, without undue delay, notify the other organisation of the breach "
    "– that is the whole of its duty. "
    "The organisation must then assess whether the breach is notifiable.",
]
CASES = [
    (
        "curly marks, straight source",
        "The court held that “The advice given by the minister was unlawful” ([2019] UKSC 41).",
        ["verbatim"],
    ),
    (
        "straight marks",
        'The court held that "The advice given by the minister was unlawful".',
        ["verbatim"],
    ),
    (
        "apostrophe inside single marks",
        "It is 'not for the minister's office, to decide what happens next' [2019] UKSC 41.",
        ["verbatim"],
    ),
    (
        "curly apostrophe in the quotation, straight in the source",
        "The deposit is returned “unless the tenant’s rent is owed”.",
        ["verbatim"],
    ),
    (
        "straight apostrophe in the quotation, curly in the source",
        'It found that "The minister\'s reasons were never stated".',
        ["verbatim"],
    ),
    (
        "plural possessive is no mark",
        "The landlords' duty and the tenants' rent are separate; the judges' view isn't quoted here.",
        [],
    ),
    (
        "contractions are no marks",
        "It doesn't follow that the tenant can't stay, or that he'd leave.",
        [],
    ),
    (
        "full stop inside the marks",
        "The court said: “A tenant who has paid the rent may stay until the end of the term.”",
        ["verbatim"],
    ),
    (
        "comma inside the marks",
        "“The landlord shall return the deposit within fourteen days,” the court said.",
        ["verbatim"],
    ),
    (
        "changed initial in brackets",
        "It said that “[t]he landlord shall return the deposit within fourteen days”.",
        ["repaired"],
    ),
    (
        "ellipsis of three dots",
        "“The landlord shall return the deposit ... unless the tenant's rent is owed”, it said.",
        ["repaired"],
    ),
    (
        "ellipsis character in brackets",
        "“The data intermediary must […] notify the other organisation of the breach”.",
        ["repaired"],
    ),
    (
        "spaced ellipsis",
        "“A tenant who has paid the rent . . . may stay until the end of the term”.",
        ["repaired"],
    ),
    (
        "inserted words in brackets",
        "“The landlord shall return the deposit [in full] within fourteen days”.",
        ["repaired"],
    ),
    ("capitals", "“THE ADVICE GIVEN BY THE MINISTER WAS UNLAWFUL”.", ["repaired"]),
    (
        "comma lost",
        "“The data intermediary must without undue delay notify the other organisation”.",
        ["repaired"],
    ),
    (
        "dash of another length",
        "“notify the other organisation of the breach - that is the whole of its duty”.",
        ["verbatim"],
    ),
    (
        "line break in the quotation",
        "“The landlord shall return\n the deposit within fourteen days”.",
        ["verbatim"],
    ),
    (
        "no-break space",
        "“The landlord shall return the\xa0deposit within fourteen days”.",
        ["verbatim"],
    ),
    (
        "another source cited after it",
        "“The landlord shall return the deposit within fourteen days” [2015] SGCA 33.",
        ["verbatim"],
    ),
    (
        "pinpoint is part of the citation",
        "“The data intermediary must, without undue delay, notify” [2015] SGCA 33 at [12]-[14].",
        ["verbatim"],
    ),
    (
        "parts of two sources",
        "“The landlord shall return the deposit and notify the other organisation of the breach”.",
        ["absent"],
    ),
    (
        "parts of one source without ellipsis",
        "“The landlord shall return the deposit is not affected by this section”.",
        ["absent"],
    ),
    ("one word changed", "“The landlord shall keep the deposit within fourteen days”.", ["absent"]),
    ("not dropped", "“The landlords' duty to repair is affected by this section”.", ["absent"]),
    ("number changed", "“The landlord shall return the deposit within forty days”.", ["absent"]),
    ("invented", "“Every person has a right to be forgotten by machines”.", ["absent"]),
    ("word boundary", "“the minister was unlawful, and the orde”.", ["absent"]),
    ("nested marks", "It wrote “The minister’s reasons ‘were never stated’”.", ["repaired"]),
    (
        "two in one sentence",
        "“A tenant who has paid the rent may stay” but “the tenant must leave at once”.",
        ["verbatim", "absent"],
    ),
    ("scare quotes are too short", "The so-called “duty” and the ‘safe harbour’ are terms.", []),
    ("nothing quoted", "The minister acted unlawfully.", []),
    (
        "year in brackets is no changed initial",
        "“The advice given by the minister was unlawful” was said in [2019] UKSC 41, [8].",
        ["verbatim"],
    ),
    (
        "German and French marks",
        "„The landlord shall return the deposit“ and «The minister’s reasons were never stated».",
        ["verbatim", "verbatim"],
    ),
]
WORDS = ["rent", "deposit", "tenant's", "days", "14", "law"]
few = settings(max_examples=60, deadline=None)
marks = st.text(st.sampled_from("ab 129.,'’‘“”\"[]()…sSvAC-\n"), max_size=80)


def test_hard_cases():
    found = []
    for trap, text, _ in CASES:
        found.append((trap, text, [state for _, state in quote_states(text, SOURCES)]))
    assert found == CASES


def test_a_share_needs_a_quotation():
    assert share_quoted_rightly("He paid the rent.", SOURCES) is None
    two = "“A tenant who has paid the rent may stay” but “the tenant must leave at once”."
    assert share_quoted_rightly(two, SOURCES) == 0.5


@few
@given(st.lists(st.sampled_from(WORDS), min_size=3))
def test_whatever_is_copied_is_verbatim(words):
    quote = " ".join(words)
    source = f"Before it, {quote}, and after it."
    for left, right in ("“”", '""', "«»"):
        assert quote_states(f"Said {left}{quote}{right}.", [source]) == [(quote, "verbatim")]
    assert quote_states(f"Said “{quote}”.", ["nothing of the kind"]) == [(quote, "absent")]


# Also a year is a passage, and passage zero is the last one.
@pytest.mark.data
def test_brackets_are_passages_for_alce(mirror):
    path = mirror / "fever_scorer" / "scorer_cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    public = {case["name"]: case for case in cases}
    text = "R v Smith [2019] UKSC 41 [2]."
    known = public[f"ALCE citation regex on '{text}'"]["parsed_refs"]
    assert bracket_references(text) == known == [2018, 1]
    assert bracket_references("[0]") == public["ALCE '[0]'"]["parsed_refs"] == [-1]
