"""Whether stated probabilities come true.

The calibration error in bins of equal mass (ECE, also without the bias of small bins), on weighted
units, so that a resample is a row of weights.
"""

from collections import namedtuple

import numpy as np
import pandas as pd
from scipy import special

from casebook.frames import shares
from casebook.stats.areas import auroc
from casebook.stats.intervals import (
    Interval,
    bootstrap_mean,
    cluster_codes,
    resample_counts,
    resampled_clusters,
)
from casebook.stats.samples import generator, row_blocks
from casebook.verdicts import INTERVAL_BY_UNIT

LEVEL = 0.95
MEASURES = ("ece", "ece_debiased")


#: Measures and controls by name, the bins, and numbers of statements.
Calibration = namedtuple("Calibration", "measures controls bins n missing")


def calibration(
    outcome, probability, *, n_bins=10, clusters=None, n_resamples=1000, seed=0
):
    """Stated probabilities against what came true, in bins of equal mass.

    A probability is None where none was stated. Gives intervals by measure, the values of a
    calibrated forecaster or of the base rate as controls, and the bins. Equal probabilities are
    never parted.
    """
    p = pd.Series(list(probability), dtype=float).to_numpy()
    stated = ~np.isnan(p)
    y = np.asarray(outcome, dtype=bool)[stated]
    groups = None if clusters is None else cluster_codes(clusters, len(p))[stated]
    p = p[stated]
    n = len(p)
    bins = mass_bins(p, n_bins)
    undefined = Interval(None, None, None, LEVEL, n, "basic", "no_units")
    measures = dict.fromkeys(MEASURES, undefined)
    controls = {}
    if n:
        chance = _ece_by_chance(p, bins, n_resamples, seed)
        measures = _intervals(y, p, bins, chance, groups, n_resamples, seed)
        base_rate = y.mean()
        controls = {
            "ece": float(chance.mean()),
            "auroc": 0.5,
            "brier": float(base_rate * (1 - base_rate)),
            "log_loss": float(special.entr([base_rate, 1 - base_rate]).sum()),
        }
    options = {"clusters": groups, "n_resamples": n_resamples, "seed": seed}
    measures["brier"] = bootstrap_mean((p - y) ** 2, **options)
    of_truth = np.where(y, p, 1 - p)
    measures["log_loss"] = undefined._replace(reason="certain_and_wrong")
    if of_truth.all():
        measures["log_loss"] = bootstrap_mean(-np.log(of_truth), **options)
    measures["auroc"] = auroc(y, p, clusters=groups)
    return Calibration(measures, controls, _bin_table(y, p, bins), n, len(stated) - n)


def mass_bins(p, n_bins):
    """Bins of equal mass by number, never parting equal probabilities."""
    middle = pd.Series(p).rank() - 0.5
    bins = (middle * n_bins / max(len(p), 1)).astype(int)
    return pd.factorize(bins, sort=True)[0]


def _intervals(y, p, bins, chance, groups, n_resamples, seed):
    """Basic bootstrap; draws, which chance inflates, move onto the debiased value."""
    n = len(p)
    found = _statistics(np.ones((1, n)), y, p, bins).iloc[0]
    resampled, reason = resampled_clusters(groups, n)
    codes = np.arange(n)
    if resampled is not None:
        codes, _ = pd.factorize(resampled, sort=True)
    blocks = resample_counts(codes.max() + 1, n_resamples, seed)
    draws = pd.concat([_statistics(drawn[:, codes], y, p, bins) for drawn in blocks])
    quantiles = draws.quantile((0.025, 0.975))
    moved = (
        quantiles["ece_debiased"] + found["ece_debiased"] - draws["ece_debiased"].mean()
    )
    if found["ece"] <= chance.quantile(LEVEL):
        moved.iloc[0] = 0.0
    low, high = moved.clip(lower=0.0)
    if reason not in (None, INTERVAL_BY_UNIT):
        low = high = None
    elif np.ptp(draws["ece_debiased"]) == 0:
        reason = "no_variation"
    return {
        name: Interval(value, low, high, LEVEL, n, "basic", reason)
        for name, value in found.clip(lower=0.0).items()
    }


def _ece_by_chance(p, bins, n_resamples, seed):
    """The error that a calibrated forecaster would show."""
    in_bin = np.eye(bins.max() + 1)[bins]
    sizes = in_bin.sum(axis=0)
    stated = p @ in_bin
    blocks = []
    # A block has at most so many outcomes.
    for block, rows in row_blocks(n_resamples, max(1, 2**21 // len(p))):
        draws = generator(seed, "calibrated", block).random((rows, len(p)))
        true = (draws < p) @ in_bin
        blocks.append(_errors(sizes, stated, true)["ece"])
    return pd.concat(blocks)


def _statistics(weights, y, p, bins):
    """Statistics of units that count several times, weights of shape [resamples, units]."""
    in_bin = np.eye(bins.max() + 1)[bins]
    stated = weights @ (p[:, None] * in_bin)
    true = weights @ (y[:, None] * in_bin)
    return _errors(weights @ in_bin, stated, true)


def _errors(n, stated, true):
    """ECE, as it is and debiased, from sums by bin, of shape [resamples, bins]."""
    weight = n / n.sum(axis=-1, keepdims=True)
    n = np.maximum(n, 1)
    share = true / n
    gap = np.abs(stated / n - share)
    variance = share * (1 - share) / np.maximum(n - 1, 1)
    noise = np.sqrt(np.where(n > 1, variance, 0.0))
    debiased = 2 * gap - _folded_mean(gap, noise)
    ece = (weight * gap).sum(axis=-1)
    ece_debiased = (weight * debiased).sum(axis=-1)
    return pd.DataFrame({"ece": ece, "ece_debiased": ece_debiased})


def _folded_mean(gap, noise):
    """Mean of the magnitude of a normal with this mean and standard deviation."""
    certain = np.full_like(gap, np.inf)
    z = np.divide(gap, noise, out=certain, where=noise > 0)
    density = np.exp(-(z**2) / 2) * np.sqrt(2 / np.pi)
    return noise * density + gap * special.erf(z / np.sqrt(2))


def _bin_table(y, p, bins):
    """Mean statement and share that came true of every bin."""
    by_bin = pd.DataFrame({"true": y, "p": p}).groupby(bins)
    table = shares({b: (part["true"].sum(), len(part)) for b, part in by_bin})
    table["confidence"] = by_bin["p"].mean()
    names = {"value": "share", "low": "share low", "high": "share high"}
    return table.rename(columns=names)[["n", "confidence", *names.values()]]
