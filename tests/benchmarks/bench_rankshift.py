"""Speed of rank shift measures on many lists against the rbo package.

Run with one thread: ``OMP_NUM_THREADS=1 python tests/benchmarks/bench_rankshift.py``.
"""

import json
import time

import numpy as np

from casebook.measures import rankshift

PAIRS, LENGTH, DOCUMENTS, PERSISTENCE = 2000, 100, 150, 0.9


def rows():
    """Give one row per benchmark.

    Returns
    -------
    list of dict
        Keys ``benchmark``, ``peer``, ``ours_cpu_s``, ``peer_cpu_s``, ``ratio``,
        ``bar``, ``passed`` and ``note``.
    """
    import rbo

    rng = np.random.default_rng(0)
    before, after = (
        np.array([rng.permutation(DOCUMENTS)[:LENGTH] for _ in range(PAIRS)])
        for _ in range(2)
    )
    lists = list(zip(before.tolist(), after.tolist(), strict=True))

    def peer():
        return [rbo.RankingSimilarity(*pair).rbo_ext(p=PERSISTENCE) for pair in lists]

    theirs = _cpu_seconds(peer)
    ours = _cpu_seconds(lambda: rankshift.rbo_batch(before, after, PERSISTENCE))
    same = np.abs(np.array(peer()) - rankshift.rbo_batch(before, after).ext).max()
    total = _cpu_seconds(
        lambda: rankshift.normalised_footrule_batch(before, after, LENGTH)
    )
    size = f"{PAIRS} pairs of lists of {LENGTH}"
    note = f"ext, min, max and residual; ext differs by at most {same:.1e}"
    return [
        _row(f"rank-biased overlap, {size}", ours, theirs, note),
        _row(f"normalised footrule, {size}", total, theirs, "the peer has RBO only"),
    ]


def _cpu_seconds(function, repeats=5):
    """Median CPU time of this process, all its threads included."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def _row(benchmark, ours, theirs, note):
    ratio, bar = theirs / ours, 5
    return {
        "benchmark": benchmark,
        "peer": "rbo",
        "ours_cpu_s": round(ours, 4),
        "peer_cpu_s": round(theirs, 4),
        "ratio": round(ratio, 2),
        "bar": bar,
        "passed": ratio >= bar,
        "note": note,
    }


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row))
