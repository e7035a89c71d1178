"""Who rates what, in which order and on which side: drawn, balanced, connected."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.raters.balance import balanced_sides
from casebook.raters.sealing import hidden_chance
from casebook.stats.samples import check_count

ATTEMPTS = 200


@dataclass(frozen=True)
class Design:
    """Which rater sees which comparison, where, and with which answer on the left."""

    items: tuple
    systems: tuple
    raters: tuple
    pairs: tuple
    comparisons: tuple
    cells: np.ndarray

    def frame(self):
        """Give one row per presentation."""
        rows = []
        for rater, comparison, place, first_left in self.cells.tolist():
            item, pair = self.comparisons[comparison]
            left, right = self.pairs[pair][:: 1 if first_left else -1]
            rows.append((self.raters[rater], place, self.items[item], left, right))
        columns = ["rater", "place", "item_id", "left", "right"]
        return pd.DataFrame(rows, columns=columns)

    def balance(self):
        """Count how often each system stands left in each form."""
        frame = self.frame()
        rows = [
            {"rater": rater, "system": system, "n": len(part), "left": left}
            for rater, form in frame.groupby("rater", sort=False)
            for system in self.systems
            for part in [form[(form[["left", "right"]] == system).any(axis=1)]]
            for left in [int((part["left"] == system).sum())]
        ]
        table = pd.DataFrame(rows)
        return table.assign(off=(table["left"] - table["n"] / 2).abs())


def make_design(items, systems, raters, secret, *, per_item=None, pairs_per_item=None):
    """Assign comparisons to raters, with order and sides."""
    items, systems, raters = tuple(items), tuple(systems), tuple(raters)
    _check_names(items=items, systems=systems, raters=raters)
    if len(systems) < 2:
        raise InputError("a comparison needs at least two systems")
    pairs = tuple(itertools.combinations(systems, 2))
    per_item = _within("raters per item", per_item, len(raters))
    pairs_per_item = _within("pairs per item", pairs_per_item, len(pairs))
    rng = hidden_chance(secret, "design")
    comparisons = _comparisons(len(items), len(pairs), pairs_per_item, rng)
    assigned = _linked_teams(len(comparisons), len(raters), per_item, rng)
    used = [pairs[pair] for _, pair in comparisons]
    numbers = {name: i for i, name in enumerate(systems)}
    links = [tuple(numbers[name] for name in pair) for pair in used]
    _check_linked(links, len(systems), "systems", "raise the pairs per item")
    cells = _cells(comparisons, assigned, len(pairs), len(raters), rng)
    return Design(items, systems, raters, pairs, comparisons, cells)


def _check_names(**lists):
    for kind, names in lists.items():
        repeated = sorted({name for name in names if names.count(name) > 1})[:3]
        if not names or repeated:
            problem = f"named twice: {', '.join(repeated)}" if repeated else "none given"
            raise InputError(f"{kind}: {problem}")


def _within(name, value, most):
    value = most if value is None else value
    check_count(name, value)
    if value > most:
        raise InputError(f"{name} is {value}, but there are only {most}")
    return value


def _comparisons(n_items, n_pairs, pairs_per_item, rng):
    """Give every item its pairs, so that all pairs are used equally often."""
    shuffled, order = rng.permutation(n_pairs), rng.permutation(n_items)
    chosen = {}
    for turn, item in enumerate(order.tolist()):
        start = turn * pairs_per_item
        places = np.arange(start, start + pairs_per_item) % n_pairs
        chosen[item] = sorted(shuffled[places].tolist())
    return tuple((item, pair) for item in range(n_items) for pair in chosen[item])


def _linked_teams(n_comparisons, n_raters, per_item, rng):
    """Assign raters; of few comparisons only some assignments link them all."""
    for _ in range(ATTEMPTS):
        teams = _assign(n_comparisons, n_raters, per_item, rng)
        if not _unlinked(teams, n_raters):
            return teams
    _check_linked(teams, n_raters, "raters", "raise the raters per item")


def _assign(n_comparisons, n_raters, per_item, rng):
    """Give each comparison the least loaded raters, and of these the least met."""
    if per_item == n_raters:
        return [tuple(range(n_raters))] * n_comparisons
    loads = np.zeros(n_raters, dtype=int)
    met = np.zeros((n_raters, n_raters), dtype=int)
    assigned = [()] * n_comparisons
    for comparison in rng.permutation(n_comparisons).tolist():
        team, free = [], np.ones(n_raters, dtype=bool)
        chance = rng.random(n_raters)
        for _ in range(per_item):
            order = np.lexsort((chance, met[:, team].sum(axis=1), loads, ~free))
            team.append(int(order[0]))
            free[order[0]] = False
        loads[team] += 1
        met[np.ix_(team, team)] += 1
        assigned[comparison] = tuple(sorted(team))
    return assigned


def _unlinked(groups, size):
    """Count those that never meet the first one, even indirectly."""
    linked, pending = {0}, [set(group) for group in set(groups)]
    while reached := [group for group in pending if group & linked]:
        pending = [group for group in pending if group not in reached]
        linked = linked.union(*reached)
    return size - len(linked)


def _check_linked(groups, size, kind, remedy):
    """Refuse a design in which some never meet the others."""
    if apart := _unlinked(groups, size):
        raise InputError(f"{apart} of {size} {kind} share no item with the others: {remedy} or draw more items")


def _cells(comparisons, assigned, n_pairs, n_raters, rng):
    cells = np.array([(r, c) for c, team in enumerate(assigned) for r in team])
    pair = np.array([p for _, p in comparisons])[cells[:, 1]]
    first_left = balanced_sides(cells[:, 0] * n_pairs + pair, cells[:, 1], rng)
    place = np.zeros(len(cells), dtype=int)
    for rater in range(n_raters):
        mine = np.flatnonzero(cells[:, 0] == rater)
        place[mine] = rng.permutation(len(mine))
    table = np.column_stack([cells, place, first_left.astype(int)])
    return table[np.lexsort((place, cells[:, 0]))]
