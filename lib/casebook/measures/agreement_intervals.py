"""Intervals of agreement: Student's, over items, and over items and raters."""

import math

import numpy as np
from scipy import special

from casebook.stats.intervals import resample_counts
from casebook.stats.samples import number_or_none

RESOLUTION = 1e-12
LEAST_ROWS = 16


def student(estimate, se, df, settings):
    """Give the t interval and the test against 0."""
    reach = float(special.stdtrit(df, settings.tails[1])) * se
    found = {"interval": (estimate - reach, min(1.0, estimate + reach))}
    if se > 0:
        t = estimate / se
        found["statistic"] = ("t", t, (df,))
        found["p_greater"] = float(special.stdtr(df, -t))
        found["p_two_sided"] = float(2 * special.stdtr(df, -abs(t)))
    return found


def item_draws(coefficients, n_items, settings):
    """Bootstrap several coefficients over the same resamples of items."""
    blocks = [np.stack([c.values(weights) for c in coefficients], axis=1) for weights in _stacked(n_items, settings)]
    return np.concatenate(blocks) if blocks else np.empty((0, len(coefficients)))


def _stacked(n_items, settings):
    """Yield resamples, several at once: a product with one row reads all features."""
    held = []
    for counts in resample_counts(n_items, settings.n_boot, settings.seed):
        held.append(counts)
        if sum(map(len, held)) >= LEAST_ROWS:
            yield np.concatenate(held)
            held = []
    if held:
        yield np.concatenate(held)


def bootstrap_interval(draws, estimate, n_items, settings, influence=None):
    """Give the interval of bootstrap draws: BCa with Student's quantiles."""
    missing = np.isnan(draws)
    low, high = _bca_tails(draws[~missing], estimate, n_items, settings, influence)
    with np.errstate(invalid="ignore"):
        bounds = (
            float(np.quantile(np.where(missing, -np.inf, draws), low)),
            float(np.quantile(np.where(missing, np.inf, draws), high)),
        )
    if not all(map(math.isfinite, bounds)):
        return None, "undefined_in_resamples"
    return bounds, "all_resamples_equal" if bounds[0] == bounds[1] else None


def _bca_tails(draws, estimate, n_items, settings, influence):
    """Tail probabilities corrected for bias, acceleration and small samples."""
    reach = special.stdtrit(n_items - 1, settings.tails[1])
    z = math.sqrt(n_items / (n_items - 1)) * reach * np.array([-1.0, 1.0])
    near = np.abs(draws - estimate) <= RESOLUTION
    below = np.mean((draws < estimate) & ~near) + near.mean() / 2 if len(draws) else 0.5
    # With all draws on one side nothing is known about the bias.
    bias = special.ndtri(below) if 0 < below < 1 else 0.0
    acceleration = 0.0
    if influence is not None and np.ptp(influence) > RESOLUTION:
        pull = influence - influence.mean()
        acceleration = np.sum(pull**3) / (6 * np.sum(pull**2) ** 1.5)
    shifted = bias + z
    return special.ndtr(bias + shifted / np.maximum(1 - acceleration * shifted, 0.1))


def jackknife_variance(values):
    """Delete-one jackknife variance."""
    r = len(values)
    return float((r - 1) / r * np.sum((values - values.mean()) ** 2))


def widened(estimate, bounds, values, settings):
    """Widen an interval over items by the variance over raters."""
    variance = jackknife_variance(values)
    reach = float(special.ndtri(settings.tails[1])) * math.sqrt(variance)
    below, above = estimate - bounds[0], bounds[1] - estimate
    return (estimate - math.hypot(max(below, 0.0), reach), estimate + math.hypot(max(above, 0.0), reach))


def whole(coefficient):
    """Give a coefficient on its own items."""
    ones = np.ones((1, coefficient.panel.n_items))
    return number_or_none(coefficient.values(ones)[0])
