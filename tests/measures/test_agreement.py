"""What cannot be computed is None with a reason, what is wrong raises with a remedy; both intervals
and the table."""

import numpy as np
import pandas as pd
import pytest
from cases import table
from sklearn.metrics import cohen_kappa_score

from casebook.errors import InputError
from casebook.measures import agreement
from casebook.measures.agreement import as_panel, bootstrap_interval, from_counts

NAN = np.nan
CORRECTED = (
    "fleiss_kappa",
    "conger_kappa",
    "light_kappa",
    "brennan_prediger",
    "gwet_ac1",
    "gwet_ac2",
)
CORRECTED += ("krippendorff_alpha", "icc_2_1", "kendall_w")


def results(ratings, **options):
    return agreement.agreement_results(ratings, n_resamples=50, **options)


@table(
    [
        ([[1, 1], [1, 1], [1, 1]], "no_variation", 1.0),
        # One pairable unit, all equal: the others are rated once.
        ([[1, 1], [2, NAN], [NAN, 3]], "no_variation", 1.0),
        ([[1, NAN], [NAN, 2], [3, NAN]], "no_pairable_items", None),
        ([[1], [2], [3]], "fewer_than_two_raters", None),
        ([[NAN, NAN], [NAN, NAN]], "fewer_than_two_raters", None),
        (np.empty((0, 0)), "fewer_than_two_raters", None),
    ]
)
def test_undefined_is_none_with_a_reason(ratings, reason, percent):
    found = results(ratings)
    assert found["percent_agreement"].estimate == percent
    for name in CORRECTED:
        entry = found[name]
        assert entry.estimate is entry.panel_ci is entry.new_panel_ci is entry.se is None, name
        assert entry.reason if name in ("icc_2_1", "kendall_w") else entry.reason == reason
        assert entry.percent_agreement == percent


def test_transposed_tables_raise_unless_told():
    ratings = np.tile([1, 2, 3], (2, 4))
    with pytest.raises(InputError, match=r"2 items .* 12 raters .* transpose"):
        agreement.krippendorff_alpha(ratings)
    found = agreement.krippendorff_alpha(ratings, wide=True, n_resamples=0)
    assert (found.n_items, found.n_raters) == (2, 12)


def test_items_of_one_cluster_are_resampled_together():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"one": rng.choice(list("abc"), 150, p=[0.5, 0.3, 0.2])})
    table["two"] = table["one"].where(rng.random(150) < 0.6, rng.choice(list("abc"), 150))
    value = agreement.cohen_kappa(table, n_resamples=2000)
    assert value.estimate == pytest.approx(cohen_kappa_score(table["one"], table["two"]), abs=1e-12)
    # Three times the same items are no more items; as single ones they would seem to be.
    triple = pd.concat([table] * 3, ignore_index=True)
    clusters = [f"item {n % 150}" for n in range(450)]
    for coefficient in (agreement.cohen_kappa, agreement.krippendorff_alpha, agreement.light_kappa):
        options = {"n_resamples": 2000, "categories": list("abc")}
        single = coefficient(table, **options)
        clustered = coefficient(triple, clusters=clusters, **options)
        naive = coefficient(triple, **options)
        assert clustered.panel_ci == pytest.approx(single.panel_ci, abs=0.01)
        assert np.diff(naive.panel_ci) < 0.7 * np.diff(clustered.panel_ci)
        assert clustered.se == pytest.approx(single.se, rel=0.02)
    # Clusters of unlike size, by brute force.
    groups = rng.integers(0, 25, 150)
    value = agreement.cohen_kappa(table, clusters=groups, n_resamples=4000)
    cells = pd.crosstab(groups, [table["one"], table["two"]], dropna=False).to_numpy()
    drawn = cells[rng.integers(0, len(cells), (4000, len(cells)))].sum(axis=1).reshape(-1, 3, 3)
    shares = drawn / drawn.sum(axis=(1, 2), keepdims=True)
    observed = np.trace(shares, axis1=1, axis2=2)
    chance = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    draws = (observed - chance) / (1 - chance)
    assert value.se == pytest.approx(np.std(draws), rel=0.1)
    assert value.panel_ci == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.03)


def test_clusters_are_as_many_as_items_and_enough():
    table = pd.DataFrame({"one": [1, 2, 1, 2, 1, NAN, 2], "two": [1, 2, 2, 2, 1, 1, 1]})
    few = agreement.cohen_kappa(table, clusters=[1, 1, 2, 2, 3, 9, 3])
    assert few.panel_ci is None and few.reasons["panel_ci"] == "fewer_than_six_clusters"
    assert (few.n_items, few.n_left_out) == (6, 1)
    with pytest.raises(InputError, match="one cluster for each of 7"):
        agreement.cohen_kappa(table, clusters=[1, 2])
    with pytest.raises(InputError, match="every item as a unit"):
        agreement.intraclass_correlation(table, clusters=range(7))
    counts = from_counts([[2, 0], [1, 1], [0, 2], [2, 0], [1, 1], [0, 2], [1, 1]])
    one_each = agreement.fleiss_kappa(counts, clusters=range(7))
    assert one_each.panel_ci == agreement.fleiss_kappa(counts).panel_ci


def test_an_unused_category_counts_if_it_is_named():
    ratings = [[1, 1], [2, 2], [1, 2], [2, 2]]
    observed = agreement.brennan_prediger(ratings, n_resamples=0).estimate
    named = agreement.brennan_prediger(ratings, categories=range(1, 6), n_resamples=0)
    assert observed == pytest.approx((0.75 - 1 / 2) / (1 / 2))
    assert named.estimate == pytest.approx((0.75 - 1 / 5) / (4 / 5))


@table(
    [
        ([1, 2, 3], {}, "items x raters, not 1-D"),
        ([[1, "x"], ["y", "z"]], {}, "mix numbers and text"),
        ([[1, np.inf], [2, 2]], {}, "item 0, rater 1: infinite"),
        ([["a", "b"], ["b", "b"]], {}, "^labels such as a, b have no order"),
        ([[1, 2], [2, 2]], {"level": "odd"}, "unknown level 'odd'"),
        ([[-1, 2], [2, 2]], {"level": "ratio"}, "at least 0"),
        ([[1, 2], [2, 2]], {"categories": [1, 3]}, r"outside .*\[2.0\]"),
        ([[1, 2], [2, 2]], {"categories": [2, 1]}, "ascending"),
        (pd.DataFrame([[1, 2], [2, 2]], columns=["A", "A"]), {}, "named more than once: A"),
    ]
)
def test_wrong_use_raises(ratings, options, problem):
    with pytest.raises(InputError, match=problem):
        agreement.krippendorff_alpha(ratings, **options)


@table([("gwet_ac1", "weights"), ("cohen_kappa", "n_boot"), ("kendall_w", "level")])
def test_an_option_that_a_coefficient_has_not_is_named(coefficient, option):
    with pytest.raises(TypeError, match=option):
        getattr(agreement, coefficient)([[1, 1], [2, 2], [1, 2]], **{option: 1})


def test_categories_are_as_many_as_the_refusal_says():
    ratings = [[number, number] for number in range(2001)]
    assert as_panel(ratings[:2000]).counts.shape == (2000, 2000)
    with pytest.raises(InputError, match="2001 distinct ratings, at most 2000"):
        agreement.fleiss_kappa(ratings, n_resamples=0)


def test_measurements_are_not_categories():
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(750, 1)) + rng.normal(size=(750, 3))
    with pytest.raises(InputError, match="use the intraclass correlation"):
        agreement.fleiss_kappa(ratings)
    found = results(ratings)
    assert found["krippendorff_alpha"].reason == "too_many_categories"
    assert found["icc_2_1"].estimate == pytest.approx(0.5, abs=0.07)
    assert found["icc_2_1"].new_panel_ci is not None
    ranks = ratings.argsort(axis=0).argsort(axis=0) + 1.0
    exact = 12 * ranks.sum(axis=1).var() / (9 * (750**2 - 1))
    assert found["kendall_w"].estimate == pytest.approx(exact, abs=1e-10)


def test_measurements_of_single_raters_are_no_variation_of_pairs():
    once = np.column_stack([np.arange(2001.0), np.full(2001, np.nan)])
    coefficients = results(np.vstack([once, np.ones((8, 2))]))
    assert coefficients["icc_2_1"].reason == "no_variation"


def test_counts_leave_out_what_needs_raters():
    found = results(from_counts([[3, 0], [1, 2], [0, 3], [3, 0]] * 5))
    for name in ("conger_kappa", "light_kappa", "icc_2_1", "kendall_w", "cohen_kappa"):
        assert (found[name].estimate, found[name].reason) == (None, "raters_unknown")
    fleiss = found["fleiss_kappa"]
    assert fleiss.estimate is not None
    assert fleiss.reason == "new_panel_ci: raters_unknown"


PAIR = [[1, 1], [2, 2], [1, 2], [2, 1]] * 3
SIX = [[1, 2], [2, 1], [3, 3], [4, 5], [5, 4], [6, 6]]


@table(
    [
        (PAIR, 99, None, "fewer_than_three_raters"),
        (SIX, 99, None, "fewer_than_three_raters"),
        (SIX[:5], 99, "fewer_than_six_items", "fewer_than_three_raters"),
        (
            [[1, 1], [2, 2], [3, 3], [4, 4]] * 8,
            99,
            "all_resamples_equal",
            "fewer_than_three_raters",
        ),
        ([[1, 1]] * 20 + [[1, 2]], 99, "undefined_in_resamples", "fewer_than_three_raters"),
        ([[1, 1], [2, 2], [1, 2]] * 2, 0, "not_asked", "fewer_than_three_raters"),
        ([[1, 1, 2], [2, 2, 2], [1, 2, 1]], 99, "fewer_than_six_items", "fewer_than_six_items"),
    ]
)
def test_intervals_that_cannot_be_had_have_reasons(ratings, n_resamples, own, new):
    found = agreement.krippendorff_alpha(ratings, n_resamples=n_resamples)
    assert found.reasons == {"panel_ci": own, "new_panel_ci": new} if own else {"new_panel_ci": new}
    assert (found.panel_ci is None) == (own not in (None, "all_resamples_equal"))
    assert found.panel_ci == (1, 1) or own != "all_resamples_equal"
    nested = agreement.intraclass_correlation([[9, 2, 5], [6, 1, 3], [8, 4, 6], [7, 1, 2]], "1,1")
    assert nested.reasons == {"new_panel_ci": "raters_nested_in_items"}


def test_two_raters_only():
    ratings = [[1, 1, 2], [2, 2, 2], [1, 2, 1]]
    for function in (agreement.cohen_kappa, agreement.scott_pi):
        found = function(ratings)
        assert (found.estimate, found.reason) == (None, "needs_two_raters")
    gaps = [[1, 1], [2, 2], [1, 2], [NAN, 2], [2, NAN]]
    found = agreement.cohen_kappa(gaps)
    assert (found.n_items, found.n_left_out) == (3, 2)
    assert found.estimate == agreement.cohen_kappa(gaps[:3]).estimate


def test_only_complete_items_enter_the_analysis_of_variance():
    ratings = [[1, 2, 3], [2, 2, NAN], [4, 5, 5], [3, 3, 4]]
    found, kept = (
        agreement.intraclass_correlation(x, "2,1")
        for x in (ratings, [ratings[k] for k in (0, 2, 3)])
    )
    assert (found.estimate, found.n_items, found.n_left_out) == (kept.estimate, 3, 1)
    assert (
        agreement.intraclass_correlation([[1, NAN], [2, 3]], "2,1").reason
        == "fewer_than_two_complete_items"
    )


def test_labels_are_compared_but_not_ordered():
    labels, numbers = (
        [["yes", "no"], ["no", "no"], ["yes", None], ["yes", "yes"]],
        [[2, 1], [1, 1], [2, NAN], [2, 2]],
    )
    found, same = results(labels), results(numbers)
    assert found["kendall_w"].reason == "labels_without_order"
    for name in ("gwet_ac1", "fleiss_kappa", "cohen_kappa"):
        assert found[name].estimate == same[name].estimate is not None
    ordered = agreement.krippendorff_alpha(labels, categories=["no", "yes"])
    assert ordered.estimate == agreement.krippendorff_alpha(numbers).estimate


# Intervals, single raters, words and the table.


def draw(seed=0, items=60, raters=5, severity=0.0, noise=1.0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(items, 1)) + severity * rng.normal(size=raters)
    latent = latent + noise * rng.normal(size=(items, raters))
    return pd.DataFrame(np.digitize(latent, [-1, 0, 1]) + 1.0, columns=list("ABCDE"))


def test_a_new_panel_is_never_surer_than_this_one():
    found = agreement.agreement_results(draw(severity=0.7), n_resamples=300)
    compared = [
        (*a.new_panel_ci, *a.panel_ci, a.estimate)
        for a in found.values()
        if a.new_panel_ci and a.panel_ci
    ]
    assert len(compared) == 9
    assert all(
        low <= own_low < value < own_high <= high
        for low, high, own_low, own_high, value in compared
    )


def test_a_new_panel_adds_the_jackknife_over_raters():
    """Zou & Donner 2008: squared distances of the bounds over items, and z times the error over
    raters."""
    ratings = draw(noise=2.0)
    found = agreement.krippendorff_alpha(ratings)
    without = agreement.leave_one_rater_out(ratings)["estimate"]
    reach = 1.959964 * np.sqrt(4 / 5 * np.sum((without - without.mean()) ** 2))
    sides = [found.estimate - found.panel_ci[0], found.panel_ci[1] - found.estimate]
    expected = found.estimate + np.array([-1, 1]) * np.hypot(sides, reach)
    assert found.new_panel_ci == pytest.approx(expected, abs=1e-6)


def test_undefined_resamples_widen_and_too_many_forbid():
    draws = np.linspace(0.4, 0.6, 1000)
    (low, high), reason = bootstrap_interval(draws, 0.5, 1000, 0.975)
    assert (low, high, reason) == (
        pytest.approx(0.405, abs=1e-3),
        pytest.approx(0.595, abs=1e-3),
        None,
    )
    draws[::100] = np.nan
    wider, _ = bootstrap_interval(draws, 0.5, 1000, 0.975)
    assert wider[0] < low < high < wider[1]
    draws[::20] = np.nan
    assert bootstrap_interval(draws, 0.5, 1000, 0.975) == (None, "undefined_in_resamples")


def test_a_biased_bootstrap_is_corrected():
    draws = np.random.default_rng(0).normal(0.45, 0.05, 20_000)
    (low, high), _ = bootstrap_interval(draws, 0.5, 10_000, 0.975)
    # The draws lie one standard deviation too low; BCa moves as far to the other side.
    assert (low, high) == pytest.approx((0.452, 0.648), abs=0.006)


def test_leaving_the_contrarian_out_helps():
    ratings = draw(noise=0.3)
    ratings["C"] = 5 - ratings["C"]
    table = agreement.leave_one_rater_out(ratings).set_index("rater")
    assert table.index.to_list() == list("ABCDE") and table["change"].idxmax() == "C"
    kept = ratings.drop(columns="C")
    assert table.loc["C", "estimate"] == agreement.krippendorff_alpha(kept, n_resamples=0).estimate
    pair = agreement.leave_one_rater_out(ratings[["A", "B"]], "gwet_ac1")
    assert set(pair["reason"]) == {"fewer_than_two_raters"} and pair["estimate"].isna().all()


@table([(coefficient,) for coefficient in ["fleiss_kappa", "conger_kappa", "gwet_ac1"]])
def test_without_a_rater_the_items_that_nobody_else_rated_change_nothing(coefficient):
    rows = [[1, 1, 2], [2, 2, 2], [1, 1, 1], [2, 1, 1], [2, NAN, NAN]]
    ratings = pd.DataFrame(rows, columns=["A", "B", "C"])
    table = agreement.leave_one_rater_out(ratings, coefficient).set_index("rater")
    others = getattr(agreement, coefficient)(ratings[["B", "C"]].dropna(), n_resamples=0)
    assert table.loc["A", "estimate"] == others.estimate is not None


def test_the_table_holds_the_results():
    table = agreement.agreement_table(draw(), n_resamples=99).set_index("coefficient")
    found = agreement.agreement_results(draw(), n_resamples=99)
    bounds = table.loc[
        "fleiss_kappa", ["panel_low", "panel_high", "new_panel_low", "new_panel_high"]
    ]
    assert tuple(bounds) == (*found["fleiss_kappa"].panel_ci, *found["fleiss_kappa"].new_panel_ci)
    assert table["estimate"].dropna().to_dict() == {
        n: a.estimate for n, a in found.items() if a.estimate is not None
    }
