"""Why a verdict is what it is: deciding passages, what would change it, conflicts."""

from dataclasses import dataclass

from casebook.factcheck.model import INSUFFICIENT, NEUTRAL, NOT_SUPPORTED, REFUTES, SUPPORTED, SUPPORTS
from casebook.factcheck.removal import Removal, minimal_removal

_SIDES = {SUPPORTED: (SUPPORTS,), NOT_SUPPORTED: (REFUTES,), INSUFFICIENT: (SUPPORTS, REFUTES)}
_SAYS = {SUPPORTED: "is supported", NOT_SUPPORTED: "is refuted", INSUFFICIENT: "cannot be decided"}
# What the documented rule calls NOT_SUPPORTED need not be refuted by anything.
_DOCUMENTED_SAYS = _SAYS | {NOT_SUPPORTED: "is not supported"}


@dataclass(frozen=True)
class Explanation:
    """Explanation of one verdict."""

    verdict: str
    stated: dict
    cited: tuple
    removal: Removal | None
    conflicts: tuple
    text: str


def explain(result, rule, most=2):
    """Explain a verdict."""
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
    """Find the sub-claims with evidence for and against."""
    found = []
    for part in result.subclaims:
        sides = {item.stance for item in result.evidence_of(part.id)} - {NEUTRAL}
        if len(sides) == 2:
            found.append(part.id)
    return tuple(found)


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
    lines += [f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped]
    if found:
        lines.append(f"Evidence is in conflict on {', '.join(found)}.")
    if removal is not None:
        lines.append(f"Without {', '.join(removal.ids) or 'anything'} the verdict would be {removal.after}.")
    return "\n".join(lines)
