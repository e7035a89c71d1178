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
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack
from scipy.sparse.csgraph import connected_components

from casebook.errors import InputError
from casebook.stats.samples import check_count, generator

ID_DIGITS = 12
ATTEMPTS = 200  # to assign raters so that common items link all of them


# A secret of 256 bits.
def new_secret():
    return secrets.token_hex(32)


# Name something so that nobody without the secret can tell what it is.
def opaque_id(secret, *parts):
    return _digest(secret, parts).hex()[:ID_DIGITS]


# Random numbers that follow from the secret, not from the public seed.
def hidden_chance(secret, purpose):
    entropy = int.from_bytes(_digest(secret, ("chance", purpose)))
    return np.random.Generator(np.random.PCG64(entropy))


def _digest(secret, parts):
    if len(secret) < 32:
        raise InputError("the secret must have at least 32 characters")
    # JSON keeps ("a", "bc") and ("ab", "c") apart.
    message = json.dumps([str(part) for part in parts]).encode()
    return hmac.digest(secret.encode(), message, hashlib.sha256)


# Hash of a text, so that an edited cell is found without keeping the text.
def text_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Sign what everybody may read, so that nobody without the secret can alter it.
def seal(secret, content):
    return _digest(secret, ("seal", json.dumps(content, sort_keys=True))).hex()


def draw_items(items, count=None, strata=None, seed=0):
    """Draw items at random, in proportion to the strata; one row per item, drawn or not."""
    count = _checked_count("items", count, len(items))
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


def _checked_count(name, value, most):
    value = most if value is None else value
    check_count(name, value)
    if value > most:
        raise InputError(f"{value} {name} are asked for, but there are {most}")
    return value


def make_design(items, systems, raters, secret, *, per_item=None, pairs_per_item=None):
    """Assign comparisons to raters: a row each, with its position and the systems' sides."""
    if len(systems) < 2:
        raise InputError("a comparison needs at least two systems")
    pairs = np.array(list(itertools.combinations(range(len(systems)), 2)))
    per_item = _checked_count("raters per item", per_item, len(raters))
    pairs_per_item = _checked_count("pairs per item", pairs_per_item, len(pairs))
    rng = hidden_chance(secret, "design")
    # Every item has its pairs of systems, so that all pairs are used equally often.
    shuffled = rng.permutation(len(pairs))
    places = rng.permutation(len(items))[:, None] * pairs_per_item + np.arange(pairs_per_item)
    compared = pairs[np.sort(shuffled[places % len(pairs)]).ravel()]
    _refuse_unlinked(compared, len(systems), "systems", "pairs")
    teams = _linked_teams(len(compared), len(raters), per_item, rng)
    seats = [(rater, comparison) for comparison, team in enumerate(teams) for rater in team]
    rater, comparison = np.array(seats).T
    system, against = compared[comparison].T
    cells_of_rater = rater * len(systems) ** 2 + system * len(systems) + against
    is_in_order = balanced_sides(cells_of_rater, comparison, rng)
    design = pd.DataFrame(
        {
            "rater": np.array(list(raters), dtype=object)[rater],
            "item_id": np.array(list(items), dtype=object)[comparison // pairs_per_item],
            "left": np.array(systems, dtype=object)[np.where(is_in_order, system, against)],
            "right": np.array(systems, dtype=object)[np.where(is_in_order, against, system)],
        }
    )
    design = design.iloc[np.lexsort((rng.permutation(len(design)), rater))]
    place = design.groupby("rater", sort=False).cumcount()
    return design.assign(place=place).reset_index(drop=True)


# How often each system is on the left in each form.
def balance(design, systems):
    shown = design.melt("rater", ["left", "right"], "side", "system")
    counts = pd.crosstab([shown["rater"], shown["system"]], shown["side"])
    counts["n"] = counts["left"] + counts["right"]
    counts["off"] = (counts["left"] - counts["right"]).abs() / 2
    return counts.reset_index()[["rater", "system", "n", "left", "off"]]


# The least loaded raters for each comparison; of few, only some choices link all raters.
def _linked_teams(n_comparisons, n_raters, per_item, rng):
    for _ in range(ATTEMPTS):
        loads = np.zeros(n_raters, dtype=int)
        teams = np.zeros((n_comparisons, per_item), dtype=int)
        for comparison in rng.permutation(n_comparisons):
            team = np.lexsort((rng.random(n_raters), loads))[:per_item]
            loads[team] += 1
            teams[comparison] = np.sort(team)
        if not _unlinked(teams, n_raters):
            return teams
    return _refuse_unlinked(teams, n_raters, "raters", "raters")


# How many of 0 to size - 1 share no group with member 0, even indirectly.
def _unlinked(groups, size):
    links = np.zeros((size, size), dtype=bool)
    for group in groups:
        links[np.ix_(group, group)] = True
    _, component = connected_components(links, directed=False)
    return int((component != component[0]).sum())


def _refuse_unlinked(groups, size, kind, what):
    unlinked = _unlinked(groups, size)
    if unlinked:
        remedy = f"raise the {what} per item or draw more items"
        raise InputError(f"{unlinked} of {size} {kind} share no item with the others: {remedy}")


def balanced_sides(rows, columns, rng):
    """Sides of the cells of an incomplete table: half of either in every row and column.

    A linear programme with random costs: as each cell is in one row and one column, its matrix is
    totally unimodular, so that the one optimum is of whole numbers (Hoffman and Kruskal 1956).
    """
    cells = np.arange(len(rows))
    incidence = []
    for groups in (rows, columns):
        codes = np.unique(groups, return_inverse=True)[1]
        incidence.append(coo_array((np.ones(len(cells)), (codes, cells))))
    incidence = vstack(incidence)
    half = incidence.sum(axis=1) / 2
    limits = LinearConstraint(incidence, np.floor(half), np.ceil(half))
    found = milp(rng.standard_normal(len(cells)), constraints=limits, bounds=Bounds(0, 1))
    return found.x > 0.5
