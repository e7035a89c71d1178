"""Rank-biased overlap of two ranked lists, or of many pairs at once.

Webber, Moffat & Zobel, ACM Transactions on Information Systems 28(4):20, 2010.
"""

import math
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.inference.samples import check_choice, check_share, number_or_none
from casebook.measures.rankshift_lists import as_arrays, match

PARTS = ("ext", "min", "max", "res")


@dataclass(frozen=True, eq=False)
class RBO:
    """Rank-biased overlap, as floats (None if undefined) or arrays of Q (NaN if so).

    Attributes
    ----------
    ext : float or ndarray
        Extrapolated value in [0, 1]: what is seen goes on below the lists.
    min, max : float or ndarray
        Bounds over all that may follow below the lists.
    res : float or ndarray
        Residual, max minus min.
    """

    ext: np.ndarray
    min: np.ndarray
    max: np.ndarray
    res: np.ndarray


def rbo(before, after, p=0.9, *, part="ext"):
    """Rank-biased overlap of two ranked lists without ties.

    Parameters
    ----------
    before, after : sequence of hashable
        Ids, best first, each once. Lengths may differ.
    p : float, default 0.9
        Persistence in (0, 1): the first d ranks weigh `rbo_weight` of p and d.
    part : {"ext", "min", "max", "res"}
        Extrapolated value (equation 32), lower bound (11), upper bound, or residual
        (30).

    Returns
    -------
    float or None
        In [0, 1]. None if both lists are empty; 0 if one is (`res` apart).

    Raises
    ------
    InputError
        If a list holds an id twice or an option is unknown.
    """
    check_choice("part", part, PARTS)
    arrays = as_arrays([before], [after])
    return number_or_none(getattr(rbo_batch(*arrays, p), part)[0])


def rbo_batch(before, after, p=0.9):
    """Rank-biased overlap of many pairs of lists without ties.

    Parameters
    ----------
    before, after : array_like of int, shape (Q, A) and (Q, B)
        Ids; negative numbers fill the end of shorter lists.
    p : float
        As in `rbo`.

    Returns
    -------
    RBO
        Arrays of shape (Q,); NaN where both lists are empty.

    Raises
    ------
    InputError
        As `match`, or if `p` lies outside (0, 1).
    """
    check_share("p", p)
    found = match(before, after)
    sizes = np.sort([found.size_before, found.size_after], axis=0)
    depth = max(int(sizes[1].max(initial=0)), 1)
    overlap = overlaps(found, depth)
    d, short = np.arange(1.0, depth + 1), sizes[0][:, None]
    new = np.clip(d - short, 0, None)
    return combine(
        overlap, d, new * agreement_at_end(overlap, d, sizes[0]), new, sizes, p
    )


def overlaps(found, depth):
    """Count the common items among the first d of both lists, d = 1 to `depth`.

    Parameters
    ----------
    found : casebook.measures.rankshift_lists.Matches
        Common items of Q pairs.
    depth : int
        Deepest rank, at least that of any item.

    Returns
    -------
    ndarray of int, shape (Q, depth)
    """
    pairs = len(found.size_before)
    entered = np.maximum(found.before, found.after) - 1
    counts = np.bincount(found.pair * depth + entered, minlength=pairs * depth)
    return counts.reshape(pairs, depth).cumsum(axis=1)


def agreement_at_end(overlap, norm, short):
    """Give the agreement at the end of the shorter list.

    Parameters
    ----------
    overlap : ndarray, shape (Q, D)
        Overlap of the lists at each depth.
    norm : ndarray, shape (Q, D) or (D,)
        What it is divided by to give the agreement.
    short : ndarray of int, shape (Q,)
        Length of the shorter list.

    Returns
    -------
    ndarray of float, shape (Q, 1)
        Agreement; 0 if that list is empty.
    """
    last = np.maximum(short - 1, 0)[:, None]
    at_end = np.take_along_axis(overlap, last, axis=1)
    norm = np.take_along_axis(np.broadcast_to(norm, overlap.shape), last, axis=1)
    return np.where(short[:, None] > 0, at_end / norm, 0.0)


def combine(overlap, norm, assumed, possible, sizes, p):
    """Sum agreements over the depths into the four values.

    Parameters
    ----------
    overlap : ndarray, shape (Q, D)
        Overlap X_d of the lists as far as they go.
    norm : ndarray, shape (Q, D) or (D,)
        What X_d is divided by to give the agreement.
    assumed, possible : ndarray, shape (Q, D)
        Overlap that the end of the shorter list would add at d between the two
        lengths: extrapolated, and at most.
    sizes : ndarray of int, shape (2, Q)
        Shorter and longer length.
    p : float
        Persistence.

    Returns
    -------
    RBO
        Arrays of shape (Q,); NaN where both lists are empty.
    """
    short, long = sizes.astype(float)
    d = np.arange(1.0, overlap.shape[1] + 1)
    weight = np.where(d <= long[:, None], p**d, 0.0) / norm * (1 - p) / p
    seen, common = (weight * overlap).sum(axis=1), overlap[:, -1].astype(float)
    last = np.maximum(sizes[1] - 1, 0)[:, None]
    guess = np.take_along_axis(assumed, last, axis=1)[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        ext = seen + (weight * assumed).sum(axis=1) + p**long * (common + guess) / long
    tail = math.log(1 / (1 - p)) - _log_series(p, long)
    low = seen + (1 - p) / p * common * tail
    # At most, every new item of either list is one that the other holds already, until
    # at depth `full` both hold all; beyond it they agree.
    full = long + short - common
    between = _log_series(p, full) - _log_series(p, long)
    rest = (1 - p) / p * (common - short - long) * between
    rest += 2 * (p**long - p**full) + p**full
    high = seen + (weight * possible).sum(axis=1) + rest
    empty = long == 0
    return RBO(*(np.where(empty, np.nan, x) for x in (ext, low, high, high - low)))


def _log_series(p, upto):
    """Give the sum of ``p**i / i`` for i = 1 to `upto`, an array of whole numbers."""
    most = int(upto.max(initial=0))
    i = np.arange(1, most + 1)
    return np.concatenate([[0.0], np.cumsum(p**i / i)])[upto.astype(int)]


def rbo_weight(p, depth):
    """Share of rank-biased overlap that the first ranks decide.

    Parameters
    ----------
    p : float
        Persistence in (0, 1).
    depth : int
        Number of ranks, at least 1.

    Returns
    -------
    float
        In (0, 1): equation 21 of Webber et al., 2010.

    Raises
    ------
    InputError
        If the persistence or the depth is out of range.
    """
    check_share("p", p)
    if depth < 1:
        raise InputError(f"depth must be at least 1, not {depth}")
    tail = math.log(1 / (1 - p)) - float(_log_series(p, np.array([depth - 1]))[0])
    return 1 - p ** (depth - 1) + (1 - p) / p * depth * tail
