"""Why a verdict is what it is: deciding passages, what would change it, conflicts."""

from dataclasses import dataclass

from casebook.factcheck.model import (
    INSUFFICIENT,
    NEUTRAL,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
)
from casebook.factcheck.verdict import decide, judge_subclaim

_SIDES = {
    SUPPORTED: (SUPPORTS,),
    NOT_SUPPORTED: (REFUTES,),
    INSUFFICIENT: (SUPPORTS, REFUTES),
}
_SAYS = {
    SUPPORTED: "is supported",
    NOT_SUPPORTED: "is refuted",
    INSUFFICIENT: "cannot be decided",
}
# What the documented rule calls NOT_SUPPORTED need not be refuted by anything.
_DOCUMENTED_SAYS = _SAYS | {NOT_SUPPORTED: "is not supported"}


@dataclass(frozen=True)
class Removal:
    """The fewest items of evidence without which the verdict would be another.

    Attributes
    ----------
    ids : tuple of str
        Items to remove.
    before, after : str
        Verdict with and without them; ``after`` is found by deciding again.
    """

    ids: tuple
    before: str
    after: str


@dataclass(frozen=True)
class Explanation:
    """Explanation of one verdict.

    Attributes
    ----------
    verdict : str
        Of the claim.
    stated : dict of str
        Verdict of each sub-claim as the text states it.
    cited : tuple of Evidence
        Deciding items, with document and span.
    removal : Removal or None
        None where no removal changes the verdict.
    conflicts : tuple of str
        Sub-claims with evidence for and against.
    text : str
        In sentences.
    """

    verdict: str
    stated: dict
    cited: tuple
    removal: Removal | None
    conflicts: tuple
    text: str


def explain(result, rule, most=2):
    """Explain a verdict.

    Parameters
    ----------
    result : VerdictResult
        A claim that was checked without a crash.
    rule : Rule
        The rule it was decided by.
    most : int
        Most items to cite per sub-claim and side.

    Returns
    -------
    Explanation
        With the items that weigh most on the side of each sub-verdict, under a claim
        that is refuted those of the refuted parts alone.
    """
    stated = {part.subclaim_id: part.verdict for part in result.subverdicts}
    cited = tuple(
        item
        for part in result.subverdicts
        if result.verdict != NOT_SUPPORTED or part.verdict == NOT_SUPPORTED
        for side in _SIDES[part.verdict]
        for item in _heaviest(result.evidence_of(part.subclaim_id), side, rule, most)
    )
    removal, found = minimal_removal(result, rule), conflicts(result)
    says = _DOCUMENTED_SAYS if rule.claim == "documented" else _SAYS
    text = _text(result, says, stated, cited, removal, found)
    return Explanation(result.verdict, stated, cited, removal, found, text)


def _heaviest(items, side, rule, most):
    """Order the items of one side by weight, then by sureness, then as found."""

    def sureness(item):
        return abs((0.5 if item.probability is None else item.probability) - 0.5)

    chosen = [item for item in items if item.stance == side]
    ranked = sorted(chosen, key=lambda i: (-rule.weight(i.level), -sureness(i)))
    return ranked[:most]


def conflicts(result):
    """Find the sub-claims with evidence for and against, tuple of str."""
    found = []
    for part in result.subclaims:
        sides = {item.stance for item in result.evidence_of(part.id)} - {NEUTRAL}
        if len(sides) == 2:
            found.append(part.id)
    return tuple(found)


def minimal_removal(result, rule):
    """Find the smallest set of evidence whose removal changes the verdict.

    Parameters
    ----------
    result : VerdictResult
        A checked claim.
    rule : Rule
        The rule it was decided by.

    Returns
    -------
    Removal or None
        Ties go to the earlier sub-claim and the earlier item; None if no removal
        changes the verdict.

    Notes
    -----
    The score of a sub-claim is a ratio in which, for a given number of removals,
    taking the heaviest items of one side moves it furthest; so the search over
    numbers of removals is exact for each sub-claim. A supported claim falls with its
    weakest part; a refuted one must lose the refutation of every refuted part; an
    undecided one needs one refuted part, or all parts supported. The result is
    verified by deciding the claim again without the items.
    """
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
    to_support = _joined(
        without(name, lambda verdict: verdict == SUPPORTED) for name in supported
    )
    if result.verdict == SUPPORTED:
        return [without(n, lambda verdict: verdict != SUPPORTED) for n in verdicts]
    if rule.claim == "documented":
        return [to_support]
    if result.verdict == NOT_SUPPORTED:
        refuted = [n for n, verdict in verdicts.items() if verdict == NOT_SUPPORTED]
        return [
            _joined(
                without(name, lambda verdict: verdict != NOT_SUPPORTED)
                for name in refuted
            )
        ]
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


def _text(result, says, stated, cited, removal, found):
    """Write the explanation in sentences."""
    parts = {part.id: part.text for part in result.subclaims}
    lines = [f"The claim {says[result.verdict]}."]
    for name, verdict in stated.items():
        lines.append(f'Part {name}, "{parts[name]}", {says[verdict]}.')
        lines += [
            f"{item.source} ({item.level} credibility) {item.stance} it: "
            f'"{item.passage}" ({item.doc_id}, characters {item.start} to {item.end}).'
            for item in cited
            if item.subclaim_id == name
        ]
    lines += [
        f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped
    ]
    if found:
        lines.append(f"Evidence is in conflict on {', '.join(found)}.")
    if removal is not None:
        lines.append(
            f"Without {', '.join(removal.ids) or 'anything'} the verdict would be "
            f"{removal.after}."
        )
    return "\n".join(lines)
