"""The checker of reported tables: known cases, all tables of small sets, bad files."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import not_refused, table
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from casebook.audits.tables import (
    REPORTED_MEASURES,
    check_mean,
    check_row,
    check_tables,
    count_impossible,
    possible_shares,
    read_tables,
)
from casebook.errors import InputError
from casebook.paths import DATA


def test_the_documents_figures_are_shipped_and_checked():
    """Of 36 rows of the fact-checker 13 are impossible on ten claims; all of 24 means are
    possible."""
    rows = check_tables(read_tables(DATA / "audits" / "factchecker.csv"))
    found = count_impossible(rows).set_index("table")["impossible"].to_dict()
    document = "document: accuracy lost without a part"
    assert found == {document: 3, "paper": 6, "results file": 0, "console output": 0, "README": 4}
    impacts = rows[rows["table"] == document]
    assert (rows["assumed"] != "").equals(rows["table"] == document)
    shares = possible_shares(rows, "factchecker")
    assert shares["low"].isna().all() and shares["verdict"].iloc[0] == "worse"
    assert "Without them 10 of 32 are impossible" in shares["note"].iloc[0]
    assert impacts["accuracy"].tolist() == [0.12, 0.08, 0.15, 0.1]
    assert impacts["verdict"].tolist() == ["impossible"] * 3 + ["possible"]
    means = pd.read_csv(DATA / "audits" / "means.csv", dtype={"mean": str})
    assert means["document"].value_counts().to_dict() == {"COUNTERCASE": 3, "PDPABench": 21}
    assert {check_mean(*row) for row in means[["mean", "n", "values"]].to_numpy()} == {"possible"}


def test_means_of_whole_ratings_and_of_ranks():
    """A mean of 50 ratings ends on an even second decimal; of ranks 1, 1, 1/2, 0, 0 it is .5."""
    ratings = [check_mean(shown, 50, "1 to 5") for shown in ("4.26", "4.25", "5.02")]
    ranks = [check_mean(shown, 5, "reciprocal rank to 10") for shown in ("0.99", "0.5")]
    votes = [check_mean(shown, 300, "0 or 1") for shown in ("0.507", "0.505")]
    assert [verdict[0] for verdict in ratings + ranks + votes] == list("piiippi")
    with pytest.raises(InputError, match="unknown scale 'stars'"):
        check_mean("4.2", 50, "stars")


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(1, 3))
def test_every_real_mean_of_ratings_is_possible(ratings, decimals):
    assert check_mean(f"{np.mean(ratings):.{decimals}f}", len(ratings), "1 to 5") == "possible"


@given(st.data())
def test_every_real_table_is_possible_however_it_is_rounded(data):
    n = data.draw(st.integers(1, 25))
    gold = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    said = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    options = {"zero_division": 0}
    values = [
        metrics.accuracy_score(gold, said),
        metrics.precision_score(gold, said, **options),
        metrics.recall_score(gold, said, **options),
        metrics.f1_score(gold, said, **options),
    ]
    places = data.draw(st.integers(1, 4))
    scale = 10**places
    for rounding, cut in (("half", np.round), ("down", np.floor)):
        shown = [float(cut(v * scale + 1e-9 * (rounding == "down"))) / scale for v in values]
        reported = dict(zip(REPORTED_MEASURES, shown, strict=True))
        found = check_row(reported, n, int(gold.sum()), places)
        assert found.possible


def test_implied_values_and_the_share_that_passes_by_chance():
    found = check_row({"accuracy": 0.68, "recall": 0.5}, 10, 8, decimals=2)
    assert found.alone == {"accuracy": False, "recall": True}
    assert found.implied == (0.4, 0.6)
    assert check_row({"accuracy": 0.7}, 10, 8, 2).chance == pytest.approx(11 / 101)
    assert check_row({"accuracy": None}, 10, 8).possible


@table(
    [
        (["67.7", "67.0%"], 300, [0.677, 0.67], "pp"),
        (["80", "120", "90"], 10, [0.8, 1.2, 0.9], "pip"),
        (["80%", "0.9"], 10, [0.8, 0.9], "pp"),
        (["0.8", "1.2", "-0.1", ""], 10, [0.8, 1.2, -0.1, np.nan], "piip"),
    ]
)
def test_percent_and_proportions_are_told_apart(shown, n, values, verdicts):
    rows = pd.DataFrame(
        {"table": "t", "row": range(len(shown)), "n": n, "positives": n // 2, "accuracy": shown}
    )
    found = check_tables(rows)
    assert found["accuracy"].tolist() == pytest.approx(values, nan_ok=True)
    assert [verdict[0] for verdict in found["verdict"]] == list(verdicts)


def test_command_fails_the_check_and_prints_json(tmp_path, casebook):
    path = tmp_path / "reported.csv"
    path.write_text("system,accuracy,f1\nx,0.68,0.769\ny,0.7,\n")
    arguments = ("audit", "tables", path, "--n", 10, "--positives", 8)
    code, out, err = casebook(*arguments, "--json")
    assert code == 2 and json.loads(out)["summary"][0]["named"] == "x"
    assert "row = 'system'" in err and "1 of 2 rows are impossible" in err
    path.write_text("system,accuracy\ny,0.7\n")
    assert casebook(*arguments)[0] == 0


def test_bad_files_end_with_one_line(tmp_path):
    def check(content):
        path = tmp_path / "t.csv"
        path.write_text(content)
        return check_tables(read_tables(str(path)))

    rows = [
        ("row,accuracy\na,0.5\n", "--n, --positives"),
        ("row,n,positives,accuracy\na,10,12,0.5\n", "12 positives of 10"),
        ("row,n,positives,accuracy\na,x,2,0.5\n", r"t\.csv:2: n"),
        ("row,n,positives,accuracy\na,,2,0.5\n", r"t\.csv:2: table 't'"),
        ("row,n,positives,accuracy\na,9.5,2,0.5\n", "whole number"),
        ("row,n,positives,accuracy\na,10,2,high\n", r"t\.csv:2: table 't'"),
        ("row,n,positives\na,10,2\n", "none of the columns accuracy"),
        ("x,accuracy,n,positives\na,0.5,2,1\n", "has no row"),
        ("row,n,positives,accuracy\na,9999999,2,1\n", "between 1 and 5,000"),
    ]
    assert not_refused(check, rows) == []
