"""The documented explanation: importance by length and level, nothing verified."""

from dataclasses import dataclass

from casebook.factcheck.model import SUPPORTED

CRITICAL = 3
_FLIP_SHARE = 0.6  # cumulative importance that "would flip" a supported verdict


@dataclass(frozen=True)
class DocumentedExplanation:
    """What the documented explanation agent gives."""

    importance: dict
    critical: tuple
    counterfactual: int | None
    conflicts: tuple


def explain_documented(result):
    """Explain a verdict as documented."""
    raw = {
        item.id: 0.5 * item.credibility
        + 0.3 * min(len(item.passage) / 500, 1)
        + 0.2 * (1.0 if item.level == "high" else 0.5)
        for item in result.evidence
    }
    total = sum(raw.values())
    importance = {name: value / total for name, value in raw.items()} if total else raw
    ranked = sorted(importance, key=lambda name: -importance[name])
    return DocumentedExplanation(
        importance,
        tuple(ranked[:CRITICAL]),
        _flipping(importance, ranked) if result.verdict == SUPPORTED else None,
        tuple(part.id for part in result.subclaims if len({item.level for item in result.evidence_of(part.id)}) > 1),
    )


def _flipping(importance, ranked):
    """Count top items until their importance first exceeds the share."""
    reached = 0.0
    for number, name in enumerate(ranked, start=1):
        reached += importance[name]
        if reached > _FLIP_SHARE:
            return number
    return len(ranked)
