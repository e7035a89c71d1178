"""Agreement coefficients against published values and reference tables."""

import json

import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.measures import agreement
from casebook.measures.agreement import from_counts, measure

NONE = {"n_resamples": 0}
NAMES = {
    "pa": "percent_agreement",
    "gwet": "gwet_ac2",
    "fleiss": "fleiss_kappa",
    "conger": "conger_kappa",
    "bp": "brennan_prediger",
    "kappa": "cohen_kappa",
    "scott": "scott_pi",
}
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
FIRST_15 = "fleiss1971_first15_counts_15x5"


@pytest.fixture(scope="module")
def folder(mirror):
    return mirror / "agreement"


@pytest.fixture(scope="module")
def expected(folder):
    return json.loads((folder / "expected_values.json").read_text())


def table(folder, name):
    frame = pd.read_csv(folder / f"{name}.csv")
    return frame.iloc[:, 1:] if frame.columns[0] != "rater1" else frame


# Ratings by two raters whose contingency table is given.
def ratings_of(cells):
    return np.repeat(np.argwhere(np.ones_like(cells)), np.asarray(cells).ravel(), axis=0)


# Standard error with n instead of n - 1, as it is published of contingency tables.
def large_sample(found):
    return found.se * np.sqrt((found.n_items - 1) / found.n_items)


def panel(folder, name):
    frame = table(folder, name)
    if name.startswith("gwet_cont"):
        return ratings_of(frame)
    return from_counts(frame) if "counts" in name else frame


@pytest.mark.data
def test_every_row_of_the_irrcac_table(folder):
    rows = pd.read_csv(folder / "expected_irrCAC_R_1.4.csv")
    # Of alpha its weights are one minus Krippendorff's nominal and interval distances.
    alphas = {"unweighted": "nominal", "quadratic": "interval"}
    known = rows["weights"].isin(["unweighted", "linear", "quadratic"])
    known &= (rows["coef"] != "krippen") | rows["weights"].isin(alphas)
    rows = rows[known]
    panels = {name: panel(folder, name) for name in rows["data"].unique()}
    wrong = []
    for row in rows.itertuples():
        ratings = panels[row.data]
        if row.coef == "krippen":
            found = agreement.krippendorff_alpha(ratings, alphas[row.weights], **NONE)
        else:
            weights = "identity" if row.weights == "unweighted" else row.weights
            found = measure(NAMES[row.coef], ratings, weights=weights, **NONE)
        se = large_sample(found) if row.data.startswith("gwet_cont") else found.se
        published = row.se
        if row.data == FIRST_15 and row.coef == "krippen":
            # irrCAC takes the chance term of counts once instead of twice; of raw ratings it has
            # our error.
            assert round(row.se, 4) == 0.0824
            published = pytest.approx(0.0812, abs=5e-5)
        if found.estimate != pytest.approx(row.est, abs=1e-9) or se != pytest.approx(
            published, abs=1e-8
        ):
            wrong.append((row.data, row.coef, row.weights, found.estimate, se))
    assert wrong == []
    assert len(rows) == 39


@pytest.mark.data
def test_fleiss_1971(folder, expected):
    ratings = table(folder, "fleiss1971_diagnoses_30x6")
    known = expected["fleiss1971_diagnoses_30x6"]
    names = ("fleiss_kappa", "conger_kappa", "krippendorff_alpha_nominal")
    found = agreement.agreement_results(ratings, coefficients=names, **NONE)
    estimates = [found[name].estimate for name in names]
    assert estimates == pytest.approx([known[name] for name in names], abs=1e-10)
    assert abs(estimates[-1] - known["_irr_kripp.alpha_WRONG"]) > 1e-3
    pair = measure("cohen_kappa", ratings[["rater2", "rater3"]], **NONE)
    assert pair.estimate == pytest.approx(known["cohen_raters_2_3"]["kappa"], abs=1e-10)


@pytest.mark.data
def test_counts_of_randolph(folder, expected):
    *whole, fractions = expected["randolph_free_marginal"]
    with pytest.raises(InputError, match="whole"):
        from_counts(fractions["table"])
    for case in whole:
        counts = from_counts(case["table"])
        free = measure("brennan_prediger", counts, **NONE).estimate
        fleiss = measure("fleiss_kappa", counts, **NONE).estimate
        assert (free, fleiss) == pytest.approx((case["randolph"], case["fleiss"]), abs=1e-6)


KAPPAS = [
    # Feinstein & Cicchetti (1990): the same percent agreement, another kappa.
    ([[40, 9], [6, 45]], "identity", 0.699519230769, None),
    ([[80, 10], [5, 5]], "identity", 0.318181818182, None),
    ([[45, 15], [25, 15]], "identity", 0.130434782609, None),
    ([[25, 35], [5, 35]], "identity", 0.259259259259, None),
    # Cohen (1960): 0.492.
    ([[88, 14, 18], [10, 40, 10], [2, 6, 12]], "identity", 0.491525423729, None),
    # Fleiss, Cohen & Everitt (1969).
    (ABSTRACTORS, "identity", None, 0.0589107183),
    (ABSTRACTORS, "linear", 0.842902028, 0.0478721216),
    (ABSTRACTORS, "quadratic", 0.892156863, 0.0353515076),
]


def test_kappas_of_published_tables():
    for cells, weights, kappa, se in KAPPAS:
        found = measure("cohen_kappa", ratings_of(cells), weights=weights, **NONE)
        assert kappa is None or found.estimate == pytest.approx(kappa, abs=1e-9)
        assert se is None or large_sample(found) == pytest.approx(se, abs=1e-9)
        if weights == "identity":
            assert found.percent_agreement == np.trace(cells) / np.sum(cells)


def test_a_unit_rated_once_does_not_matter():
    ratings = [["YES", "NO", "NO"], ["YES", "NO", None], [None, None, "NO"]]
    found = agreement.krippendorff_alpha(ratings, "nominal", **NONE)
    assert found.estimate == pytest.approx(-1 / 3, abs=1e-12)
    assert (found.n_items, found.n_left_out) == (2, 1)
