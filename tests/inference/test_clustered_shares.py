"""Shares of clustered units: Wilson without clustering, else a wider interval."""

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.stats.intervals import clustered_wilson, wilson


def test_single_units_give_wilsons_interval_but_for_one_degree_of_freedom():
    wins = np.array([1] * 30 + [0] * 10)
    found, plain = clustered_wilson(wins, np.ones(40)), wilson(30, 40)
    assert found.estimate == plain.estimate
    # The variance with n - 1 lowers the size from 40 to 39.
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.004)
    assert found.n == 40


def test_clusters_that_agree_within_count_as_one_unit_each():
    wins = np.array([10] * 15 + [0] * 5)
    found = clustered_wilson(wins, np.full(20, 10))
    close = wilson(0.75 * 19, 19)
    assert (found.low, found.high) == pytest.approx((close.low, close.high), abs=1e-9)
    assert found.n == 200


def test_clean_sweep_is_as_sure_as_its_clusters():
    sizes = [7, 3, 0, 5, 1, 2, 4]
    found = clustered_wilson(sizes, sizes)
    assert (found.low, found.high) == (pytest.approx(wilson(6, 6).low), 1.0)


def test_undefined_has_a_reason():
    assert clustered_wilson([], []).reason == "no_units"
    assert clustered_wilson([0, 0], [0, 0]).reason == "no_units"
    few = clustered_wilson([1, 2, 1, 0, 1], [2] * 5)
    assert (few.estimate, few.low, few.high) == (0.5, None, None)
    assert few.reason == "fewer_than_six_clusters"
    assert clustered_wilson([1, 2, 1, 0, 1, 1], [2] * 6).reason is None


@pytest.mark.parametrize("counts", [([3], [2]), ([-1], [2]), ([1, 1], [2])])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(InputError, match="0 to its size"):
        clustered_wilson(*counts)


def test_coverage_is_near_nominal_where_plain_wilson_fails():
    rng = np.random.default_rng(0)
    covered = plain = 0
    for _ in range(400):
        sizes = rng.integers(2, 9, 30)
        wins = rng.binomial(sizes, rng.beta(2.4, 0.6, 30))  # mean 0.8, correlated
        found = clustered_wilson(wins, sizes)
        simple = wilson(wins.sum(), sizes.sum())
        covered += found.low <= 0.8 <= found.high
        plain += simple.low <= 0.8 <= simple.high
    assert 0.91 <= covered / 400 <= 0.98
    assert plain / 400 < 0.9
