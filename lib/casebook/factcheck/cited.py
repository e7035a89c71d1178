"""Passages behind a verdict: those that decide a claim, and those that were found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cited:
    """One passage of a document."""

    doc_id: str
    text: str
    start: int = 0
    end: int = 0
    about: str = ""
    stance: str | None = None
    probability: float | None = None
    level: str | None = None


def touches(one, other):
    """Tell whether two passages share characters of one document."""
    same = one.doc_id == other.doc_id
    return same and one.start < other.end and other.start < one.end


def cited_evidence(result):
    """Give the evidence that a pipeline found for a claim."""
    return [
        Cited(
            item.doc_id, item.passage, item.start, item.end, item.subclaim_id, item.stance, item.probability, item.level
        )
        for item in result.evidence
    ]


def cited_atoms(claim, texts):
    """Give the passages that decide a claim."""
    return [
        Cited(
            atom.doc_id,
            texts[atom.doc_id][atom.start : atom.end],
            atom.start,
            atom.end,
            "" if atom.text == claim.text else atom.text,
            atom.label,
        )
        for atom in claim.atoms
    ]
