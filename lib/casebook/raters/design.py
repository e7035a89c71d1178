"""Design of a blind study: which items are judged, by whom, in which order and on which side.

Sides, order and ids follow from the secret of the study: from the public seed a rater could compute
them.
"""

import hashlib
import hmac
import itertools
import json

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack
from scipy.sparse.csgraph import connected_components

from casebook.errors import InputError
from casebook.stats.samples import check_count, generator


def opaque_id(secret, *parts):
    """An id that only the secret leads back to what it names."""
    return _digest(secret, parts).hex()[:12]


def hidden_chance(secret, purpose):
    """Random numbers that follow from the secret, not from the public seed."""
    return np.random.default_rng(int.from_bytes(_digest(secret, ("chance", purpose))))


def _digest(secret, parts):
    if len(secret) < 32:
        raise InputError("the secret must have at least 32 characters")
    # JSON keeps ("a", "bc") and ("ab", "c") apart.
    message = json.dumps([str(part) for part in parts])
    return hmac.digest(secret.encode(), message.encode(), hashlib.sha256)


def text_hash(text):
    """A hash of a text, by which an edited cell is found without keeping the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def seal(secret, content):
    """The signature of what everybody may read: nobody without the secret can alter it."""
    text = json.dumps(content, sort_keys=True)
    return _digest(secret, ("seal", text)).hex()


def draw_items(items, count=None, strata=None, seed=0):
    """Items drawn at random, in proportion to the strata: a row an item, drawn or not."""
    count = _checked_count("items", count, len(items))
    table = pd.DataFrame({"item_id": list(items)})
    table["stratum"] = "all" if strata is None else list(strata)
    rng = generator(seed, "draw of items")
    shuffled = table.sample(frac=1, random_state=rng).sort_values(
        "stratum", kind="stable"
    )
    # At equal distances in all strata, one after another.
    places = (np.arange(count) + rng.random()) * len(table) / count
    drawn = shuffled.index[places.astype(int)]
    return table.assign(drawn=table.index.isin(drawn))


def _checked_count(name, value, most):
    value = most if value is None else value
    check_count(name, value)
    if value > most:
        raise InputError(f"{value} {name} are asked for, but there are {most}")
    return value


def make_design(items, systems, raters, secret, per_item=None):
    """Comparisons of all pairs of systems on each item: a row a rater, in the order of the form."""
    if len(systems) < 2:
        raise InputError("a comparison needs at least two systems")
    per_item = _checked_count("raters per item", per_item, len(raters))
    pairs = itertools.combinations(systems, 2)
    rows = [(item, *pair) for item, pair in itertools.product(items, pairs)]
    compared = pd.DataFrame(rows, columns=["item_id", "left", "right"])
    rng = hidden_chance(secret, "design")
    teams = _linked_teams(len(compared), len(raters), per_item, rng)
    design = compared.loc[compared.index.repeat(per_item)]
    design = design.assign(rater=teams.ravel())
    # Either side half of the time, in each comparison and in each rater's rows of a pair.
    of_rater = design.groupby(["rater", "left", "right"]).ngroup()
    turned = balanced_sides(of_rater, design.index, rng)
    sides = design[["left", "right"]].to_numpy()
    sides[turned] = sides[turned, ::-1]
    design[["left", "right"]] = sides
    design = design.sample(frac=1, random_state=rng).sort_values("rater", kind="stable")
    design["rater"] = np.array(list(raters))[design["rater"]]
    return design.reset_index(drop=True)


def _linked_teams(n_comparisons, n_raters, per_item, rng):
    """The least loaded raters for each comparison; of few, only some choices link all raters."""
    for _ in range(200):  # to assign raters so that common items link all of them
        loads = np.zeros(n_raters, dtype=int)
        links = np.zeros((n_raters, n_raters))
        teams = np.zeros((n_comparisons, per_item), dtype=int)
        for comparison in range(n_comparisons):
            team = np.lexsort((rng.random(n_raters), loads))[:per_item]
            teams[comparison] = team
            loads[team] += 1
            links[np.ix_(team, team)] = 1
        groups, _ = connected_components(links, directed=False)
        if groups == 1:
            return teams
    remedy = "raise the raters per item or draw more items"
    raise InputError(f"some raters share no item with the others: {remedy}")


def balanced_sides(rows, columns, rng):
    """Sides of the cells of an incomplete table: half of either in every row and column.

    A linear programme with random costs: as each cell is in one row and one column, its matrix is
    totally unimodular, so that the one optimum is of whole numbers (Hoffman and Kruskal 1956).
    """
    cells = np.arange(len(rows))
    ones = np.ones(len(cells))
    incidence = []
    for groups in (rows, columns):
        codes = np.unique(groups, return_inverse=True)[1]
        incidence.append(coo_array((ones, (codes, cells))))
    incidence = vstack(incidence)
    half = incidence.sum(axis=1) / 2
    limits = LinearConstraint(incidence, np.floor(half), np.ceil(half))
    costs = rng.standard_normal(len(cells))
    found = milp(costs, constraints=limits, bounds=Bounds(0, 1))
    return found.x > 0.5
