"""The line for new raters: variance as in an analysis of variance, and its scope."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from casebook.stats.intervals import crossed_mean


def test_the_variance_is_that_of_a_two_way_layout():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 1)) + rng.normal(size=(1, 5)) + rng.normal(size=(20, 5))
    long = pd.DataFrame(table).melt(ignore_index=False).reset_index()
    fit = ols("value ~ C(index) + C(variable)", long).fit()
    items, raters, error = anova_lm(fit)["mean_sq"]
    variance = (items + raters - error) / 100
    parts = items**2 / 19 + raters**2 / 4 + error**2 / 76
    df = variance**2 / (parts / 100**2)
    found = crossed_mean(table)
    assert found.df == pytest.approx(df)
    reach = max(stats.t.ppf(0.975, df) * np.sqrt(variance), stats.t.ppf(0.975, 4) * np.sqrt(raters / 100))
    bounds = table.mean() - reach, table.mean() + reach
    assert (found.interval.low, found.interval.high) == pytest.approx(bounds)


def test_equal_columns_and_equal_rows_leave_one_t():
    rows = np.random.default_rng(0).normal(size=60)
    peer = stats.ttest_1samp(rows, 0).confidence_interval(0.95)
    found = crossed_mean(np.column_stack([rows] * 5)).interval
    assert (found.low, found.high) == pytest.approx(tuple(peer), abs=1e-9)
    columns = np.array([0.0, 1.0, 2.0, 3.0])
    test = stats.ttest_1samp(columns, 1.0)
    found = crossed_mean(np.tile(columns, (30, 1)), 1.0)
    assert found.pvalue == pytest.approx(test.pvalue)


@pytest.mark.parametrize("weights", ["items", "votes"])
def test_interval_and_test_never_contradict_each_other(weights):
    rng = np.random.default_rng(2)
    for _ in range(200):
        table = rng.choice([-1.0, 0.0, 1.0, np.nan], (12, 4), p=[0.2, 0.2, 0.5, 0.1])
        table[:, 0] = 1.0
        found = crossed_mean(table, weights=weights)
        outside = not found.interval.low <= 0 <= found.interval.high
        assert outside == (found.pvalue <= 0.05)
        mean = np.nanmean if weights == "votes" else lambda t: np.nanmean(t, 1).mean()
        assert found.interval.estimate == pytest.approx(mean(table))


def test_it_covers_the_mean_of_crossed_effects():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(1_000):
        table = 0.3 * rng.normal(size=(25, 1)) + rng.normal(size=(25, 4))
        table = table + 0.5 * rng.normal(size=(1, 4))
        table[rng.uniform(size=(25, 4)) < 0.1] = np.nan
        found = crossed_mean(table).interval
        hits += found.low <= 0 <= found.high
    assert 0.93 <= hits / 1_000 <= 0.985


def test_too_few_to_say_and_nothing_that_varies():
    few = crossed_mean(np.ones((9, 2)))
    assert few.interval.reason == "fewer_than_three_raters" and few.pvalue is None
    assert crossed_mean([[1.0, 2.0, 3.0]] * 5).interval.reason == "fewer_than_six_units"
    assert crossed_mean([[np.nan] * 3]).interval.reason == "no_units"
    same = crossed_mean(np.ones((9, 3))).interval
    assert (same.low, same.high, same.reason) == (1.0, 1.0, "no_variation")
    leaning = np.column_stack([np.eye(6)[0], np.zeros(6), np.ones(6)])
    wide = crossed_mean(leaning, limits=(0.0, 1.0)).interval
    assert (wide.low, wide.high) == (0.0, 1.0)
