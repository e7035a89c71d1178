"""Light's kappa: the mean of Cohen's kappa over all pairs of raters."""

import itertools

import numpy as np

from casebook.measures.agreement_coefficient import Coefficient
from casebook.measures.agreement_weights import weight_matrix


class LightKappa(Coefficient):
    """Mean of the pairwise Cohen's kappas, each on the items that both rated."""

    def __init__(self, panel, weights="identity"):
        super().__init__(panel)
        self.weights = weight_matrix(weights, panel)
        self.pairs = []
        if panel.codes is not None:
            shown = panel.indicators
            pairs = itertools.combinations(range(panel.n_raters), 2)
            self.pairs = [self._features(shown[:, g], shown[:, h]) for g, h in pairs]

    @classmethod
    def usable(cls, panel):
        """Items with two or more ratings."""
        return panel.per_item >= 2

    def _features(self, first, second):
        """Both rated, agreement, and the ratings of each where both rated."""
        both = (first.any(axis=1) & second.any(axis=1)).astype(float)
        agree = ((first @ self.weights) * second).sum(axis=1)
        masked = [rater * both[:, None] for rater in (first, second)]
        return np.column_stack([both, agree, *masked])

    def reason(self):
        """Say why it is undefined: also if one pair has no kappa."""
        if self.panel.codes is None:
            return "raters_unknown"
        found = super().reason()
        ones = np.ones((1, self.panel.n_items))
        if found is None and np.isnan(self.values(ones)[0]):
            return "undefined_for_a_pair"
        return found

    def values(self, weights):
        """Give the mean kappa under item weights; see `Coefficient.values`."""
        return np.mean([self._kappa(weights @ pair) for pair in self.pairs], axis=0)

    def _kappa(self, totals):
        size, q = totals[:, :1], len(self.weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = totals / size
            first, second = shares[:, 2 : 2 + q], shares[:, 2 + q :]
            chance = ((first @ self.weights) * second).sum(axis=1)
            kappa = (shares[:, 1] - chance) / (1 - chance)
        return np.where(np.isfinite(kappa), kappa, np.nan)
