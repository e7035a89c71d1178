"""Speed and memory of agreement with a bootstrap interval against krippendorff.

The peer draws few resamples, and its time per resample is scaled.
"""

import krippendorff
import numpy as np
from measuring import limit_row, own_seconds, row, run_python

from casebook.measures.agreement import krippendorff_alpha

ITEMS, RATERS, DRAWS = 10_000, 20, 1000
SIZE = f"{ITEMS} items x {RATERS} raters"
PEAK = f"""
import resource, numpy as np
from casebook.measures.agreement import krippendorff_alpha
ratings = np.random.default_rng(0).integers(1, 6, ({ITEMS}, {RATERS}))
krippendorff_alpha(ratings.astype(float), "ordinal", {DRAWS})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def rated(items=ITEMS, raters=RATERS):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(items, 1)) + 0.8 * rng.normal(size=(items, raters))
    ratings = np.digitize(latent, [-1.2, -0.4, 0.4, 1.2]) + 1.0
    ratings[rng.random(ratings.shape) < 0.1] = np.nan
    return ratings


def rows():
    X = rated()
    draws, rng = 5, np.random.default_rng(1)

    def loop():
        for _ in range(draws):
            drawn = X[rng.integers(0, ITEMS, ITEMS)]
            krippendorff.alpha(drawn.T, level_of_measurement="ordinal")

    ours = own_seconds(lambda: krippendorff_alpha(X, "ordinal", DRAWS))
    name = f"alpha, {DRAWS} resamples, {SIZE}"
    note = f"{draws} resamples of the peer, scaled; ours has both intervals"
    yield row(name, "loop over krippendorff", ours, own_seconds(loop) * DRAWS / draws, 20, note)
    yield limit_row(name, ours, 0.5, "the limit is half a CPU second")

    small = rated(50, 4)
    ours = own_seconds(lambda: krippendorff_alpha(small, "ordinal", DRAWS), repeats=20)
    name = f"alpha, {DRAWS} resamples, 50 items x 4 raters"
    yield limit_row(name, ours, 0.01, "the limit is 10 milliseconds")

    name = f"memory: alpha, {DRAWS} resamples, {SIZE}"
    note = "megabytes at the peak, the interpreter included; the limit is 500"
    yield limit_row(name, run_python(PEAK), 500, note)
