"""Agreement: what must not change, what must be equal, what a weight is."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from casebook.measures import agreement
from casebook.measures.agreement import as_panel, from_counts
from casebook.measures.coefficients import COEFFICIENTS

NONE = {"n_resamples": 0, "wide": True}
COUNTED = ("percent_agreement", "fleiss_kappa", "brennan_prediger", "gwet_ac1")
COUNTED += (
    "krippendorff_alpha_nominal",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
)
SCALE = [1, 2, 3, 4]


# Tables of 4 to 12 items; in half of the cells the item's own value.
@st.composite
def tables(draw, least=2, gaps=True, raters=(2, 5)):
    items, panel = draw(st.integers(4, 12)), draw(st.integers(*raters))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    own = rng.integers(1, 5, (items, 1))
    ratings = np.where(rng.random((items, panel)) < 0.5, own, 1.0 + rng.integers(4))
    ratings = np.where(rng.random(ratings.shape) < 0.3, rng.integers(1, 5, ratings.shape), ratings)
    if gaps:
        ratings[rng.random(ratings.shape) < draw(st.sampled_from([0, 0.1, 0.3]))] = np.nan
    assume(np.isfinite(ratings).any(axis=0).all())
    assume(len(np.unique(ratings[np.isfinite(ratings)])) >= least)
    return ratings


def measured(ratings, names=COEFFICIENTS, **options):
    found = agreement.agreement_results(
        ratings, coefficients=names, categories=SCALE, **(NONE | options)
    )
    return {name: (a.estimate, a.se, a.new_panel_ci) for name, a in found.items()}


def flat(entry):
    estimate, se, interval = entry
    return [np.nan if x is None else x for x in (estimate, se, *(interval or ()))]


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_order_of_items_and_raters_is_immaterial(ratings, random):
    items, raters = (random.sample(range(n), n) for n in ratings.shape)
    found, again = measured(ratings), measured(ratings[items][:, raters])
    for name, entry in found.items():
        assert entry[0] == (
            None if again[name][0] is None else pytest.approx(again[name][0], abs=1e-12)
        ), name
        # Square roots of variances near 0 lose half of the digits.
        assert flat(entry) == pytest.approx(flat(again[name]), abs=1e-7, nan_ok=True), name


@given(tables())
@settings(max_examples=30, deadline=None)
def test_counts_say_the_same_as_the_ratings_they_count(ratings):
    counts = from_counts(np.stack([(ratings == c).sum(axis=1) for c in SCALE], axis=1), SCALE)
    found = agreement.agreement_results(counts, n_resamples=0, coefficients=COUNTED)
    for name, (estimate, se, _) in measured(ratings, COUNTED).items():
        ours = flat((found[name].estimate, found[name].se, None))
        assert ours == pytest.approx(flat((estimate, se, None)), abs=1e-12, nan_ok=True), name


# The bootstrap weighs items; this draws the rows themselves.
@given(tables(), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_a_weight_is_a_number_of_copies(ratings, seed):
    rng = np.random.default_rng(seed)
    panel = as_panel(ratings, SCALE, wide=True)
    for name in COEFFICIENTS:
        coefficient = COEFFICIENTS[name](panel)
        held = coefficient.panel
        if held.n_items == 0 or coefficient.estimate()[1]:
            continue
        drawn = rng.integers(0, held.n_items, held.n_items)
        weights = np.bincount(drawn, minlength=held.n_items)[None].astype(float)
        rows = held.codes[drawn]
        if (rows < 0).all(axis=0).any():
            continue  # a rater is lost: another panel
        copied = as_panel(np.where(rows < 0, np.nan, rows + 1.0), SCALE, wide=True)
        again = COEFFICIENTS[name](copied)
        expected = again.values(np.ones((1, again.panel.n_items)))[0]
        found = coefficient.values(weights)[0]
        assert found == pytest.approx(expected, abs=1e-9, nan_ok=True), name


# Of alpha without the small-sample term, by weighing one item a little more.
@given(tables(least=3))
@settings(max_examples=25, deadline=None)
def test_linearisation_is_the_derivative(ratings):
    panel = as_panel(ratings, SCALE, wide=True)
    for level in agreement.MEASUREMENT_LEVELS:
        alpha = COEFFICIENTS[f"krippendorff_alpha_{level}"](panel)
        n = alpha.panel.n_items
        if n < 2 or alpha.estimate()[1]:
            continue

        def plain(weights, alpha=alpha):
            size = weights @ alpha.panel.per_item
            return 1 - (1 - alpha.values(weights)) * size / (size - 1)

        step = 1e-5
        up, down = (plain(np.ones((n, n)) + s * np.eye(n)) for s in (step, -step))
        slope = n * (up - down) / (2 * step)
        influence = alpha.influence()
        expected = influence - influence.mean()
        scale = 1 + np.abs(slope).max()
        assert slope - slope.mean() == pytest.approx(expected, abs=1e-6 * scale)
