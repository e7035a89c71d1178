"""Krippendorff's alpha, for four levels of measurement or any weights."""

import numpy as np

from casebook.errors import InputError
from casebook.measures.agreement_coefficient import Coefficient
from casebook.measures.agreement_weights import relative_distance, weight_matrix
from casebook.stats.samples import check_choice

LEVELS = ("nominal", "ordinal", "interval", "ratio")


class KrippendorffAlpha(Coefficient):
    """One minus observed over expected disagreement."""

    def __init__(self, panel, level="ordinal", weights=None):
        super().__init__(panel)
        check_choice("level", level, LEVELS)
        counts, m = panel.counts, panel.per_item
        self.pairs = np.divide(1.0, m - 1, out=np.zeros(len(m)), where=m >= 2)
        self.used = counts * (m >= 2)[:, None]
        self.ordinal = level == "ordinal" and weights is None
        if self.ordinal:
            _ = panel.values  # refuses labels without an order
            self.per_rating = self.used * (m * self.pairs)[:, None]
            self.per_root = self.used * np.sqrt(self.pairs)[:, None]
        else:
            self.distance = _distance(panel, level, weights)
            apart = (counts * (counts @ self.distance)).sum(axis=1)
            self.features = np.column_stack([apart * self.pairs, self.used])

    @classmethod
    def usable(cls, panel):
        """Items with two or more ratings."""
        return panel.per_item >= 2

    def values(self, weights):
        """Give alpha under item weights; see `Coefficient.values`."""
        if self.ordinal:
            observed, expected, size = self._ordinal_sums(weights)
        else:
            totals = weights @ self.features
            observed, marginals = totals[:, 0], totals[:, 1:]
            expected = ((marginals @ self.distance) * marginals).sum(axis=1)
            size = marginals.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            alpha = 1 - (size - 1) * observed / expected
        return np.where(expected > 0, alpha, np.nan)

    def _ordinal_sums(self, weights):
        """Observed and expected sums of squared distances between mid-ranks."""
        marginals = weights @ self.used
        ranks = mid_ranks(marginals)
        size = marginals.sum(axis=1)
        square = (marginals * ranks**2).sum(axis=1)
        within = (ranks**2 * (weights @ self.per_rating)).sum(axis=1)
        sums = ranks @ self.per_root.T
        observed = 2 * (within - np.einsum("di,di,di->d", weights, sums, sums))
        # Ranks are centred, so that their weighted sum is 0.
        return observed, 2 * size * square, size

    def influence(self):
        """Linearise ``1 - N A / B``, N ratings, A observed, B expected sums."""
        ones = np.ones((1, self.panel.n_items))
        if self.ordinal:
            observed, expected, d_observed, d_expected = self._ordinal_gradients(ones)
        else:
            marginals = self.used.sum(axis=0)
            observed, d_observed = self.features[:, 0].sum(), self.features[:, 0]
            expected = marginals @ self.distance @ marginals
            d_expected = 2 * self.used @ self.distance @ marginals
        size = self.used.sum()
        ratio = observed / expected
        slope = self.used.sum(axis=1) * ratio
        slope += size * (d_observed - ratio * d_expected) / expected
        n = self.panel.n_items
        return self.values(ones)[0] - n * (slope - slope.mean())

    def _ordinal_gradients(self, ones):
        """Give the sums of `_ordinal_sums` and their derivatives by item weights."""
        (observed,), (expected,), (size,) = self._ordinal_sums(ones)
        used, pairs, m = self.used, self.pairs, self.panel.per_item
        marginals = used.sum(axis=0)
        ranks = mid_ranks(marginals[None])[0]
        moved = mid_ranks(used)  # what one more copy of the item does to the ranks
        sums = used @ ranks
        direct = 2 * pairs * (m * (used @ ranks**2) - sums**2)
        by_rank = 4 * ((m * pairs) @ used * ranks - (pairs * sums) @ used)
        square = marginals @ ranks**2
        d_square = used @ ranks**2 + moved @ (2 * marginals * ranks)
        d_expected = 2 * (used.sum(axis=1) * square + size * d_square)
        return observed, expected, direct + moved @ by_rank, d_expected

    def agreement(self):
        """Give observed and chance agreement; None twice at the ordinal level."""
        if self.ordinal:
            return None, None
        size, marginals = self.used.sum(), self.used.sum(axis=0)
        observed = self.features[:, 0].sum() / size
        expected = marginals @ self.distance @ marginals / (size * (size - 1))
        return float(1 - observed), float(1 - expected)


def mid_ranks(marginals):
    """Give the centred mid-rank of each category."""
    total = marginals.sum(axis=1, keepdims=True)
    return np.cumsum(marginals, axis=1) - marginals / 2 - total / 2


def _distance(panel, level, weights):
    """Disagreement between categories, in [0, 1]."""
    if weights is not None:
        return 1 - weight_matrix(weights, panel)
    if level == "ratio":
        if panel.values.min(initial=0) < 0:
            raise InputError("level ratio needs ratings of at least 0")
        return relative_distance(panel.values)
    name = {"nominal": "identity", "interval": "quadratic"}[level]
    return 1 - weight_matrix(name, panel)
