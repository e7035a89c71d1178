"""Speed of scoring verdicts against loops over scikit-learn."""

import numpy as np
from measuring import own_seconds, row
from sklearn import metrics

from casebook.measures.classification import score_predictions

PREDICTIONS, DRAWS, MEASURED_DRAWS = 1_000_000, 1000, 2


def rows():
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
            for measure in ("accuracy", "balanced_accuracy"):
                getattr(metrics, f"{measure}_score")(y, p)
            metrics.matthews_corrcoef(y, p)
            metrics.precision_recall_fscore_support(y, p, labels=[0, 1])

    ours = own_seconds(lambda: score_predictions(gold, predicted, n_resamples=DRAWS))
    theirs = own_seconds(peer, 1) * DRAWS / MEASURED_DRAWS
    note = f"peer measured on {MEASURED_DRAWS} of {DRAWS} draws; ours <= 10 s"
    name = f"score {PREDICTIONS:,} verdicts, {DRAWS} bootstrap draws"
    yield row(name, "loop over scikit-learn", ours, theirs, 20, note, 10)
