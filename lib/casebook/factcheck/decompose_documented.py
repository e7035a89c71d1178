"""The documented decomposition: split at connectors, verifiability by substrings."""

import re

from casebook.factcheck.model import OPINION, PREDICTION, VAGUE, VERIFIABLE, SubClaim

MOST_SUBCLAIMS = 10
_SPLIT = re.compile(r" and |,| that ", re.IGNORECASE)
_NAME = re.compile(r"[A-Z][a-zA-Z]*(?:\s+[A-Z][a-zA-Z]*)*")
# Order matters: the first kind with a word in the text wins.
_OPINION = ("believe", "think", "should", "ought", "better", "worse", "best", "worst")
_FUTURE = ("will", "would", "might", "may", "could", "going to")
_VAGUE = ("some", "many", "few", "several", "various", "often", "sometimes")
_SHORT = 10  # words below which a vague word decides


def decompose_documented(claim):
    """Part a claim as documented, quirks included."""
    pieces = [piece.strip() for piece in _SPLIT.split(claim)]
    pieces = [piece for piece in pieces if piece][:MOST_SUBCLAIMS]
    return tuple(
        SubClaim(
            f"SC{number}",
            piece,
            f"Claim('{piece}')",
            documented_verifiability(piece),
            tuple(dict.fromkeys(_NAME.findall(piece))),
        )
        for number, piece in enumerate(pieces, start=1)
    )


def documented_verifiability(text):
    """Say by substring tests whether a text can be verified."""
    lowered = text.lower()
    if any(word in lowered for word in _OPINION):
        return OPINION
    if any(word in lowered for word in _FUTURE):
        return PREDICTION
    if any(word in lowered for word in _VAGUE) and len(text.split()) < _SHORT:
        return VAGUE
    return VERIFIABLE
