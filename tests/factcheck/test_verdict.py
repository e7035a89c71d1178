"""Aggregation of evidence: documented form and corrected form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.factcheck.verdict import (
    DOCUMENTED_RULE,
    EQUAL_WEIGHTS,
    EVIDENCE_STANCES,
    LEVEL_WEIGHTS,
    Evidence,
    Rule,
    decide_claim,
    degree_of_support,
    judge_subclaim,
)

SUPPORTS, REFUTES, NEUTRAL = EVIDENCE_STANCES

RULES = {
    "standard": Rule(),
    "equal weights": Rule(weights=EQUAL_WEIGHTS),
    "documented": DOCUMENTED_RULE,
}


def items(told, part="SC1"):
    """Evidence from text such as "2 high supports, 1 low refutes"."""
    counted = [one.split() for one in told.split(", ") if one]
    pairs = [(level, stance) for number, level, stance in counted for _ in range(int(number))]
    place = ("d", "d", "", "text", 0, 4, 0.5)
    return [
        Evidence(f"EV{n}", part, *place, level, stance)
        for n, (level, stance) in enumerate(pairs, 1)
    ]


def test_verdicts_on_one_part(cases):
    judged = []
    for evidence, rule, *_ in cases["verdicts"]:
        found = judge_subclaim("SC1", items(evidence), RULES[rule])
        assert found.evidence_count == len(items(evidence))
        confidence = found.confidence and round(found.confidence, 6)
        judged.append([evidence, rule, found.verdict, confidence])
    assert judged == [[*row, sure and round(sure, 6)] for *row, sure in cases["verdicts"]]


def test_documented_claim_level_has_a_constant_confidence_for_not_supported(cases):
    """And here a missing part is insufficient, and a refuted part refutes."""
    found = []
    for parts, rule, *_ in cases["claim_verdicts"]:
        evidence = [item for part, told in parts.items() for item in items(told, part)]
        _, verdict, confidence = decide_claim(list(parts), evidence, RULES[rule])
        found.append([parts, rule, verdict, confidence and round(confidence, 6)])
    assert found == cases["claim_verdicts"]


@given(
    st.lists(
        st.tuples(st.sampled_from(list(LEVEL_WEIGHTS)), st.sampled_from(EVIDENCE_STANCES)),
        max_size=12,
    ),
    st.sampled_from(list(RULES.values())),
)
def test_score_stays_in_the_unit_interval_and_ignores_order(pairs, rule):
    forth, back = (
        ", ".join(f"1 {level} {stance}" for level, stance in one) for one in (pairs, pairs[::-1])
    )
    score = judge_subclaim("SC1", items(forth), rule).score
    assert score is None or 0 <= score <= 1
    assert judge_subclaim("SC1", items(back), rule).score == score


def test_degree_of_support_is_undefined_when_a_part_has_no_side():
    one = Evidence("EV1", "SC1", "d", "", "", "t", 0, 1, 1, "high", SUPPORTS, 0.9)
    two = Evidence("EV2", "SC1", "d", "", "", "t", 0, 1, 0, "low", REFUTES, 0.2)
    three = Evidence("EV3", "SC2", "d", "", "", "t", 0, 1, 0, "low", REFUTES, 0.4)
    assert degree_of_support(["SC1"], [one, two], Rule()) == pytest.approx((0.9 + 0.3 * 0.2) / 1.3)
    assert degree_of_support(["SC1", "SC2"], [one, two, three], Rule()) == pytest.approx(0.4)
    assert degree_of_support(["SC1", "SC2"], [one, two], Rule()) is None
    assert degree_of_support([], [], Rule()) is None
