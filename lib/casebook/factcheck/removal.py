"""The smallest set of evidence without which a verdict is another."""

from dataclasses import dataclass

from casebook.factcheck.model import NEUTRAL, NOT_SUPPORTED, SUPPORTED, SUPPORTS
from casebook.factcheck.verdict import decide, judge_subclaim


@dataclass(frozen=True)
class Removal:
    """The fewest items of evidence without which the verdict would be another."""

    ids: tuple
    before: str
    after: str


def minimal_removal(result, rule):
    """Find the smallest set of evidence whose removal changes the verdict."""
    names = [part.id for part in result.subclaims]
    groups = {name: result.evidence_of(name) for name in names}
    options = _options(result, groups, rule)
    options = [option for option in options if option is not None]
    for removed in sorted(options, key=len):
        gone = {id(item) for item in removed}
        left = [item for item in result.evidence if id(item) not in gone]
        after = decide(names, left, rule)[1]
        if after != result.verdict:
            ids = tuple(item.id for item in removed)
            return Removal(ids, result.verdict, after)
    return None


def _options(result, groups, rule):
    """Give candidate sets, of which the smallest is minimal; None if impossible."""
    verdicts = {part.subclaim_id: part.verdict for part in result.subverdicts}

    def without(name, wanted):
        return _fewest(name, groups[name], rule, wanted)

    supported = [n for n, verdict in verdicts.items() if verdict != SUPPORTED]
    to_support = _joined(without(name, lambda verdict: verdict == SUPPORTED) for name in supported)
    if result.verdict == SUPPORTED:
        return [without(n, lambda verdict: verdict != SUPPORTED) for n in verdicts]
    if rule.claim == "documented":
        return [to_support]
    if result.verdict == NOT_SUPPORTED:
        refuted = [n for n, verdict in verdicts.items() if verdict == NOT_SUPPORTED]
        return [_joined(without(name, lambda verdict: verdict != NOT_SUPPORTED) for name in refuted)]
    to_refute = [without(n, lambda verdict: verdict == NOT_SUPPORTED) for n in verdicts]
    return [to_support, *to_refute]


def _joined(sets):
    joined = []
    for found in sets:
        if found is None:
            return None
        joined += found
    return joined


def _fewest(name, items, rule, wanted):
    """Remove as few items of one sub-claim as its verdict needs to be as wanted."""
    best = None
    for order in _orders(items, rule):
        for number in range(len(order) + 1):
            removed = order[:number]
            gone = {id(item) for item in removed}
            left = [item for item in items if id(item) not in gone]
            if wanted(judge_subclaim(name, left, rule).verdict):
                if best is None or number < len(best):
                    best = removed
                break
    return best


def _orders(items, rule):
    """Give the orders of removal that lower the score most and raise it most."""
    counted = [i for i in items if rule.neutral == "against" or i.stance != NEUTRAL]

    def worth(item):
        return rule.weight(item.level) if item.stance == SUPPORTS else 0.0

    if rule.denominator == "count":
        return sorted(counted, key=worth, reverse=True), sorted(counted, key=worth)
    by_weight = sorted(counted, key=lambda item: -rule.weight(item.level))
    against = [item for item in by_weight if item.stance != SUPPORTS]
    support = [item for item in by_weight if item.stance == SUPPORTS]
    # When nothing of the other side is left, what remains can only vanish altogether.
    return support + against, against + support
