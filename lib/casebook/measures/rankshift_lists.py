"""Pairs of ranked lists as integer arrays, and the items that both lists hold."""

import math
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.inference.samples import check_count, number_or_none


@dataclass(frozen=True, eq=False)
class Matches:
    """Items that stand in both lists, over Q pairs of lists.

    Attributes
    ----------
    size_before, size_after : ndarray of int, shape (Q,)
        Number of items in each list.
    pair : ndarray of int, shape (M,)
        To which pair of lists each common item belongs, non-decreasing.
    before, after : ndarray of int, shape (M,)
        Ranks of the common items in the two lists, from 1.
    """

    size_before: np.ndarray
    size_after: np.ndarray
    pair: np.ndarray
    before: np.ndarray
    after: np.ndarray

    def count(self):
        """Count the common items of each pair of lists; ndarray of int, shape (Q,)."""
        return np.bincount(self.pair, minlength=len(self.size_before))


def as_arrays(before, after, k=None):
    """Give codes to the ids of many pairs of ranked lists.

    Parameters
    ----------
    before, after : sequence of Q sequences of hashable
        Ranked lists, best first.
    k : int, optional
        Keep the first k items of each list.

    Returns
    -------
    before, after : ndarray of int64, shape (Q, longest list)
        Non-negative codes; -1 fills the end of shorter lists. Equal ids of a pair
        have equal codes; codes of different pairs are unrelated.

    Raises
    ------
    InputError
        If the numbers of lists differ, an id is missing or a list holds one twice.
    """
    before, after = list(before), list(after)
    if len(before) != len(after):
        raise InputError(
            f"{len(before)} lists before and {len(after)} after do not pair"
        )
    codes = [{} for _ in before]
    return _encode(before, codes, "before", k), _encode(after, codes, "after", k)


def _encode(lists, codes, side, k):
    rows = []
    for items, known in zip(lists, codes, strict=True):
        checked = check_items(list(items), side)
        rows.append([known.setdefault(x, len(known)) for x in checked[:k]])
    width = max(map(len, rows), default=0)
    array = np.full((len(rows), width), -1, dtype=np.int64)
    for row, values in zip(array, rows, strict=True):
        row[: len(values)] = values
    return array


def of_one_pair(measure, before, after, *arguments, **options):
    """Apply a measure of many pairs of lists to one pair.

    Parameters
    ----------
    measure : callable
        Takes the arrays of `as_arrays`, then the arguments; gives one value per pair.
    before, after : sequence of hashable
        Ranked ids, best first.
    *arguments, **options
        Of the measure.

    Returns
    -------
    float or None
        None where the value is undefined.
    """
    found = measure(*as_arrays([before], [after]), *arguments, **options)
    return number_or_none(found[0])


def check_items(items, side):
    """Refuse a list in which an id is repeated or missing.

    Parameters
    ----------
    items : sequence of hashable
        Ids, best first.
    side : str
        Name of the list, for the message.

    Returns
    -------
    sequence of hashable
        The ids, unchanged.

    Raises
    ------
    InputError
        Names the id and its ranks.
    """
    first = {}
    for rank, item in enumerate(items, start=1):
        if item is None or item != item:
            raise InputError(f"list {side}: no id at rank {rank}")
        if item in first:
            raise InputError(
                f"list {side}: {item!r} stands at ranks {first[item]} and {rank}; "
                "keep the first occurrence of each document"
            )
        first[item] = rank
    return items


def match(before, after):
    """Find the items that both lists of each pair hold.

    Parameters
    ----------
    before, after : array_like of int, shape (Q, A) and (Q, B)
        Ids at ranks 1, 2, ...; negative numbers fill the end of shorter lists.

    Returns
    -------
    Matches

    Raises
    ------
    InputError
        If the arrays are not integers or do not pair, a gap stands inside a list, or
        a list holds an id twice.
    """
    before, after = _integers(before, "before"), _integers(after, "after")
    if len(before) != len(after):
        raise InputError(
            f"{len(before)} lists before and {len(after)} after do not pair"
        )
    width = before.shape[1]
    bits = int(width + after.shape[1]).bit_length()
    both = np.maximum(np.concatenate([before, after], axis=1), -1)
    if both.max(initial=0) >= 1 << (62 - bits):
        raise InputError("ids are too large: number them from 0")
    # One sort of (id, position) brings the two places of a common item together.
    small = both.max(initial=0) < 1 << (30 - bits)  # halves the memory to sort
    keys = both.astype(np.int32 if small else np.int64) << bits
    keys |= np.arange(both.shape[1], dtype=keys.dtype)
    keys.sort(axis=1)
    ids, place = keys >> bits, keys & ((1 << bits) - 1)
    rows, columns = np.nonzero((ids[:, 1:] == ids[:, :-1]) & (ids[:, 1:] >= 0))
    first, second = place[rows, columns], place[rows, columns + 1]
    repeated = np.flatnonzero((first >= width) | (second < width))
    if len(repeated):
        row, column = rows[repeated[0]], columns[repeated[0]]
        side = "before" if second[repeated[0]] < width else "after"
        raise InputError(f"list {side}, row {row}: id {ids[row, column]} stands twice")
    sizes = _sizes(before, "before"), _sizes(after, "after")
    return Matches(*sizes, rows, first + 1, second - width + 1)


def _integers(array, side):
    array = np.asarray(array)
    if array.ndim != 2 or not (array.dtype.kind in "iu" or not array.size):
        raise InputError(
            f"lists {side} must be integers of shape [pairs, ranks], not "
            f"{array.dtype} of shape {list(array.shape)}"
        )
    return array.astype(np.int64)


def _sizes(array, side):
    present = array >= 0
    gaps = np.flatnonzero((present[:, 1:] & ~present[:, :-1]).any(axis=1))
    if len(gaps):
        raise InputError(f"list {side}, row {gaps[0]}: an id follows an empty rank")
    return present.sum(axis=1)


def top_matches(before, after, k):
    """Match the first k items of each list.

    Parameters
    ----------
    before, after : array_like of int, shape (Q, A) and (Q, B)
        As in `match`.
    k : int
        At least 1.

    Returns
    -------
    Matches
    """
    check_count("k", k)
    before, after = _integers(before, "before"), _integers(after, "after")
    return match(before[:, :k], after[:, :k])


def where_any(found, values):
    """Keep values of pairs with an item in either list; others become NaN.

    Parameters
    ----------
    found : Matches
        Q pairs.
    values : array_like, shape (Q,)
        Values.

    Returns
    -------
    ndarray of float, shape (Q,)
    """
    return np.where(found.size_before + found.size_after > 0, values, math.nan)


def ratio(total, count):
    """Divide arrays.

    Parameters
    ----------
    total, count : ndarray, shape (Q,)
        Dividends and divisors.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where the divisor is 0.
    """
    nothing = np.full(len(count), math.nan)
    return np.divide(total, count, out=nothing, where=count > 0)
