"""Verdicts from stances without weights: Climate-FEVER's rule, the documented vote."""

from collections import Counter

from casebook.factcheck.model import NEUTRAL, REFUTES, SUPPORTS


def any_any(stances):
    """Aggregate as Climate-FEVER does: any support, any refutation, both, neither."""
    found = Counter(stances)
    if found[SUPPORTS] and found[REFUTES]:
        return "DISPUTED"
    if found[SUPPORTS]:
        return "SUPPORTS"
    return "REFUTES" if found[REFUTES] else "NOT_ENOUGH_INFO"


def vote(stances, neutral="against", upper=0.7):
    """Tell whether unweighted evidence supports a claim by the documented score."""
    counted = [s for s in stances if neutral == "against" or s != NEUTRAL]
    return bool(counted) and counted.count(SUPPORTS) / len(counted) >= upper
