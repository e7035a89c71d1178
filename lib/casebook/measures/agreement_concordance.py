"""Kendall's coefficient of concordance W, corrected for ties."""

import numpy as np
from scipy import special

from casebook.measures.agreement_alpha import mid_ranks
from casebook.measures.agreement_coefficient import Coefficient


class KendallW(Coefficient):
    """Variance of the items' rank sums over its maximum, in [0, 1].

    Only items that all raters rated are used. Ranks are mid-ranks of the ratings, so
    that resampled items share a rank.
    """

    lowest = 0.0

    def __init__(self, panel):
        super().__init__(panel)
        _ = panel.values  # refuses labels without an order
        if panel.codes is not None:
            self.indicators = panel.flat_indicators * panel.complete[:, None]

    @classmethod
    def usable(cls, panel):
        """Items that every rater rated."""
        return panel.complete

    def reason(self):
        """Say why it is undefined: also with fewer than two complete items."""
        if self.panel.codes is None:
            return "raters_unknown"
        if self.panel.n_raters < 2:
            return "fewer_than_two_raters"
        if self.panel.complete.sum() < 2:
            return "fewer_than_two_complete_items"
        return super().reason()

    def values(self, weights):
        """Give W under item weights; see `Coefficient.values`."""
        r = self.panel.n_raters
        marginals = (weights @ self.indicators).reshape(len(weights), r, -1)
        ranks = mid_ranks(marginals.reshape(len(weights) * r, -1))
        sums = ranks.reshape(len(weights), -1) @ self.indicators.T
        spread = (weights * sums**2).sum(axis=1)
        n = weights @ self.panel.complete
        ties = (marginals**3 - marginals).sum(axis=(1, 2))
        most = r * (r * (n**3 - n) - ties) / 12
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(most > 0, spread / most, np.nan)

    def formula(self, settings):
        """Give the chi-squared test, ``r (n - 1) W``; see `Coefficient.formula`."""
        n, r = self.panel.n_items, self.panel.n_raters
        value = float(self.values(np.ones((1, n)))[0])
        statistic = r * (n - 1) * value
        return {
            "statistic": ("chi-squared", statistic, (n - 1,)),
            "p_greater": float(special.chdtrc(n - 1, statistic)),
        }
