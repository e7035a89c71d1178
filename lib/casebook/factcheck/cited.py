"""Passages behind a verdict: those that decide a claim, and those that were found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cited:
    """One passage of a document.

    Attributes
    ----------
    doc_id, text : str
        The document and the passage; the text may be empty where only the document is
        known.
    start, end : int
        Characters of the passage in its document.
    about : str
        The part of the claim that it speaks to, by id or in words; empty for the
        whole claim.
    stance : str or None
        What it says of the claim, or the gold label of that part.
    probability : float or None
        That it supports rather than refutes.
    level : str or None
        Its credibility.
    """

    doc_id: str
    text: str
    start: int = 0
    end: int = 0
    about: str = ""
    stance: str | None = None
    probability: float | None = None
    level: str | None = None


def touches(one, other):
    """Tell whether two passages share characters of one document.

    Parameters
    ----------
    one, other : Cited, Evidence or Atom
        Anything with ``doc_id``, ``start`` and ``end``.

    Returns
    -------
    bool
        True if they do.
    """
    same = one.doc_id == other.doc_id
    return same and one.start < other.end and other.start < one.end


def cited_evidence(result):
    """Give the evidence that a pipeline found for a claim.

    Parameters
    ----------
    result : VerdictResult
        As checked.

    Returns
    -------
    list of Cited
        In order of the parts and, within each, of the search.
    """
    return [
        Cited(
            item.doc_id,
            item.passage,
            item.start,
            item.end,
            item.subclaim_id,
            item.stance,
            item.probability,
            item.level,
        )
        for item in result.evidence
    ]


def cited_atoms(claim, texts):
    """Give the passages that decide a claim.

    Parameters
    ----------
    claim : Claim
        With its atoms.
    texts : dict of str
        Documents by id.

    Returns
    -------
    list of Cited
        One per atom.
    """
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
