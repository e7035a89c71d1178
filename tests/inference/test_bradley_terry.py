import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.inference.bradley_terry import (
    fit_bradley_terry,
    likelihood_ratio_test,
)
from casebook.inference.bradley_terry_bootstrap import bootstrap_bradley_terry
from casebook.inference.votes import vote_comparisons

CITATIONS = [
    *(("Biometrika", "Comm Statist", 730, 33), ("Biometrika", "JASA", 498, 320)),
    *(("Biometrika", "JRSS-B", 221, 284), ("Comm Statist", "JASA", 68, 813)),
    *(("Comm Statist", "JRSS-B", 17, 276), ("JASA", "JRSS-B", 142, 325)),
]
"""Stigler, Statistical Science 9, 1994; Agresti, Categorical Data Analysis, 10.6."""

PUDDINGS = """1 2 19 22 16
1 3 16 19 12/2 3 19 19 10/1 4 18 23 13/2 4 23 19 9/3 4 19 20 15
1 5 13 19 18/2 5 16 20 12/3 5 16 15 17/4 5 17 14 16/1 6 18 21 12/2 6 22 20 12
3 6 13 18 10/4 6 14 19 18/5 6 11 21 12""".replace("\n", "/").split("/")
"""Davidson 1970, table 2: brands i and j, i preferred, j preferred, no preference."""

TEAMS = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland"]
TEAMS += ["Baltimore"]
HOME_GAMES = """4-3 4-2 4-3 6-1 4-2 6-0/3-3 4-2 4-3 6-0 6-1 4-3/2-5 4-3 2-4 4-3 4-2 6-0
3-3 5-1 2-5 4-3 4-2 6-1/5-1 2-5 3-3 4-2 5-2 6-0/2-5 3-3 3-4 4-3 4-2 2-4
2-5 1-5 1-6 2-4 1-6 3-4""".replace("\n", "/").split("/")
"""American League 1987 (Agresti 1990, p. 372): home team, won-lost against the rest."""


def comparisons(rows):
    names = ["first", "second", "outcome", "count"]
    return pd.DataFrame(rows, columns=names)


@pytest.fixture(scope="module")
def citations():
    return comparisons(
        [
            (i, j, outcome, count)
            for i, j, *wins in CITATIONS
            for outcome, count in zip(("first", "second"), wins, strict=True)
        ]
    )


@pytest.fixture(scope="module")
def puddings():
    rows = [line.split() for line in PUDDINGS]
    return comparisons(
        [
            (i, j, outcome, int(count))
            for i, j, *counts in rows
            for outcome, count in zip(("first", "second", "tie"), counts, strict=True)
        ]
    )


@pytest.fixture(scope="module")
def baseball():
    rows = []
    for home, line in zip(TEAMS, HOME_GAMES, strict=True):
        others = [team for team in TEAMS if team != home]
        for away, score in zip(others, line.split(), strict=True):
            won, lost = map(int, score.split("-"))
            rows += [(home, away, "first", won), (home, away, "second", lost)]
    return comparisons(rows)


@pytest.fixture(scope="module")
def compared(example_rows, example):
    left = (example_rows["rag_side"] == "S1").set_axis(
        pd.MultiIndex.from_frame(example_rows[["item", "rater"]])
    )
    return vote_comparisons(example, left.unstack(), ("RAG", "BASE"))  # noqa: PD010


def row(fit, name):
    return fit.table.set_index("parameter").loc[name]


def test_citations_equal_r(citations):
    fit = fit_bradley_terry(citations)
    assert fit.table["estimate"].to_list() == pytest.approx(
        [0, -2.949072496844, -0.479569769752, 0.268954055819], abs=1e-9
    )
    assert fit.table["se"].to_list()[1:] == pytest.approx(
        [0.1025453353699, 0.0605887292396, 0.0708299651057], abs=1e-6
    )


def test_davidsons_puddings(puddings):
    fit = fit_bradley_terry(puddings)
    worth = fit.table["worth"].to_list()[:6]
    published = [0.1388, 0.1730, 0.1617, 0.1654, 0.1587, 0.2024]
    assert worth == pytest.approx(published, abs=6e-5)
    assert math.exp(row(fit, "tie")["estimate"]) == pytest.approx(0.746823, abs=1e-6)
    assert fit.log_likelihood == pytest.approx(-809.70951, abs=1e-5)


def test_home_advantage_equals_r(baseball):
    plain = fit_bradley_terry(baseball)
    home = fit_bradley_terry(baseball, order=True)
    advantage = row(home, "order")
    assert advantage["estimate"] == pytest.approx(0.302261, abs=1e-6)
    assert advantage["se"] == pytest.approx(0.130944, abs=1e-6)
    test = likelihood_ratio_test(home, plain)
    # Deviances 44.05 and 38.64 (Agresti 1990, p. 374).
    assert test.statistic == pytest.approx(44.05 - 38.64, abs=0.006)
    assert test.df == 1


def test_equal_to_a_logistic_regression(baseball):
    """The same model by statsmodels, from one row per game."""
    names = sorted(TEAMS)
    games = baseball.loc[baseball.index.repeat(baseball["count"])]
    X = np.array(
        [(games["first"] == t).astype(int) - (games["second"] == t) for t in names]
    )
    X = np.column_stack([X[1:].T, np.ones(len(games))])
    peer = sm.Logit((games["outcome"] == "first").to_numpy(float), X).fit(disp=False)
    fit = fit_bradley_terry(baseball, order=True)
    free = fit.table[1:]
    np.testing.assert_allclose(free["estimate"], peer.params, atol=1e-7)
    np.testing.assert_allclose(free["se"], peer.bse, atol=1e-6)
    assert fit.log_likelihood == pytest.approx(peer.llf, abs=1e-8)


def test_resamples_without_ties_still_tell_the_strengths():
    """One tie of 40: about a third of the resamples have none."""
    outcomes = ["tie", *["first"] * 24, *["second"] * 15]
    data = pd.DataFrame(
        {"first": "x", "second": "y", "outcome": outcomes, "item": range(40)}
    )
    table = bootstrap_bradley_terry(data, "item", reference="y", n_boot=500)
    table = table.set_index("parameter")
    assert table["undefined"].max() == 0
    assert table.loc["x", ["ci_low", "ci_high"]].notna().all()
    assert np.isnan(table.loc["tie", "ci_low"])
    assert np.isfinite(table.loc["tie", "ci_high"])


@settings(max_examples=20, deadline=None)
@given(st.permutations("abcdef"), st.booleans())
def test_names_reference_and_direction_do_not_matter(names, turn):
    rename = dict(zip("123456", names, strict=True))
    rows = [line.split() for line in PUDDINGS]
    data = comparisons(
        [
            (rename[j], rename[i], outcome, int(count))
            if turn
            else (rename[i], rename[j], outcome, int(count))
            for i, j, a, b, t in rows
            for outcome, count in zip(
                ("first", "second", "tie"),
                (b, a, t) if turn else (a, b, t),
                strict=True,
            )
        ]
    )
    fit = fit_bradley_terry(data, reference=rename["3"])
    worth = [row(fit, rename[k])["worth"] for k in "16"]
    assert worth == pytest.approx([0.138803, 0.202389], abs=1e-5)
    assert fit.log_likelihood == pytest.approx(-809.70951, abs=1e-5)


def test_two_systems_without_ties_are_a_proportion():
    data = comparisons([("x", "y", "first", 30), ("x", "y", "second", 10)])
    fit = fit_bradley_terry(data, reference="y")
    assert row(fit, "x")["estimate"] == pytest.approx(math.log(3))
    assert row(fit, "x")["se"] == pytest.approx(math.sqrt(1 / 30 + 1 / 10))


def test_ties_as_half_wins():
    data = comparisons(
        [("x", "y", "first", 5), ("x", "y", "tie", 4), ("y", "x", "first", 3)]
    )
    split = fit_bradley_terry(data, ties=False, reference="y")
    assert row(split, "x")["worth"] == pytest.approx(7 / 12)
    assert split.n == 12


def test_side_term_of_the_example(compared):
    plain, sided = (fit_bradley_terry(compared, order=order) for order in (False, True))
    assert plain.n == 200
    # Davidson's maximum for two systems in closed form: odds of wins, and of ties.
    assert row(plain, "RAG")["estimate"] == pytest.approx(math.log(113 / 63), abs=1e-9)
    tie = math.log(24 / math.sqrt(113 * 63))
    assert row(plain, "tie")["estimate"] == pytest.approx(tie, abs=1e-9)
    # The reconstruction was drawn without a position effect.
    assert likelihood_ratio_test(sided, plain).pvalue > 0.5


def test_clusters_widen_the_interval(compared):
    width = {}
    for clusters in ("item", "rater", ["item", "rater"]):
        table = bootstrap_bradley_terry(compared, clusters, n_boot=400)
        rag = table.set_index("parameter").loc["RAG"]
        assert rag["estimate"] == pytest.approx(math.log(113 / 63), abs=1e-9)
        width[str(clusters)] = rag["ci_high"] - rag["ci_low"]
    wald = row(fit_bradley_terry(compared), "RAG")
    assert wald["ci_high"] - wald["ci_low"] < width["item"] < width["['item', 'rater']"]


def test_bootstrap_of_independent_comparisons_equals_wald():
    rng = np.random.default_rng(5)
    outcomes = rng.choice(["first", "tie", "second"], 600, p=[0.5, 0.2, 0.3])
    data = pd.DataFrame(
        {"first": "x", "second": "y", "outcome": outcomes, "item": range(600)}
    )
    wald = row(fit_bradley_terry(data, reference="y"), "x")
    draws = bootstrap_bradley_terry(data, "item", reference="y", n_boot=2_000)
    x = draws.set_index("parameter").loc["x"]
    assert (x["ci_low"], x["ci_high"]) == pytest.approx(
        (wald["ci_low"], wald["ci_high"]), abs=0.03
    )
    assert np.isnan(draws.set_index("parameter").loc["y", "ci_low"])


def test_without_a_finite_maximum_there_are_no_numbers():
    never_loses = comparisons(
        [("x", "y", "first", 5), ("y", "z", "first", 2), ("z", "y", "first", 2)]
    )
    fit = fit_bradley_terry(never_loses)
    assert fit.reason == "separated"
    assert fit.log_likelihood is None
    assert fit.table["estimate"].isna().all()
    one_way = comparisons([("x", "y", "first", 5), ("x", "y", "second", 2)])
    assert fit_bradley_terry(one_way, order=True).reason == "not_identified"
    assert fit_bradley_terry(one_way, ties=True).reason == "no_ties"
    always_left = comparisons([("x", "y", "first", 5), ("y", "x", "first", 2)])
    assert fit_bradley_terry(always_left, order=True).reason == "separated"
    assert (
        likelihood_ratio_test(
            fit_bradley_terry(one_way, ties=True), fit_bradley_terry(one_way)
        ).reason
        == "no_ties"
    )


def test_undefined_resamples_leave_no_bounds():
    few = pd.DataFrame(
        {
            "first": "x",
            "second": "y",
            "outcome": ["first", "first", "second"],
            "item": range(3),
        }
    )
    table = bootstrap_bradley_terry(few, "item", n_boot=100)
    assert set(table["reason"]) == {"undefined_in_resamples"}
    assert table["undefined"].iloc[0] == pytest.approx(
        100 * ((2 / 3) ** 3 + (1 / 3) ** 3), abs=16
    )
    assert table["ci_low"].isna().all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("x", "y", "win", 1)], "outcome 'win' is none of first, tie, second"),
        ([("x", "x", "first", 1)], "compared with itself"),
        ([], "at least two systems"),
        ([("x", "tie", "first", 1)], "rename the system"),
        ([("x", "y", "first", -1)], "at least 0"),
    ],
)
def test_bad_comparisons(rows, message):
    with pytest.raises(InputError, match=message):
        fit_bradley_terry(comparisons(rows))


def test_bad_columns(citations):
    with pytest.raises(InputError, match="lack the column 'outcome'"):
        fit_bradley_terry(citations.drop(columns="outcome"))
    with pytest.raises(InputError, match="lack the column 'item'"):
        bootstrap_bradley_terry(citations, "item")
    with pytest.raises(InputError, match="unknown reference 'Nature'"):
        fit_bradley_terry(citations, reference="Nature")
    fit = fit_bradley_terry(citations)
    with pytest.raises(InputError, match="more parameters"):
        likelihood_ratio_test(fit, fit)
