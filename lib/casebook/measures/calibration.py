"""Whether stated probabilities come true, and what abstaining would buy.

Calibration in bins of equal mass (ECE and Murphy's parts of the Brier score, each also without
the bias of small bins), and errors by coverage (AURC), all on weighted units, so that a
resample is a row of weights.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

from casebook.stats.areas import auroc, mid_ranks
from casebook.stats.intervals import (
    Interval,
    bootstrap_mean,
    cluster_codes,
    percentile_bounds,
    resample_counts,
    wilson,
)
from casebook.stats.samples import generator

OUTCOMES_IN_BLOCK = 2**21
LEVEL = 0.95
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


@dataclass(frozen=True, eq=False)
class Calibration:
    """Measures and controls by name, the bins, risk by coverage, and numbers of statements."""

    measures: dict
    controls: dict
    bins: pd.DataFrame
    curve: pd.DataFrame
    n: int
    missing: int


def calibration(outcome, probability, *, n_bins=10, clusters=None, n_resamples=1000, seed=0):
    """Compare stated probabilities with what came true, in bins of equal mass.

    A probability is None where none was stated. Gives intervals by measure, the values of a
    calibrated forecaster or of the base rate as controls, the bins, and risk by coverage. Equal
    probabilities are never parted.
    """
    y = np.asarray(outcome, dtype=bool)
    p = np.array([np.nan if x is None else x for x in probability], dtype=float)
    stated = ~np.isnan(p)
    groups = None if clusters is None else cluster_codes(clusters, len(y))[stated]
    y = y[stated]
    p = p[stated]
    missing = int((~stated).sum())
    bins = mass_bins(p, n_bins)
    undefined = Interval(None, None, None, LEVEL, 0, "basic", "no_units")
    measures = dict.fromkeys(MEASURES, undefined)
    controls = {}
    if len(y):
        statistics = _Statistics(y, p, bins)
        chance = _calibrated(statistics, p, n_resamples, seed)
        draws = _resampled(statistics, groups, n_resamples, seed)
        values = statistics.of_resamples(np.ones((1, len(y)))).iloc[0]
        for name in MEASURES:
            measures[name] = _interval(name, values, draws, chance, len(y))
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
    said = np.where(y, p, 1 - p)  # the probability of what came true
    measures["log_loss"] = replace(
        undefined, n=len(y), method="percentile", reason="certain_and_wrong"
    )
    if said.all():
        measures["log_loss"] = bootstrap_mean(-np.log(said), **options)
    measures["auroc"] = auroc(y, p, clusters=groups)
    return Calibration(
        measures=measures,
        controls={name: float(value) for name, value in controls.items()},
        bins=_bin_table(y, p, bins),
        curve=_coverage_curve(y, p, missing),
        n=len(y),
        missing=missing,
    )


def _resampled(statistics, groups, n_resamples, seed):
    """Statistics of resamples of units, or of whole clusters; none if there is only one."""
    codes = np.arange(len(statistics.p)) if groups is None else groups
    kinds, codes = np.unique(codes, return_inverse=True)
    if len(kinds) < 2:
        return None
    resamples = resample_counts(len(kinds), n_resamples, seed)
    return pd.concat([statistics.of_resamples(weights[:, codes]) for weights in resamples])


def _calibrated(statistics, p, n_resamples, seed):
    """Statistics that a calibrated forecaster would show by chance."""
    blocks = []
    rows = max(1, OUTCOMES_IN_BLOCK // len(p))
    for block, start in enumerate(range(0, n_resamples, rows)):
        rng = generator(seed, "calibrated", block)
        outcomes = rng.random((min(rows, n_resamples - start), len(p))) < p
        blocks.append(statistics.of_outcomes(outcomes))
    return pd.concat(blocks)


def _interval(name, values, draws, chance, n):
    """Basic bootstrap; draws of statistics that chance inflates move onto the debiased value."""
    plain = name.removesuffix("_debiased")
    is_biased = plain in ("ece", "reliability")
    method = "shifted" if is_biased else "basic"
    estimate = float(values[name])
    if is_biased:
        estimate = max(0.0, estimate)
    if draws is None:
        reason = "fewer_than_two_units" if n == 1 else "fewer_than_two_clusters"
        return Interval(estimate, None, None, LEVEL, n, method, reason)
    unbiased = f"{plain}_debiased" if is_biased else name
    resampled = draws[unbiased].to_numpy()
    bounds = percentile_bounds(resampled, LEVEL)
    if is_biased:
        bounds += values[unbiased] - resampled.mean()
        if values[plain] <= np.quantile(chance[plain], LEVEL):
            bounds[0] = 0.0
    else:
        bounds = 2 * estimate - bounds[::-1]
    if name != "within_bins":
        bounds = np.maximum(bounds, 0.0)
    reason = "no_variation" if np.ptp(resampled) == 0 else None
    return Interval(estimate, *bounds.tolist(), LEVEL, n, method, reason)


def _bin_table(y, p, bins):
    """Mean statement and share that came true of every bin."""
    rows = []
    for b in range(bins.max(initial=-1) + 1):
        inside = bins == b
        share = wilson(int(y[inside].sum()), int(inside.sum()))
        rows.append((share.n, p[inside].mean(), share.estimate, share.low, share.high))
    return pd.DataFrame(rows, columns=["n", "confidence", "share", "share low", "share high"])


def _coverage_curve(y, p, missing):
    """Risk at every coverage that a threshold on the probability can give."""
    order = np.argsort(-p, kind="stable")
    last = np.flatnonzero(np.diff(p[order], append=-1.0))
    covered = last + 1
    wrong = np.cumsum(~y[order])[last]
    return pd.DataFrame(
        {
            "threshold": p[order][last],
            "coverage": covered / max(len(y) + missing, 1),
            "risk": wrong / covered,
            "n": covered,
        }
    )


def mass_bins(p, n_bins):
    """Assign probabilities to bins of equal mass, never parting equal ones."""
    bins = (mid_ranks(p, p) * n_bins / max(len(p), 1)).astype(int)
    _, without_gaps = np.unique(np.minimum(bins, n_bins - 1), return_inverse=True)
    return without_gaps


class _Statistics:
    """Statistics of weighted samples, a row each."""

    def __init__(self, y, p, bins):
        # Sorted by probability, bins and ties are runs, and sums over them are quick.
        self.order = np.argsort(-p, kind="stable")
        self.p = p[self.order]
        self.y = y[self.order].astype(float)
        self.bins = np.flatnonzero(np.diff(bins[self.order], prepend=-1))
        self.ties = np.flatnonzero(np.diff(-self.p, prepend=-2.0))

    def of_resamples(self, weights):
        """Statistics of units that count several times, weights of shape [resamples, units]."""
        w = weights[:, self.order]
        covered = np.add.reduceat(w, self.ties, axis=1)
        wrong = np.add.reduceat(w * (1 - self.y), self.ties, axis=1)
        errors = wrong.sum(axis=1)
        # The best order covers all that is right, then all that is wrong.
        right = w.sum(axis=1) - errors
        best_covered = np.stack([right, errors], axis=1)
        best_wrong = np.stack([np.zeros(len(w)), errors], axis=1)
        aurc = area_under_risk(covered, wrong)
        best = area_under_risk(best_covered, best_wrong)
        return self._binned(w, self.y).assign(aurc=aurc, e_aurc=aurc - best)

    def of_outcomes(self, outcomes):
        """Statistics of bins had other things come true, outcomes of shape [resamples, units]."""
        return self._binned(np.ones(outcomes.shape), outcomes[:, self.order].astype(float))

    def _binned(self, w, y):
        """ECE and the parts of the Brier score from sums by bin."""
        n = np.add.reduceat(w, self.bins, axis=1)
        stated = np.add.reduceat(w * self.p, self.bins, axis=1)
        true = np.add.reduceat(w * y, self.bins, axis=1)
        loss = np.add.reduceat(w * (self.p - y) ** 2, self.bins, axis=1)
        total = n.sum(axis=1, keepdims=True)
        weight = n / total
        confidence = stated / np.maximum(n, 1)
        share = true / np.maximum(n, 1)
        variance = share * (1 - share) / np.maximum(n - 1, 1)
        noise = np.sqrt(variance) * (n > 1)
        gap = np.abs(confidence - share)
        base = true.sum(axis=1, keepdims=True) / total
        parts = pd.DataFrame({"ece": (weight * gap).sum(axis=1)})
        gap_by_chance = _folded_mean(gap, noise)
        parts["ece_debiased"] = (weight * (2 * gap - gap_by_chance)).sum(axis=1)
        parts["reliability"] = (weight * gap**2).sum(axis=1)
        parts["reliability_debiased"] = parts["reliability"] - (weight * noise**2).sum(axis=1)
        parts["resolution"] = (weight * (share - base) ** 2).sum(axis=1)
        parts["uncertainty"] = base * (1 - base)
        brier = loss.sum(axis=1) / total[:, 0]
        explained = parts["reliability"] - parts["resolution"] + parts["uncertainty"]
        parts["within_bins"] = brier - explained
        return parts


def area_under_risk(covered, wrong):
    """Mean risk over all coverages, ties in expected order."""
    before = np.cumsum(covered, 1) - covered
    errors = np.cumsum(wrong, 1) - wrong
    n = covered.sum(axis=1)
    harmonic = special.digamma(before + covered + 1) - special.digamma(before + 1)
    rate = wrong / np.maximum(covered, 1)
    # The sum over j = 1 ... c of (e + j r) / (b + j) = c r + (e - b r) (H_b+c - H_b).
    areas = covered * rate + (errors - before * rate) * harmonic
    return areas.sum(axis=1) / n


def _folded_mean(gap, noise):
    """Mean of the magnitude of a normal with this mean and standard deviation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(noise > 0, gap / noise, np.inf)
    density = np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2)
    return noise * density + gap * (1 - 2 * special.ndtr(-z))
