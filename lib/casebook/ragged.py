"""Rows of unequal length stored end to end: ``offsets[i]:offsets[i + 1]`` is row i."""

import numpy as np


def offsets_of(sizes):
    """Give the bounds of rows of the given sizes."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def rectangles(offsets):
    """Give the rows as rectangles of element numbers, one per distinct length."""
    sizes = np.diff(offsets)
    order = np.argsort(sizes, kind="stable")
    lengths, first = np.unique(sizes[order], return_index=True)
    for length, members in zip(lengths, np.split(order, first[1:]), strict=True):
        if length:
            yield offsets[members][:, None] + np.arange(length)


def count_leading(values, first, size, target, precedes):
    """Count the leading elements of sorted rows that precede a target, by bisection."""
    count = np.zeros(len(target), dtype=np.int64)
    if not len(target) or not len(values):
        return count
    step = 1 << int(size.max()).bit_length()
    while step := step >> 1:
        reach = count + step
        probe = values[np.minimum(first + reach, len(values)) - 1]
        count += step * ((reach <= size) & precedes(probe, target))
    return count
