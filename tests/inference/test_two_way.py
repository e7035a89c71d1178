import numpy as np
import pytest

from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.two_way import two_way_mean


def test_equal_columns_leave_the_variance_of_the_rows():
    rows = np.random.default_rng(0).normal(size=60)
    both = two_way_mean(np.column_stack([rows] * 5), n_boot=20_000)
    one = bootstrap_mean(rows, n_boot=20_000)
    assert both.estimate == pytest.approx(one.estimate)
    assert (both.low, both.high) == pytest.approx((one.low, one.high), abs=0.02)


def test_equal_rows_leave_the_variance_of_the_columns():
    columns = np.array([0.0, 1.0, 2.0, 3.0])
    found = two_way_mean(np.tile(columns, (30, 1)), n_boot=20_000)
    # The exact distribution of the mean of four draws of 0, 1, 2, 3.
    draws = np.add.outer(np.add.outer(columns, columns), np.add.outer(columns, columns))
    low, high = np.quantile(draws.ravel() / 4, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.25)


def test_it_covers_the_mean_of_crossed_effects():
    rng = np.random.default_rng(1)
    hits = 0
    for seed in range(100):
        table = 0.3 * rng.normal(size=(25, 1)) + rng.normal(size=(25, 8))
        table = table + 0.5 * rng.normal(size=(1, 8))
        found = two_way_mean(table, n_boot=500, seed=seed)
        hits += found.low <= 0 <= found.high
    assert hits >= 88


def test_missing_values_and_small_tables():
    table = [[1.0, np.nan], [np.nan, 3.0], [np.nan, np.nan]]
    found = two_way_mean(table, n_boot=200)
    assert found.estimate == 2.0 and found.n == 2
    assert 1 <= found.low <= found.high <= 3
    assert two_way_mean([[1.0], [2.0]]).reason == "fewer_than_two_units"
    assert two_way_mean([[np.nan, np.nan]]).reason == "no_units"
