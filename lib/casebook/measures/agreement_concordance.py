"""Kendall's coefficient of concordance W, corrected for ties."""

import numpy as np
from scipy import special

from casebook.measures.agreement_alpha import mid_ranks
from casebook.measures.agreement_coefficient import OfCompleteItems


class KendallW(OfCompleteItems):
    """Variance of the items' rank sums over its maximum, in [0, 1]."""

    lowest = 0.0

    def __init__(self, panel):
        super().__init__(panel)
        _ = panel.values  # refuses labels without an order
        if panel.codes is not None:
            self.complete = panel.complete.astype(float)
            self.orders = np.argsort(panel.codes, axis=0, kind="stable")

    def values(self, weights):
        """Give W under item weights; see `Coefficient.values`."""
        weights = weights * self.complete
        r, n = self.panel.n_raters, weights.sum(axis=1)
        sums, ties = np.zeros(weights.shape), np.zeros(len(weights))
        for rater in range(r):
            ranks, tied = self._ranks(weights, rater)
            sums += ranks
            ties += tied
        spread = np.einsum("di,di,di->d", weights, sums, sums)
        most = r * (r * (n**3 - n) - ties) / 12
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(most > 0, spread / most, np.nan)

    def _ranks(self, weights, rater):
        """Centred mid-ranks of the items for one rater, and the sum of ties."""
        order = self.orders[:, rater]
        sorted_codes = self.panel.codes[order, rater]
        steps = np.diff(sorted_codes, prepend=-2) != 0
        counts = np.add.reduceat(weights[:, order], np.flatnonzero(steps), axis=1)
        ranks = np.empty(weights.shape)
        ranks[:, order] = mid_ranks(counts)[:, np.cumsum(steps) - 1]
        return ranks, (counts**3 - counts).sum(axis=1)

    def formula(self, settings):
        """Give the chi-squared test, ``r (n - 1) W``; see `Coefficient.formula`."""
        n, r = self.panel.n_items, self.panel.n_raters
        value = float(self.values(np.ones((1, n)))[0])
        statistic = r * (n - 1) * value
        return {"statistic": ("chi-squared", statistic, (n - 1,)), "p_greater": float(special.chdtrc(n - 1, statistic))}
