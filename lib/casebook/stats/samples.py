"""What all procedures share: checks of samples and options, and random streams."""

import math
import zlib

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.readers import did_you_mean

# Relative rounding error granted to a score that a few operations produced.
ROUNDING = 8 * np.finfo(float).eps


def score_matrix(scores):
    """Check a table of scores and give it as an array, with the names of its columns."""
    try:
        frame = (
            scores
            if isinstance(scores, pd.DataFrame)
            else pd.DataFrame(np.asarray(scores))
        )
        matrix = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as problem:
        raise InputError(f"scores must be numbers: {problem}") from None
    if not frame.columns.is_unique:
        names = ", ".join(map(str, frame.columns[frame.columns.duplicated()].unique()))
        raise InputError(f"systems named more than once: {names}; rename the columns")
    incomplete = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(incomplete):
        few = (
            f"{len(incomplete)} of {len(frame)} units have a missing or infinite score"
        )
        raise InputError(
            f"{few} (first: {frame.index[incomplete[0]]}); score them in all systems or in none"
        )
    return matrix, list(frame.columns)


def stream(seed, purpose, block=0):
    """Independent random stream for one block of one purpose."""
    check_count("seed", seed, least=0)
    key = (zlib.crc32(purpose.encode()), block)
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key))


def generator(seed, purpose, block=0):
    """Random numbers of one block of one purpose."""
    return np.random.Generator(stream(seed, purpose, block))


def row_blocks(n, rows):
    """Number and size of every block of so many of n rows."""
    for block, start in enumerate(range(0, n, rows)):
        yield block, min(rows, n - start)


def check_count(name, value, least=1):
    """Raise InputError unless `value` is an integer of at least `least`."""
    if not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be an integer of at least {least}, not {value}")


def check_share(name, value):
    """Raise InputError unless `value` lies strictly between 0 and 1."""
    if not (isinstance(value, int | float | np.number) and 0 < value < 1):
        raise InputError(f"{name} must lie between 0 and 1, not {value}")


def check_choice(name, value, choices):
    """Raise InputError unless `value` is one of `choices`."""
    if value not in choices:
        near = did_you_mean(str(value), choices) or ":"
        known = ", ".join(map(str, choices))
        raise InputError(f"unknown {name} {value!r}{near} choose from {known}")


def number_or_none(value):
    """Give a float, or None for NaN: undefined is never a number."""
    return None if value is None or math.isnan(value) else float(value)


def of_another_group(groups, order):
    """For every row the next one of another group in an order, the next one if there is none."""
    order = list(order)
    partners = [None] * len(groups)
    for position, row in enumerate(order):
        following = order[position + 1 :] + order[:position]
        others = (partner for partner in following if groups[partner] != groups[row])
        partners[row] = next(others, following[0])
    return partners
