"""Agreement beyond chance: kappas of Cohen, Conger and Fleiss, Scott, AC1, BP.

All have the form ``(observed - chance) / (1 - chance)`` and differ in the chance term.
With r_ik raters who put item i into category k, r_i raters in all and weights w,
the observed agreement is the mean over items with r_i >= 2 of
``sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))``.
"""

from abc import abstractmethod

import numpy as np

from casebook.measures.agreement_coefficient import Coefficient
from casebook.measures.agreement_weights import weight_matrix

RATED, PAIRABLE, AGREEMENT, SHARES = 0, 1, 2, 3


class ChanceCorrected(Coefficient):
    """Shared part of the chance-corrected coefficients."""

    def __init__(self, panel, weights="identity"):
        super().__init__(panel)
        self.weights = weight_matrix(weights, panel)
        counts, m = panel.counts, panel.per_item
        pairable, rated = m >= 2, m > 0
        agree = (counts * (counts @ self.weights - 1)).sum(axis=1)
        agree = np.divide(agree, m * (m - 1), out=np.zeros(len(m)), where=pairable)
        shares = np.divide(counts, m[:, None], out=np.zeros_like(counts), where=rated[:, None])
        self.features = np.column_stack([rated, pairable, agree, shares])

    @abstractmethod
    def chance(self, totals, weights):
        """Give the chance agreement of each draw, shape [draws]."""

    @abstractmethod
    def chance_influence(self, totals, weights):
        """Give what each item adds to the chance agreement, shape [items]."""

    def values(self, weights):
        """Give the coefficient under item weights; see `Coefficient.values`."""
        totals = weights @ self.features
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = totals[:, AGREEMENT] / totals[:, PAIRABLE]
            chance = self.chance(totals, weights)
            return _undefined_to_nan((observed - chance) / (1 - chance))

    def agreement(self):
        """Give observed and chance agreement; see `Coefficient.agreement`."""
        ones = np.ones((1, self.panel.n_items))
        totals = ones @ self.features
        observed = totals[0, AGREEMENT] / totals[0, PAIRABLE]
        return float(observed), float(self.chance(totals, ones)[0])

    def influence(self):
        """Linearise as Gwet (2014, ch. 5); see `Coefficient.influence`."""
        n = self.panel.n_items
        ones = np.ones((1, n))
        totals = ones @ self.features
        observed, chance = self.agreement()
        value = (observed - chance) / (1 - chance)
        pairable = self.features[:, PAIRABLE]
        scale = n / totals[0, PAIRABLE]
        direct = scale * (self.features[:, AGREEMENT] - chance * pairable)
        surplus = self.chance_influence(totals, ones) - chance
        return (direct - 2 * (1 - value) * surplus) / (1 - chance)


class PercentAgreement(ChanceCorrected):
    """Share of agreeing pairs of ratings, weighted if asked, in [0, 1]."""

    lowest = 0.0

    def reason(self):
        """Say why it is undefined: only without pairs of ratings."""
        found = super().reason()
        return None if found == "no_variation" else found

    def chance(self, totals, weights):
        """Correct nothing."""
        return np.zeros(len(totals))

    def chance_influence(self, totals, weights):
        """Correct nothing."""
        return np.zeros(self.panel.n_items)


class FleissKappa(ChanceCorrected):
    """Chance: two ratings drawn from the pooled distribution of categories."""

    def chance(self, totals, weights):
        """Give ``sum_kl w_kl p_k p_l`` with mean shares p."""
        shares = _mean_shares(totals)
        return ((shares @ self.weights) * shares).sum(axis=1)

    def chance_influence(self, totals, weights):
        """Give the gradient's half: each item's shares against the mean ones."""
        return self.features[:, SHARES:] @ self.weights @ _mean_shares(totals)[0]


class BrennanPrediger(ChanceCorrected):
    """Chance: two ratings drawn evenly from the scale."""

    def chance(self, totals, weights):
        """Give the mean weight."""
        return np.full(len(totals), self.weights.mean())

    def chance_influence(self, totals, weights):
        """Give the constant."""
        return np.full(self.panel.n_items, self.weights.mean())


class GwetAC(ChanceCorrected):
    """Chance: agreement among ratings given at random, by their prevalence."""

    def _scale(self):
        size = len(self.weights)
        return self.weights.sum() / (size * (size - 1)) if size > 1 else np.nan

    def chance(self, totals, weights):
        """Give ``sum w / (q (q - 1)) * sum_k p_k (1 - p_k)`` with mean shares p."""
        shares = _mean_shares(totals)
        return self._scale() * (shares * (1 - shares)).sum(axis=1)

    def chance_influence(self, totals, weights):
        """Give the gradient's half: each item's shares against the mean ones."""
        return self._scale() * (self.features[:, SHARES:] @ (1 - _mean_shares(totals)[0]))


class CongerKappa(ChanceCorrected):
    """Chance: two ratings of two different raters, each with his own distribution."""

    def __init__(self, panel, weights="identity"):
        super().__init__(panel, weights)
        if panel.codes is not None:
            self.indicators = panel.flat_indicators

    def reason(self):
        """Say why it is undefined: also if the raters are not known."""
        known = self.panel.codes is not None
        return super().reason() if known else "raters_unknown"

    def _marginals(self, weights):
        """Distribution of each rater, and his number of ratings, draw by draw."""
        shape = (-1, self.panel.n_raters, len(self.weights))
        counts = (weights @ self.indicators).reshape(shape)
        sizes = counts.sum(axis=2, keepdims=True)
        return counts / sizes, sizes[..., 0]

    def chance(self, totals, weights):
        """Give the mean over pairs of raters g, h of ``sum_kl w_kl p_gk p_hl``."""
        marginals, _ = self._marginals(weights)
        pooled = marginals.sum(axis=1)
        every = ((pooled @ self.weights) * pooled).sum(axis=1)
        own = ((marginals @ self.weights) * marginals).sum(axis=(1, 2))
        r = self.panel.n_raters
        return (every - own) / (r * (r - 1))

    def chance_influence(self, totals, weights):
        """Give the gradient's half, with each rater's mean as a ratio."""
        (marginals,), (sizes,) = self._marginals(weights)
        others = (marginals.sum(axis=0) - marginals) @ self.weights
        r, n = self.panel.n_raters, self.panel.n_items
        shown = self.indicators.reshape(n, r, -1)
        score = np.einsum("igk,gk->ig", shown, others)
        rated, mean = shown.sum(axis=2), (marginals * others).sum(axis=1)
        score = (score - rated * mean) * n / sizes + mean
        return score.sum(axis=1) / (r * (r - 1))


class _TwoRaters:
    """Restriction to the items that both of two raters rated."""

    @classmethod
    def usable(cls, panel):
        """Both raters."""
        return panel.per_item == 2

    def reason(self):
        """Say why it is undefined: also with more or fewer than two raters."""
        if self.panel.codes is not None and self.panel.n_raters != 2:
            return "needs_two_raters"
        return super().reason()


class CohenKappa(_TwoRaters, CongerKappa):
    """Conger's kappa of two raters, on the items that both rated."""


class ScottPi(_TwoRaters, FleissKappa):
    """Fleiss' kappa of two raters, on the items that both rated."""


def _mean_shares(totals):
    return totals[:, SHARES:] / totals[:, [RATED]]


def _undefined_to_nan(values):
    return np.where(np.isfinite(values), values, np.nan)
