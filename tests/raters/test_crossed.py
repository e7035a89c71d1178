"""Means over items and raters against a two-way analysis of variance."""

import numpy as np
import pandas as pd
import pytest
from cases import table
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from casebook.raters.preference import crossed_mean


def bounds(row):
    return row["low"], row["high"]


def test_crossed_variance_is_that_of_a_two_way_layout():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 1)) + rng.normal(size=(1, 5)) + rng.normal(size=(20, 5))
    long = pd.DataFrame(table).melt(ignore_index=False).reset_index()
    items, raters, error = anova_lm(ols("value ~ C(index) + C(variable)", long).fit())["mean_sq"]
    variance = (items + raters - error) / 100
    df = variance**2 / ((items**2 / 19 + raters**2 / 4 + error**2 / 76) / 100**2)
    crossed = stats.t.ppf(0.975, df) * np.sqrt(variance)
    of_raters = stats.t.ppf(0.975, 4) * np.sqrt(raters / 100)
    reach = max(crossed, of_raters)
    found = crossed_mean(table)
    assert bounds(found) == pytest.approx((table.mean() - reach, table.mean() + reach))
    columns = np.array([0.0, 1.0, 2.0, 3.0])
    peer = stats.ttest_1samp(columns, 1.0).pvalue
    assert crossed_mean(np.tile(columns, (30, 1)) - 1.0)["p"] == pytest.approx(peer)


@table([(weights,) for weights in ["items", "votes"]])
def test_crossed_interval_and_test_never_contradict_each_other(weights):
    rng = np.random.default_rng(2)
    for _ in range(200):
        table = rng.choice([-1.0, 0.0, 1.0, np.nan], (12, 4), p=[0.2, 0.2, 0.5, 0.1])
        table[:, 0] = 1.0
        found = crossed_mean(table, weights=weights)
        assert (not found["low"] <= 0 <= found["high"]) == (found["p"] <= 0.05)
        mean = np.nanmean(table)
        if weights == "items":
            mean = np.nanmean(table, 1).mean()
        assert found["difference"] == pytest.approx(mean)


def test_crossed_interval_says_when_it_cannot():
    for values, reason in (
        (np.ones((9, 2)), "fewer_than_three_raters"),
        ([[1.0, 2.0, 3.0]] * 5, "fewer_than_six_units"),
        (np.ones((9, 3)), "no_variation"),
    ):
        found = crossed_mean(values)
        assert found["reason"] == reason
        assert np.isnan(bounds(found)).all()
