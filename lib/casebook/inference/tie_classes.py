"""Tie classes: sets of systems that a family of tests cannot tell apart."""

import numpy as np


def tie_classes(told_apart):
    """Group systems into the maximal sets of which no two are told apart.

    Parameters
    ----------
    told_apart : array_like of bool, shape [systems, systems]
        Symmetric; whether two systems differ significantly. Systems stand in order of
        merit, the best first.

    Returns
    -------
    list of str, length [systems]
        Numbers of the classes a system belongs to, such as ``"1"`` or ``"1,2"``. Two
        systems share a number exactly if they are not told apart.

    Notes
    -----
    Not being told apart is not transitive: A may tie with B, and B with C, while A
    beats C. Hence a system may belong to several classes (the compact letter display
    of Piepho, Journal of Computational and Graphical Statistics 13, 2004). Classes are
    the maximal cliques of the ties, numbered by their best members.
    """
    ties = ~np.asarray(told_apart, dtype=bool)
    np.fill_diagonal(ties, False)
    neighbours = [set(np.flatnonzero(row)) for row in ties]
    cliques = sorted(_maximal_cliques(set(), set(range(len(ties))), set(), neighbours))
    return [
        ",".join(str(k) for k, clique in enumerate(cliques, 1) if system in clique)
        for system in range(len(ties))
    ]


def _maximal_cliques(clique, candidates, excluded, neighbours):
    """Yield maximal cliques as sorted tuples (Bron & Kerbosch 1973, with pivot)."""
    if not candidates and not excluded:
        yield tuple(sorted(clique))
        return
    pivot = max(candidates | excluded, key=lambda v: len(neighbours[v] & candidates))
    for vertex in sorted(candidates - neighbours[pivot]):
        near = neighbours[vertex]
        yield from _maximal_cliques(
            clique | {vertex}, candidates & near, excluded & near, neighbours
        )
        candidates = candidates - {vertex}
        excluded = excluded | {vertex}
