"""Light's kappa: the mean of Cohen's kappa over all pairs of raters."""

import numpy as np

from casebook.measures.agreement_coefficient import Coefficient
from casebook.measures.agreement_weights import weight_matrix


class LightKappa(Coefficient):
    """Mean of the pairwise Cohen's kappas, each on the items that both rated."""

    def __init__(self, panel, weights="identity"):
        super().__init__(panel)
        self.weights = weight_matrix(weights, panel)
        if panel.codes is None:
            return
        self.first, self.second = np.triu_indices(panel.n_raters, k=1)
        one, other = (panel.codes[:, side] for side in self._pairs)
        both = (one >= 0) & (other >= 0)
        # A missing rating is -1, the last row and column: no credit.
        agree = np.pad(self.weights, (0, 1))[one, other]
        self.features = np.hstack([both, agree])
        # Where both rated: of complete ratings that is everywhere, for every pair.
        self.gaps = not both.all()
        self.shown = panel.flat_indicators
        if self.gaps:
            sides = [panel.indicators[:, side] * both[..., None] for side in self._pairs]
            width = 2 * both.shape[1] * len(self.weights)
            self.shown = np.concatenate(sides, 1).reshape(panel.n_items, width)

    @property
    def _pairs(self):
        return self.first, self.second

    @classmethod
    def usable(cls, panel):
        """Items with two or more ratings."""
        return panel.per_item >= 2

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
        size, agree = np.split(weights @ self.features, 2, axis=1)
        counts = weights @ self.shown
        counts = counts.reshape(len(weights), -1, len(self.weights))
        if self.gaps:
            first, second = np.split(counts, 2, axis=1)
        else:
            first, second = (counts[:, side] for side in self._pairs)
        with np.errstate(invalid="ignore", divide="ignore"):
            chance = ((first @ self.weights) * second).sum(axis=2) / size**2
            kappas = (agree / size - chance) / (1 - chance)
        means = kappas.mean(axis=1)
        return np.where(np.isfinite(means), means, np.nan)
