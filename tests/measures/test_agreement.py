"""What cannot be computed is None with a reason, what is wrong raises with a remedy; both intervals
and the table."""

import numpy as np
import pandas as pd
import pytest
from cases import misnamed, table

from casebook.errors import InputError
from casebook.measures import agreement
from casebook.measures.agreement import from_counts

NAN = np.nan
SIX = [[1, 2], [2, 1], [3, 3], [4, 5], [5, 4], [6, 6]]
CORRECTED = ("fleiss_kappa", "conger_kappa", "brennan_prediger", "gwet_ac1")
CORRECTED += ("gwet_ac2", "krippendorff_alpha")


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
        assert entry.reason == reason
        assert entry.percent_agreement == percent


def test_wrong_use_raises():
    def measure(ratings, options):
        agreement.krippendorff_alpha(ratings, **options)

    named = pd.DataFrame([[1, 2], [2, 2]], columns=["A", "A"])
    cases = [
        (([[1, "x"], ["y", "z"]], {}), "mix numbers and text"),
        (([[1, 2], [2, 2]], {"level": "odd"}), "unknown level 'odd'"),
        (([[-1, 2], [2, 2]], {"level": "ratio"}), "at least 0"),
        (([[1, 2], [2, 2]], {"categories": [1, 3]}), r"outside .*\[2.0\]"),
        (([[1, 2], [2, 2]], {"categories": [2, 1]}), "ascending"),
        ((named, {}), "named more than once: A"),
        ((np.tile([1, 2, 3], (2, 4)), {}), r"2 items .* 12 raters .* transpose"),
    ]
    assert misnamed(measure, cases, InputError) == []
    with pytest.raises(InputError, match="unknown weights 'odd'"):
        agreement.measure("cohen_kappa", [[1, 2], [2, 2]], weights="odd")


def test_counts_leave_out_what_needs_raters():
    found = results(from_counts([[3, 0], [1, 2], [0, 3], [3, 0]] * 5))
    needing = ("conger_kappa", "cohen_kappa")
    assert {found[name].reason for name in needing} == {"raters_unknown"}
    assert found["fleiss_kappa"].reason == "new_panel_ci: raters_unknown"


def test_what_needs_two_raters_is_refused_on_all_items():
    found = agreement.measure("cohen_kappa", [[1, 1, 2], [2, 1, np.nan], [1, 2, 2], [2, 2, 1]] * 5)
    assert (found.reason, found.n_items) == ("needs_two_raters", 20)


PAIR = [[1, 1], [2, 2], [1, 2], [2, 1]] * 3
ALIKE = [[1, 1], [2, 2], [3, 3], [4, 4]] * 8


@table(
    [
        (PAIR, 99, None, "fewer_than_three_raters"),
        (SIX, 99, None, "fewer_than_three_raters"),
        (SIX[:5], 99, "fewer_than_six_items", "fewer_than_three_raters"),
        (ALIKE, 99, "all_resamples_equal", "fewer_than_three_raters"),
        ([[1, 1]] * 20 + [[1, 2]], 99, "undefined_in_resamples", "fewer_than_three_raters"),
        ([[1, 1], [2, 2], [1, 2]] * 2, 0, "not_asked", "fewer_than_three_raters"),
        ([[1, 1, 2], [2, 2, 2], [1, 2, 1]], 99, "fewer_than_six_items", "fewer_than_six_items"),
    ]
)
def test_intervals_that_cannot_be_had_have_reasons(ratings, n_resamples, own, new):
    found = agreement.krippendorff_alpha(ratings, n_resamples=n_resamples)
    codes = {"panel_ci": own, "new_panel_ci": new}
    assert found.reason == "; ".join(f"{name}: {code}" for name, code in codes.items() if code)
    assert found.panel_ci == (1, 1) or own != "all_resamples_equal"


def test_labels_are_compared_but_not_ordered():
    labels = [["yes", "no"], ["no", "no"], ["yes", None], ["yes", "yes"]]
    numbers = [[2, 1], [1, 1], [2, NAN], [2, 2]]
    found, same = results(labels), results(numbers)
    assert found["krippendorff_alpha"].reason == "labels_without_order"
    assert found["gwet_ac1"].estimate == same["gwet_ac1"].estimate is not None
    ordered = agreement.krippendorff_alpha(labels, categories=["no", "yes"])
    assert ordered.estimate == agreement.krippendorff_alpha(numbers).estimate
    # A category that nobody used counts if it is named.
    named = agreement.measure(
        "brennan_prediger", [[1, 1], [2, 2], [1, 2], [2, 2]], categories=range(1, 6)
    )
    assert named.estimate == pytest.approx((0.75 - 1 / 5) / (4 / 5))


# Intervals, single raters and the table.


def draw(noise=1.0):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(60, 1)) + noise * rng.normal(size=(60, 5))
    return pd.DataFrame(np.digitize(latent, [-1, 0, 1]) + 1.0, columns=list("ABCDE"))


# Zou & Donner 2008: squared distances of the bounds over items, and z times the error over raters.
def test_a_new_panel_adds_the_jackknife_over_raters():
    ratings = draw(noise=2.0)
    found = agreement.krippendorff_alpha(ratings)
    without = np.array(
        [
            agreement.krippendorff_alpha(ratings.drop(columns=rater), n_resamples=0).estimate
            for rater in ratings
        ]
    )
    reach = 1.959964 * np.sqrt(4 / 5 * np.sum((without - without.mean()) ** 2))
    sides = [found.estimate - found.panel_ci[0], found.panel_ci[1] - found.estimate]
    expected = found.estimate + np.array([-1, 1]) * np.hypot(sides, reach)
    assert found.new_panel_ci == pytest.approx(expected, abs=1e-6)
