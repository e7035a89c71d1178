"""Ratings of two systems, and Likert forms, against pooled means, krippendorff and hand counts."""

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from casebook.raters import ratings
from casebook.raters.analysis import panel_of
from casebook.raters.documented import example_votes
from casebook.raters.ratings import LIKERT_SCALES, documented_means, likert_summary

SYSTEMS = ("RAG", "BASE")


def changed(**columns):
    votes = example_votes()
    return panel_of(votes._replace(frame=votes.frame.assign(**columns)))


@pytest.fixture(scope="module")
def panel():
    return changed()


def test_ratings_are_compared_by_item_and_by_rater(panel):
    table = ratings.rating_tests(panel, n_resamples=2000).set_index("scale")
    assert table["difference"].round(3).tolist() == [0.545, 0.275]
    wider = (table["both high"] - table["both low"]) > (table["high"] - table["low"])
    assert wider.all() and (table["n"] == 50).all()
    means = panel.differences("factuality").mean(axis=1)
    student = stats.ttest_1samp(means, 0).pvalue
    row = table.loc["factuality"]
    assert row["p"] == pytest.approx(student, abs=0.01)
    assert row["p_holm"] == pytest.approx(2 * row["p"])


def test_missing_ratings_are_counted():
    frame = example_votes().frame
    panel = changed(factuality_left=frame["factuality_left"].where(frame["place"] > 5))
    table = ratings.rating_tables(panel, n_resamples=200)["rating_means"]
    assert table.groupby("scale")["missing"].sum().to_dict() == {"factuality": 20, "usefulness": 0}


# --- explanations ------------------------------------------------------------------


@pytest.fixture
def likert():
    rng, rows = np.random.default_rng(0), []
    for system, lift in (("one", 0.0), ("two", 1.0)):
        for item in range(20):
            level = rng.uniform(1.5, 3.8) + lift
            for rater in ("a", "b", "c"):
                drawn = np.clip(np.rint(rng.normal(level, 0.5, 3)), 1, 5)
                known = {"rater": rater, "item_id": item, "chunk": "1", "system": system}
                rows.append(known | dict(zip(LIKERT_SCALES, drawn, strict=True)))
    return pd.DataFrame(rows)


def test_means_and_agreement_per_cell(likert):
    table = likert_summary(likert, n_resamples=500).set_index(["scale", "system"])
    row = table.loc[("clarity_1_to_5", "two")]
    part = likert[likert["system"] == "two"]
    assert row["mean"] == pytest.approx(part["clarity_1_to_5"].mean())
    assert row["low"] < row["mean"] < row["high"]
    assert row[["ratings", "missing", "n", "raters"]].tolist() == [60, 0, 20, 3]
    by_rater = [rows["clarity_1_to_5"].to_list() for _, rows in part.groupby("rater")]
    peer = krippendorff.alpha(by_rater, level_of_measurement="ordinal")
    assert row["alpha"] == pytest.approx(peer, abs=1e-12)
    documented = documented_means(likert)
    assert documented["overall"]["clarity_1_to_5"] == round(likert["clarity_1_to_5"].mean(), 2)
    assert list(documented["per_annotator"]) == ["a", "b", "c"]
