"""Verdicts at the limits of their rules, as the glossary states them: an interval that only
touches zero or the margin decides nothing."""

import pandas as pd
import pytest

from casebook import contrasts, verdicts
from casebook.runs.headlines import Headline
from casebook.verdicts import gate_verdict, margin_of, verdict_of, worst_verdict

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
    assert verdict_of(None, None, reason=reason, **asked) == "no difference"


@pytest.mark.parametrize(
    ("difference", "same_input", "verdict", "opening"),
    [
        (0.0, True, "cannot be measured", "Cannot be measured here: both read the same"),
        (0.0, False, "no difference", "No difference in 12 questions"),
        (0.02, False, "equivalent", "No, the difference is too small to matter"),
        (-0.02, False, "equivalent", "No, the difference is too small to matter"),
        (0.2, False, "better", "Yes"),
        (-0.2, False, "worse", "No, it is worse"),
    ],
)
def test_what_is_the_same_on_every_unit_has_one_word_in_table_and_headline(
    difference, same_input, verdict, opening
):
    scores = pd.DataFrame({"new": [0.5 + difference] * 12, "old": 0.5})
    pair = ("new", "old")
    reasons = {pair: "both read the same"} if same_input else None
    row = contrasts(scores, [pair], margin=0.05, not_measured=reasons).iloc[0]
    assert row["verdict"] == verdict
    headline = Headline.of(row, "Better?", dataset="smoke", measure="share")
    assert headline.plain == opening and headline.verdict == verdicts.EFFECTS[verdict]


def test_a_margin_belongs_to_a_measure_whatever_its_cutoff():
    measures = ["nDCG@10", "nDCG@3", "original:ndcg@3", "RR", "AUROC", "accuracy", "share"]
    assert [margin_of(name) for name in measures] == [0.01] * 4 + [0.05] * 3
    assert margin_of("words") == margin_of("P@1") == 0


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
