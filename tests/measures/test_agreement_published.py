"""Agreement coefficients against published values and reference tables."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from casebook.measures import agreement
from casebook.measures.agreement import from_counts, from_table
from casebook.measures.coefficients import PARTIAL_CREDIT

NONE = {"n_resamples": 0}
FUNCTIONS = {
    "pa": agreement.percent_agreement,
    "gwet": agreement.gwet_ac2,
    "fleiss": agreement.fleiss_kappa,
    "conger": agreement.conger_kappa,
    "bp": agreement.brennan_prediger,
    "krippen": agreement.krippendorff_alpha,
    "kappa": agreement.cohen_kappa,
    "scott": agreement.scott_pi,
}
# Shrout & Fleiss (1979), table 2: four judges, six targets.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
)
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


def panel(folder, name):
    frame = table(folder, name)
    if name.startswith("gwet_cont"):
        return from_table(frame)
    return from_counts(frame) if "counts" in name else frame


@pytest.mark.data
def test_every_row_of_the_irrcac_table(folder):
    rows = pd.read_csv(folder / "expected_irrCAC_R_1.4.csv")
    rows = rows[rows["weights"].isin(["unweighted", *PARTIAL_CREDIT])]
    panels = {name: panel(folder, name) for name in rows["data"].unique()}
    for row in rows.itertuples():
        weights = "identity" if row.weights == "unweighted" else row.weights
        found = FUNCTIONS[row.coef](panels[row.data], weights=weights, **NONE)
        label = f"{row.data} {row.coef} {row.weights}"
        assert found.estimate == pytest.approx(row.est, abs=1e-9), label
        if row.data == FIRST_15 and row.coef == "krippen":
            # irrCAC takes the chance term of counts once instead of twice; of raw ratings it has
            # our error.
            assert (row.se, found.se) == pytest.approx((0.0824, 0.0812), abs=5e-5)
            continue
        assert found.se == pytest.approx(row.se, abs=1e-8), label
        bounds = [float(x) for x in re.findall(r"[-\d.e]+", row.ci)]
        assert found.interval == pytest.approx(bounds, abs=1e-6), label
        assert found.p_greater == pytest.approx(row.p_one_sided, rel=1e-6, abs=1e-12)
        assert found.p_two_sided == pytest.approx(2 * found.p_greater)
    assert len(rows) == 47


@pytest.mark.data
@pytest.mark.parametrize("level", agreement.MEASUREMENT_LEVELS)
@pytest.mark.parametrize("name", ["krippendorff_gwet_raw4raters_12x4", "irr_anxiety_20x3"])
def test_alpha_of_the_reference_tables(folder, expected, name, level):
    found, known = agreement.krippendorff_alpha(table(folder, name), level, **NONE), expected[name]
    assert found.estimate == pytest.approx(known["krippendorff_alpha"][level], abs=1e-10)
    wrong = known.get("_irr_kripp.alpha_WRONG")
    if wrong is not None:
        assert abs(found.estimate - wrong[level]) > 1e-3


@pytest.mark.data
def test_ordinal_weights_are_not_the_ordinal_metric(folder):
    ratings = table(folder, "krippendorff_gwet_raw4raters_12x4")
    metric = agreement.krippendorff_alpha(ratings, "ordinal", **NONE).estimate
    weights = agreement.krippendorff_alpha(ratings, weights="ordinal", **NONE).estimate
    assert (round(metric, 4), round(weights, 4)) == (0.8154, 0.8336)


@pytest.mark.data
def test_fleiss_1971(folder, expected):
    ratings = table(folder, "fleiss1971_diagnoses_30x6")
    known = expected["fleiss1971_diagnoses_30x6"]
    names = ("fleiss_kappa", "conger_kappa", "light_kappa", "krippendorff_alpha_nominal")
    found = agreement.agreement_results(ratings, coefficients=names, **NONE)
    for name in names:
        assert found[name].estimate == pytest.approx(known[name], abs=1e-10), name
    assert abs(found[names[-1]].estimate - known["_irr_kripp.alpha_WRONG"]) > 1e-3
    pair = agreement.cohen_kappa(ratings[["rater2", "rater3"]], **NONE)
    assert pair.estimate == pytest.approx(known["cohen_raters_2_3"]["kappa"], abs=1e-10)


@pytest.mark.data
def test_anxiety(folder, expected):
    ratings = table(folder, "irr_anxiety_20x3")
    known = expected["irr_anxiety_20x3"]
    for weights, (kappa, _) in known["kappa_raters_1_2"].items():
        name = "identity" if weights == "unweighted" else weights
        found = agreement.cohen_kappa(ratings.iloc[:, :2], name, **NONE)
        assert found.estimate == pytest.approx(kappa, abs=1e-10)
    w = agreement.kendall_w(ratings, **NONE)
    assert [w.estimate, w.statistic[1], w.p_greater] == pytest.approx(
        known["kendall_W_tie_corrected"], abs=1e-8
    )
    icc = known["icc"] | {"ICC1": [known["icc"]["ICC1"]]}
    for form, name in (("1,1", "ICC1"), ("2,1", "ICC2"), ("3,1", "ICC3"), ("2,k", "ICC2k")):
        found = agreement.intraclass_correlation(ratings, form, **NONE)
        assert [found.estimate, *found.interval][: len(icc[name])] == pytest.approx(
            icc[name], abs=1e-9
        ), form


@pytest.mark.data
def test_counts_of_wikipedia_and_randolph(folder, expected):
    counts = from_counts(table(folder, "fleiss_wikipedia_counts_10x5"))
    known = expected["fleiss_wikipedia_counts_10x5"]["fleiss_kappa"]
    assert agreement.fleiss_kappa(counts, **NONE).estimate == pytest.approx(known)
    for case in expected["randolph_free_marginal"]:
        for function, name in (
            (agreement.brennan_prediger, "randolph"),
            (agreement.fleiss_kappa, "fleiss"),
        ):
            assert function(from_counts(case["table"]), **NONE).estimate == pytest.approx(
                case[name], abs=1e-6
            )


@pytest.mark.parametrize(
    ("form", "value", "low", "high"),
    [
        ("1,1", 0.1657, -0.1329, 0.7226),
        ("2,1", 0.2898, 0.0188, 0.7611),
        ("3,1", 0.7148, 0.3425, 0.9459),
        ("1,k", 0.4428, -0.8844, 0.9124),
        ("2,k", 0.6201, 0.0711, 0.9272),
        ("3,k", 0.9093, 0.6757, 0.9859),
    ],
)
def test_shrout_and_fleiss(form, value, low, high):
    found = agreement.intraclass_correlation(SHROUT_FLEISS, form, **NONE)
    assert found.estimate == pytest.approx(value, abs=5e-5)
    assert found.interval == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [
        ([[40, 9], [6, 45]], 0.699519230769),
        ([[80, 10], [5, 5]], 0.318181818182),
        ([[45, 15], [25, 15]], 0.130434782609),
        ([[25, 35], [5, 35]], 0.259259259259),
    ],
)
def test_paradoxes_of_kappa(cells, kappa):
    """The same percent agreement, another kappa: Feinstein & Cicchetti (1990)."""
    found = agreement.cohen_kappa(from_table(cells), **NONE)
    assert found.estimate == pytest.approx(kappa, abs=1e-11)
    assert found.percent_agreement == np.trace(cells) / np.sum(cells)


def test_error_of_kappa_as_fleiss_cohen_everitt():
    found = agreement.cohen_kappa(from_table(ABSTRACTORS), **NONE)
    assert found.se == pytest.approx(0.0589107183, abs=1e-9)
    for weights, value, se in (
        ("linear", 0.842902028, 0.0478721216),
        ("quadratic", 0.892156863, 0.0353515076),
    ):
        found = agreement.cohen_kappa(from_table(ABSTRACTORS), weights, **NONE)
        assert found.estimate == pytest.approx(value, abs=1e-8)
        assert found.se == pytest.approx(se, abs=1e-9)


def test_a_unit_rated_once_does_not_matter():
    ratings = [["YES", "NO", "NO"], ["YES", "NO", None], [None, None, "NO"]]
    found = agreement.krippendorff_alpha(ratings, "nominal", **NONE)
    assert found.estimate == pytest.approx(-1 / 3, abs=1e-12)
    assert (found.n_items, found.n_left_out) == (2, 1)


def test_words_of_the_irrcac_vignette():
    label, probability, shares = agreement.benchmark(0.7754440681, 0.1429499506)
    assert label == "moderate"
    assert shares["substantial"] < 0.95 <= probability < 1
