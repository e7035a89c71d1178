"""Agreement coefficients against other implementations on random tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from cases import failing

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


def test_alpha_as_the_krippendorff_package():
    def check(level, missing, seed):
        ratings = draw(seed, missing=missing)
        theirs = krippendorff.alpha(ratings.T, level_of_measurement=level)
        ours = agreement.krippendorff_alpha(ratings, level, **NONE).estimate
        assert ours == pytest.approx(theirs, abs=1e-12)

    rows = itertools.product(agreement.MEASUREMENT_LEVELS, (0.0, 0.4), range(10))
    assert failing(check, rows) == []


def test_kappa_as_scikit_learn_and_statsmodels():
    def check(weights):
        name = None if weights == "identity" else weights
        for seed in range(10):
            ratings = draw(seed, raters=2)
            theirs = metrics.cohen_kappa_score(*ratings.T.astype(int), weights=name)
            ours = agreement.cohen_kappa(ratings, weights, **NONE)
            assert ours.estimate == pytest.approx(theirs, abs=1e-12)
            cells = pd.crosstab(*ratings.T).to_numpy()
            result = inter_rater.cohens_kappa(cells, wt=name)
            assert ours.estimate == pytest.approx(result.kappa, abs=1e-12)
            # Its error has n, ours n - 1.
            assert ours.se * np.sqrt(29 / 30) == pytest.approx(result.std_kappa, abs=1e-12)

    rows = [(weights,) for weights in ["identity", "linear", "quadratic"]]
    assert failing(check, rows) == []


def test_fleiss_and_randolph_as_statsmodels():
    for seed in range(10):
        ratings = draw(seed)
        counts, _ = inter_rater.aggregate_raters(ratings)
        for method, function in (
            ("fleiss", agreement.fleiss_kappa),
            ("randolph", agreement.brennan_prediger),
        ):
            theirs = inter_rater.fleiss_kappa(counts, method)
            assert function(ratings, **NONE).estimate == pytest.approx(theirs)


def test_intraclass_correlations_as_pingouin():
    pingouin = pytest.importorskip("pingouin")
    frame = pd.DataFrame(draw(3, items=12, raters=4)).reset_index()
    long = frame.melt("index", var_name="rater", value_name="score")
    table = pingouin.intraclass_corr(long, "index", "rater", "score")
    bounds = next(name for name in table if name.startswith("CI"))
    ratings = frame.drop(columns="index")
    for form, row in zip(agreement.ICC_FORMS, table.to_dict("records"), strict=True):
        ours = agreement.intraclass_correlation(ratings, form, **NONE)
        assert ours.estimate == pytest.approx(row["ICC"], abs=1e-10)
        # The printed interval stands under the population of its model.
        shown, other = ours.panel_ci, ours.new_panel_ci
        if form[0] == "2":
            shown, other = other, shown
        assert shown == pytest.approx(tuple(row[bounds]), abs=0.0051)
        assert other is None
