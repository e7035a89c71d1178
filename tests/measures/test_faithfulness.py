"""The documented rule with its quirks, the corrected one, and own sources against foreign ones."""

import pytest
from cases import table
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.measures.faithfulness import (
    RULES,
    documented_faithfulness,
    documented_shares,
    faithfulness,
    length_sweep,
    pair_sources,
    sentence_rows,
    separation,
    threshold_sweep,
)

few = settings(max_examples=40, deadline=None)
text = st.text(st.sampled_from("abcdeé 0123456789.!?,;()[]'’\"“”—\n\u00a0§₹"), max_size=120)
LEASE = (
    "The tenant shall pay Rs. 5,000 under s. 26C(3) of the Act. "
    "The landlord returns the deposit within fourteen days."
)


# Three function words ground the sentence in the code; they are no content words, which the
# document asks for.
def test_the_document_says_content_words_and_its_code_counts_all():
    source, claim = "it was held that the deposit is owed", "It was held that section 999 applies."
    assert documented_shares(claim, source, in_code=True)[0].share == pytest.approx(4 / 6)
    assert documented_faithfulness(claim, source, in_code=True) == 1.0
    assert documented_shares(claim, source)[0].share == pytest.approx(
        1 / 3
    )  # held, section, applies
    assert documented_faithfulness(claim, source) == 0.0
    corrected = faithfulness(claim, source)
    assert (corrected.score, corrected.sentences[0].n_words) == (0.0, 4)  # and 999


# Of three "sentences" of the code one has no word, which is grounded, and the wrong section number
# is not seen.
def test_documented_sentences_end_at_every_point_and_words_are_no_numbers():
    text, source = "Under Sec. 302 I.P.C. he paid.", "under sec he paid"
    parts = ["Under Sec.", "302 I.P.C.", "he paid."]
    for in_code, wordless in ((True, 1.0), (False, None)):
        supports = documented_shares(text, source, in_code)
        expected = list(zip(parts, [1.0, wordless, 1.0], strict=True))
        assert [(support.text, support.share) for support in supports] == expected


@table(
    [
        *(("", "x", 1.0, None), ("  \n", [], 1.0, None), ("302. 304!", [], 1.0, None)),
        ("He paid the rent.", [], 0.0, 0.0),
        # A sentence of function words is not grounded by them.
        ("It was so.", "Whales migrate. It is so, and that was it.", 1.0, None),
        ("It was so.", "Snow.", 0.0, None),
        ("It was so. Whales sing loudly of love.", "Whales migrate. It is so.", 0.5, 0.0),
        # 2 of 5 words are exactly 40 %, and one single source must hold them.
        ("aa bb cc dd ee", "aa bb zz", 1.0, 1.0),
        *(("aa bb cc dd ee", "aa zz", 0.0, 0.0), ("aa bb cc dd ee", ["aa zz", "bb zz"], 0.0, 0.0)),
        ("302nd 21", "second nd", 1.0, 1.0),  # [a-z][a-z0-9]+ finds "nd" in 302nd
    ]
)
def test_documented_edges(explanation, sources, in_code, document):
    assert documented_faithfulness(explanation, sources, in_code=True) == in_code
    assert documented_faithfulness(explanation, sources) == document


@table(
    [
        *((("", LEASE), (None, "no_claim")), ((" \n ", LEASE), (None, "no_claim"))),
        (("It is so. And that was it!", LEASE), (None, "no_claim")),
        *((("The tenant pays.", x), (None, "no_source")) for x in ([], ["", " "])),
        (("It is so. The landlord returns the deposit.", LEASE), (1.0, None)),
        # The threshold is inclusive; section numbers and amounts are words.
        (("alpha beta gamma delta epsilon", "alpha beta"), (1.0, None)),
        (("Section 26C(3) applies to Rs. 5,000.", LEASE), (1.0, None)),
        (("Section 26D(3) applies to Rs. 6,000.", LEASE), (0.0, None)),
    ]
)
def test_scores_and_reasons(texts, expected):
    found = faithfulness(*texts)
    assert (found.score, found.reason) == expected


@few
@given(text, st.lists(text, max_size=3))
def test_any_text_gives_a_score_in_0_to_1_or_a_reason(explanation, sources):
    assert 0 <= documented_faithfulness(explanation, sources, in_code=True) <= 1
    documented = documented_faithfulness(explanation, sources)
    assert documented is None or 0 <= documented <= 1
    found = faithfulness(explanation, sources, max_words=5)
    assert (found.score is None) == (found.reason is not None)
    if found.score is not None:
        assert 0 <= found.score <= 1 and 0 <= found.mean_share <= 1
    assert faithfulness(explanation, explanation, max_words=None).score in (None, 1.0)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="threshold must lie"):
        faithfulness("a tenant", "tenant", threshold=0)
    same = {"a": "one text", "b": "one text"}
    with pytest.raises(InputError, match="two different sources"):
        pair_sources(same, same, {"a": "a", "b": "b"})
    two = same | {"b": "another text"}
    assert pair_sources(two, two, {"a": "a", "b": "b"}) == {"a": ("b",), "b": ("a",)}


# Twelve explanations about twelve subjects, each from its own source; of what and whose.
@pytest.fixture
def topics():
    sources, explanations = {}, {}
    for topic in "abcdefghijkl":
        own = [f"{name}topic{topic}" for name in ("bx", "by", "cx", "cy", "dx", "dy")]
        sources[f"s{topic}"] = " ".join([*own, "court held party case"])
        lines = [" ".join([*own[n : n + 4], "court held party case."]) for n in range(3)]
        explanations[f"e{topic}"] = " ".join(map(str.capitalize, lines))
    return explanations, sources, dict(zip(explanations, sources, strict=True))


def test_own_sources_are_told_from_foreign_ones(topics):
    foreign = pair_sources(*topics, draws=2, seed=1)
    assert all(topics[2][key] not in others for key, others in foreign.items())
    rows = sentence_rows(*topics, foreign)
    assert rows.groupby("rule", sort=False).size().to_dict() == dict.fromkeys(RULES, 12 * 3 * 3)
    for rule in RULES:
        assert separation(rows, rule).estimate > 0.95
    sweep = (
        threshold_sweep(rows, [0.4, 0.6]).set_index(["rule", "condition", "threshold"]).sort_index()
    )
    # Half the words are common to all subjects: 40 % is no test, 60 % is one.
    scores = sweep.loc[("code", "mismatched"), "score"]
    assert (scores[0.4], scores[0.6]) == (1.0, 0.0)
    assert (sweep["n"] == 12).all() and (sweep["without_claim"] == 0).all()


def test_sweeps_over_lengths(topics):
    found = length_sweep(*topics, pair_sources(*topics, draws=2, seed=1), [10, 120])
    assert set(found["source_words"]) == {10, 120}
    matched = found[(found["rule"] == "documented") & (found["condition"] == "matched")]
    assert matched["score"].is_monotonic_increasing
