"""Design of a blind study: which items are judged, by whom, in which order and on which side.

Sides, order and ids follow from the secret of the study: from the public seed a rater could compute
them.
"""

import hashlib
import hmac
import itertools
import json
import secrets

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from casebook.errors import InputError
from casebook.stats.samples import check_count, generator

ID_DIGITS = 12
ATTEMPTS = 200  # to assign raters so that common items link all of them


def new_secret():
    """Draw a secret of 256 bits."""
    return secrets.token_hex(32)


def opaque_id(secret, *parts):
    """Name something so that nobody without the secret can tell what it is."""
    return _digest(secret, parts).hex()[:ID_DIGITS]


def hidden_chance(secret, purpose):
    """Random numbers that follow from the secret, not from the public seed."""
    entropy = int.from_bytes(_digest(secret, ("chance", purpose)))
    return np.random.Generator(np.random.PCG64(entropy))


def _digest(secret, parts):
    if len(secret) < 32:
        raise InputError("the secret must have at least 32 characters")
    # JSON keeps ("a", "bc") and ("ab", "c") apart.
    message = json.dumps([str(part) for part in parts]).encode()
    return hmac.digest(secret.encode(), message, hashlib.sha256)


def text_hash(text):
    """Hash a text, so that an edited cell is found without keeping the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def seal(secret, content):
    """Sign what everybody may read, so that nobody without the secret can alter it."""
    return _digest(secret, ("seal", json.dumps(content, sort_keys=True))).hex()


def draw_items(items, count=None, strata=None, seed=0):
    """Draw items at random, in proportion to the strata; one row per item, drawn or not."""
    count = len(items) if count is None else count
    check_count("items", count)
    if count > len(items):
        raise InputError(f"{count} items are asked for, but there are {len(items)}")
    strata = np.array(["all"] * len(items) if strata is None else list(strata))
    names, sizes = np.unique(strata, return_counts=True)
    shares = sizes * count / len(strata)
    quotas = np.floor(shares).astype(int)
    largest_rests = np.argsort(quotas - shares, kind="stable")
    quotas[largest_rests[: count - quotas.sum()]] += 1
    rng = generator(seed, "draw of items")
    is_drawn = np.zeros(len(items), dtype=bool)
    for name, quota in zip(names, quotas, strict=True):
        is_drawn[rng.choice(np.flatnonzero(strata == name), quota, replace=False)] = True
    return pd.DataFrame({"item_id": list(items), "stratum": strata, "drawn": is_drawn})


def make_design(items, systems, raters, secret, *, per_item=None, pairs_per_item=None):
    """Assign comparisons to raters: a row each, with its position and the systems' sides."""
    items = list(items)
    systems = list(systems)
    raters = list(raters)
    if len(systems) < 2:
        raise InputError("a comparison needs at least two systems")
    pairs = list(itertools.combinations(range(len(systems)), 2))
    per_item = _checked_count("raters per item", per_item, len(raters))
    pairs_per_item = _checked_count("pairs per item", pairs_per_item, len(pairs))
    rng = hidden_chance(secret, "design")
    comparisons = _comparisons(len(items), len(pairs), pairs_per_item, rng)
    teams = _linked_teams(len(comparisons), len(raters), per_item, rng)
    unlinked = _count_unlinked([pairs[pair] for _, pair in comparisons], len(systems))
    if unlinked:
        raise InputError(_unlinked_message(unlinked, len(systems), "systems", "pairs"))
    seats = [(rater, comparison) for comparison, team in enumerate(teams) for rater in team]
    rater, comparison = np.array(seats).T
    item, pair = np.array(comparisons)[comparison].T
    is_in_order = balanced_sides(rater * len(pairs) + pair, comparison, rng)
    position = np.zeros(len(rater), dtype=int)
    for number in range(len(raters)):
        rows = np.flatnonzero(rater == number)
        position[rows] = rng.permutation(len(rows))
    system, against = np.array(systems, dtype=object)[np.array(pairs)[pair]].T
    design = pd.DataFrame(
        {
            "rater": np.array(raters, dtype=object)[rater],
            "place": position,
            "item_id": np.array(items, dtype=object)[item],
            "left": np.where(is_in_order, system, against),
            "right": np.where(is_in_order, against, system),
        }
    )
    return design.iloc[np.lexsort((position, rater))].reset_index(drop=True)


def balance(design, systems):
    """Count how often each system stands left in each form."""
    rows = []
    for (rater, form), system in itertools.product(design.groupby("rater", sort=False), systems):
        left = int((form["left"] == system).sum())
        right = int((form["right"] == system).sum())
        rows.append(
            {
                "rater": rater,
                "system": system,
                "n": left + right,
                "left": left,
                "off": abs(left - right) / 2,
            }
        )
    return pd.DataFrame(rows)


def _checked_count(name, value, most):
    """Give a count of at most so many; all of them if it is None."""
    if value is None:
        value = most
    check_count(name, value)
    if value > most:
        raise InputError(f"{name} is {value}, but there are only {most}")
    return value


def _comparisons(n_items, n_pairs, pairs_per_item, rng):
    """Give every item its pairs of systems, so that all pairs are used equally often."""
    shuffled_pairs = rng.permutation(n_pairs)
    shuffled_items = rng.permutation(n_items)
    pairs_of_item = {}
    for turn, item in enumerate(shuffled_items.tolist()):
        positions = np.arange(turn * pairs_per_item, (turn + 1) * pairs_per_item) % n_pairs
        pairs_of_item[item] = sorted(shuffled_pairs[positions].tolist())
    return [(item, pair) for item in range(n_items) for pair in pairs_of_item[item]]


def _linked_teams(n_comparisons, n_raters, per_item, rng):
    """Assign raters; of few comparisons only some assignments link them all."""
    for _ in range(ATTEMPTS):
        teams = _assign(n_comparisons, n_raters, per_item, rng)
        unlinked = _count_unlinked(teams, n_raters)
        if not unlinked:
            return teams
    raise InputError(_unlinked_message(unlinked, n_raters, "raters", "raters"))


def _assign(n_comparisons, n_raters, per_item, rng):
    """Give each comparison the least loaded raters, and of these the least met."""
    if per_item == n_raters:
        return [tuple(range(n_raters))] * n_comparisons
    loads = np.zeros(n_raters, dtype=int)
    met = np.zeros((n_raters, n_raters), dtype=int)
    assigned = [()] * n_comparisons
    for comparison in rng.permutation(n_comparisons).tolist():
        team = []
        free = np.ones(n_raters, dtype=bool)
        chance = rng.random(n_raters)
        for _ in range(per_item):
            order = np.lexsort((chance, met[:, team].sum(axis=1), loads, ~free))
            team.append(int(order[0]))
            free[order[0]] = False
        loads[team] += 1
        met[np.ix_(team, team)] += 1
        assigned[comparison] = tuple(sorted(team))
    return assigned


def _count_unlinked(groups, size):
    """Count the members of 0 to size - 1 that share no group with member 0, even indirectly."""
    links = np.zeros((size, size), dtype=bool)
    for group in set(groups):
        links[np.ix_(group, group)] = True
    _, component = connected_components(links, directed=False)
    return int((component != component[0]).sum())


def _unlinked_message(unlinked, size, kind, what):
    return (
        f"{unlinked} of {size} {kind} share no item with the others: "
        f"raise the {what} per item or draw more items"
    )


def balanced_sides(rows, columns, rng):
    """Colour the cells of an incomplete table: half of each colour in every row and column.

    Cells are paired at random within rows and within columns, and the two of a pair get opposite
    colours: the pairs form paths and even cycles, so this always succeeds (de Werra 1971).
    """
    links = [_pairs(rows, rng), _pairs(columns, rng)]
    coins = rng.integers(0, 2, len(rows)).astype(bool).tolist()
    sides = [None] * len(rows)
    for start in range(len(rows)):
        if sides[start] is not None:
            continue
        sides[start] = coins[start]
        # From a cell in the middle of a path the walk goes both ways.
        for direction in (0, 1):
            cell = start
            kind = direction
            while (following := links[kind][cell]) >= 0 and sides[following] is None:
                sides[following] = not sides[cell]
                cell = following
                kind = 1 - kind
    return np.array(sides, dtype=bool)


def _pairs(groups, rng):
    """Pair cells within groups at random; -1 for the odd one out."""
    groups = np.asarray(groups)
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    partner = [-1] * len(groups)
    previous = None
    for cell in order.tolist():
        if previous is not None and groups[previous] == groups[cell]:
            partner[previous] = cell
            partner[cell] = previous
            previous = None
        else:
            previous = cell
    return partner
