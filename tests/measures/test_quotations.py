"""Quotations and citations on hard cases, and what holds for any text."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.measures.quotations import (
    STATES,
    bracket_references,
    canonical,
    citation_states,
    find_citations,
    find_quotes,
    quote_states,
    quoted_span_alignment,
)
from casebook.paths import DATA

FOLDER = DATA / "hard_citations"
MADE = json.loads((FOLDER / "sources.json").read_text(encoding="utf-8"))
CASES = [
    json.loads(line) for line in (FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()
]
BY_CITATION = {canonical(text): key for text, key in MADE["citations"].items()}
WORDS = ["rent", "deposit", "tenant's", "days", "14", "law"]
few = settings(max_examples=60, deadline=None)
marks = st.text(st.sampled_from("ab 129.,'’‘“”\"[]()…sSvAC-\n"), max_size=80)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['trap']}")
def test_hard_case(case):
    text = case["explanation"]
    if case["kind"] == "quote":
        quotes = quote_states(text, MADE["sources"], BY_CITATION)
        found = [quote.state for quote in quotes]
        assert all(text[q.start : q.end] == q.text for q in quotes)
    elif case["kind"] == "citation":
        found = [
            c.state
            for c in citation_states(
                text, MADE["citations"], names=MADE["names"], expected=case["about"]
            )
        ]
    else:
        found = [citation.canonical for citation in find_citations(text)]
    assert found == case["expected"]


def test_the_hard_cases_cover_every_state_and_trap():
    quoted = {s for c in CASES if c["kind"] == "quote" for s in c["expected"]}
    cited = {s for c in CASES if c["kind"] == "citation" for s in c["expected"]}
    assert quoted == cited == set(STATES)
    assert len({c["trap"] for c in CASES}) == len(CASES)


def test_pinpoints_are_kept_apart():
    found = find_citations("[2019] UKSC 41 at [50]-[52]; [1932] A.C. 562 at 580E")
    assert [(c.text, c.pinpoint) for c in found] == [
        ("[2019] UKSC 41", "[50]-[52]"),
        ("[1932] A.C. 562", "580E"),
    ]


@few
@given(marks, marks)
def test_any_text_is_read(text, source):
    for start, end in find_quotes(text, 1):
        assert 0 < start < end < len(text)
    for quote in quote_states(text, {"s": source}, least_words=1):
        assert quote.state in STATES
        assert (quote.source is None) == (quote.state in ("stitched", "absent"))
    places = [(c.start, c.end) for c in find_citations(text)]
    assert all(b <= c for (_, b), (c, _) in pairwise(places))


@few
@given(st.lists(st.sampled_from(WORDS), min_size=3))
def test_whatever_is_copied_is_verbatim(words):
    quote = " ".join(words)
    source = f"Before it, {quote}, and after it."
    for left, right in ("“”", '""', "«»"):
        (found,) = quote_states(f"Said {left}{quote}{right}.", {"s": source})
        assert (found.state, found.text) == ("verbatim", quote)
    (found,) = quote_states(f"Said “{quote}”.", {"s": "nothing of the kind"})
    assert found.state == "absent"


@few
@given(st.integers(1900, 2029), st.sampled_from(["UKSC", "SGCA", "EWHC"]), st.integers(1, 9999))
def test_neutral_citations_are_found_whatever_stands_around(year, court, number):
    written = f"[{year}] {court} {number}"
    for text in (written, f"see {written}.", f"“x” ({written}), at [5]", f"{written};"):
        (found,) = find_citations(text)
        assert found.canonical == f"{year} {court} {number}" and found.text == written
    assert canonical(f"{year} words") is None


@pytest.fixture(scope="module")
def public(mirror):
    """Give what public scorers returned, by name of the case."""
    path = mirror / "fever_scorer" / "scorer_cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return {case["name"]: case for case in cases}


@pytest.mark.data
def test_brackets_are_passages_for_alce_and_parts_of_citations_here(public):
    """Also a year is a passage, and passage zero is the last one."""
    text, known = "R v Smith [2019] UKSC 41 [2].", {"[2019] UKSC 41": "smith"}
    assert (
        bracket_references(text)
        == public[f"ALCE citation regex on '{text}'"]["parsed_refs"]
        == [2018, 1]
    )
    assert [(c.canonical, c.pinpoint) for c in find_citations(text)] == [("2019 UKSC 41", "[2]")]
    assert [(c.state, c.source) for c in citation_states(text, known)] == [("verbatim", "smith")]
    assert bracket_references("[0]") == public["ALCE '[0]'"]["parsed_refs"] == [-1]
    assert find_citations("[0]") == citation_states("As was held [0].", known) == []


@pytest.mark.data
def test_quotations_of_ragas_are_straight_and_may_be_apostrophes(public):
    text, source = "It held “the rent is due”.", "The court said the rent is due."
    possessive = "The claimant's rent was due before the defendant's notice."
    cases = {
        "ragas quoted_spans curly quotes": (text, source, 0, ["verbatim"]),
        "ragas quoted_spans apostrophes (claimant's ... defendant's)": (
            possessive,
            "The rent was due.",
            1,
            [],
        ),
    }
    for name, (answer, held, total, ours) in cases.items():
        found = quoted_span_alignment(answer, held)
        assert found["citation_alignment_quoted_spans"] == public[name]["score"] == 0
        assert found["total"] == public[name]["total"] == total
        assert [quote.state for quote in quote_states(answer, {"s": held})] == ours
    straight = quoted_span_alignment(text.replace("“", '"').replace("”", '"'), source)
    assert straight == {"citation_alignment_quoted_spans": 1, "matched": 1, "total": 1}
    totals = [
        quoted_span_alignment(f'Said "{words}".', source)["total"]
        for words in ("rent is", "rent is due")
    ]
    assert totals == [0, 1]


def test_one_word_may_join_two_runs_of_three():
    sources = {"a": "The tenant pays rent.", "b": "A landlord keeps deposits."}
    found = quote_states('"tenant pays rent and landlord keeps deposits"', sources)
    assert [quote.state for quote in found] == ["stitched"]


def test_sources_that_are_no_citations_are_refused_and_one_may_have_two_spellings():
    twice = {"[2019] UKSC 41": 1, "[2019] U.K.S.C. 41": 1}
    states = [citation_states(name, twice)[0].state for name in (*twice, "[2019] U.K. S.C. 41")]
    assert states == ["verbatim", "verbatim", "repaired"]
    with pytest.raises(InputError, match="not written as a citation"):
        citation_states("x", {"Donoghue": 1})
    with pytest.raises(InputError, match="names both"):
        citation_states("x", {"[2019] UKSC 41": 1, "[2019] U.K.S.C. 41": 2})
    with pytest.raises(InputError, match="unknown sources"):
        quote_states("x", {"a": "y"}, {"2019 UKSC 41": "b"})
