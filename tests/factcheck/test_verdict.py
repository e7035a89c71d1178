"""Aggregation of evidence: documented form, corrected form, published data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.factcheck.model import (
    INSUFFICIENT,
    LEVELS,
    NEUTRAL,
    NOT_SUPPORTED,
    REFUTES,
    STANCES,
    SUPPORTED,
    SUPPORTS,
    Evidence,
)
from casebook.factcheck.verdict import (
    DOCUMENTED,
    EQUAL_WEIGHTS,
    Rule,
    decide,
    degree_of_support,
    judge_subclaim,
    support_score,
)
from casebook.factcheck.verdict_study import of_verdict
from casebook.factcheck.votes import any_any, vote
from casebook.readers import read_jsonl


def items(*pairs, part="SC1"):
    return [
        Evidence(f"EV{n}", part, "d", "d", "", "text", 0, 4, 0.5, level, stance)
        for n, (level, stance) in enumerate(pairs, 1)
    ]


def test_weights_and_inclusive_thresholds():
    mixed = items(("high", SUPPORTS), ("low", REFUTES))
    assert support_score(mixed, Rule())[0] == pytest.approx(1 / 1.3)
    assert judge_subclaim("SC1", mixed, Rule()).verdict == SUPPORTED
    equal = Rule(weights=EQUAL_WEIGHTS)
    assert judge_subclaim("SC1", mixed, equal).verdict == INSUFFICIENT
    seven = items(*[("high", SUPPORTS)] * 7, *[("high", REFUTES)] * 3)
    assert judge_subclaim("SC1", seven, Rule()).verdict == SUPPORTED
    three = items(*[("high", SUPPORTS)] * 3, *[("high", REFUTES)] * 7)
    assert judge_subclaim("SC1", three, Rule()).verdict == NOT_SUPPORTED


def test_confidence_is_that_of_the_verdict():
    """One of ten items supports: refuted with 0.9; documented, the score itself."""
    refuted = items(("high", SUPPORTS), *[("high", REFUTES)] * 9)
    assert judge_subclaim("SC1", refuted, Rule()).confidence == pytest.approx(0.9)
    assert judge_subclaim("SC1", refuted, DOCUMENTED).confidence == pytest.approx(0.1)
    assert of_verdict([0.2, 0.5, 0.7]) == [0.8, 0.5, 0.7]


def test_divided_by_count_unanimous_low_support_is_not_supported():
    low = items(*[("low", SUPPORTS)] * 3)
    assert judge_subclaim("SC1", low, DOCUMENTED).verdict == SUPPORTED
    counted = Rule(denominator="count")
    assert support_score(low, counted) == (0.3, None)
    assert judge_subclaim("SC1", low, counted).verdict == NOT_SUPPORTED


def test_without_evidence_the_two_rules_differ():
    documented = judge_subclaim("SC1", [], DOCUMENTED)
    assert (documented.verdict, documented.confidence) == (NOT_SUPPORTED, 0.0)
    corrected = judge_subclaim("SC1", [], Rule())
    assert (corrected.verdict, corrected.confidence) == (INSUFFICIENT, None)
    assert corrected.reason == "no_evidence"
    neutral = judge_subclaim("SC1", items(("high", NEUTRAL)), Rule())
    assert neutral.reason == "only_neutral_evidence"


def test_documented_claim_level_has_a_constant_confidence_for_not_supported():
    evidence = items(("high", SUPPORTS)) + items(("high", REFUTES), part="SC2")
    parts, verdict, confidence = decide(["SC1", "SC2"], evidence, DOCUMENTED)
    assert [part.verdict for part in parts] == [SUPPORTED, NOT_SUPPORTED]
    assert (verdict, confidence) == (NOT_SUPPORTED, 0.3)
    assert decide([], [], DOCUMENTED)[1:] == (NOT_SUPPORTED, 0.0)
    assert decide([], [], Rule())[1:] == (INSUFFICIENT, None)


def test_a_missing_part_is_insufficient_and_a_refuted_part_refutes():
    evidence = items(("high", SUPPORTS))
    assert decide(["SC1", "SC2"], evidence, Rule())[1] == INSUFFICIENT
    evidence += items(("low", REFUTES), part="SC3")
    assert decide(["SC1", "SC2", "SC3"], evidence, Rule())[1] == NOT_SUPPORTED


@given(
    st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from(STANCES)), max_size=12),
    st.sampled_from(["weight", "count"]),
    st.sampled_from(["ignored", "against"]),
)
def test_score_stays_in_the_unit_interval_and_ignores_order(pairs, divisor, neutral):
    rule = Rule(denominator=divisor, neutral=neutral)
    score, reason = support_score(items(*pairs), rule)
    assert (score is None) == (reason is not None)
    assert score is None or 0 <= score <= 1
    assert support_score(items(*reversed(pairs)), rule) == (score, reason)


def test_degree_of_support_is_undefined_when_a_part_has_no_side():
    one = Evidence("EV1", "SC1", "d", "", "", "t", 0, 1, 1, "high", SUPPORTS, 0.9)
    two = Evidence("EV2", "SC1", "d", "", "", "t", 0, 1, 0, "low", REFUTES, 0.2)
    expected = (0.9 + 0.3 * 0.2) / 1.3
    assert degree_of_support(["SC1"], [one, two], Rule()) == pytest.approx(expected)
    assert degree_of_support(["SC1", "SC2"], [one, two], Rule()) is None
    assert degree_of_support([], [], Rule()) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"upper": 0.3, "lower": 0.3}, "0 <= lower < upper <= 1, got 0.3 and 0.3"),
        ({"weights": {"high": 1.0}}, "weights above 0"),
        ({"weights": {"high": 1.0, "medium": 0.5, "low": 0.0}}, "weights above 0"),
        ({"neutral": "maybe"}, "neutral must be one of against, ignored"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Rule(**settings)


@pytest.fixture(scope="module")
def climate(mirror):
    path = mirror / "climate_fever_claims" / "climate-fever.jsonl.xz"
    names = {"SUPPORTS": SUPPORTS, "REFUTES": REFUTES, "NOT_ENOUGH_INFO": NEUTRAL}
    return [
        (row["claim_label"], [names[e["evidence_label"]] for e in row["evidences"]])
        for _, row in read_jsonl(path, {"claim_label": str, "evidences": list})
    ]


@pytest.mark.data
def test_any_any_gives_every_label_of_climate_fever(climate):
    assert len(climate) == 1535
    assert all(any_any(stances) == label for label, stances in climate)


@pytest.mark.data
def test_documented_vote_finds_a_quarter_of_the_supported_claims(climate):
    supported = [stances for label, stances in climate if label == "SUPPORTS"]
    others = [stances for label, stances in climate if label != "SUPPORTS"]
    assert len(supported) == 654
    assert sum(map(vote, supported)) == 166
    assert sum(vote(stances, "ignored") for stances in supported) == 654
    assert sum(vote(stances, "ignored") for stances in others) == 25
