"""Agreement coefficients against other implementations on random tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from cases import table

from casebook.measures import agreement

krippendorff = pytest.importorskip("krippendorff")
metrics = pytest.importorskip("sklearn.metrics")
inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")

NONE = {"n_resamples": 0}


def draw(seed, items=30, raters=5, missing=0.0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(items, 1)) + rng.normal(size=(items, raters))
    ratings = np.digitize(latent, [-1, 0, 1]) + 1.0
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return ratings


@table(itertools.product(agreement.MEASUREMENT_LEVELS, (0.0, 0.4), range(10)))
def test_alpha_as_the_krippendorff_package(level, missing, seed):
    ratings = draw(seed, missing=missing)
    theirs = krippendorff.alpha(ratings.T, level_of_measurement=level)
    ours = agreement.krippendorff_alpha(ratings, level, **NONE).estimate
    assert ours == pytest.approx(theirs, abs=1e-12)


@table([(weights,) for weights in ["identity", "linear", "quadratic"]])
def test_kappa_as_scikit_learn_and_statsmodels(weights):
    name = None if weights == "identity" else weights
    for seed in range(10):
        ratings = draw(seed, raters=2)
        theirs = metrics.cohen_kappa_score(*ratings.T.astype(int), weights=name)
        ours = agreement.measure("cohen_kappa", ratings, weights=weights, **NONE)
        assert ours.estimate == pytest.approx(theirs, abs=1e-12)
        cells = pd.crosstab(*ratings.T).to_numpy()
        result = inter_rater.cohens_kappa(cells, wt=name)
        assert ours.estimate == pytest.approx(result.kappa, abs=1e-12)
        # Its error has n, ours n - 1.
        assert ours.se * np.sqrt(29 / 30) == pytest.approx(result.std_kappa, abs=1e-12)
