"""``casebook agreement``: the JSON contract, the table and the errors."""

import functools
import json

import pytest

KEYS = ["estimate", "se", "panel_ci", "new_panel_ci", "n_items", "n_raters", "reason"]
# Krippendorff (2011): 12 units, four observers, gaps.
CODERS = """Units,Rater1,Rater2,Rater3,Rater4
1,1,1,,1
2,2,2,3,2
3,3,3,3,3
4,3,3,3,3
5,2,2,2,2
6,1,2,3,4
7,4,4,4,4
8,1,1,2,1
9,2,2,2,2
10,,5,5,5
11,,,1,1
12,,,3,
"""


@pytest.fixture
def coders(tmp_path):
    path = tmp_path / "coders.csv"
    path.write_text(CODERS)
    return path


@pytest.fixture
def run(casebook):
    return functools.partial(casebook, "agreement")


ALPHA = {
    "nominal": 0.743421052632,
    "ordinal": 0.815387503755,
    "interval": 0.849107142857,
    "ratio": 0.797402774712,
}


def test_json(coders, run):
    for level, alpha in ALPHA.items():
        code, out, err = run(coders, "--level", level, "--json")
        found = json.loads(out)
        assert (code, err) == (0, "")
        assert all(list(entry) == KEYS for entry in found.values())
        entry = found["krippendorff_alpha"]
        assert entry["estimate"] == pytest.approx(alpha, abs=1e-11)
        assert (entry["n_items"], entry["n_raters"], entry["reason"]) == (11, 4, None)
        low, high = entry["panel_ci"]
        assert low < alpha <= high
        assert entry["new_panel_ci"][0] < alpha
        assert found["percent_agreement"]["estimate"] == pytest.approx(9 / 11)
        assert found["cohen_kappa"]["estimate"] is None
        assert found["cohen_kappa"]["reason"] == "needs_two_raters"


def test_table(coders, run):
    code, out, _ = run(coders)
    assert code == 0
    assert "12 items x 4 raters, 7 missing; items named by column 'Units'" in out
    assert "krippendorff_alpha      0.815" in out
    assert "needs_two_raters" in out


def test_an_interval_needs_resamples(coders, run):
    for few in (1, 99):
        code, _, err = run(coders, "--resamples", few)
        assert code == 1 and "at least 100 resamples" in err
    code, _, err = run(coders, "--resamples", "1" + "0" * 30)
    assert code == 1 and "--resamples" in err and err.count("\n") == 1
    assert json.loads(run(coders, "--resamples", 0, "--json")[1])["gwet_ac1"]["se"]


def test_labels_and_their_order(tmp_path, run):
    path = tmp_path / "words.csv"
    path.write_text("A,B\nlow,low\nmid,high\nhigh,high\nlow,mid\n")
    found = json.loads(run(path, "--no-id", "--json")[1])
    assert found["krippendorff_alpha"]["estimate"] is not None
    assert found["gwet_ac2"]["reason"] == "labels_without_order"
    options = ["--no-id", "--level", "ordinal", "--scale", "low,mid,high"]
    found = json.loads(run(path, "--json", *options)[1])
    assert found["gwet_ac2"]["estimate"] is not None


WRONG = [
    ("A,B\n1,2\n", ["--level", "odd"], "unknown level 'odd'"),
    ("A,B\n1,2\n1,2\n", ["--weights", "odd"], "unknown weights 'odd'"),
    ("A,B\n1,2\n1,2\n", ["--scale", "1,3"], "outside of the categories: [2.0]"),
    ("A,B\n1,2\n1,2\n", ["--scale", "1,x"], "the ratings are numbers"),
    ("A,B,C\n1,2,3\n1,2,2\n", [], "more raters than items"),
    ("A,B\n-1,2\n1,2\n", ["--level", "ratio"], "at least 0"),
]


def test_wrong_use_is_one_line(tmp_path, run):
    path = tmp_path / "bad.csv"
    wrong = []
    for text, options, problem in WRONG:
        path.write_text(text)
        code, out, err = run(path, "--no-id", *options)
        if (code, out, err.count("\n")) != (1, "", 1) or problem not in err:
            wrong.append((text, options, err))
    assert wrong == []


def test_all_alike_is_undefined_and_says_so(tmp_path, run):
    path = tmp_path / "same.csv"
    path.write_text("A,B\n1,1\n1,1\n1,1\n")
    code, out, _ = run(path, "--no-id", "--json")
    found = json.loads(out)
    assert (code, found.pop("percent_agreement")["estimate"]) == (0, 1.0)
    assert {(entry["estimate"], entry["reason"]) for entry in found.values()} == {
        (None, "no_variation")
    }


def test_published_counts(run, tmp_path):
    counts = tmp_path / "counts.csv"
    # Fleiss' kappa of 14 raters, 10 items and 5 categories (Wikipedia).
    rows = ["0,0,0,0,14", "0,2,6,4,2", "0,0,3,5,6", "0,3,9,2,0", "2,2,8,1,1"]
    rows += ["7,7,0,0,0", "3,2,6,3,0", "2,5,3,2,2", "6,5,2,1,0", "0,2,2,3,7"]
    counts.write_text("item,1,2,3,4,5\n" + "\n".join(f"q{n},{row}" for n, row in enumerate(rows)))
    code, out, err = run(counts, "--form", "counts", "--json")
    assert code == 0, err
    assert round(json.loads(out)["fleiss_kappa"]["estimate"], 3) == 0.210
    code, _, err = run(counts, "--form", "cells")
    assert code == 1 and "unknown form 'cells'" in err and err.count("\n") == 1


def test_huge_counts_of_raters_are_one_line(run, tmp_path):
    path = tmp_path / "counts.csv"
    wrong = []
    for count in ("1e10", "1e18", "1e300", "1e308"):
        path.write_text(f"item,a,b\nq1,{count},{count}\nq2,3,{count}\nq3,4,2\n")
        code, out, err = run(path, "--form", "counts")
        if (code, out, err.count("\n")) != (1, "", 1) or "at most 1,000,000,000" not in err:
            wrong.append((count, err))
    assert wrong == []
