import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from casebook.errors import InputError
from casebook.measures.discrimination import (
    auroc,
    balanced_accuracy,
    best_threshold,
    matthews,
)

PAIRS = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40)


@given(PAIRS)
@settings(max_examples=60, deadline=None)
def test_agrees_with_scikit_learn(pairs):
    labels, scores = map(np.array, zip(*pairs, strict=True))
    both = 0 < labels.sum() < len(labels)
    decided = scores > 2
    if not both:
        assert auroc(labels, scores) is None
        assert balanced_accuracy(labels, decided) is None
        return
    assert auroc(labels, scores) == pytest.approx(metrics.roc_auc_score(labels, scores))
    assert balanced_accuracy(labels, decided) == pytest.approx(
        metrics.balanced_accuracy_score(labels, decided)
    )
    if 0 < decided.sum() < len(decided):
        assert matthews(labels, decided) == pytest.approx(
            metrics.matthews_corrcoef(labels, decided)
        )
    else:
        assert matthews(labels, decided) is None


def test_constant_scores_are_chance_and_have_no_threshold():
    labels = [True, False, True]
    assert auroc(labels, [2, 2, 2]) == 0.5
    assert best_threshold(labels, [2, 2, 2]) is None


def test_threshold_separates_what_can_be_separated():
    labels = np.array([False, False, True, True])
    scores = np.array([0.1, 0.4, 0.6, 0.9])
    threshold = best_threshold(labels, scores)
    assert threshold == pytest.approx(0.5)
    assert balanced_accuracy(labels, scores > threshold) == 1
    assert auroc(labels, scores) == 1


def test_undefined_scores_are_refused():
    with pytest.raises(InputError, match="NaN"):
        auroc([True, False], [1.0, float("nan")])
    with pytest.raises(InputError, match="one length"):
        auroc([True], [1.0, 2.0])
