"""Rows of unequal length stored end to end: ``offsets[i]:offsets[i + 1]`` is row i."""

import numpy as np


def offsets_of(sizes):
    """Give the bounds of rows of the given sizes.

    Parameters
    ----------
    sizes : array_like of int, shape (Q,)
        Number of elements of each row.

    Returns
    -------
    ndarray of int64, shape (Q + 1,)
    """
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def rectangles(offsets):
    """Give the rows as rectangles of element numbers, one per distinct length.

    Parameters
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
        Bounds of the rows.

    Yields
    ------
    ndarray of int64, shape (q, length)
        Element numbers of the q rows that have this length; empty rows are left out.
        N elements make at most sqrt(2 N) rectangles.
    """
    sizes = np.diff(offsets)
    order = np.argsort(sizes, kind="stable")
    lengths, first = np.unique(sizes[order], return_index=True)
    for length, members in zip(lengths, np.split(order, first[1:]), strict=True):
        if length:
            yield offsets[members][:, None] + np.arange(length)


def count_leading(values, first, size, target, precedes):
    """Count the leading elements of sorted rows that precede a target, by bisection.

    All searches advance together: log2 of the longest row steps, no Python loop.

    Parameters
    ----------
    values : ndarray, shape (N,)
        Rows, each sorted so that the elements preceding any target come first.
    first, size : ndarray of int, shape (n,)
        Row of each search: where it begins and how long it is.
    target : ndarray, shape (n,)
        What is searched.
    precedes : callable
        ``precedes(element, target)``: ``np.less`` for ascending rows, ``np.greater``
        for descending ones. False for a NaN target.

    Returns
    -------
    ndarray of int64, shape (n,)
        Number of elements that precede the target, 0 to ``size``.
    """
    count = np.zeros(len(target), dtype=np.int64)
    if not len(target) or not len(values):
        return count
    step = 1 << int(size.max()).bit_length()
    while step := step >> 1:
        reach = count + step
        probe = values[np.minimum(first + reach, len(values)) - 1]
        count += step * ((reach <= size) & precedes(probe, target))
    return count
