"""Which side each answer stands on: random, and exactly balanced in two ways."""

import numpy as np


def balanced_sides(rows, columns, rng):
    """Colour the cells of an incomplete table so that rows and columns are balanced."""
    links = [_pairs(rows, rng), _pairs(columns, rng)]
    coins = rng.integers(0, 2, len(rows)).astype(bool).tolist()
    sides = [None] * len(rows)
    for start in range(len(rows)):
        if sides[start] is not None:
            continue
        sides[start] = coins[start]
        # From a cell in the middle of a path the walk goes both ways.
        for first in (0, 1):
            cell, kind = start, first
            while (following := links[kind][cell]) >= 0 and sides[following] is None:
                sides[following] = not sides[cell]
                cell, kind = following, 1 - kind
    return np.array(sides, dtype=bool)


def _pairs(groups, rng):
    """Pair cells within groups at random; -1 for the odd one out."""
    groups = np.asarray(groups)
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    partner, previous = [-1] * len(groups), None
    for cell in order.tolist():
        if previous is not None and groups[previous] == groups[cell]:
            partner[previous], partner[cell] = cell, previous
            previous = None
        else:
            previous = cell
    return partner
