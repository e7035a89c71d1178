"""Features that say how a passage stands to a sub-claim, each readable by a person."""

import math
import re

import numpy as np

from casebook.factcheck.words import content, listed, names, numbers, words

NAMES = (
    "coverage",
    "source",
    "coverage x source",
    "numbers found",
    "numbers in conflict",
    "numbers absent",
    "polarity differs",
    "polarity differs x coverage",
    "log length",
    "maxsim",
)
_NEGATIONS = listed(
    "not no never neither nor none nothing without cannot nobody nowhere can't won't "
    "don't doesn't didn't isn't aren't wasn't weren't excluded excludes exclude "
    "excluding exclusion forbidden forbids prohibited refused refuses declined "
    "uninsured"
)
_CLAUSE = re.compile(r"[,;:]\s+|\s+(?:but|yet|although)\s+")


def negations(text):
    """Count words that turn a statement round."""
    return sum(word in _NEGATIONS for word in words(text))


def nearest_clause(text, wanted):
    """Find the clause of a passage that shares most content stems with a claim."""
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    return max(clauses, key=lambda c: len(wanted & content(c)), default=text)


def features(claim, passage, header="", rarity=None, maxsim=None):
    """Describe a pair of sub-claim and passage."""
    named = frozenset().union(*(content(name) for name in names(claim)))
    have = content(passage)
    body = frozenset(s for s in content(claim) - named if not s[0].isdigit())
    coverage = _weighted_share(body, have, rarity or {})
    source = len(named & (content(header) | have)) / len(named) if named else 1.0
    found, conflict, absent = _numbers(claim, passage)
    clause = nearest_clause(passage, body)
    differs = float((negations(claim) + negations(clause)) % 2)
    return np.array(
        [
            coverage,
            source,
            coverage * source,
            found,
            conflict,
            absent,
            differs,
            differs * coverage,
            np.log1p(len(words(passage))),
            0.0 if maxsim is None else maxsim,
        ]
    )


def _weighted_share(wanted, have, rarity):
    unknown = rarity.get("", 1.0)
    total = math.fsum(rarity.get(stem, unknown) for stem in wanted)
    shared = math.fsum(rarity.get(stem, unknown) for stem in wanted & have)
    return shared / total if total else 0.0


def _numbers(claim, passage):
    """Shares of the claim's numbers that are found, in conflict, absent."""
    wanted = [n for n in numbers(claim) if not _part_of_name(n, claim)]
    if not wanted:
        return 0.0, 0.0, 0.0
    there = numbers(passage)
    values = {number.value for number in there}
    units = {number.unit for number in there}
    found = sum(number.value in values for number in wanted)
    conflict = sum(number.value not in values and number.unit in units for number in wanted)
    total = len(wanted)
    return found / total, conflict / total, (total - found - conflict) / total


def _part_of_name(number, claim):
    """Tell whether a number belongs to a name, as in "Pay-by-Mile 2"."""
    return any(f"{number.value:g}" in words(name) for name in names(claim))
