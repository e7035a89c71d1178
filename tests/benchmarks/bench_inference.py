"""Speed of the inference against scipy's resampling functions and loops over scikit-learn."""

import itertools

import numpy as np
from measuring import limit_row, own_seconds, row
from scipy import stats
from sklearn import metrics as sk

from casebook.frames import contrasts
from casebook.measures.classification import score_predictions
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.tests import paired_randomization

SYSTEMS, QUERIES, FLIPS, RESAMPLES = 10, 1000, 100_000, 10_000
PAIRS = list(itertools.combinations(range(SYSTEMS), 2))
MEASURED = 2  # pairs, and draws of verdicts
PREDICTIONS, DRAWS = 1_000_000, 1000


def scored(queries, systems):
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.15, (queries, systems)) + np.linspace(0, 0.03, systems)
    return np.clip(rng.beta(2, 3, (queries, 1)) + noise, 0, 1)


def verdicts():
    rng = np.random.default_rng(0)
    labels = np.array(["SUPPORTED", "NOT_SUPPORTED", "unclear"], dtype=object)
    gold = labels[rng.integers(0, 2, PREDICTIONS)]
    noise = rng.choice(labels, PREDICTIONS, p=[0.45, 0.45, 0.1])
    predicted = np.where(rng.random(PREDICTIONS) < 0.7, gold, noise)
    # The peer gets numbers, which scikit-learn reads an order faster than strings.
    coded = [np.searchsorted(np.sort(labels), x) for x in (gold, predicted)]

    def peer():
        for _ in range(MEASURED):
            drawn = rng.integers(0, PREDICTIONS, PREDICTIONS)
            y, p = coded[0][drawn], coded[1][drawn]
            for measure in ("accuracy", "balanced_accuracy"):
                getattr(sk, f"{measure}_score")(y, p)
            sk.matthews_corrcoef(y, p)
            sk.precision_recall_fscore_support(y, p, labels=[0, 1])

    ours = own_seconds(lambda: score_predictions(gold, predicted, n_resamples=DRAWS))
    theirs = own_seconds(peer, 1) * DRAWS / MEASURED
    note = f"peer measured on {MEASURED} of {DRAWS} draws; ours <= 10 s"
    name = f"score {PREDICTIONS:,} verdicts, {DRAWS} bootstrap draws"
    return row(name, "loop over scikit-learn", ours, theirs, 20, note, 10)


def rows():
    yield verdicts()
    X = scored(QUERIES, SYSTEMS)
    gaps = [X[:, i] - X[:, j] for i, j in PAIRS]

    def flips():
        options = {"permutation_type": "samples", "n_resamples": FLIPS, "batch": 1000}
        for gap in gaps[:MEASURED]:
            stats.permutation_test((gap,), np.mean, vectorized=True, rng=1, **options)

    ours = own_seconds(lambda: paired_randomization(X, n_resamples=FLIPS))
    theirs = own_seconds(flips, 1) * len(PAIRS) / MEASURED
    name = f"all-pairs randomisation, {SYSTEMS} systems x {QUERIES} queries, {FLIPS}"
    note = f"scipy measured on {MEASURED} of {len(PAIRS)} pairs and multiplied; ours includes max-T"
    yield row(name, "scipy.stats.permutation_test", ours, theirs, 200, note)

    samples = [*X.T, *gaps]

    def bootstraps():
        options = {"method": "percentile", "n_resamples": RESAMPLES, "batch": 1000}
        for sample in samples:
            stats.bootstrap((sample,), np.mean, rng=1, **options)

    ours = own_seconds(lambda: bootstrap_mean(np.column_stack(samples), n_resamples=RESAMPLES))
    name = f"bootstrap of {SYSTEMS} means and {len(PAIRS)} differences, {RESAMPLES}"
    note = "ours are the hull of t and BCa, the peer's percentile intervals, "
    note += "one call per mean and difference"
    yield row(name, "scipy.stats.bootstrap", ours, own_seconds(bootstraps, 1), 3, note)

    two = scored(400, 2)
    ours = own_seconds(lambda: contrasts(two, [(0, 1)], n_resamples=RESAMPLES))
    name = f"paired comparison of 400 queries, {RESAMPLES} resamples"
    note = "interval and test; the limit is 1 CPU second"
    yield limit_row(name, ours, 1.0, note)
