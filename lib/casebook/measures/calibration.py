"""Whether stated probabilities come true, and what abstaining would buy.

Calibration in bins of equal mass (ECE and Murphy's parts of the Brier score, each also without
the bias of small bins), and errors by coverage (AURC), all on weighted units, so that a
resample is a row of weights.
"""

from collections import namedtuple
from dataclasses import replace

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

OUTCOMES_IN_BLOCK = 2**21
LEVEL = 0.95
TAILS = (0.025, 0.975)
INFLATED = ("ece", "reliability")
"""Measures that chance makes larger in small bins; each has a debiased form."""

MEASURES = (
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


#: Measures and controls by name, the bins, risk by coverage, and numbers of statements.
Calibration = namedtuple("Calibration", "measures controls bins curve n missing")


def calibration(outcome, probability, *, n_bins=10, clusters=None, n_resamples=1000, seed=0):
    """Stated probabilities against what came true, in bins of equal mass.

    A probability is None where none was stated. Gives intervals by measure, the values of a
    calibrated forecaster or of the base rate as controls, the bins, and risk by coverage. Equal
    probabilities are never parted.
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
        found = _statistics(np.ones((1, n)), y, p, bins).iloc[0]
        chance = _by_chance(p, bins, n_resamples, seed)
        resampled, reason = resampled_clusters(groups, n)
        codes = np.arange(n) if resampled is None else pd.factorize(resampled, sort=True)[0]
        resamples = resample_counts(codes.max() + 1, n_resamples, seed)
        draws = pd.concat([_statistics(W[:, codes], y, p, bins) for W in resamples])
        for name in MEASURES:
            measures[name] = _interval(name, found, draws, chance, n, reason)
        base_rate = y.mean()
        controls = {
            "ece": chance["ece"].mean(),
            "reliability": chance["reliability"].mean(),
            "brier": base_rate * (1 - base_rate),
            "log_loss": special.entr([base_rate, 1 - base_rate]).sum(),
            "aurc": 1 - base_rate,
            "auroc": 0.5,
        }
    options = {"clusters": groups, "n_resamples": n_resamples, "seed": seed}
    measures["brier"] = bootstrap_mean((p - y) ** 2, **options)
    of_truth = np.where(y, p, 1 - p)
    if of_truth.all():
        measures["log_loss"] = bootstrap_mean(-np.log(of_truth), **options)
    else:
        measures["log_loss"] = replace(undefined, reason="certain_and_wrong")
    measures["auroc"] = auroc(y, p, clusters=groups)
    return Calibration(
        measures=measures,
        controls=pd.Series(controls, dtype=float).to_dict(),
        bins=_bin_table(y, p, bins),
        curve=_coverage_curve(y, p, len(stated)),
        n=n,
        missing=len(stated) - n,
    )


def mass_bins(p, n_bins):
    """Bins of equal mass by number, never parting equal probabilities."""
    middle = pd.Series(p).rank() - 0.5
    bins = (middle * n_bins / max(len(p), 1)).astype(int)
    return pd.factorize(bins, sort=True)[0]


def _by_chance(p, bins, n_resamples, seed):
    """Statistics of bins that a calibrated forecaster would show."""
    in_bin = np.eye(bins.max() + 1)[bins]
    blocks = []
    for block, rows in row_blocks(n_resamples, max(1, OUTCOMES_IN_BLOCK // len(p))):
        outcomes = generator(seed, "calibrated", block).random((rows, len(p))) < p
        blocks.append(_of_bins(in_bin.sum(axis=0), p @ in_bin, outcomes @ in_bin))
    return pd.concat(blocks)


def _statistics(weights, y, p, bins):
    """Statistics of units that count several times, weights of shape [resamples, units]."""
    in_bin = np.eye(bins.max() + 1)[bins]
    n = weights.sum(axis=1)
    sums = [weights @ (x[:, None] * in_bin) for x in (np.ones(len(p)), p, y)]
    found = _of_bins(*sums)
    explained = found["reliability"] - found["resolution"] + found["uncertainty"]
    found["within_bins"] = weights @ (p - y) ** 2 / n - explained
    # Errors by coverage, the surest first; equal probabilities are covered together.
    order = np.argsort(-p, kind="stable")
    ties = np.flatnonzero(np.diff(-p[order], prepend=-2.0))
    covered = np.add.reduceat(weights[:, order], ties, axis=1)
    wrong = np.add.reduceat(weights[:, order] * ~y[order], ties, axis=1)
    found["aurc"] = area_under_risk(covered, wrong)
    # The best order covers all that is right, then all that is wrong.
    errors = wrong.sum(axis=1)
    best_covered = np.stack([n - errors, errors], axis=1)
    best_wrong = np.stack([np.zeros(len(n)), errors], axis=1)
    found["e_aurc"] = found["aurc"] - area_under_risk(best_covered, best_wrong)
    return found


def _of_bins(n, stated, true):
    """ECE and parts of the Brier score from sums by bin, of shape [resamples, bins]."""
    total = n.sum(axis=-1, keepdims=True)
    weight = n / total
    share = true / np.maximum(n, 1)
    gap = np.abs(stated / np.maximum(n, 1) - share)
    variance = np.where(n > 1, share * (1 - share) / np.maximum(n - 1, 1), 0.0)
    base = true.sum(axis=-1, keepdims=True) / total
    parts = {
        "ece": weight * gap,
        "ece_debiased": weight * (2 * gap - _folded_mean(gap, np.sqrt(variance))),
        "reliability": weight * gap**2,
        "reliability_debiased": weight * (gap**2 - variance),
        "resolution": weight * (share - base) ** 2,
        "uncertainty": base * (1 - base),
    }
    return pd.DataFrame({name: part.sum(axis=-1) for name, part in parts.items()})


def _folded_mean(gap, noise):
    """Mean of the magnitude of a normal with this mean and standard deviation."""
    z = np.divide(gap, noise, out=np.full_like(gap, np.inf), where=noise > 0)
    density = np.exp(-(z**2) / 2) * np.sqrt(2 / np.pi)
    return noise * density + gap * special.erf(z / np.sqrt(2))


def area_under_risk(covered, wrong):
    """Mean risk over all coverages, ties in expected order."""
    before = np.cumsum(covered, axis=1) - covered
    errors = np.cumsum(wrong, axis=1) - wrong
    rate = wrong / np.maximum(covered, 1)
    harmonic = special.digamma(before + covered + 1) - special.digamma(before + 1)
    # The sum over j = 1 ... c of (e + j r) / (b + j) = c r + (e - b r) (H_b+c - H_b).
    areas = covered * rate + (errors - before * rate) * harmonic
    return areas.sum(axis=1) / covered.sum(axis=1)


def _interval(name, found, draws, chance, n, reason):
    """Basic bootstrap; draws of statistics that chance inflates move onto the debiased value."""
    plain = name.removesuffix("_debiased")
    unbiased = f"{plain}_debiased" if plain in INFLATED else name
    estimate = found[name]
    bounds = np.quantile(draws[unbiased], TAILS)
    if plain in INFLATED:
        estimate = max(0.0, estimate)
        bounds += found[unbiased] - draws[unbiased].mean()
        if found[plain] <= chance[plain].quantile(LEVEL):
            bounds[0] = 0.0
    else:
        bounds = 2 * estimate - bounds[::-1]
    if name != "within_bins":
        bounds = np.maximum(bounds, 0.0)
    low, high = bounds.tolist()
    if reason not in (None, INTERVAL_BY_UNIT):
        low = high = None
    elif np.ptp(draws[unbiased]) == 0:
        reason = "no_variation"
    return Interval(float(estimate), low, high, LEVEL, n, "basic", reason)


def _bin_table(y, p, bins):
    """Mean statement and share that came true of every bin."""
    by_bin = pd.DataFrame({"true": y, "p": p}).groupby(bins)
    table = shares({b: (part["true"].sum(), len(part)) for b, part in by_bin})
    table["confidence"] = by_bin["p"].mean()
    names = {"value": "share", "low": "share low", "high": "share high"}
    return table.rename(columns=names)[["n", "confidence", *names.values()]]


def _coverage_curve(y, p, n):
    """Risk at every coverage of n units that a threshold on the probability can give."""
    by_threshold = pd.Series(~y).groupby(-p)
    covered = by_threshold.size().cumsum()
    return pd.DataFrame(
        {
            "threshold": -covered.index,
            "coverage": covered.to_numpy() / max(n, 1),
            "risk": (by_threshold.sum().cumsum() / covered).to_numpy(),
            "n": covered.to_numpy(),
        }
    )
