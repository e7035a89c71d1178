"""What the generated policies say: families that agree in what questions ask for."""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from casebook.datasets.drift_words import CONDITIONS, INSURERS, REGIONS, TOPICS

_FAMILIES, _MEMBERS = 1, 2  # random streams; drift.py has those of the texts
_SIZE_SHARES = (0.65, 0.25, 0.10)  # families of one, two and three policies
_DEDUCTIBLES = (100, 250, 400, 750, 1200)
_DAYS = (3, 5, 8, 14, 21, 30)
_AMOUNT = 5000
_PERILS = 5


@dataclass(frozen=True)
class Facts:
    """What one generated policy says; all but amounts and days are positions."""

    family: int
    topic: str
    peril: int
    condition: int
    limit: int
    insurer: int
    region: int
    deductible: int
    days: int


def draw_policies(n, seed):
    """Draw the facts of n policies, family by family, topics in turn."""
    sizes, members = _family_sizes(n, seed), _members(n, seed)
    combinations = _combinations(n, seed)
    names, numbers, policies = list(TOPICS), Counter(), {}
    for family, size in enumerate(sizes):
        topic = names[family % len(names)]
        peril, condition, amount = combinations[topic][family // len(names)]
        shared = Facts(family, topic, peril, condition, _AMOUNT * (amount + 1), 0, 0, 0, 0)
        for place in range(size):
            numbers[topic] += 1
            name = f"policy-{topic}-{numbers[topic]:0{digits(n, 3)}d}"
            policies[name] = replace(shared, **members(family, place))
    return policies


def digits(n, least):
    """Give the digits that numbers up to n need, so that ids sort as numbers do."""
    return max(least, len(str(n)))


def _family_sizes(n, seed):
    """Give sizes that sum to n; the last family may be cut."""
    rng = np.random.default_rng([seed, _FAMILIES])
    sizes = rng.choice([1, 2, 3], size=n, p=_SIZE_SHARES)
    last = int(np.searchsorted(np.cumsum(sizes), n))
    sizes = sizes[: last + 1].tolist()
    sizes[-1] -= sum(sizes) - n
    return sizes


def _combinations(n, seed):
    """Give, per topic, more (peril, condition, amount) than it can have families."""
    families = -(-n // len(TOPICS))
    amounts = max(12, -(-families // (_PERILS * len(CONDITIONS))))
    shape = (_PERILS, len(CONDITIONS), amounts)
    found = {}
    for number, topic in enumerate(TOPICS, 1):  # a last 0 would not change the stream
        rng = np.random.default_rng([seed, _FAMILIES, number])
        order = rng.permutation(math.prod(shape))[:families]
        found[topic] = np.column_stack(np.unravel_index(order, shape)).tolist()
    return found


def _members(n, seed):
    """Give a function that tells a family's members apart in four facts."""
    rng = np.random.default_rng([seed, _MEMBERS])
    insurers = _distinct(rng, n, len(INSURERS))
    regions = _distinct(rng, n, len(REGIONS))
    deductibles = rng.choice(_DEDUCTIBLES, size=(n, len(_SIZE_SHARES)))
    days = rng.choice(_DAYS, size=(n, len(_SIZE_SHARES)))
    names = ("insurer", "region", "deductible", "days")
    tables = (insurers, regions, deductibles, days)

    def facts(family, place):
        values = (int(table[family, place]) for table in tables)
        return dict(zip(names, values, strict=True))

    return facts


def _distinct(rng, n, values):
    """Draw three different values for each of n families."""
    return rng.permuted(np.tile(np.arange(values), (n, 1)), axis=1)[:, :3]
