"""AUROC and the difference of two against scikit-learn and DeLong's variance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from casebook.errors import InputError
from casebook.stats.areas import auroc, auroc_difference
from casebook.verdicts import INTERVAL_BY_UNIT, NO_UNIT_DIFFERS


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30))
def test_equals_scikit_learn_with_ties(rows):
    positive, scores = zip(*rows, strict=True)
    found = auroc(positive, scores)
    if len(set(positive)) < 2:
        assert found.reason == "class_without_gold"
    else:
        assert found.estimate == pytest.approx(sk.roc_auc_score(positive, scores))
        assert found.low is None or 0 < found.low < found.estimate < found.high < 1


def test_repeating_every_unit_does_not_narrow_the_clustered_interval():
    positive = np.arange(60) < 30
    scores = np.random.default_rng(1).normal(size=60) + positive
    twice, alone = (np.tile(positive, 2), np.tile(scores, 2)), auroc(positive, scores)
    found, naive = auroc(*twice, clusters=np.tile(np.arange(60), 2)), auroc(*twice)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
    assert naive.high - naive.low < 0.75 * (alone.high - alone.low)


# DeLong's covariance, written with numpy from the placements, and Student's t around it.
def test_intervals_have_the_variance_of_delong():
    rng = np.random.default_rng(3)
    truth = rng.random(60) < 0.4
    one, other = rng.normal(size=60) + truth, rng.normal(size=60) + 0.4 * truth
    x, y = (np.stack([one, other])[:, side] for side in (truth, ~truth))
    wins = (x[:, :, None] > y[:, None, :]) + 0.5 * (x[:, :, None] == y[:, None, :])
    covariance = np.cov(wins.mean(2)) / truth.sum() + np.cov(wins.mean(1)) / (~truth).sum()
    # Rows count for their share of their class.
    t = stats.t.ppf(0.975, 4 / (1 / truth.sum() + 1 / (~truth).sum()) - 1)
    half = t * np.sqrt(np.array([1, -1]) @ covariance @ [1, -1])
    found = auroc_difference(truth, one, other)
    assert found.estimate == pytest.approx(wins.mean((1, 2)) @ [1, -1])
    assert (found.low, found.high) == pytest.approx((found.estimate - half, found.estimate + half))
    found = auroc(truth, one)
    half = t * np.sqrt(covariance[0, 0]) / (found.estimate * (1 - found.estimate))
    logits = np.log(found.estimate / (1 - found.estimate)) + np.array([-half, half])
    assert (found.low, found.high) == pytest.approx(tuple(1 / (1 + np.exp(-logits))), abs=1e-9)


def test_difference_of_auroc_knows_its_edges():
    truth, scores = [True, False] * 6, np.arange(12.0)
    same = auroc_difference(truth, scores, 2 * scores)
    assert (same.estimate, same.low, same.high, same.reason) == (0, None, None, NO_UNIT_DIFFERS)
    few = auroc_difference(truth, scores, -scores, clusters=[0, 0, 1, 1] * 3)
    alone = auroc_difference(truth, scores, -scores)
    assert (few.low, few.high, few.reason) == (alone.low, alone.high, INTERVAL_BY_UNIT)
    handful = auroc_difference(truth[:4], scores[:4], -scores[:4], clusters=[0, 0, 1, 1])
    assert (handful.low, handful.reason) == (None, "fewer_than_six_units")
    perfect = auroc([True] * 3 + [False] * 3, [3, 4, 5, 1, 2, 0])
    assert (perfect.estimate, perfect.low, perfect.reason) == (1.0, None, "no_variation")
    with pytest.raises(InputError, match="1 scores are not finite"):
        auroc([True, False], [0.1, np.nan])
    assert auroc_difference([True] * 4, scores[:4], scores[:4]).reason == "class_without_gold"
    pairs = np.repeat(np.arange(6), 2)
    # Every pair contributes the same: no interval of no width.
    assert auroc_difference(truth, scores, -scores, clusters=pairs).reason == "no_variation"
