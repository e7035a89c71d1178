"""A headline's verdict follows from its interval and margin alone."""

import numpy as np
import pandas as pd
import pytest

from casebook import contrasts, estimates
from casebook.runs.headlines import Headline

NAMES = {"dataset": "smoke", "system": "a", "against": "b", "measure": "nDCG@10"}


def verdict(low, high, margin=0.0, n=40, value=0.0, groups=None):
    return Headline("Better?", value=value, low=low, high=high, n=n, groups=groups, margin=margin, **NAMES).verdict


@pytest.mark.parametrize(
    ("low", "high", "margin", "expected"),
    [
        (0.01, 0.09, 0, "helps"),
        (-0.09, -0.01, 0, "hurts"),
        (0.001, 0.004, 0.005, "no effect"),  # decided, and too small to matter
        (0.001, 0.006, 0.005, "helps"),
        (-0.004, 0.004, 0.005, "no effect"),
        (-0.005, 0.004, 0.005, "no better than the baseline"),  # the margin itself is not within it
        (-0.2, 0.004, 0.005, "no better than the baseline"),
        (-0.2, 0.006, 0.005, "undecided"),
        (-0.2, 0.0, 0, "undecided"),
        (None, None, 0.005, "undecided"),
    ],
)
def test_the_verdict_follows_from_interval_and_margin(low, high, margin, expected):
    assert verdict(low, high, margin) == expected


@pytest.mark.parametrize(
    ("n", "groups", "expected"),
    [(5, None, "undecided"), (6, None, "no effect"), (40, 5, "undecided"), (40, 6, "no effect")],
)
def test_a_handful_of_equal_rows_proves_nothing(n, groups, expected):
    assert verdict(0.0, 0.0, n=n, groups=groups) == expected


def test_without_a_value_nothing_is_measured():
    unknown = Headline("Better?", value=None, reason="no judgements", **NAMES)
    assert unknown.verdict == "cannot be measured" and unknown.sentence == "Cannot be measured: no judgements."


def test_a_headline_agrees_with_the_contrast_that_it_rests_on():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame({"b": rng.random(60)})
    scores["a"] = scores["b"] + rng.normal(0.1, 0.1, 60)
    row = contrasts(scores, [("a", "b")], np.repeat(range(20), 3)).iloc[0]
    found = Headline.of(row, "Better?", dataset="smoke", measure="nDCG@10", cluster="cases", unit="questions")
    assert (found.value, found.low, found.high) == (row["difference"], row["low"], row["high"])
    assert row["verdict"] == "better" and found.verdict == "helps"
    assert (
        found.sentence.startswith(f"Yes: {row['difference']:+.3f} [") and "(60 questions in 20 cases)" in found.sentence
    )


def test_a_value_is_taken_relative_to_the_one_that_means_nothing_and_printed_as_itself():
    wins = pd.DataFrame({"a": [1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1]})
    row = estimates(wins).iloc[0]
    found = Headline.of(row, "Preferred?", null=0.5, dataset="votes", measure="win rate", against=None, unit="votes")
    assert found.value == pytest.approx(10 / 12 - 0.5) and found.low == pytest.approx(row["low"] - 0.5)
    assert found.effect.startswith("0.833 [") and "against" not in found.sentence
