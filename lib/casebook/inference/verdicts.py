"""How many verdicts of `casebook.estimates.contrasts` are decided, in a sentence."""

from casebook.estimates import SAME, UNDECIDED

UNTESTED = "not tested"


def count_verdicts(words, what):
    """Say how many differences are decided, and that the others are not."""
    tested = [word for word in words if word != UNTESTED]
    same, unclear = (tested.count(word) for word in (SAME, UNDECIDED))
    parts = [f"{len(tested) - same - unclear} decided"]
    parts += [f"{same} the same throughout"] if same else []
    return f"Of {len(tested)} {what}: {', '.join(parts)}, {unclear} undecided, which is not to say equal."
