"""Aggregation of evidence: documented form and corrected form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.factcheck import verdict
from casebook.factcheck.verdict import (
    DOCUMENTED,
    EQUAL_WEIGHTS,
    LEVELS,
    STANCES,
    Evidence,
    Rule,
    decide,
    degree_of_support,
    judge_subclaim,
    support_score,
)

SUPPORTED, NOT_SUPPORTED, INSUFFICIENT = verdict.VERDICTS
SUPPORTS, REFUTES, NEUTRAL = STANCES

PRO, CON, NEITHER = ("high", SUPPORTS), ("high", REFUTES), ("high", NEUTRAL)
LOW, LOW_CON = ("low", SUPPORTS), ("low", REFUTES)


def items(*pairs, part="SC1"):
    return [
        Evidence(f"EV{n}", part, "d", "d", "", "text", 0, 4, 0.5, level, stance)
        for n, (level, stance) in enumerate(pairs, 1)
    ]


@pytest.mark.parametrize(
    ("pairs", "rule", "verdict", "confidence"),
    [
        ([PRO, LOW_CON], Rule(), SUPPORTED, 1 / 1.3),
        ([PRO, LOW_CON], Rule(weights=EQUAL_WEIGHTS), INSUFFICIENT, 0.5),
        ([("medium", SUPPORTS), LOW_CON], Rule(), INSUFFICIENT, 0.6 / 0.9),
        ([PRO] * 7 + [CON] * 3, Rule(), SUPPORTED, 0.7),  # thresholds are inclusive
        ([PRO] * 3 + [CON] * 7, Rule(), NOT_SUPPORTED, 0.7),
        # One of ten supports: refuted with 0.9; documented, the score itself.
        ([PRO] + [CON] * 9, Rule(), NOT_SUPPORTED, 0.9),
        ([PRO] + [CON] * 9, DOCUMENTED, NOT_SUPPORTED, 0.1),
        ([LOW] * 3, DOCUMENTED, SUPPORTED, 1.0),
        ([LOW] * 3, Rule(per_item=True), NOT_SUPPORTED, 0.7),
        ([PRO, NEITHER], Rule(), SUPPORTED, 1.0),
        ([PRO, NEITHER], DOCUMENTED, INSUFFICIENT, 0.5),
        ([], Rule(), INSUFFICIENT, None),
        ([], DOCUMENTED, NOT_SUPPORTED, 0.0),
    ],
)
def test_verdicts_on_one_part(pairs, rule, verdict, confidence):
    found = judge_subclaim("SC1", items(*pairs), rule)
    assert found.verdict == verdict
    assert found.confidence == (confidence if confidence is None else pytest.approx(confidence))
    assert found.evidence_count == len(pairs)


def test_documented_claim_level_has_a_constant_confidence_for_not_supported():
    evidence = items(PRO) + items(CON, part="SC2")
    parts, verdict, confidence = decide(["SC1", "SC2"], evidence, DOCUMENTED)
    assert [part.verdict for part in parts] == [SUPPORTED, NOT_SUPPORTED]
    assert (verdict, confidence) == (NOT_SUPPORTED, 0.3)
    assert decide([], [], DOCUMENTED)[1:] == (NOT_SUPPORTED, 0.0)
    assert decide([], [], Rule())[1:] == (INSUFFICIENT, None)
    both = items(PRO) + items(PRO, PRO, PRO, LOW_CON, part="SC2")
    assert decide(["SC1", "SC2"], both, DOCUMENTED)[2] == pytest.approx((1 + 3 / 3.3) / 2)
    assert decide(["SC1", "SC2"], both, Rule())[2] == pytest.approx(3 / 3.3)


def test_a_missing_part_is_insufficient_and_a_refuted_part_refutes():
    evidence = items(PRO)
    assert decide(["SC1", "SC2"], evidence, Rule())[1] == INSUFFICIENT
    evidence += items(LOW_CON, part="SC3") + items(CON, CON, CON, LOW, part="SC4")
    assert decide(["SC1", "SC2", "SC3", "SC4"], evidence, Rule())[1:] == (NOT_SUPPORTED, 1.0)


@given(
    st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from(STANCES)), max_size=12), st.booleans(), st.booleans()
)
def test_score_stays_in_the_unit_interval_and_ignores_order(pairs, divisor, neutral):
    rule = Rule(per_item=divisor, neutral_against=neutral)
    score, reason = support_score(items(*pairs), rule)
    assert (score is None) == (reason is not None)
    assert score is None or 0 <= score <= 1
    assert support_score(items(*reversed(pairs)), rule) == (score, reason)


def test_degree_of_support_is_undefined_when_a_part_has_no_side():
    one = Evidence("EV1", "SC1", "d", "", "", "t", 0, 1, 1, "high", SUPPORTS, 0.9)
    two = Evidence("EV2", "SC1", "d", "", "", "t", 0, 1, 0, "low", REFUTES, 0.2)
    three = Evidence("EV3", "SC2", "d", "", "", "t", 0, 1, 0, "low", REFUTES, 0.4)
    assert degree_of_support(["SC1"], [one, two], Rule()) == pytest.approx((0.9 + 0.3 * 0.2) / 1.3)
    assert degree_of_support(["SC1", "SC2"], [one, two, three], Rule()) == pytest.approx(0.4)
    assert degree_of_support(["SC1", "SC2"], [one, two], Rule()) is None
    assert degree_of_support([], [], Rule()) is None


@pytest.mark.parametrize("settings", [{"upper": 0.3, "lower": 0.3}, {"upper": 1.1}, {"lower": -0.1}])
def test_wrong_thresholds_are_refused(settings):
    with pytest.raises(InputError, match="0 <= lower < upper <= 1"):
        Rule(**settings)
