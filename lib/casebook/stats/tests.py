"""Sign-flip tests of paired differences over clusters, and the intervals they imply."""

from dataclasses import dataclass

import numpy as np

from casebook.inference.intervals import Interval
from casebook.inference.samples import check_count, check_share, number_or_none, score_matrix
from casebook.inference.signs import all_signs, random_signs
from casebook.stats.intervals import cluster_sums, too_few


@dataclass(frozen=True)
class SignFlips:
    """Mean differences with p-values and intervals, one entry per column."""

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    p_adjusted: np.ndarray
    exact: bool


def sign_flips(sums, sizes, *, level=0.95, n_resamples=10_000, seed=0):
    """Test that mean differences are 0 by turning the signs of whole clusters."""
    check_share("level", level)
    check_count("n_resamples", n_resamples)
    groups, columns = sums.shape
    total, scale = sums.sum(axis=0), np.sqrt(np.sum(sums**2, axis=0))
    slack = 1e-9 * np.abs(sums).sum(axis=0)
    unit = np.where(scale > 0, scale, 1.0)
    exact = groups <= 40 and 2 ** (groups - 1) <= n_resamples
    # One cluster alone has no pattern besides the data and their mirror image.
    subsets, weights = [np.empty((0, columns))], [np.empty(0)]
    for bits in _patterns(groups, n_resamples, exact, seed):
        subsets.append(bits @ sums)
        weights.append(bits @ sizes)
    subsets, weights = np.concatenate(subsets), np.concatenate(weights)
    subsets[np.abs(subsets) <= slack] = 0.0
    rest = total - subsets
    rest[np.abs(rest) <= slack] = 0.0
    flipped = np.abs(rest - subsets)  # |T| of a pattern and of its complement
    seen = np.abs(total)
    hits = np.count_nonzero(flipped >= seen - slack, axis=0)
    largest = np.sort((flipped / unit).max(axis=1, initial=0.0))
    reached = np.searchsorted(largest, (seen - slack) / unit, side="left")
    drawn = len(subsets) + 1  # and the pattern of the data
    p, adjusted = (hits + 1) / drawn, (len(largest) - reached + 1) / drawn
    p[scale == 0] = adjusted[scale == 0] = 1.0
    alpha = 1 - level
    # Rejected is what exceeds the largest statistic of all but `spare` patterns.
    spare = int(np.floor(alpha * drawn + 1e-9)) - 1
    critical = largest[len(largest) - 1 - spare] if 0 <= spare < len(largest) else np.inf
    allowed = np.count_nonzero(flipped > critical * unit + slack, axis=0)
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    for k in np.flatnonzero(scale > 0):
        if spare < 0:
            continue
        low[k], high[k] = _bounds(
            subsets[:, k], rest[:, k], weights, sizes.sum(), total[k], allowed[k], adjusted[k] <= alpha
        )
    low[scale == 0] = high[scale == 0] = 0.0
    return SignFlips(total / sizes.sum(), low, high, p, adjusted, exact)


def _bounds(subset, rest, weight, size, total, allowed, rejected):
    """Order statistics of the subset means, `allowed` of them cut off at either end."""
    values = np.concatenate([subset, rest, [total]])
    weights = np.concatenate([weight, size - weight, [size]])
    kept = weights > 0
    means = np.sort(values[kept] / weights[kept])
    # Rounding at the critical value must not let the interval contradict the test.
    beyond = min(np.count_nonzero(means <= 0), np.count_nonzero(means >= 0))
    allowed = min(allowed, beyond - 1) if not rejected else max(allowed, beyond)
    if allowed < 0 or 2 * allowed >= len(means):
        return np.nan, np.nan
    return means[allowed], means[-1 - allowed]


def _patterns(groups, n_resamples, exact, seed):
    """Blocks of subsets of the clusters, one of each complementary pair."""
    if not exact:
        yield from (bits * 1.0 for bits in random_signs(groups, n_resamples, seed))
    elif groups > 1:
        # The last cluster is never in, so that no complement occurs; nor the empty set.
        for bits in all_signs(groups - 1):
            yield np.pad(bits[bits.any(axis=1)], ((0, 0), (0, 1))) * 1.0


def difference_intervals(differences, clusters=None, *, level=0.95, n_resamples=10_000, seed=0):
    """Interval of the mean of every column of paired differences, each on its own."""
    X, _ = score_matrix(differences)
    options = {"level": level, "n_resamples": n_resamples, "seed": seed}
    found = []
    for column in X.T:
        sums, sizes = cluster_sums(column[:, None], clusters)
        reason, low, high, mean = too_few(len(sizes), clusters), None, None, None
        if len(X):
            flips = sign_flips(sums, sizes, **options)
            mean = float(flips.difference[0])
        if len(X) and not column.any():
            low, high, reason = 0.0, 0.0, "no_variation"
        elif reason is None:
            low, high = (number_or_none(x[0]) for x in (flips.low, flips.high))
        found.append(Interval(mean, low, high, level, len(X), "sign-flip", reason))
    return found
