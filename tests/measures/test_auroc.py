"""AUROC against scikit-learn, a bootstrap, and clusters that repeat units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from casebook.errors import InputError
from casebook.measures.classification import auroc


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30))
def test_equals_scikit_learn_with_ties(rows):
    positive, scores = zip(*rows, strict=True)
    found = auroc(positive, scores)
    if len(set(positive)) < 2:
        assert found.reason == "class_without_gold"
    else:
        assert found.estimate == pytest.approx(roc_auc_score(positive, scores))
        assert found.low is None or 0 < found.low < found.estimate < found.high < 1


def test_interval_covers_as_promised():
    rng, hits = np.random.default_rng(0), 0
    true = 0.7602  # of two unit normals one standard deviation apart
    for _ in range(400):
        positive = np.arange(80) < 40
        found = auroc(positive, rng.normal(size=80) + positive)
        hits += found.low <= true <= found.high
    assert 0.92 <= hits / 400 <= 0.98


def test_repeating_every_unit_does_not_narrow_the_clustered_interval():
    rng = np.random.default_rng(1)
    positive = np.arange(60) < 30
    scores = rng.normal(size=60) + positive
    alone = auroc(positive, scores)
    twice = auroc(np.tile(positive, 2), np.tile(scores, 2), clusters=np.tile(np.arange(60), 2))
    assert (twice.low, twice.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
    naive = auroc(np.tile(positive, 2), np.tile(scores, 2))
    assert naive.high - naive.low < 0.75 * (alone.high - alone.low)


def test_perfect_separation_has_no_interval():
    found = auroc([True, True, False, False], [3, 4, 1, 2])
    assert (found.estimate, found.low, found.reason) == (1.0, None, "no_variation")


def test_bad_scores_are_refused():
    with pytest.raises(InputError, match="1 scores are not finite"):
        auroc([True, False], [0.1, np.nan])
    with pytest.raises(InputError, match="give one of each"):
        auroc([True, False], [0.1])


@pytest.mark.parametrize("n", range(3, 40))
def test_a_variance_that_cancels_is_none_and_never_negative(n):
    """A unit of each class with one score in every cluster: always one half."""
    scores = np.repeat(np.arange(n) * 0.1, 2)
    found = auroc([True, False] * n, scores, clusters=np.repeat(np.arange(n), 2))
    assert found.estimate == pytest.approx(0.5)
    assert found.low is None or found.low <= 0.5 <= found.high
