"""Which of the possible edits of a state are tried: the budget decides the scores."""

import hashlib
from collections import defaultdict
from itertools import zip_longest

import numpy as np

from casebook.stats.samples import check_choice

BUDGETS = ("stratified", "first")


def ordered(edits, budget="stratified", seed=0):
    """Bring edits into the order in which a budget is spent on them."""
    check_choice("budget", budget, BUDGETS)
    if budget == "first":
        return list(edits)
    strata = defaultdict(lambda: defaultdict(list))
    for edit in _shuffled(edits, seed):
        strata[edit.fact_type][edit.item].append(edit)
    return _in_turn(_in_turn(items.values()) for items in strata.values())


def _in_turn(lists):
    """Take one of each list in turn until all are empty."""
    rounds = zip_longest(*lists)
    return [edit for turn in rounds for edit in turn if edit is not None]


def _shuffled(edits, seed):
    """Shuffle edits in an order that depends on the seed and on the edits alone."""
    names = "\n".join(f"{edit.item} {edit.description}" for edit in edits)
    digest = hashlib.sha256(names.encode()).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:8])])
    return [edits[place] for place in rng.permutation(len(edits))]
