"""Binned and selective statistics of probabilities, for many resamples at once."""

import numpy as np
from scipy import special


def mass_bins(p, n_bins):
    """Assign probabilities to bins of equal mass, never parting equal ones."""
    order = np.sort(p)
    ranks = (np.searchsorted(order, p, "left") + np.searchsorted(order, p, "right")) / 2
    bins = np.minimum((ranks * n_bins / max(len(p), 1)).astype(int), n_bins - 1)
    return np.unique(bins, return_inverse=True)[1] if len(p) else bins


class CalibrationStatistics:
    """Statistics of weighted samples: one row of weights per resample."""

    def __init__(self, y, p, bins):
        # Sorted by probability, bins and ties are runs, and sums over them are quick.
        self.order = np.argsort(-p, kind="stable")
        self.p, self.y = p[self.order], y[self.order].astype(float)
        self.loss = (self.p - self.y) ** 2
        self.bins = np.flatnonzero(np.diff(bins[self.order], prepend=-1))
        self.ties = np.flatnonzero(np.diff(-self.p, prepend=-2.0))

    def __call__(self, weights):
        """Give every statistic, shape [resamples]."""
        w = weights[:, self.order]
        columns = (w, w * self.p, w * self.y, w * self.loss)
        sums = np.stack([np.add.reduceat(x, self.bins, axis=1) for x in columns], -1)
        return _binned(sums) | self._selective(w)

    def with_outcomes(self, outcomes):
        """Give the binned statistics of other outcomes, in order of the units given."""
        y = outcomes[:, self.order].astype(float)
        one = np.ones_like(y)
        columns = (one, one * self.p, y, (y - self.p) ** 2)
        sums = np.stack([np.add.reduceat(x, self.bins, axis=1) for x in columns], -1)
        return _binned(sums)

    def _selective(self, w):
        covered = np.add.reduceat(w, self.ties, axis=1)
        wrong = np.add.reduceat(w * (1 - self.y), self.ties, axis=1)
        n, errors = w.sum(axis=1), wrong.sum(axis=1)
        aurc = area_under_risk(covered, wrong)
        best = area_under_risk(np.stack([n - errors, errors], axis=1), np.stack([np.zeros(len(n)), errors], axis=1))
        return {"aurc": aurc, "e_aurc": aurc - best}


def area_under_risk(covered, wrong):
    """Mean risk over all coverages, ties in expected order."""
    before, errors = np.cumsum(covered, 1) - covered, np.cumsum(wrong, 1) - wrong
    n = covered.sum(axis=1)
    harmonic = special.digamma(before + covered + 1) - special.digamma(before + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(covered > 0, wrong / covered, 0.0)
    # The sum over j = 1 ... c of (e + j r) / (b + j) = c r + (e - b r) (H_b+c - H_b).
    total = (covered * rate + (errors - before * rate) * harmonic).sum(axis=1)
    return total / n


def _binned(sums):
    """ECE and the parts of the Brier score from sums by bin: n, p, y, loss."""
    n, p, y, loss = np.moveaxis(sums, -1, 0)
    total = n.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        confidence, share = (np.where(n > 0, x / n, 0.0) for x in (p, y))
        noise = np.where(n > 1, np.sqrt(share * (1 - share) / (n - 1)), 0.0)
    weight, gap = n / total, np.abs(confidence - share)
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
