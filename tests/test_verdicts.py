"""Verdicts at the limits of their rules, as the word list states them: an interval that only
touches zero or the margin decides nothing."""

import pandas as pd

from casebook import contrasts, verdicts
from casebook.runs.headlines import Headline
from casebook.verdicts import gate_verdict, verdict_of, worst_verdict

NAN = float("nan")


# Cases, arguments and what is expected of them, of which a function says something else.
def failures(function, cases):
    return [(*given, expected) for *given, expected in cases if function(*given) != expected]


def test_an_interval_decides_only_beyond_zero_or_within_the_margin():
    cases = [
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
    ]
    assert failures(verdict_of, cases) == []


def test_without_an_interval_the_test_decides():
    def verdict(difference, p_adjusted, reason=None):
        tested = {"difference": difference, "p_adjusted": p_adjusted, "level": 0.75}
        return verdict_of(None, None, reason=reason, **tested)

    cases = [
        (0.1, 0.01, "better"),
        (-0.1, 0.01, "worse"),
        (0.1, 0.25, "better"),
        (0.1, 0.26, "undecided"),
        (0.1, None, "undecided"),
        (0.1, 0.01, verdicts.NO_UNIT_DIFFERS, "no difference"),
    ]
    assert failures(verdict, cases) == []


def test_what_is_the_same_on_every_unit_has_one_word_in_table_and_headline():
    def words(difference, reasons):
        scores = pd.DataFrame({"new": [0.5 + difference] * 12, "old": 0.5})
        row = contrasts(scores, [("new", "old")], margin=0.05, not_measured=reasons).iloc[0]
        headline = Headline.of(row, "Better?", dataset="smoke", measure="share")
        assert headline.verdict == verdicts.EFFECTS[row["verdict"]]
        return row["verdict"], headline.plain

    alike = {("new", "old"): "both read the same"}
    small = "No, the difference is too small to matter"
    cases = [
        (0.0, alike, ("cannot be measured", "Cannot be measured here: both read the same")),
        (0.0, None, ("no difference", "No difference in 12 questions")),
        (0.02, None, ("equivalent", small)),
        (-0.02, None, ("equivalent", small)),
        (0.2, None, ("better", "Yes")),
        (-0.2, None, ("worse", "No, it is worse")),
    ]
    assert failures(words, cases) == []


def test_a_gate_says_whether_touching_its_margin_suffices_and_the_worst_rule_decides():
    cases = [
        (0.02, 0.03, 0.01, False, "pass"),
        (0.01, 0.03, 0.01, False, "undecided"),
        (0.01, 0.03, 0.01, True, "pass"),
        (-0.01, 0.01, 0.01, False, "fail"),
        (-0.01, 0.01, 0.01, True, "undecided"),
        (-0.01, 0.005, 0.01, True, "fail"),
        (None, 0.03, 0.01, False, "undecided"),
        (0.02, None, 0.01, False, "undecided"),
    ]
    assert failures(gate_verdict, cases) == []
    order = ["pass", "undecided", "incomparable", "fail"]
    for count, worst in enumerate(order, 1):
        assert worst_verdict(order[:count]) == worst
