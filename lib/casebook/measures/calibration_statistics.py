"""Binned and selective statistics of probabilities, for many resamples at once."""

import numpy as np
from scipy import special


def mass_bins(p, n_bins):
    """Assign probabilities to bins of equal mass, never parting equal ones.

    Parameters
    ----------
    p : numpy.ndarray, shape [n]
        Probabilities.
    n_bins : int
        Bins wanted.

    Returns
    -------
    numpy.ndarray of int, shape [n]
        Bin of each, 0 upwards in order of probability; no bin is empty.
    """
    order = np.sort(p)
    ranks = (np.searchsorted(order, p, "left") + np.searchsorted(order, p, "right")) / 2
    bins = np.minimum((ranks * n_bins / max(len(p), 1)).astype(int), n_bins - 1)
    return np.unique(bins, return_inverse=True)[1] if len(p) else bins


class CalibrationStatistics:
    """Statistics of weighted samples: one row of weights per resample.

    Parameters
    ----------
    y : numpy.ndarray of bool, shape [n]
        What came true.
    p : numpy.ndarray, shape [n]
        Stated probabilities.
    bins : numpy.ndarray of int, shape [n]
        From `mass_bins`.
    """

    def __init__(self, y, p, bins):
        self.p = p
        columns = np.stack([np.ones(len(y)), p, y, (p - y) ** 2], axis=1)
        self.k = bins.max(initial=-1) + 1
        spread = np.zeros((len(y), self.k, columns.shape[1]))
        spread[np.arange(len(y)), bins] = columns
        self.columns = spread.reshape(len(y), self.k * columns.shape[1])
        order = np.argsort(-p, kind="stable")
        ties = np.unique(-p[order], return_inverse=True)[1] if len(p) else order
        self.order, self.errors = order, (~y[order]).astype(float)
        self.starts = np.flatnonzero(np.diff(ties, prepend=-1))

    def __call__(self, weights):
        """Give every statistic, shape [resamples]."""
        sums = (weights @ self.columns).reshape(len(weights), self.k, -1)
        return _binned(sums) | self._selective(weights)

    def with_outcomes(self, outcomes):
        """Give the binned statistics of other outcomes, shape [samples, n]."""
        n, p = (self.columns.reshape(len(self.p), self.k, -1)[..., i] for i in (0, 1))
        y = outcomes.astype(float)
        loss = (y - self.p) ** 2
        sums = [np.broadcast_to(x.sum(axis=0), (len(y), self.k)) for x in (n, p)]
        return _binned(np.stack([*sums, y @ n, loss @ n], axis=-1))

    def _selective(self, weights):
        w = weights[:, self.order]
        covered = np.add.reduceat(w, self.starts, axis=1)
        wrong = np.add.reduceat(w * self.errors, self.starts, axis=1)
        n = weights.sum(axis=1)
        aurc = area_under_risk(covered, wrong)
        best = area_under_risk(
            np.stack([n - wrong.sum(1), wrong.sum(1)], axis=1),
            np.stack([np.zeros(len(n)), wrong.sum(1)], axis=1),
        )
        return {"aurc": aurc, "e_aurc": aurc - best}


def area_under_risk(covered, wrong):
    """Mean risk over all coverages, ties in expected order.

    Parameters
    ----------
    covered, wrong : numpy.ndarray, shape [samples, ties]
        Units and errors of each group of equal confidence, most confident first.

    Returns
    -------
    numpy.ndarray, shape [samples]
        Mean over k = 1 ... n of the expected share of errors among the first k.
    """
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
    return noise * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + gap * (
        1 - 2 * special.ndtr(-z)
    )
