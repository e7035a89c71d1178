"""The reconstructed votes meet every published figure of the documented example."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats import inter_rater

from casebook.raters.reconstruction import RATERS, reconstruct
from casebook.stats.tests import documented_sign_test, exact_sign_test

PRINTED = {
    "rater1": (13, 20, 17, 0.296206368599087, 4.26, 4.14, 4.36, 4.34),
    "rater2": (28, 15, 7, 0.0659940344557981, 4.72, 4.24, 3.96, 3.72),
    "rater3": (36, 14, 0, 0.0026021714567221466, 4.70, 4.38, 4.34, 4.10),
    "rater4": (36, 14, 0, 0.0026021714567221466, 4.32, 4.14, 3.16, 3.64),
}
POOLED = (113, 63, 24, 0.00020218969307107758, 4.5, 4.225, 3.955, 3.95)
RATINGS = [f"{scale}_{arm}" for arm in ("rag", "base") for scale in ("factuality", "usefulness")]


@pytest.fixture(scope="module")
def panel(example_rows):
    return example_rows.set_index(["item", "rater"])["preference"].unstack()  # noqa: PD010


def figures(part):
    counts = part["preference"].value_counts()
    wins, losses, ties = (int(counts.get(x, 0)) for x in ("RAG", "BASE", "Tie"))
    means = tuple(round(float(part[name].mean()), 3) for name in RATINGS)
    return (wins, losses, ties, documented_sign_test(wins, losses), *means)


def test_the_shipped_table_is_what_the_module_makes(example_rows):
    pd.testing.assert_frame_equal(example_rows, reconstruct(), check_dtype=False)


@pytest.mark.parametrize("rater", RATERS)
def test_every_rater_as_printed(example_rows, rater):
    assert figures(example_rows[example_rows["rater"] == rater]) == PRINTED[rater]


def test_pooled_as_printed(example_rows):
    assert figures(example_rows) == POOLED
    assert exact_sign_test(113, 63).pvalue == pytest.approx(POOLED[3], abs=1e-15)


def test_agreement_as_printed(panel):
    counts, _ = inter_rater.aggregate_raters(panel.to_numpy())
    kappa = inter_rater.fleiss_kappa(counts)
    assert kappa == pytest.approx(0.13015369243880234, abs=1e-15)
    agreeing = (counts * (counts - 1)).sum(axis=1) / 12
    assert agreeing.mean() == pytest.approx(0.5066666666666667, abs=1e-15)
    chance = np.sum((counts.sum(axis=0) / counts.sum()) ** 2)
    assert chance == pytest.approx(0.43284999999999996, abs=1e-15)


def test_item_patterns_as_published(panel):
    by_item = pd.DataFrame({x: (panel == x).sum(axis=1) for x in ("RAG", "BASE")})
    found = by_item.value_counts().to_dict()
    assert found == {
        **{(4, 0): 7, (0, 4): 2, (3, 0): 9, (2, 2): 8, (1, 3): 7, (3, 1): 6},
        **{(2, 1): 4, (2, 0): 3, (1, 2): 2, (0, 3): 1, (1, 1): 1},
    }
    declined = panel.loc[[6, 8, 11, 15, 30]].to_numpy().ravel()
    assert Counter(declined) == {"BASE": 17, "RAG": 2, "Tie": 1}


def test_raters_3_and_4_as_published(example_rows, panel):
    assert (panel["rater3"] == panel["rater4"]).sum() == 32
    ratings = example_rows.set_index(["rater", "item"])[RATINGS].sort_index()
    assert not (ratings.loc["rater3"] == ratings.loc["rater4"]).all(axis=1).any()


def test_heterogeneity_of_raters_as_published(example_rows):
    untied = example_rows[example_rows["preference"] != "Tie"]
    table = pd.crosstab(untied["rater"], untied["preference"])
    assert stats.chi2_contingency(table, correction=False).pvalue == pytest.approx(0.009, abs=5e-4)


def test_sides_and_rows(example_rows):
    left = (example_rows["rag_side"] == "S1").groupby(example_rows["rater"]).sum()
    assert left.to_dict() == dict(zip(RATERS, (18, 26, 24, 28), strict=True))
    rows = example_rows.groupby("rater")["row"].apply(sorted)
    assert all(row == list(range(1, 51)) for row in rows)
    assert example_rows[RATINGS].isin(range(1, 6)).all(axis=None)


def test_another_seed_changes_only_what_is_open():
    other = reconstruct(seed=3)
    assert figures(other) == POOLED
    assert not other["preference"].equals(reconstruct()["preference"])
