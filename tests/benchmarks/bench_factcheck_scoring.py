"""Speed of scoring verdicts against loops over scikit-learn.

Run with one thread: ``OMP_NUM_THREADS=1 python tests/benchmarks/run.py factcheck_scoring``.
"""

import numpy as np
from measuring import cpu_seconds, row
from sklearn import metrics

from casebook.measures.classification import score_predictions

PREDICTIONS, DRAWS, MEASURED_DRAWS = 1_000_000, 1000, 2
LIMIT_S = 10.0


def rows():
    return [_scoring()]


def _scoring():
    rng = np.random.default_rng(0)
    labels = np.array(["SUPPORTED", "NOT_SUPPORTED", "unclear"], dtype=object)
    gold = labels[rng.integers(0, 2, PREDICTIONS)]
    noise = rng.choice(labels, PREDICTIONS, p=[0.45, 0.45, 0.1])
    predicted = np.where(rng.random(PREDICTIONS) < 0.7, gold, noise)
    # The peer gets numbers, which scikit-learn reads an order faster than strings.
    coded = [np.searchsorted(np.sort(labels), x) for x in (gold, predicted)]

    def peer():
        for _ in range(MEASURED_DRAWS):
            drawn = rng.integers(0, PREDICTIONS, PREDICTIONS)
            y, p = coded[0][drawn], coded[1][drawn]
            metrics.accuracy_score(y, p)
            metrics.balanced_accuracy_score(y, p)
            metrics.matthews_corrcoef(y, p)
            metrics.precision_recall_fscore_support(y, p, labels=[0, 1])

    ours, _ = cpu_seconds(lambda: score_predictions(gold, predicted, n_resamples=DRAWS))
    theirs = cpu_seconds(peer, repeats=1)[0] * DRAWS / MEASURED_DRAWS
    note = f"peer measured on {MEASURED_DRAWS} of {DRAWS} draws; ours <= {LIMIT_S:g} s"
    name = f"score {PREDICTIONS:,} verdicts, {DRAWS} bootstrap draws"
    return row(name, "loop over scikit-learn", ours, theirs, 20, note, LIMIT_S)
