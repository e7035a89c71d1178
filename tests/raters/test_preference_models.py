import numpy as np
import pandas as pd
import pytest
from scipy import stats

from casebook.errors import InputError
from casebook.raters.preference_models import rating_models, vote_models


@pytest.fixture(scope="module")
def models(example):
    return vote_models(example).set_index("model")


def test_plain_logit_is_the_share(models):
    row = models.loc["logit"]
    assert row["log_odds"] == pytest.approx(np.log(113 / 63), abs=1e-5)
    assert row["se"] == pytest.approx(np.sqrt(1 / 113 + 1 / 63), abs=1e-5)
    assert row["win_rate"] == pytest.approx(113 / 176, abs=1e-6)


def test_crossed_logit_near_the_published_deviations(models):
    """1.30 and 0.51 for the study's votes; the cells of its ties are not public."""
    row = models.loc["crossed logit"]
    assert row["item_sd"] == pytest.approx(1.30, abs=0.06)
    assert row["rater_sd"] == pytest.approx(0.51, abs=0.06)
    assert row["se"] > models.loc["GEE by item", "se"] > models.loc["logit", "se"]
    assert row["win_rate"] == pytest.approx(113 / 176, abs=0.02)


def test_gee_of_equal_clusters_has_the_variance_of_their_means(example):
    """With as many votes on every item, GEE is the mean with its sandwich error."""
    untied = example[(example != 0).all(axis=1)]
    row = vote_models(untied).set_index("model").loc["GEE by item"]
    shares = ((untied + 1) / 2).mean(axis=1)
    mean = shares.mean()
    error = shares.std(ddof=0) / np.sqrt(len(shares)) / (mean * (1 - mean))
    assert row["log_odds"] == pytest.approx(np.log(mean / (1 - mean)), abs=1e-6)
    assert row["se"] == pytest.approx(error, rel=1e-5)


def test_a_side_effect_is_found_and_separated():
    rng = np.random.default_rng(3)
    left = rng.uniform(size=(150, 4)) < 0.5
    log_odds = 0.6 + np.where(left, 0.5, -0.5) + rng.normal(0, 1, (150, 1))
    wins = rng.uniform(size=left.shape) < stats.logistic.cdf(log_odds)
    table = vote_models(pd.DataFrame(np.where(wins, 1, -1)), left).set_index("model")
    for model in ("logit", "GEE by item", "crossed logit"):
        assert table.loc[model, "left_pvalue"] < 0.01
    assert table.loc["crossed logit", "left"] == pytest.approx(1.0, abs=0.5)
    assert table.loc["crossed logit", "log_odds"] == pytest.approx(0.6, abs=0.3)


def test_swapping_the_systems_turns_the_sign(example, models):
    other = vote_models(-example).set_index("model")
    assert other["log_odds"].to_list() == pytest.approx(
        (-models["log_odds"]).to_list(), abs=1e-3
    )


def test_unanimous_votes_have_no_odds():
    table = vote_models(pd.DataFrame([[1, 1], [1, 1]]))
    assert set(table["reason"]) == {"one_category"}
    with pytest.raises(InputError, match="all votes are ties"):
        vote_models(pd.DataFrame([[0, 0], [0, np.nan]]))


def ratings(rows, scale="factuality"):
    parts = [
        rows[["item", "rater"]].assign(
            system=arm.upper(), rating=rows[f"{scale}_{arm}"]
        )
        for arm in ("rag", "base")
    ]
    return pd.concat(parts, ignore_index=True)


def test_rating_models(example_rows):
    table = rating_models(ratings(example_rows), first="RAG").set_index("model")
    assert (table["ci_low"] > 0).all()
    # Raters as fixed terms and as random ones hardly differ with 100 ratings each.
    fixed, mixed = table["log_odds"]
    assert fixed == pytest.approx(mixed, abs=0.1)
    other = rating_models(ratings(example_rows), first="BASE").set_index("model")
    assert other["log_odds"].to_list() == pytest.approx([-fixed, -mixed], abs=2e-3)


def test_missing_ratings_are_counted(example_rows):
    table = ratings(example_rows)
    table.loc[:6, "rating"] = np.nan
    models = rating_models(table, first="RAG")
    assert models["missing"].to_list() == [7, 7]
    assert models["n"].to_list() == [393, 393]
    with pytest.raises(InputError, match="one other system"):
        rating_models(table[table["system"] == "RAG"], first="RAG")
