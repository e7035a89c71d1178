"""Whether stated probabilities come true, and what abstaining would buy.

Calibration in bins of equal mass (ECE and Murphy's parts of the Brier score, each also without
the bias of small bins), and errors by coverage (AURC), all on weighted units, so that a
resample is a row of weights.
"""

from dataclasses import dataclass

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


def calibration(
    outcome, probability, *, n_bins=10, clusters=None, level=0.95, n_resamples=1000, seed=0
):
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
    measures = dict.fromkeys(MEASURES, Interval(None, None, None, level, 0, "basic", "no_units"))
    controls = {}
    if len(y):
        statistics = _Statistics(y, p, bins)
        chance = _calibrated(statistics, p, n_resamples, seed)
        draws = _resampled(statistics, groups, n_resamples, seed)
        values = {name: x[0] for name, x in statistics(np.ones((1, len(y)))).items()}
        measures = {
            name: _interval(name, values, draws, chance, len(y), level) for name in MEASURES
        }
        controls = _controls(float(y.mean()), chance)
    measures["brier"] = bootstrap_mean(
        (p - y) ** 2, level=level, clusters=groups, n_resamples=n_resamples, seed=seed
    )
    measures["log_loss"] = _log_loss(
        y, p, level=level, clusters=groups, n_resamples=n_resamples, seed=seed
    )
    measures["auroc"] = auroc(y, p, level=level, clusters=groups)
    return Calibration(
        measures=measures,
        controls=controls,
        bins=_bin_table(y, p, bins, level),
        curve=_coverage_curve(y, p, missing),
        n=len(y),
        missing=missing,
    )


def _log_loss(y, p, *, level, clusters, n_resamples, seed):
    """Interval of the mean log loss, undefined where a certain statement was wrong."""
    probability_of_outcome = np.where(y, p, 1 - p)
    if not probability_of_outcome.all():
        return Interval(None, None, None, level, len(y), "percentile", "certain_and_wrong")
    return bootstrap_mean(
        -np.log(probability_of_outcome),
        level=level,
        clusters=clusters,
        n_resamples=n_resamples,
        seed=seed,
    )


def _controls(base_rate, chance):
    """Values of a calibrated forecaster by chance, and of one who always states the base rate."""
    return {
        "ece": float(chance["ece"].mean()),
        "reliability": float(chance["reliability"].mean()),
        "brier": base_rate * (1 - base_rate),
        "log_loss": float(special.entr([base_rate, 1 - base_rate]).sum()),
        "aurc": 1 - base_rate,
        "auroc": 0.5,
    }


def _resampled(statistics, groups, n_resamples, seed):
    """Give the statistics of resamples of units, or of whole clusters."""
    codes = np.arange(len(statistics.p)) if groups is None else groups
    kinds, codes = np.unique(codes, return_inverse=True)
    if len(kinds) < 2:
        return {}
    blocks = []
    for weights in resample_counts(len(kinds), n_resamples, seed):
        blocks.append(statistics(weights[:, codes]))
    return _joined(blocks)


def _calibrated(statistics, p, n_resamples, seed):
    """Give the statistics that a calibrated forecaster would show by chance."""
    blocks = []
    rows = max(1, OUTCOMES_IN_BLOCK // len(p))
    for block, start in enumerate(range(0, n_resamples, rows)):
        rng = generator(seed, "calibrated", block)
        outcomes = rng.random((min(rows, n_resamples - start), len(p))) < p
        blocks.append(statistics.with_outcomes(outcomes))
    return _joined(blocks)


def _joined(blocks):
    """Join the statistics of blocks of resamples."""
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _interval(name, values, draws, chance, n, level):
    """Basic bootstrap; draws of statistics that chance inflates move onto the debiased value."""
    plain = name.removesuffix("_debiased")
    biased = plain in ("ece", "reliability")
    method = "shifted" if biased else "basic"
    estimate = max(0.0, float(values[name])) if biased else float(values[name])
    if not draws:
        reason = "fewer_than_two_units" if n == 1 else "fewer_than_two_clusters"
        return Interval(estimate, None, None, level, n, method, reason)
    resampled = draws[f"{plain}_debiased" if biased else name]
    quantile_low, quantile_high = percentile_bounds(resampled, level)
    if biased:
        shift = values[f"{plain}_debiased"] - resampled.mean()
        low = quantile_low + shift
        high = quantile_high + shift
        if values[plain] <= np.quantile(chance[plain], level):
            low = 0.0
    else:
        low = 2 * estimate - quantile_high
        high = 2 * estimate - quantile_low
    if name != "within_bins":
        low = max(0.0, low)
        high = max(0.0, high)
    reason = "no_variation" if np.ptp(resampled) == 0 else None
    return Interval(estimate, float(low), float(high), level, n, method, reason)


def _bin_table(y, p, bins, level):
    """Give the mean statement and the share that came true of every bin."""
    rows = []
    for b in range(bins.max(initial=-1) + 1):
        inside = bins == b
        share = wilson(int(y[inside].sum()), int(inside.sum()), level)
        rows.append((share.n, p[inside].mean(), share.estimate, share.low, share.high))
    return pd.DataFrame(rows, columns=["n", "confidence", "share", "share low", "share high"])


def _coverage_curve(y, p, missing):
    """Give the risk at every coverage that a threshold on the probability can give."""
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
    bins = np.minimum((mid_ranks(p, p) * n_bins / max(len(p), 1)).astype(int), n_bins - 1)
    return np.unique(bins, return_inverse=True)[1] if len(p) else bins


class _Statistics:
    """Statistics of weighted samples: one row of weights per resample."""

    def __init__(self, y, p, bins):
        # Sorted by probability, bins and ties are runs, and sums over them are quick.
        self.order = np.argsort(-p, kind="stable")
        self.p = p[self.order]
        self.y = y[self.order].astype(float)
        self.bins = np.flatnonzero(np.diff(bins[self.order], prepend=-1))
        self.ties = np.flatnonzero(np.diff(-self.p, prepend=-2.0))

    def __call__(self, weights):
        """Give every statistic, shape [resamples]."""
        w = weights[:, self.order]
        return self._binned(w, self.y) | self._selective(w)

    def with_outcomes(self, outcomes):
        """Give the binned statistics of other outcomes, in order of the units given."""
        return self._binned(np.ones(outcomes.shape), outcomes[:, self.order].astype(float))

    def _binned(self, w, y):
        return _measures_of_bins(
            n=np.add.reduceat(w, self.bins, axis=1),
            p=np.add.reduceat(w * self.p, self.bins, axis=1),
            y=np.add.reduceat(w * y, self.bins, axis=1),
            loss=np.add.reduceat(w * (self.p - y) ** 2, self.bins, axis=1),
        )

    def _selective(self, w):
        covered = np.add.reduceat(w, self.ties, axis=1)
        wrong = np.add.reduceat(w * (1 - self.y), self.ties, axis=1)
        n = w.sum(axis=1)
        errors = wrong.sum(axis=1)
        aurc = area_under_risk(covered, wrong)
        # The best order covers all that is right, then all that is wrong.
        best_covered = np.stack([n - errors, errors], axis=1)
        best_wrong = np.stack([np.zeros(len(n)), errors], axis=1)
        best = area_under_risk(best_covered, best_wrong)
        return {"aurc": aurc, "e_aurc": aurc - best}


def area_under_risk(covered, wrong):
    """Mean risk over all coverages, ties in expected order."""
    before = np.cumsum(covered, 1) - covered
    errors = np.cumsum(wrong, 1) - wrong
    n = covered.sum(axis=1)
    harmonic = special.digamma(before + covered + 1) - special.digamma(before + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(covered > 0, wrong / covered, 0.0)
    # The sum over j = 1 ... c of (e + j r) / (b + j) = c r + (e - b r) (H_b+c - H_b).
    total = (covered * rate + (errors - before * rate) * harmonic).sum(axis=1)
    return total / n


def _measures_of_bins(n, p, y, loss):
    """ECE and the parts of the Brier score from sums by bin."""
    total = n.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        confidence = np.where(n > 0, p / n, 0.0)
        share = np.where(n > 0, y / n, 0.0)
        noise = np.where(n > 1, np.sqrt(share * (1 - share) / (n - 1)), 0.0)
    weight = n / total
    gap = np.abs(confidence - share)
    base = y.sum(axis=1, keepdims=True) / total
    reliability = (weight * gap**2).sum(axis=1)
    resolution = (weight * (share - base) ** 2).sum(axis=1)
    uncertainty = (base * (1 - base))[:, 0]
    brier = loss.sum(axis=1) / total[:, 0]
    unbiased = 2 * gap - _folded_mean(gap, noise)
    noise_part = (weight * noise**2).sum(axis=1)
    return {
        "ece": (weight * gap).sum(axis=1),
        "ece_debiased": (weight * unbiased).sum(axis=1),
        "reliability": reliability,
        "reliability_debiased": reliability - noise_part,
        "resolution": resolution,
        "uncertainty": uncertainty,
        "within_bins": brier - reliability + resolution - uncertainty,
    }


def _folded_mean(gap, noise):
    """Mean of the magnitude of a normal with this mean and standard deviation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(noise > 0, gap / noise, np.inf)
    return noise * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + gap * (1 - 2 * special.ndtr(-z))
