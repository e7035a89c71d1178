"""Whether a passage supports a sub-claim, refutes it, or neither.

A judge has ``judge(claim, passages) -> list of (stance, probability)``, the probability
being that of support against refutation, None where a judge gives none.
"""

from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.factcheck.model import NEUTRAL, STANCES, SUPPORTS
from casebook.factcheck.stance_features import NAMES, features
from casebook.models.logistic import logistic_regression, settled

_LONG_ENOUGH = 50  # characters: the documented placeholder's whole criterion


class PlaceholderStance:
    """The documented placeholder: any passage of more than 50 characters supports."""

    name = "placeholder"

    def judge(self, claim, passages):
        """Judge passages by their length alone."""
        return [(SUPPORTS, None) if len(p.text) > _LONG_ENOUGH else (NEUTRAL, None) for p in passages]


@dataclass(frozen=True)
class Pair:
    """One training or test example: a sub-claim, a passage, and how they stand."""

    claim: str
    passage: object
    stance: str
    group: str


class FeatureStance:
    """Multinomial logistic regression on features that a person can read."""

    name = "features"

    def __init__(self, rarity=None, similarity=None, penalty=1.0):
        self._rarity, self._similarity = rarity, similarity
        self._penalty = penalty
        self._fitted = None

    def on(self, base):
        """Give the same model with the word weights of another collection."""
        other = FeatureStance(base.rarity, self._similarity, self._penalty)
        other._fitted = self._fitted
        return other

    def describe(self, claim, passages):
        """Give features of passages of one sub-claim, shape [passages, features]."""
        if not passages:
            return np.zeros((0, len(NAMES)))
        similar = [None] * len(passages)
        if self._similarity is not None:
            similar = self._similarity.similarities(claim, [p.text for p in passages])
        return np.array(
            [features(claim, p.text, p.header, self._rarity, value) for p, value in zip(passages, similar, strict=True)]
        )

    def fit(self, pairs):
        """Learn from examples."""
        missing = set(STANCES) - {pair.stance for pair in pairs}
        if missing:
            raise InputError(f"no training pair {', '.join(sorted(missing))}")
        X = np.vstack([self.describe(pair.claim, [pair.passage]) for pair in pairs])
        return self.fit_features(X, [pair.stance for pair in pairs])

    def fit_features(self, X, stances):
        """Learn from features, shape [pairs, features], and their stances."""
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        model = logistic_regression(self._penalty)
        model.fit((X - mean) / scale, stances)
        self._fitted = model.coef_, model.intercept_, mean, scale, list(model.classes_)
        return self

    def coefficients(self):
        """Give the learnt weights of standardised features, dict of dict by stance."""
        weights, _, _, _, classes = self._model()
        return {
            stance: dict(zip(NAMES, map(float, row), strict=True)) for stance, row in zip(classes, weights, strict=True)
        }

    def _model(self):
        if self._fitted is None:
            raise InputError("the stance model is not fitted")
        return self._fitted

    def probabilities(self, X):
        """Give probabilities in the order of ``STANCES``, shape [pairs, 3]."""
        weights, bias, mean, scale, classes = self._model()
        scores = ((X - mean) / scale) @ weights.T + bias
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = scores / scores.sum(axis=1, keepdims=True)
        return settled(shares[:, [classes.index(stance) for stance in STANCES]])

    def judge(self, claim, passages):
        """Judge passages."""
        if not passages:
            return []
        shares = self.probabilities(self.describe(claim, passages))
        return [judged(row) for row in shares]


def judged(shares):
    """Turn probabilities in the order of ``STANCES`` into a judgement."""
    stance = STANCES[int(np.argmax(shares))]
    if stance == NEUTRAL:
        return NEUTRAL, None
    return stance, float(shares[0] / (shares[0] + shares[1]))
