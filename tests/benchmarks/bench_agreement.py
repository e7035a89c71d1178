"""Speed and memory of agreement with a bootstrap interval against other packages.

Run with one thread: ``OMP_NUM_THREADS=1 python tests/benchmarks/run.py agreement``.
The peers draw few resamples, and their time per resample is scaled.
"""

import subprocess
import sys

import interrater
import krippendorff
import numpy as np
from measuring import cpu_seconds, limit_row, row

from casebook.measures.agreement import krippendorff_alpha

ITEMS, RATERS, DRAWS = 10_000, 20, 1000
SECONDS_LIMIT, MEMORY_LIMIT, SMALL_LIMIT = 0.5, 500.0, 0.010


def rows():
    return [*_against_a_loop(), _against_interrater(), _small(), _memory()]


def _ratings(items=ITEMS, raters=RATERS):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(items, 1)) + 0.8 * rng.normal(size=(items, raters))
    ratings = np.digitize(latent, [-1.2, -0.4, 0.4, 1.2]) + 1.0
    ratings[rng.random(ratings.shape) < 0.1] = np.nan
    return ratings


def _against_a_loop():
    X = _ratings()
    draws, rng = 5, np.random.default_rng(1)

    def peer():
        for _ in range(draws):
            rows = rng.integers(0, ITEMS, ITEMS)
            krippendorff.alpha(X[rows].T, level_of_measurement="ordinal")

    ours, _ = cpu_seconds(lambda: krippendorff_alpha(X, "ordinal", DRAWS))
    theirs = cpu_seconds(peer)[0] * DRAWS / draws
    name = f"alpha, {DRAWS} resamples, {ITEMS} items x {RATERS} raters"
    note = f"{draws} resamples of the peer, scaled; ours has both intervals"
    limit = "the limit is half a CPU second"
    return [
        row(name, "loop over krippendorff", ours, theirs, 20, note),
        limit_row(name, ours, SECONDS_LIMIT, limit),
    ]


def _against_interrater():
    X = _ratings()
    few, many = 40, 140
    codes = np.where(np.isnan(X), interrater.EMPTY, X - 1).astype(np.int8)
    names = interrater.UnorderedCategories(tuple("12345"))
    ratings = interrater.Ratings(codes, interrater.RatingsSemantics(RATERS, names))

    def peer(draws):
        config = interrater.KrippendorffAlphaConfig(n_resamples=draws)
        interrater.KrippendorffAlphaAnalyzer(ratings, config).estimate()

    seconds = [cpu_seconds(lambda d=d: peer(d))[0] for d in (few, many)]
    theirs = (seconds[1] - seconds[0]) * DRAWS / (many - few)
    ours, _ = cpu_seconds(lambda: krippendorff_alpha(X, "nominal", DRAWS))
    name = f"nominal alpha, {DRAWS} resamples, {ITEMS} items x {RATERS} raters"
    note = f"difference of {many} and {few} resamples of the peer, scaled"
    return row(name, "interrater", ours, theirs, 15, note)


def _small():
    X = _ratings(50, 4)
    ours, _ = cpu_seconds(lambda: krippendorff_alpha(X, "ordinal", DRAWS), repeats=20)
    name = f"alpha, {DRAWS} resamples, 50 items x 4 raters"
    return limit_row(name, ours, SMALL_LIMIT, "the limit is 10 milliseconds")


def _memory():
    """Peak memory of a process that does nothing else; in MB, not seconds."""
    code = (
        "import resource, numpy as np; "
        "from casebook.measures.agreement import krippendorff_alpha as a; "
        f"x = np.random.default_rng(0).integers(1, 6, ({ITEMS}, {RATERS})); "
        f"a(x.astype(float), 'ordinal', {DRAWS}); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    name = f"memory: alpha, {DRAWS} resamples, {ITEMS} items x {RATERS} raters"
    note = "megabytes at the peak, the interpreter included; the limit is 500"
    return limit_row(name, int(done.stdout) / 1024, MEMORY_LIMIT, note)
