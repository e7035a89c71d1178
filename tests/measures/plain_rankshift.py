"""Distances of two lists by their definitions, in loops, and lists to compare."""

import itertools

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

K = 10
WORKED = list("abcde"), list("bacfd")  # of Fagin et al. 2003
DISJOINT = list("abcde"), list("fghij")
some = settings(max_examples=40, deadline=None)
lists = st.lists(st.integers(0, 14), max_size=8, unique=True)


def draws(n, pairs=400, k=K, seed=0):
    """Random top-k lists of n documents, before and after."""
    rng = np.random.default_rng(seed)
    return (rng.permuted(np.tile(np.arange(n), (pairs, 1)), axis=1)[:, :k] for _ in "ab")


def plain_displacements(before, after, k, absent):
    """The definition, item by item."""
    place = (k + 1, k + 1) if absent == "k+1" else (len(before) + 1, len(after) + 1)
    return [
        abs((before.index(x) + 1 if x in before else place[0]) - (after.index(x) + 1 if x in after else place[1]))
        for x in dict.fromkeys([*before, *after])
    ]


def plain_kendall(before, after, penalty):
    """The four cases of Fagin et al. 2003, pair by pair."""
    total = 0
    for x, y in itertools.combinations(sorted({*before, *after}), 2):
        in_before, in_after = ([z for z in (x, y) if z in before], [z for z in (x, y) if z in after])
        if len(in_before) == 2 and len(in_after) == 2:
            first = before.index(x) < before.index(y)
            total += first != (after.index(x) < after.index(y))
        elif {len(in_before), len(in_after)} == {1, 2}:
            both, one = (before, in_after) if len(in_before) == 2 else (after, in_before)
            other = y if one == [x] else x
            total += both.index(other) < both.index(one[0])
        elif len(in_before) == len(in_after) == 1:
            total += in_before != in_after
        else:
            total += penalty
    return total
