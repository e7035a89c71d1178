"""Speed of rank shift measures on many lists against the rbo package.

Run with one thread: ``OMP_NUM_THREADS=1 python tests/benchmarks/bench_rankshift.py``.
"""

import json

import numpy as np
from measuring import cpu_seconds, row

from casebook.measures import rankshift

PAIRS, LENGTH, DOCUMENTS, PERSISTENCE = 2000, 100, 150, 0.9


def rows():
    """Measure every benchmark of this file."""
    import rbo

    rng = np.random.default_rng(0)
    before, after = (
        np.array([rng.permutation(DOCUMENTS)[:LENGTH] for _ in range(PAIRS)])
        for _ in range(2)
    )
    lists = list(zip(before.tolist(), after.tolist(), strict=True))

    def peer():
        return [rbo.RankingSimilarity(*pair).rbo_ext(p=PERSISTENCE) for pair in lists]

    theirs, _ = cpu_seconds(peer, 5)
    ours, _ = cpu_seconds(lambda: rankshift.rbo_batch(before, after, PERSISTENCE), 5)
    same = np.abs(np.array(peer()) - rankshift.rbo_batch(before, after).ext).max()
    total, _ = cpu_seconds(
        lambda: rankshift.normalised_footrule_batch(before, after, LENGTH), 5
    )
    size = f"{PAIRS} pairs of lists of {LENGTH}"
    note = f"ext, min, max and residual; ext differs by at most {same:.1e}"
    other = "the peer has RBO only"
    return [
        row(f"rank-biased overlap, {size}", "rbo", ours, theirs, 5, note),
        row(f"normalised footrule, {size}", "rbo", total, theirs, 5, other),
    ]


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row))
