"""Whether stated probabilities come true, and what abstaining would buy."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.measures.auroc import auroc
from casebook.measures.calibration_statistics import CalibrationStatistics, mass_bins
from casebook.measures.calibration_tables import bin_table, coverage_curve
from casebook.stats.intervals import Interval, bootstrap_mean, cluster_codes, resample_counts
from casebook.stats.samples import check_count, check_share, stream

BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class Calibration:
    """What `calibration` found."""

    measures: dict
    controls: dict
    bins: pd.DataFrame
    curve: pd.DataFrame
    n: int
    missing: int


def calibration(outcome, probability, *, n_bins=10, clusters=None, level=0.95, n_boot=1000, seed=0):
    """Compare stated probabilities with what came true."""
    check_share("level", level)
    check_count("n_bins", n_bins)
    y, p, groups, missing = _checked(outcome, probability, clusters)
    bins = mass_bins(p, n_bins)
    statistics = CalibrationStatistics(y, p, bins)
    chance = _calibrated(statistics, p, n_boot, seed)
    draws = _bootstrap(statistics, groups, len(y), n_boot, seed)
    measures = _binned_measures(statistics, draws, chance, level)
    options = {"level": level, "clusters": groups}
    measures["brier"] = bootstrap_mean((p - y) ** 2, n_boot=n_boot, seed=seed, **options)
    measures["log_loss"] = _log_loss(y, p, n_boot=n_boot, seed=seed, **options)
    measures["auroc"] = auroc(y, p, **options)
    return Calibration(
        measures, _controls(y, chance), bin_table(y, p, bins, level), coverage_curve(y, p, missing), len(y), missing
    )


_NAMES = (
    "ece",
    "ece_debiased",
    "reliability",
    "reliability_debiased",
    "resolution",
    "uncertainty",
    "within_bins",
    "aurc",
    "e_aurc",
)
_BIASED = {
    "ece": "ece_debiased",
    "ece_debiased": "ece_debiased",
    "reliability": "reliability_debiased",
    "reliability_debiased": "reliability_debiased",
}


def _checked(outcome, probability, clusters):
    y = np.asarray(outcome, dtype=bool)
    p = np.array([np.nan if x is None else x for x in probability], dtype=float)
    if y.shape != p.shape:
        raise InputError(f"{y.shape} outcomes and {p.shape} probabilities")
    given = ~np.isnan(p)
    if ((p[given] < 0) | (p[given] > 1)).any():
        wrong = p[given][(p[given] < 0) | (p[given] > 1)]
        raise InputError(f"{len(wrong)} probabilities lie outside 0 to 1 (first: {wrong[0]})")
    groups = None if clusters is None else cluster_codes(clusters, len(y))[given]
    return y[given], p[given], groups, int((~given).sum())


def _bootstrap(statistics, groups, n, n_boot, seed):
    """Give the statistics of resamples of units, or of whole clusters."""
    codes = np.arange(n) if groups is None else groups
    kinds, codes = np.unique(codes, return_inverse=True)
    if len(kinds) < 2:
        return {}
    drawn = resample_counts(len(kinds), n_boot, seed)
    parts = [statistics(weights[:, codes]) for weights in drawn]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _binned_measures(statistics, draws, chance, level):
    n = len(statistics.p)
    if not n:
        nothing = Interval(None, None, None, level, 0, "basic", "no_units")
        return dict.fromkeys(_NAMES, nothing)
    values = {name: x[0] for name, x in statistics(np.ones((1, n))).items()}
    return {name: _interval(name, values, draws, chance, n, level) for name in _NAMES}


def _controls(y, chance):
    if not len(y):
        return {}
    base = y.mean()
    return {
        "ece": float(chance["ece"].mean()),
        "reliability": float(chance["reliability"].mean()),
        "brier": float(base * (1 - base)),
        "log_loss": float(special.entr([base, 1 - base]).sum()),
        "aurc": float(1 - base),
        "auroc": 0.5,
    }


def _calibrated(statistics, p, n_boot, seed):
    """Give the statistics that a calibrated forecaster would show by chance."""
    if not len(p):
        return {}
    parts, rows = [], max(1, BLOCK // len(p))
    for block, start in enumerate(range(0, n_boot, rows)):
        rng = np.random.Generator(stream(seed, "calibrated", block))
        drawn = rng.random((min(rows, n_boot - start), len(p))) < p
        parts.append(statistics.with_outcomes(drawn))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _interval(name, values, draws, chance, n, level):
    """Interval of one statistic; see `calibration` for the three kinds."""
    method = "shifted" if name in _BIASED else "basic"
    estimate = float(values[name])
    if name in _BIASED:
        estimate = max(0.0, estimate)
    if not draws:
        reason = "fewer_than_two_units" if n == 1 else "fewer_than_two_clusters"
        return Interval(estimate, None, None, level, n, method, reason)
    found = draws[_BIASED.get(name, name)]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    if name in _BIASED:
        centre = values[_BIASED[name]]
        low, high = centre + low - found.mean(), centre + high - found.mean()
        plain = name.removesuffix("_debiased")
        if values[plain] <= np.quantile(chance[plain], level):
            low = 0.0
    else:
        low, high = 2 * estimate - high, 2 * estimate - low
    if name != "within_bins":
        low, high = max(0.0, low), max(0.0, high)
    reason = "no_variation" if np.ptp(found) == 0 else None
    return Interval(estimate, float(low), float(high), level, n, method, reason)


def _log_loss(y, p, **options):
    stated = np.where(y, p, 1 - p)
    if not stated.all():
        level = options["level"]
        reason = "certain_and_wrong"
        return Interval(None, None, None, level, len(y), "percentile", reason)
    return bootstrap_mean(-np.log(stated), **options)
