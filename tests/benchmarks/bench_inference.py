"""Speed of the paired inference against scipy's resampling functions.

Run with one thread: ``OMP_NUM_THREADS=1 python tests/benchmarks/run.py inference``.
"""

import itertools

import numpy as np
from measuring import cpu_seconds, limit_row, row
from scipy import stats

from casebook.frames import compare_systems
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.tests import paired_randomization

SYSTEMS, QUERIES, FLIPS, RESAMPLES = 10, 1000, 100_000, 10_000
PAIRS = list(itertools.combinations(range(SYSTEMS), 2))
MEASURED_PAIRS = 2


def rows():
    return [_randomisation(), _bootstrap(), _comparison()]


def _scores(queries, systems):
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.15, (queries, systems)) + np.linspace(0, 0.03, systems)
    return np.clip(rng.beta(2, 3, (queries, 1)) + noise, 0, 1)


def _mean(x, axis):
    return x.mean(axis=axis)


def _randomisation():
    X = _scores(QUERIES, SYSTEMS)

    def peer():
        for i, j in PAIRS[:MEASURED_PAIRS]:
            stats.permutation_test(
                (X[:, i] - X[:, j],),
                _mean,
                permutation_type="samples",
                vectorized=True,
                n_resamples=FLIPS,
                batch=1000,
                rng=np.random.default_rng(1),
            )

    ours, _ = cpu_seconds(lambda: paired_randomization(X, n_resamples=FLIPS))
    theirs = cpu_seconds(peer, repeats=1)[0] * len(PAIRS) / MEASURED_PAIRS
    name = f"all-pairs randomisation, {SYSTEMS} systems x {QUERIES} queries, {FLIPS}"
    note = f"scipy measured on {MEASURED_PAIRS} of {len(PAIRS)} pairs and multiplied; ours includes max-T"
    return row(name, "scipy.stats.permutation_test", ours, theirs, 200, note)


def _bootstrap():
    X = _scores(QUERIES, SYSTEMS)
    samples = [*X.T, *(X[:, i] - X[:, j] for i, j in PAIRS)]

    def ours():
        return bootstrap_mean(np.column_stack(samples), n_resamples=RESAMPLES)

    def peer():
        for sample in samples:
            stats.bootstrap(
                (sample,),
                np.mean,
                method="percentile",
                n_resamples=RESAMPLES,
                batch=1000,
                rng=np.random.default_rng(1),
            )

    name = f"bootstrap of {SYSTEMS} means and {len(PAIRS)} differences, {RESAMPLES}"
    note = "ours are the hull of t and BCa, the peer's percentile intervals, one call per mean and difference"
    seconds = cpu_seconds(ours)[0], cpu_seconds(peer, repeats=1)[0]
    return row(name, "scipy.stats.bootstrap", *seconds, 3, note)


def _comparison():
    X = _scores(400, 2)
    options = {"n_resamples": RESAMPLES}
    ours, _ = cpu_seconds(lambda: compare_systems(X, **options))
    name = f"paired comparison of 400 queries, {RESAMPLES} resamples"
    note = "intervals, all tests and effect sizes; the limit is 1 CPU second"
    return limit_row(name, ours, 1.0, note)
