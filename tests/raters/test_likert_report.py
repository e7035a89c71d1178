import krippendorff
import numpy as np
import pandas as pd
import pytest

from casebook.raters.ratings import LIKERT_SCALES as SCALES
from casebook.raters.ratings import documented_means, likert_counts, likert_summary


def ratings(noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for system, lift in (("one", 0.0), ("two", 1.0)):
        for item in range(20):
            level = rng.uniform(1.5, 3.8) + lift
            for rater in ("a", "b", "c"):
                drawn = np.clip(np.rint(rng.normal(level, noise, 3)), 1, 5)
                known = {"rater": rater, "item_id": item, "chunk": "1", "system": system}
                rows.append(known | dict(zip(SCALES, drawn, strict=True)))
    return pd.DataFrame(rows)


def test_means_medians_and_agreement_per_cell():
    frame = ratings()
    table = likert_summary(frame, n_boot=500).set_index(["scale", "system"])
    part = frame[frame["system"] == "two"]
    row = table.loc[("clarity_1_to_5", "two")]
    assert row["mean"] == pytest.approx(part["clarity_1_to_5"].mean())
    assert row["mean low"] < row["mean"] < row["mean high"]
    assert row["ratings"] == 60 and row["n"] == 20 and row["raters"] == 3
    by_rater = [rows["clarity_1_to_5"].to_list() for _, rows in part.groupby("rater")]
    expected = krippendorff.alpha(by_rater, level_of_measurement="ordinal")
    assert row["alpha"] == pytest.approx(expected, abs=1e-12)


def test_missing_ratings_are_counted_and_not_zero():
    frame = ratings()
    frame.loc[:9, "clarity_1_to_5"] = np.nan
    row = likert_summary(frame, n_boot=200).iloc[0]
    assert row["missing"] == 10 and row["ratings"] == 50
    counts = likert_counts(frame)
    assert counts[counts["scale"] == "clarity_1_to_5"]["count"].sum() == 110


def test_the_documented_means_pool_systems_and_keep_two_decimals():
    frame = ratings()
    found = documented_means(frame)
    assert found["overall"]["usefulness_1_to_5"] == round(frame["usefulness_1_to_5"].mean(), 2)
    assert set(found["per_annotator"]) == {"a", "b", "c"}
    frame["clarity_1_to_5"] = np.nan
    assert documented_means(frame)["overall"]["clarity_1_to_5"] is None
