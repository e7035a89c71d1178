"""Calibration against scikit-learn, exact sums, enumeration and simulated coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

from casebook.measures.calibration import calibration
from casebook.verdicts import INTERVAL_BY_UNIT

stated = st.lists(
    st.tuples(st.booleans(), st.integers(0, 10).map(lambda x: x / 10)), min_size=1, max_size=30
)


@settings(max_examples=40, deadline=None)
@given(stated)
def test_brier_and_log_loss_as_scikit_learn(rows):
    y, p = zip(*rows, strict=True)
    found = calibration(y, p, n_resamples=2).measures
    value = {name: interval.estimate for name, interval in found.items()}
    assert value["brier"] == pytest.approx(brier_score_loss(y, p, pos_label=1))
    if value["log_loss"] is None:
        assert found["log_loss"].reason == "certain_and_wrong"
    else:
        assert value["log_loss"] == pytest.approx(log_loss(y, p, labels=[False, True]))


# Lower half states 0.2, one of five true; upper half states 0.8, two of five.
def test_ece_of_two_bins_by_hand():
    y = [1, 0, 0, 0, 0, 1, 1, 0, 0, 0]
    found = calibration(y, [0.2] * 5 + [0.8] * 5, n_bins=2, n_resamples=100)
    assert found.measures["ece"].estimate == pytest.approx(0.5 * 0.0 + 0.5 * 0.4)
    assert found.measures["ece_debiased"].estimate < 0.2
    assert found.bins[["n", "share"]].to_numpy().tolist() == [[5, 0.2], [5, 0.4]]
    base_rate = {"brier": 0.21, "log_loss": log_loss(y, [0.3] * 10), "auroc": 0.5}
    assert found.controls | base_rate == pytest.approx(found.controls)


def test_bins_have_equal_mass_and_never_part_ties():
    p = np.random.default_rng(0).random(1000)
    assert calibration(p > 0.5, p, n_resamples=2).bins["n"].tolist() == [100] * 10
    p = np.repeat([0.1, 0.5, 0.9], [10, 700, 290])
    assert sorted(calibration(p > 0.4, p, n_resamples=2).bins["n"]) == [10, 290, 700]


def test_interval_of_a_calibrated_forecast_begins_at_no_error():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 300)
    right, found = (
        calibration(rng.random(300) < truth, p, n_resamples=200).measures["ece"]
        for truth in (p, p + 0.15 * np.sign(p - 0.5))
    )
    assert right.low == 0 < found.low < 0.15 < found.high


# Stated 0.9, true half of the time: the error is a share less a constant.
def test_interval_of_a_large_error_is_that_of_a_share():
    found, reach = calibration([1, 0] * 200, [0.9] * 400).measures, 1.96 * np.sqrt(0.25 / 400)
    for name in ("ece", "ece_debiased"):
        bounds = found[name].low, found[name].high
        assert bounds == pytest.approx((0.4 - reach, 0.4 + reach), abs=0.006)


def test_statements_that_were_not_made_are_counted():
    found = calibration([1, 0, 1, 1], [0.9, 0.2, None, np.nan], n_resamples=20)
    assert (found.n, found.missing) == (2, 2)
    assert calibration([1], [None]).measures["ece"].reason == "no_units"


def test_few_clusters_give_an_interval_by_unit_and_few_units_none():
    y, p = [True, False] * 4, [0.8, 0.3, 0.6, 0.7] * 2
    by_unit = calibration(y, p).measures["ece"]
    found = calibration(y, p, clusters=list("aabbccdd")).measures["ece"]
    assert (found.low, found.high, found.reason) == (by_unit.low, by_unit.high, INTERVAL_BY_UNIT)
    found = calibration(y[:4], p[:4]).measures["ece"]
    assert (found.low, found.high, found.reason) == (None, None, "fewer_than_six_units")
