"""Verdicts at the limits of their rules, as the glossary states them: an interval that only
touches zero or the margin decides nothing."""

import pytest

from casebook import verdicts
from casebook.verdicts import gate_verdict, verdict_of, worst_verdict

NAN = float("nan")


@pytest.mark.parametrize(
    ("low", "high", "margin", "verdict"),
    [
        (0.01, 0.20, 0.0, "better"),
        (-0.20, -0.01, 0.0, "worse"),
        (0.0, 0.20, 0.0, "undecided"),
        (-0.20, 0.0, 0.0, "undecided"),
        (-0.04, 0.04, 0.05, "equivalent"),
        (0.01, 0.04, 0.05, "equivalent"),
        (-0.05, 0.04, 0.05, "undecided"),
        (-0.04, 0.05, 0.05, "undecided"),
        (0.01, 0.05, 0.05, "better"),
        (-0.05, -0.01, 0.05, "worse"),
        (None, 0.20, 0.0, "undecided"),
        (0.01, NAN, 0.0, "undecided"),
    ],
)
def test_an_interval_decides_only_beyond_zero_or_within_the_margin(low, high, margin, verdict):
    assert verdict_of(low, high, margin) == verdict


@pytest.mark.parametrize(
    ("difference", "p_adjusted", "verdict"),
    [
        (0.1, 0.01, "better"),
        (-0.1, 0.01, "worse"),
        (0.1, 0.25, "better"),
        (0.1, 0.26, "undecided"),
        (0.1, None, "undecided"),
    ],
)
def test_without_an_interval_the_test_decides(difference, p_adjusted, verdict):
    asked = {"difference": difference, "p_adjusted": p_adjusted, "level": 0.75}
    assert verdict_of(None, None, **asked) == verdict
    reason = verdicts.NO_UNIT_DIFFERS
    assert verdict_of(None, None, reason=reason, **asked) == "cannot be measured"


@pytest.mark.parametrize(
    ("low", "high", "inclusive", "verdict"),
    [
        (0.02, 0.03, False, "pass"),
        (0.01, 0.03, False, "undecided"),
        (0.01, 0.03, True, "pass"),
        (-0.01, 0.01, False, "fail"),
        (-0.01, 0.01, True, "undecided"),
        (-0.01, 0.005, True, "fail"),
        (None, 0.03, False, "undecided"),
        (0.02, None, False, "undecided"),
    ],
)
def test_a_gate_says_whether_touching_its_margin_suffices(low, high, inclusive, verdict):
    assert gate_verdict(low, high, 0.01, inclusive) == verdict


def test_the_worst_rule_decides_a_gate():
    assert worst_verdict(["pass", "pass"]) == "pass"
    assert worst_verdict(["pass", "undecided"]) == "undecided"
    assert worst_verdict(["undecided", "incomparable"]) == "incomparable"
    assert worst_verdict(["pass", "incomparable", "fail", "undecided"]) == "fail"
