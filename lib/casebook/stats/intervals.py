"""Cluster bootstrap: the draws, and the interval of a mean."""

import numpy as np
from scipy import special

from casebook.inference.clusters import cluster_codes
from casebook.inference.intervals import Interval
from casebook.inference.samples import (
    ROUNDING,
    check_choice,
    check_count,
    check_share,
    number_or_none,
    score_matrix,
    stream,
)

FEWEST = 6
"""Units, or clusters of units, below which no interval is given."""

ENOUGH = 20
"""Units, or clusters, from which BCa may widen Student's interval."""

METHODS = ("hull", "percentile", "bca", "t")
BLOCK_ELEMENTS = 2**18


def resample_counts(units, n_boot, seed):
    """Yield blocks [resamples, units]: how often each unit was drawn."""
    rows = max(1, BLOCK_ELEMENTS // units)
    for block, start in enumerate(range(0, n_boot, rows)):
        size = min(rows, n_boot - start)
        rng = np.random.Generator(stream(seed, "bootstrap", block))
        picks = rng.integers(0, units, (size, units), dtype=np.int32)
        picks = picks + units * np.arange(size)[:, None]
        counts = np.bincount(picks.ravel(), minlength=size * units)
        yield counts.reshape(size, units).astype(float)


def ratio_draws(sums, sizes, n_boot, seed):
    """Bootstrap draws [resamples, columns] of sums over sizes of drawn clusters."""
    blocks = resample_counts(len(sizes), n_boot, seed)
    return np.concatenate([(W @ sums) / (W @ sizes)[:, None] for W in blocks])


def cluster_sums(values, clusters=None):
    """Sum the columns within each cluster: sums [clusters, columns], sizes [clusters]."""
    if clusters is None:
        return values, np.ones(len(values))
    codes = cluster_codes(clusters, len(values))
    sizes = np.bincount(codes).astype(float)
    sums = [np.bincount(codes, column, len(sizes)) for column in values.T]
    return np.stack(sums, axis=1) if sums else np.empty((len(sizes), 0)), sizes


def too_few(groups, clusters):
    """Say why so few units or clusters get no interval; None if there are enough."""
    kind = "units" if clusters is None else "clusters"
    if groups >= FEWEST:
        return None
    return f"fewer_than_six_{kind}" if groups else "no_units"


def mean_intervals(values, clusters=None, *, level=0.95, method="hull", n_boot=10_000, seed=0):
    """Interval of the mean of every column; whole clusters are drawn."""
    check_share("level", level)
    check_choice("method", method, METHODS)
    check_count("n_boot", n_boot)
    X, _ = score_matrix(values)
    if not len(X):
        empty = Interval(None, None, None, level, 0, method, "no_units")
        return [empty] * X.shape[1]
    # Summing from the first row keeps the digits of scores with a common offset.
    origin = X[0]
    sums, sizes = cluster_sums(X - origin, clusters)
    means = sums.sum(axis=0) / sizes.sum()
    reason = too_few(len(sizes), clusters)
    flat = np.ptp(X, axis=0) <= ROUNDING * np.abs(X).max(axis=0)
    bounds = np.full((2, X.shape[1]), np.nan)
    if reason is None and not flat.all():
        bounds = _bounds(sums, sizes, means, (level, method, n_boot, seed))
        bounds = origin + np.clip(bounds, *(f(X - origin, 0) for f in (np.min, np.max)))
    found = []
    for k, mean in enumerate(origin + means):
        low, high = (number_or_none(x) for x in bounds[:, k])
        why = reason
        if reason is None and flat[k]:
            low, high, why = float(mean), float(mean), "no_variation"
        found.append(Interval(float(mean), low, high, level, len(X), method, why))
    return found


def _bounds(sums, sizes, means, options):
    level, method, n_boot, seed = options
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    without = (sums.sum(axis=0) - sums) / (sizes.sum() - sizes)[:, None]
    bounds = []
    if method in ("hull", "t"):
        # Of unequal clusters fewer count (Kish): as many as equal ones would.
        effective = sizes.sum() ** 2 / np.sum(sizes**2)
        bounds.append(_student(means, without, tails, effective - 1))
    if method in ("percentile", "bca") or (method == "hull" and len(sizes) >= ENOUGH):
        draws = ratio_draws(sums, sizes, n_boot, seed)
        places = np.broadcast_to(tails, (len(means), 2))
        if method != "percentile":
            places = [_bca_tails(tails, d - m, w) for d, m, w in zip(draws.T, means, without.T, strict=True)]
        bounds.append(np.array([np.quantile(d, q) for d, q in zip(draws.T, places, strict=True)]).T)
    lows, highs = np.stack(bounds).swapaxes(0, 1)
    return np.stack([lows.min(axis=0), highs.max(axis=0)])


def _student(means, without, tails, df):
    """Student's t interval by the jackknife over clusters."""
    groups = len(without)
    spread = np.sum((without - without.mean(axis=0)) ** 2, axis=0)
    error = np.sqrt((groups - 1) / groups * spread)
    return means + special.stdtrit(df, tails)[:, None] * error


def _bca_tails(tails, gaps, without):
    """Tails with bias and acceleration (Efron 1987); equal draws count half."""
    gaps[np.abs(gaps) <= ROUNDING * np.abs(gaps).max(initial=0.0)] = 0.0
    below = np.mean(gaps < 0) + np.mean(gaps == 0) / 2
    bias = special.ndtri(np.clip(below, 1 / len(gaps), 1 - 1 / len(gaps)))
    pull = without.mean() - without
    scale = np.sum(pull**2) ** 1.5
    acceleration = np.sum(pull**3) / (6 * scale) if scale else 0.0
    z = bias + special.ndtri(tails)
    return special.ndtr(bias + z / (1 - acceleration * z))
