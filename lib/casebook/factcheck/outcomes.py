"""How checking ended, counted."""

from collections import Counter


def outcomes(results):
    """Count how checking ended."""
    counts = Counter()
    for result in results:
        if result.error is None:
            counts[result.verdict] += 1
        else:
            stage, kind = result.error.split(": ", 2)[:2]
            counts[f"crashed in {stage}: {kind}"] += 1
    return dict(counts.most_common())
