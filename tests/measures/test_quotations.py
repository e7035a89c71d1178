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
CASES = [json.loads(line) for line in (FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
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
        found = [c.state for c in citation_states(text, MADE["citations"], names=MADE["names"], expected=case["about"])]
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
    assert [(c.text, c.pinpoint) for c in found] == [("[2019] UKSC 41", "[50]-[52]"), ("[1932] A.C. 562", "580E")]


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


def states(quotes):
    return [quote.state for quote in quotes]


@pytest.mark.data
def test_a_year_is_a_passage_for_alce_and_part_of_a_citation_here(public):
    text = "R v Smith [2019] UKSC 41 [2]."
    case = public[f"ALCE citation regex on '{text}'"]
    assert bracket_references(text) == case["parsed_refs"] == [2018, 1]
    (found,) = find_citations(text)
    assert (found.canonical, found.pinpoint) == ("2019 UKSC 41", "[2]")
    (state,) = citation_states(text, {"[2019] UKSC 41": "smith"})
    assert (state.state, state.source) == ("verbatim", "smith")


@pytest.mark.data
def test_passage_zero_is_the_last_one_for_alce_and_no_citation_here(public):
    assert bracket_references("[0]") == public["ALCE '[0]'"]["parsed_refs"] == [-1]
    assert find_citations("[0]") == []
    assert citation_states("As was held [0].", {"[2019] UKSC 41": "smith"}) == []


@pytest.mark.data
def test_typographic_quotations_do_not_exist_for_ragas_and_are_verbatim_here(public):
    text, source = "It held “the rent is due”.", "The court said the rent is due."
    case = public["ragas quoted_spans curly quotes"]
    found = quoted_span_alignment(text, source)
    assert found["citation_alignment_quoted_spans"] == case["score"] == 0
    assert found["total"] == case["total"] == 0
    assert states(quote_states(text, {"s": source})) == ["verbatim"]
    straight = quoted_span_alignment(text.replace("“", '"').replace("”", '"'), source)
    assert straight == {"citation_alignment_quoted_spans": 1, "matched": 1, "total": 1}
    totals = [quoted_span_alignment(f'Said "{words}".', source)["total"] for words in ("rent is", "rent is due")]
    assert totals == [0, 1]


@pytest.mark.data
def test_apostrophes_quote_for_ragas_and_not_here(public):
    text = "The claimant's rent was due before the defendant's notice."
    case = public["ragas quoted_spans apostrophes (claimant's ... defendant's)"]
    found = quoted_span_alignment(text, "The rent was due.")
    assert found["citation_alignment_quoted_spans"] == case["score"] == 0
    assert found["total"] == case["total"] == 1
    assert quote_states(text, {"s": "The rent was due."}) == []


def test_one_word_may_join_two_runs_of_three():
    sources = {"a": "The tenant pays rent.", "b": "A landlord keeps deposits."}
    found = quote_states('"tenant pays rent and landlord keeps deposits"', sources)
    assert [quote.state for quote in found] == ["stitched"]


def test_sources_that_are_no_citations_are_refused():
    with pytest.raises(InputError, match="not written as a citation"):
        citation_states("x", {"Donoghue": 1})
    with pytest.raises(InputError, match="names both"):
        citation_states("x", {"[2019] UKSC 41": 1, "[2019] U.K.S.C. 41": 2})
    with pytest.raises(InputError, match="unknown sources"):
        quote_states("x", {"a": "y"}, {"2019 UKSC 41": "b"})
