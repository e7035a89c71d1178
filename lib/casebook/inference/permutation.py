"""Paired randomisation tests of all pairs of systems at once."""

import math
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.inference.samples import (
    ROUNDING,
    check_choice,
    check_count,
    fixed_point,
    paired_scores,
    score_matrix,
    stream,
    system_pairs,
)
from casebook.inference.signs import BLOCK_ELEMENTS, all_signs, is_exact, random_signs

EXTREMITY = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}


@dataclass(frozen=True)
class RandomisationResult:
    """Outcome of a randomisation test: floats for one pair, arrays for many."""

    statistic: float | np.ndarray
    pvalue: float | np.ndarray
    pvalue_max_t: float | np.ndarray | None
    pairs: tuple | None
    n: int
    n_resamples: int
    exact: bool


def paired_randomization(
    a, b=None, *, n_resamples=100_000, seed=0, alternative="two-sided", exact="auto", baseline=None
):
    """Test mean paired differences by random signs (Fisher's randomisation test).

    Parameters
    ----------
    a : array_like, shape [units], or table, shape [units, systems]
        Scores of the first system, or of all systems on one scale.
    b : array_like, shape [units], optional
        Scores of the second system. Without it a table `a` is tested in all pairs of
        its columns, and a 1-D `a` is taken as the differences themselves.
    n_resamples : int, default 100000
        Number of random sign vectors.
    seed : int, default 0
        Seed. The p-values depend on nothing else: not on threads, nor on the machine.
    alternative : {"two-sided", "greater", "less"}
        Side of the mean difference, first minus second.
    exact : {"auto", True, False}
        Enumerate all ``2**units`` sign vectors; "auto" does so if that is no more
        work than `n_resamples`. Possible up to 24 units.
    baseline : label, optional
        Column of `a`: only the pairs of another system (first) with it are tested.

    Returns
    -------
    RandomisationResult
        Floats for two samples, arrays with one entry per pair for a table.

    Raises
    ------
    InputError
        If a score is missing, the samples do not pair, or an option is unknown.

    Notes
    -----
    ``p = (c + 1) / (B + 1)`` with c of B sign vectors at least as extreme as the data
    (Phipson & Smyth 2010), or ``c / 2**n`` when enumerated; never 0. Scores are summed
    as fixed-point integers, so sums carry no rounding error; sums that differ only by
    the rounding of the scores count as ties.

    All pairs share the signs. The adjusted p-value is the share of sign vectors whose
    largest ``|sum d| / sqrt(sum d^2)`` over the pairs reaches the observed one
    (Westfall & Young 1993, single step). Signs leave ``sum d^2`` alone and the ratio
    grows with Student's t, so this is max-T on studentised differences. It holds when,
    under the null, a unit's differences may change sign together.
    """
    check_choice("alternative", alternative, EXTREMITY)
    check_count("n_resamples", n_resamples)
    X, systems = _samples(a, b)
    pairs = system_pairs(systems, baseline)
    exact = is_exact(len(X), n_resamples, exact)
    signs = all_signs(len(X)) if exact else random_signs(len(X), n_resamples, seed)
    hits, hits_max = _count_extreme(X, pairs, signs, EXTREMITY[alternative])
    total = 2 ** len(X) if exact else n_resamples
    # The data are one of the enumerated sign vectors, but none of the random ones.
    data = 0 if exact else 1
    numbers = [_mean_differences(X, pairs), (hits + data) / (total + data), (hits_max + data) / (total + data)]
    if np.ndim(a) == 1:
        numbers, labels = [float(values[0]) for values in numbers], None
    else:
        labels = _labels(systems, pairs)
    return RandomisationResult(*numbers, labels, len(X), total, exact)


def _samples(a, b):
    if b is None and np.ndim(a) == 1:
        b = np.zeros(len(a))
    X, systems = score_matrix(a) if b is None else (paired_scores(a, b), [0, 1])
    _refuse_empty(X)
    return X, systems


def _refuse_empty(X):
    if not len(X):
        raise InputError("there are no units to compare")
    if X.shape[1] < 2:
        raise InputError("a comparison needs at least two systems")


def _mean_differences(X, pairs):
    return (X[:, pairs[:, 0]] - X[:, pairs[:, 1]]).mean(axis=0)


def _labels(systems, pairs):
    return tuple((systems[i], systems[j]) for i, j in pairs)


def _pair_sums(X, pairs):
    """Integer columns to be signed, and per pair the observed sum, norm and slack."""
    # Differences from one system keep the digits of scores with a common offset.
    relative = X - X[:, :1]
    integers, exponent = fixed_point(relative, math.fsum(np.abs(relative).max(axis=1, initial=0.0)))
    differences = integers[:, pairs[:, 0]] - integers[:, pairs[:, 1]]
    observed = differences.sum(axis=0)
    norms = np.sqrt(np.sum(differences**2, axis=0))
    # Half a unit of rounding per score and sum, and the error of the scores themselves.
    noise = ROUNDING * math.fsum(np.abs(X).max(axis=1))
    slack = 2 * len(X) + np.ldexp(noise, -exponent)
    return integers, observed, norms, slack


def _count_extreme(X, pairs, signs, extremity):
    """Count sign vectors as extreme as the data: per pair, and for the maximum."""
    integers, observed, norms, slack = _pair_sums(X, pairs)
    threshold = extremity(observed) - slack
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    total = integers.sum(axis=0)
    hits, maxima = np.zeros(len(pairs), dtype=np.int64), []
    for bits in signs:
        signed = 2 * (bits.astype(float) @ integers) - total
        sums = extremity(signed[:, pairs[:, 0]] - signed[:, pairs[:, 1]])
        hits += np.count_nonzero(sums >= threshold, axis=0)
        maxima.append((sums * scale).max(axis=1))
    maxima = np.sort(np.concatenate(maxima))
    reached = np.searchsorted(maxima, threshold * scale, side="left")
    return hits, len(maxima) - reached


def randomised_tukey_hsd(scores, n_resamples=10_000, seed=0):
    """Randomised Tukey HSD: family-wise p-values of all pairs of systems."""
    check_count("n_resamples", n_resamples)
    X, systems = score_matrix(scores)
    _refuse_empty(X)
    pairs = system_pairs(systems)
    integers, observed, _, slack = _pair_sums(X, pairs)
    hits = np.zeros(len(pairs), dtype=np.int64)
    rows = max(1, BLOCK_ELEMENTS // X.size)
    for block, start in enumerate(range(0, n_resamples, rows)):
        size = min(rows, n_resamples - start)
        rng = np.random.Generator(stream(seed, "systems", block))
        copies = np.broadcast_to(integers, (size, *X.shape))
        sums = rng.permuted(copies, axis=2).sum(axis=1)
        spread = np.ptp(sums, axis=1)[:, None]
        hits += np.count_nonzero(spread >= np.abs(observed) - slack, axis=0)
    return RandomisationResult(
        _mean_differences(X, pairs),
        (hits + 1) / (n_resamples + 1),
        None,
        _labels(systems, pairs),
        len(X),
        n_resamples,
        False,
    )
