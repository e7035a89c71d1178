"""``casebook agreement``: the JSON contract, the table and the errors."""

import functools
import json

import pytest
from cases import failing

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


FOUR = ["--raters", "Rater1,Rater2,Rater3,Rater4", "--columns", "item=Units"]


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
        code, out, err = run(coders, *FOUR, "--level", level, "--json")
        found = json.loads(out)
        assert code == 0
        assert err.splitlines() == [
            "coders.csv: 12 rows; read: item = 'Units', Rater1, Rater2, Rater3, Rater4; not read: "
            "nothing",
            "  ratings: 12 items; raters Rater1, Rater2, Rater3, Rater4; numbers from 1 to 5; "
            "7 missing",
        ]
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


WRONG = [
    ("A,B\n1,2\n", ["--counts", "A,B"], "--counts has no effect with --raters"),
    ("A,B\n1,2\n", ["--values", "x"], "'x' is not of the form WORD=MEANING"),
    ("A,B\n1,2\n", ["--resamples", "99"], "greater than or equal to 100"),
    ("A,B\n1,2\n1,2\n", ["--level", "odd"], "unknown level 'odd'"),
    ("A,B\n1,2\n1,2\n", ["--weights", "odd"], "unknown weights 'odd'"),
    ("A,B\n1,2\n1,2\n", ["--scale", "1,3"], "outside of the categories: [2.0]"),
    ("A,B\n1,2\n1,2\n", ["--scale", "1,x"], "the ratings are numbers"),
    ("A,B,C\n1,2,3\n1,2,2\n", [], "more raters than items"),
    ("A,B\n-1,2\n1,2\n", ["--level", "ratio"], "at least 0"),
]


def test_wrong_use_is_one_line(tmp_path, refused):
    path = tmp_path / "bad.csv"

    def check(text, options, problem):
        path.write_text(text)
        raters = text.partition("\n")[0]
        refused(("agreement", path, "--raters", raters, *options), problem)

    assert failing(check, WRONG) == []


def test_words_of_a_scale_are_ordered_and_others_are_not(tmp_path, casebook):
    path = tmp_path / "words.csv"
    path.write_text("A,B\nlow,high\nhigh,high\nlow,low\n")
    words = ("agreement", path, "--raters", "A,B", "--resamples", 100)
    for scale, level in ((), "nominal"), (("--scale", "low,high"), "ordinal"):
        assert f"level of krippendorff_alpha: {level}" in casebook(*words, *scale)[1]


def test_published_counts(run, tmp_path):
    counts = tmp_path / "counts.csv"
    # Fleiss' kappa of 14 raters, 10 items and 5 categories (Wikipedia).
    rows = ["0,0,0,0,14", "0,2,6,4,2", "0,0,3,5,6", "0,3,9,2,0", "2,2,8,1,1"]
    rows += ["7,7,0,0,0", "3,2,6,3,0", "2,5,3,2,2", "6,5,2,1,0", "0,2,2,3,7"]
    counts.write_text("item,1,2,3,4,5\n" + "\n".join(f"q{n},{row}" for n, row in enumerate(rows)))
    found = json.loads(run(counts, "--counts", "1,2,3,4,5", "--json")[1])
    assert round(found["fleiss_kappa"]["estimate"], 3) == 0.210
