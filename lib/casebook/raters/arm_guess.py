"""Can a model tell the systems by their texts alone? Then raters could, too."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.models.logistic import logistic_regression
from casebook.stats.intervals import Interval, wilson
from casebook.stats.samples import check_count, stream

MOST_FEATURES = 20_000
LEAST_WEIGHT = 1e-6  # below it a weight is the rounding of 0


@dataclass(frozen=True)
class ArmGuess:
    """How well a model that saw other items tells the systems apart by their text."""

    accuracy: Interval
    pvalue: float | None
    n: int
    n_permutations: int
    words: pd.DataFrame
    reason: str | None = None


def guess_arms(focus, other, *, folds=10, n_permutations=200, seed=0):
    """Train a classifier to tell two systems by their text, item by item."""
    check_count("folds", folds, least=2)
    check_count("n_permutations", n_permutations)
    focus, other = list(focus), list(other)
    if len(focus) != len(other):
        raise InputError(f"{len(focus)} and {len(other)} answers do not pair")
    n = len(focus)
    if n < folds:
        return _no_guess(n, "fewer_than_folds")
    if not any(text.strip() for text in (*focus, *other)):
        return _no_guess(n, "no_text")
    rng = np.random.Generator(stream(seed, "arm guess"))
    fold = rng.permutation(np.arange(n) % folds)
    parts = [_features(focus, other, fold == k) for k in range(folds)]
    signs = np.where(rng.integers(0, 2, (n_permutations, n)) == 1, 1.0, -1.0)
    right = _right(parts, np.ones(n))
    drawn = np.array([_right(parts, row).sum() for row in signs])
    hits = 1 + int(np.count_nonzero(drawn >= right.sum()))
    interval = wilson(float(right.sum()), n)
    words = _telling_words(focus, other)
    pvalue = hits / (n_permutations + 1)
    return ArmGuess(interval, pvalue, n, n_permutations, words)


def _no_guess(n, reason):
    empty = Interval(None, None, None, 0.95, n, "wilson", reason)
    words = pd.DataFrame({"word": [], "weight": []})
    return ArmGuess(empty, None, n, 0, words, reason)


def _vectorizer():
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=MOST_FEATURES)


def _features(focus, other, held_out):
    """Differences of the answers' vectors, and their inner products, for one fold."""
    texts = np.array([focus, other], dtype=object)
    vectors = _vectorizer().fit(texts[:, ~held_out].ravel())
    difference = vectors.transform(texts[0]) - vectors.transform(texts[1])
    train, test = difference[~held_out], difference[held_out]
    return held_out, (train @ train.T).toarray(), (test @ train.T).toarray()


def _right(parts, labels):
    """Mark the items of which the right answer is picked; a draw counts half."""
    right = np.zeros(len(labels))
    for held_out, gram, cross in parts:
        weights = _dual_weights(gram, labels[~held_out])
        margins = (cross @ weights) * labels[held_out]
        right[held_out] = np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))
    return right


def _dual_weights(gram, labels, penalty=1.0):
    """Logistic regression without intercept on differences, through inner products."""
    weights = np.zeros(len(labels))
    for _ in range(25):
        scores = gram @ weights
        share = special.expit(-labels * scores)
        curvature = np.maximum(share * (1 - share), 1e-12)
        target = scores + labels * share / curvature
        system = gram + np.diag(penalty / curvature)
        updated = np.linalg.solve(system, target)
        if np.abs(updated - weights).max() < 1e-8:
            return updated
        weights = updated
    return weights


def _telling_words(focus, other, count=10):
    """Words with the largest weights of a model of all items, for either system."""
    vectors = _vectorizer()
    X = vectors.fit_transform([*focus, *other])
    labels = np.repeat([1, 0], len(focus))
    weights = logistic_regression().fit(X, labels).coef_[0]
    names = vectors.get_feature_names_out()
    order = np.lexsort((names, -np.abs(weights)))[:count]
    order = order[np.abs(weights[order]) > LEAST_WEIGHT]
    return pd.DataFrame({"word": names[order], "weight": weights[order]})
