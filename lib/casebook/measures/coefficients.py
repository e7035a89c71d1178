"""Coefficients of agreement as functions of sums over items, and partial credit for near misses.

A resample of the items is a weighing of them: every coefficient gives its value under any
item weights, and the slope of its value by each weight.
"""

from itertools import combinations

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.samples import check_choice, number_or_none

MEASUREMENT_LEVELS = ("nominal", "ordinal", "interval", "ratio")
ICC_FORMS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")


POWERS = {"linear": 1, "quadratic": 2}
"""Power of the distance of two ratings that costs agreement, by the name of the weights."""


def _relative_distance(values):
    """Squared difference over squared sum; 0 for a pair of zeros."""
    if values.min(initial=0) < 0:
        raise InputError(f"ratio distances need ratings of at least 0, found {values.min():g}")
    gap = values[:, None] - values
    total = values[:, None] + values
    return np.divide(gap, total, out=np.zeros_like(gap), where=total != 0) ** 2


def _weight_matrix(weights, panel):
    """Give the agreement that a pair of ratings is worth."""
    check_choice("weights", weights, ("identity", *POWERS))
    size = len(panel.categories)
    if weights == "identity" or size < 2:
        return np.eye(size)
    values = panel.values
    distance = np.abs(values[:, None] - values) / np.ptp(values)
    return 1 - distance ** POWERS[weights]


class Coefficient:
    """One coefficient on the items of a panel that it uses, for any weighting of them."""

    lowest = -np.inf
    linear = True  # a smooth function of weighted sums of features, so that its slopes are known
    by_rater = False  # needs to know who rated what
    two = False  # needs exactly two raters
    complete = False  # uses items that all raters rated
    constant = False  # is defined where all ratings are equal
    model = None
    undefined = "no_variation"

    def __init__(self, panel, used_items):
        self.used_items = used_items
        self.panel = panel.keep(used_items)

    def reason(self):
        """Say why the coefficient is undefined on this panel, or None."""
        panel = self.panel
        if self.by_rater and panel.codes is None:
            return "raters_unknown"
        if self.two and panel.codes is not None and panel.n_raters != 2:
            return "needs_two_raters"
        if panel.n_raters < 2:
            return "fewer_than_two_raters"
        if self.complete and panel.n_items < 2:
            return "fewer_than_two_complete_items"
        if not (panel.per_item >= 2).any():
            return "no_pairable_items"
        return None if self.constant or panel.vary else "no_variation"

    def estimate(self):
        """Give the estimate, or None and why."""
        if reason := self.reason():
            return None, reason
        value = number_or_none(self.values(np.ones((1, self.panel.n_items)))[0])
        return value, self.undefined if value is None else None

    def values(self, weights):
        """Give the coefficient under item weights [draws, items]; NaN where undefined."""
        with np.errstate(all="ignore"):
            values = self.of(weights @ self.features)
        return np.where(np.isfinite(values), values, np.nan)

    def influence(self):
        """Give the slope by each item's weight, by the complex step; None without theory."""
        if not self.linear:
            return None
        nudged = self.features.sum(axis=0) + 1e-20j * self.features
        with np.errstate(all="ignore"):
            return self.panel.n_items * self.smooth(nudged).imag / 1e-20

    def smooth(self, totals):
        """Give the coefficient without small-sample terms: what is linearised."""
        return self.of(totals)

    def expected(self):
        """Give the chance agreement, or None."""
        return None


class Kappa(Coefficient):
    """``(observed - chance) / (1 - chance)``; the chance term makes the kappa.

    With r_ik raters who put item i into category k, r_i raters in all and weights w, the
    observed agreement is the mean over items with r_i >= 2 of
    ``sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))``.
    """

    def __init__(self, panel, chance, weights="identity", two=False):
        used_items = panel.per_item == 2 if two else panel.per_item > 0
        super().__init__(panel, used_items)
        panel = self.panel
        self.chance_term = chance
        self.two = two
        self.weights = _weight_matrix(weights, panel)
        self.by_rater = chance == "rater"
        self.constant = chance == "none"
        self.lowest = 0.0 if chance == "none" else -np.inf
        counts = panel.counts
        m = panel.per_item
        pairable = m >= 2
        q = len(self.weights)
        agree = (counts * (counts @ self.weights - 1)).sum(axis=1)
        agree = np.divide(agree, m * (m - 1), out=np.zeros(len(m)), where=pairable)
        shares = counts / m[:, None]
        if self.by_rater and panel.codes is not None:
            shares = (panel.codes[:, :, None] == np.arange(q)).reshape(len(m), panel.n_raters * q)
        self.features = np.column_stack([np.ones(len(m)), pairable, agree, shares])

    def of(self, totals):
        chance = self.chance(totals)
        return (totals[:, 2] / totals[:, 1] - chance) / (1 - chance)

    def smooth(self, totals):
        """The same with the number of pairable items fixed in the mean: Gwet's linearisation."""
        chance = self.chance(totals)
        return (totals[:, 2] - chance * totals[:, 1]) / self.features[:, 1].sum() / (1 - chance)

    def chance(self, totals):
        """Chance agreement: none, even, Gwet, pooled (Fleiss, Scott), by rater (Conger, Cohen)."""
        w = self.weights
        q = len(w)
        if self.chance_term == "none":
            return np.zeros(len(totals))
        if self.chance_term == "even":
            return np.full(len(totals), w.mean())
        if self.chance_term == "rater":
            # The mean over all pairs of raters, each with a distribution of his own.
            r = self.panel.n_raters
            shares = totals[:, 3:].reshape(-1, r, q)
            shares = shares / shares.sum(axis=2, keepdims=True)
            pooled = shares.sum(axis=1)
            with_themselves = ((shares @ w) * shares).sum(axis=(1, 2))
            return (((pooled @ w) * pooled).sum(axis=1) - with_themselves) / (r * (r - 1))
        shares = totals[:, 3:] / totals[:, :1]
        if self.chance_term == "pooled":
            return ((shares @ w) * shares).sum(axis=1)
        scale = w.sum() / (q * (q - 1)) if q > 1 else np.nan
        return scale * (shares * (1 - shares)).sum(axis=1)

    def expected(self):
        return float(self.chance(self.features.sum(axis=0, keepdims=True))[0])


class LightKappa(Coefficient):
    """Mean of the pairwise Cohen's kappas, each on the items that both rated."""

    linear = False
    by_rater = True
    undefined = "undefined_for_a_pair"

    def __init__(self, panel, weights="identity"):
        super().__init__(panel, panel.per_item >= 2)
        self.pairs = []
        if panel.codes is None:
            return
        for pair in combinations(range(panel.n_raters), 2):
            kappa = Kappa(self.panel.only(list(pair)), "rater", weights, two=True)
            self.pairs.append(kappa)

    def values(self, weights):
        return np.mean([pair.values(weights[:, pair.used_items]) for pair in self.pairs], axis=0)


class Alpha(Coefficient):
    """Krippendorff's alpha with distances that do not depend on the ratings: all but ordinal."""

    def __init__(self, panel, level):
        super().__init__(panel, panel.per_item >= 2)
        panel = self.panel
        if level == "ratio":
            self.distance = _relative_distance(panel.values)
        else:
            weights = "identity" if level == "nominal" else "quadratic"
            self.distance = 1 - _weight_matrix(weights, panel)
        apart = (panel.counts * (panel.counts @ self.distance)).sum(axis=1)
        self.features = np.column_stack([apart / (panel.per_item - 1), panel.counts])

    def of(self, totals, less=1):
        """One minus observed over expected disagreement, N - 1 ratings."""
        marginals = totals[:, 1:]
        expected = ((marginals @ self.distance) * marginals).sum(axis=1)
        return 1 - (marginals.sum(axis=1) - less) * totals[:, 0] / expected

    def smooth(self, totals):
        return self.of(totals, less=0)

    def expected(self):
        marginals = self.features.sum(axis=0)[1:]
        size = marginals.sum()
        return float(1 - marginals @ self.distance @ marginals / (size * (size - 1)))


class OrdinalAlpha(Coefficient):
    """Alpha with squared distances between mid-ranks, which every resample ranks anew."""

    def __init__(self, panel):
        super().__init__(panel, panel.per_item >= 2)
        _ = self.panel.values  # refuses labels without an order
        self.used = self.panel.counts
        self.m = self.panel.per_item
        self.pairs = 1 / (self.m - 1)
        self.per_rating = self.used * (self.m * self.pairs)[:, None]
        self.per_root = self.used * np.sqrt(self.pairs)[:, None]

    def values(self, weights):
        observed, expected, size = self._sums(weights)
        with np.errstate(all="ignore"):
            return np.where(expected > 0, 1 - (size - 1) * observed / expected, np.nan)

    def _sums(self, weights):
        marginals = weights @ self.used
        ranks = _mid_ranks(marginals)
        within = (ranks**2 * (weights @ self.per_rating)).sum(axis=1)
        sums = ranks @ self.per_root.T
        observed = 2 * (within - np.einsum("di,di,di->d", weights, sums, sums))
        size = marginals.sum(axis=1)
        # Ranks are centred, so that their weighted sum is 0.
        return observed, 2 * size * (marginals * ranks**2).sum(axis=1), size

    def influence(self):
        """Linearise ``1 - N A / B``: an item's own distances, and what it does to the ranks."""
        (observed,), (expected,), (size,) = self._sums(np.ones((1, self.panel.n_items)))
        used = self.used
        pairs = self.pairs
        m = self.m
        marginals = used.sum(axis=0)
        ranks = _mid_ranks(marginals[None])[0]
        moved = _mid_ranks(used)
        sums = used @ ranks
        by_rank = 4 * ((m * pairs) @ used * ranks - (pairs * sums) @ used)
        d_observed = 2 * pairs * (m * (used @ ranks**2) - sums**2) + moved @ by_rank
        d_square = used @ ranks**2 + moved @ (2 * marginals * ranks)
        d_expected = 2 * (m * (marginals @ ranks**2) + size * d_square)
        slope = (m * observed + size * (d_observed - observed / expected * d_expected)) / expected
        return -self.panel.n_items * slope


def _mid_ranks(marginals):
    """Give the centred mid-rank of each category."""
    return np.cumsum(marginals, axis=1) - marginals / 2 - marginals.sum(axis=1, keepdims=True) / 2


def alpha(panel, level="ordinal"):
    """Krippendorff's alpha of a level."""
    check_choice("level", level, MEASUREMENT_LEVELS)
    return OrdinalAlpha(panel) if level == "ordinal" else Alpha(panel, level)


class OfCompleteItems(Coefficient):
    """A coefficient of the items that every rater rated, at least two of them."""

    linear = False
    by_rater = True
    complete = True

    def __init__(self, panel):
        if panel.codes is None:
            complete_items = np.zeros(panel.n_items, dtype=bool)
        else:
            complete_items = (panel.codes >= 0).all(axis=1)
        super().__init__(panel, complete_items)
        _ = self.panel.values  # refuses labels without an order


class IntraclassCorrelation(OfCompleteItems):
    """Share of the variance of ratings that lies between the items: Shrout and Fleiss (1979)."""

    def __init__(self, panel, form="2,1"):
        super().__init__(panel)
        self.model = int(form[0])
        self.average = form[2] == "k"
        k = self.panel.n_raters
        if self.panel.n_items:
            ratings = self.panel.values[self.panel.codes]
            ratings = ratings - ratings.mean()
        else:
            ratings = np.zeros((0, k))
        squares = (ratings**2).sum(axis=1)
        sums = ratings.sum(axis=1)
        self.features = np.column_stack([np.ones(len(ratings)), squares, sums**2, ratings])

    def of(self, totals):
        n, between, raters, error = self._mean_squares(totals)
        k = self.panel.n_raters
        below = between + (raters - error) / n
        if not self.average:
            below = between + (k - 1) * error + k * (raters - error) / n
        # Rounding may leave a trace of variance where there is none, as in a draw of one item.
        return np.where(below > 1e-12 * totals[:, 1] / n, (between - error) / below, np.nan)

    def _mean_squares(self, totals):
        """Items, and mean squares between items, of raters and of error.

        Where raters are not drawn, theirs is that of error: one formula then fits every form.
        """
        k = self.panel.n_raters
        n, squares, sums = totals[:, :3].T
        columns = totals[:, 3:]
        centre = columns.sum(axis=1) ** 2 / (n * k)
        between = (sums / k - centre) / (n - 1)
        of_raters = (columns**2).sum(axis=1) / n - centre
        within = squares - sums / k
        if self.model == 1:
            error = within / (n * (k - 1))
        else:
            error = np.maximum(within - of_raters, 0.0) / ((n - 1) * (k - 1))
        return n, between, of_raters / (k - 1) if self.model == 2 else error, error

    def interval(self, tail):
        """F interval, or None."""
        squares = self._mean_squares(self.features.sum(axis=0, keepdims=True))
        n, between, raters, error = (float(square[0]) for square in squares)
        k = self.panel.n_raters
        if error <= 1e-12 * between:
            return None
        df = n * (k - 1) if self.model == 1 else (n - 1) * (k - 1)
        with np.errstate(all="ignore"):
            if self.model == 2:
                icc = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
                a = k * icc / (n * (1 - icc))
                b = 1 + k * icc * (n - 1) / (n * (1 - icc))
                parts = (a * raters) ** 2 / (k - 1) + (b * error) ** 2 / df
                df = (a * raters + b * error) ** 2 / parts if parts > 0 else np.nan
            f_low = special.fdtri(n - 1, df, tail)
            f_high = special.fdtri(df, n - 1, tail)
            common = k * raters + (k * n - k - n) * error
            low = n * (between - f_low * error) / (f_low * common + n * between)
            high = n * (f_high * between - error) / (common + n * f_high * between)
            bounds = np.array([low, high])
            if self.average:
                bounds = k * bounds / (1 + (k - 1) * bounds)
        return tuple(bounds.tolist()) if np.isfinite(bounds).all() else None


class KendallW(OfCompleteItems):
    """Variance of the items' rank sums over its maximum, corrected for ties, in [0, 1]."""

    lowest = 0.0

    def values(self, weights):
        codes = self.panel.codes
        sums = np.zeros(weights.shape)
        ties = np.zeros(len(weights))
        for rater in range(self.panel.n_raters):
            order = np.argsort(codes[:, rater], kind="stable")
            steps = np.diff(codes[order, rater], prepend=-2) != 0
            counts = np.add.reduceat(weights[:, order], np.flatnonzero(steps), axis=1)
            sums[:, order] += _mid_ranks(counts)[:, np.cumsum(steps) - 1]
            ties += (counts**3 - counts).sum(axis=1)
        r = self.panel.n_raters
        n = weights.sum(axis=1)
        most = r * (r * (n**3 - n) - ties) / 12
        with np.errstate(all="ignore"):
            squares = np.einsum("di,di,di->d", weights, sums, sums)
            return np.where(most > 0, squares / most, np.nan)
