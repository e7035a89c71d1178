import numpy as np
import pytest

from casebook.shift.study import drift_numbers, drift_table, run_drift


@pytest.fixture(scope="module")
def rows():
    return run_drift([1, 2], "semantic-hash", sizes=(12, 24), k=3)


def test_every_question_is_scored_at_every_stage(rows):
    counts = rows.groupby(["seed", "stage", "system"]).size()
    assert (counts == 24).all() and len(counts) == 2 * 3 * 2
    assert rows[["baseline", "shifted"]].apply(np.isfinite).all(axis=None)


def test_baseline_depends_on_the_stage_and_not_on_the_system(rows):
    table = rows.pivot_table(index=["seed", "stage", "query_id"], columns="system", values="baseline")
    assert (table["ridge"] == table["posneg-uniform"]).all()
    means = rows.groupby("stage")["baseline"].mean()
    assert means[1] <= means[0]  # confusers answer nothing


def test_table_and_numbers_agree(rows):
    table = drift_table(rows, n_resamples=200).set_index(["system", "stage"])
    numbers = drift_numbers(rows, n_resamples=200)
    for (system, stage), row in table.iterrows():
        number = numbers[f"drift_stage_{stage}"][system]["nDCG@10 gain"]
        assert number["value"] == row["gain"]
        assert row["lowest"] <= row["gain"] <= row["highest"]
        assert row["n"] == 48


def test_no_seed_is_an_empty_table():
    nothing = run_drift([])
    assert nothing.empty and drift_table(nothing).empty
    assert drift_numbers(nothing) == {}
