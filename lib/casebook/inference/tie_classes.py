"""Tie classes: sets of systems that a family of tests cannot tell apart."""

import numpy as np


def tie_classes(told_apart):
    """Group systems into the maximal sets of which no two are told apart."""
    ties = ~np.asarray(told_apart, dtype=bool)
    np.fill_diagonal(ties, False)
    neighbours = [set(np.flatnonzero(row)) for row in ties]
    cliques = sorted(_maximal_cliques(set(), set(range(len(ties))), set(), neighbours))
    return [",".join(str(k) for k, clique in enumerate(cliques, 1) if system in clique) for system in range(len(ties))]


def _maximal_cliques(clique, candidates, excluded, neighbours):
    """Yield maximal cliques as sorted tuples (Bron & Kerbosch 1973, with pivot)."""
    if not candidates and not excluded:
        yield tuple(sorted(clique))
        return
    pivot = max(candidates | excluded, key=lambda v: len(neighbours[v] & candidates))
    for vertex in sorted(candidates - neighbours[pivot]):
        near = neighbours[vertex]
        yield from _maximal_cliques(clique | {vertex}, candidates & near, excluded & near, neighbours)
        candidates = candidates - {vertex}
        excluded = excluded | {vertex}
