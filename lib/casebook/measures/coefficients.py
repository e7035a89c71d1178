"""Coefficients of agreement as functions of sums over items, and partial credit for near misses.

A resample of the items is a weighing of them: every coefficient has a value under any item
weights. Most have observed and expected agreement, linear in features of the items, so that the
slope of the value by each weight is known too.
"""

from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.samples import check_choice, number_or_none

MEASUREMENT_LEVELS = ("nominal", "ordinal", "interval", "ratio")
ICC_FORMS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
MODEL_REASONS = {1: "raters_nested_in_items", 2: "raters_are_drawn", 3: "raters_are_fixed"}
"""Why an analysis of variance has one interval only: for this panel, of model 2 for a new one."""

POWERS = {"linear": 1, "quadratic": 2, "interval": 2, "ordinal": 2}
"""Power of the distance of two ratings that costs agreement."""


def credit(kind, panel):
    """What a pair of ratings is worth [categories, categories]: 1 if they are equal."""
    size = len(panel.categories)
    if kind in ("identity", "nominal") or size < 2:
        return np.eye(size)
    values = panel.values
    if kind == "ordinal":
        values = mid_ranks(panel.counts.sum(axis=0, keepdims=True))[0]
    gap = np.abs(values[:, None] - values)
    if kind == "ratio":
        if values.min() < 0:
            raise InputError(f"ratio distances need ratings of at least 0, found {values.min():g}")
        total = values[:, None] + values
        return 1 - np.divide(gap, total, out=np.zeros_like(gap), where=total != 0) ** 2
    return 1 - (gap / np.ptp(values)) ** POWERS[kind]


def mid_ranks(marginals):
    """Centred mid-rank of each category."""
    return np.cumsum(marginals, axis=1) - marginals / 2 - marginals.sum(axis=1, keepdims=True) / 2


class Coefficient:
    """One coefficient on the items of a panel that it uses, for any weighting of them."""

    lowest = -np.inf
    needs = frozenset({"variation"})  # or known raters, two raters, complete items
    model = None
    undefined = "no_variation"

    def __init__(self, panel, used_items):
        self.used_items = used_items
        self.panel = panel.keep(used_items)

    def reason(self):
        """Why the coefficient is undefined on this panel, or None."""
        panel = self.panel
        if "raters" in self.needs and panel.raters is None:
            return "raters_unknown"
        if "two" in self.needs and panel.raters and panel.n_raters != 2:
            return "needs_two_raters"
        if panel.n_raters < 2:
            return "fewer_than_two_raters"
        if "complete" in self.needs and panel.n_items < 2:
            return "fewer_than_two_complete_items"
        if not (panel.per_item >= 2).any():
            return "no_pairable_items"
        return "no_variation" if "variation" in self.needs and not panel.vary else None

    def estimate(self):
        """The estimate, or None and why."""
        if reason := self.reason():
            return None, reason
        value = number_or_none(self.values(np.ones((1, self.panel.n_items)))[0])
        return value, self.undefined if value is None else None

    def values(self, weights):
        """The coefficient under item weights [draws, items]; NaN where undefined."""
        with np.errstate(all="ignore"):
            values = self.of(weights @ self.features)
        return np.where(np.isfinite(values), values, np.nan)

    def influence(self):
        """Slope by each item's weight; None without theory."""
        return None

    def expected(self):
        """Chance agreement, or None."""
        return None


class Kappa(Coefficient):
    """``(observed - chance) / (1 - chance)``; the chance term makes the kappa.

    With r_ik raters who put item i into category k, r_i raters in all and credit w, the observed
    agreement is the mean over items with r_i >= 2 of
    ``sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))``.
    Krippendorff's alpha is such a kappa whose means weigh an item by r_i, and whose chance is
    a pair of ratings drawn without replacement.
    """

    def __init__(self, panel, chance, weights="identity", two=False):
        self.is_alpha = chance == "ratings"
        used_items = panel.per_item >= (2 if self.is_alpha else 1)
        if two:
            used_items = panel.per_item == 2
            self.needs = self.needs | {"two"}
        super().__init__(panel, used_items)
        self.chance_term = chance
        self.credit_kind = weights
        if chance == "rater":
            self.needs = self.needs | {"raters"}
        if chance == "none":
            self.needs = frozenset()
            self.lowest = 0.0

    @cached_property
    def credit(self):
        return credit(self.credit_kind, self.panel)

    @cached_property
    def features(self):
        """Weight, weight if pairable, observed agreement, and shares of categories by item."""
        counts = self.panel.counts
        m = self.panel.per_item
        weight = m if self.is_alpha else np.ones(len(m))
        agreeing = (counts * (counts @ self.credit - 1)).sum(axis=1)
        observed = np.divide(agreeing, m * (m - 1), out=np.zeros(len(m)), where=m >= 2)
        shares = counts * (weight / m)[:, None]
        if self.chance_term == "rater":
            shares = self.panel.codes[:, :, None] == np.arange(len(self.credit))
            shares = shares.reshape(len(m), self.panel.n_raters * len(self.credit))
        return np.column_stack([weight, weight * (m >= 2), weight * observed, shares])

    def of(self, totals):
        chance = self.chance(totals)
        return (totals[:, 2] / totals[:, 1] - chance) / (1 - chance)

    def chance(self, totals, drawn=1):
        """Chance agreement: none, even, Gwet, pooled, of ratings without the one drawn, by rater.

        Pooled are Fleiss and Scott, by rater Conger and Cohen, of ratings is Krippendorff.
        """
        w = self.credit
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
        size = totals[:, 0]
        shares = totals[:, 3:] / size[:, None]
        if self.chance_term == "gwet":
            scale = w.sum() / (q * (q - 1)) if q > 1 else np.nan
            return scale * (shares * (1 - shares)).sum(axis=1)
        pooled = ((shares @ w) * shares).sum(axis=1)
        return (size * pooled - drawn) / (size - drawn) if self.is_alpha else pooled

    def influence(self):
        """Gwet's linearisation, by the complex step.

        Of large samples: alpha draws with replacement, and the number of pairable items in the
        mean of the others is fixed.
        """
        totals = self.features.sum(axis=0) + 1e-20j * self.features
        with np.errstate(all="ignore"):
            chance = self.chance(totals, drawn=0)
            pairable = totals[:, 1] if self.is_alpha else totals[:, 1].real
            kappa = (totals[:, 2] - chance * totals[:, 1]) / pairable / (1 - chance)
        return self.panel.n_items * kappa.imag / 1e-20

    def expected(self):
        return float(self.chance(self.features.sum(axis=0, keepdims=True))[0])


class OrdinalAlpha(Kappa):
    """Alpha with squared distances between mid-ranks, which every resample ranks anew."""

    @cached_property
    def scaled(self):
        """Counts times m / (m - 1), and counts over the root of m - 1."""
        m = self.panel.per_item[:, None]
        return self.panel.counts * (m / (m - 1)), self.panel.counts / np.sqrt(m - 1)

    def values(self, weights):
        marginals = weights @ self.panel.counts
        ranks = mid_ranks(marginals)
        # Squared distances within an item add up to 2 m sum r^2 - 2 (sum r)^2.
        by_rating, by_root = self.scaled
        squares = (ranks**2 * (weights @ by_rating)).sum(axis=1)
        sums = ranks @ by_root.T
        observed = 2 * (squares - np.einsum("di,di,di->d", weights, sums, sums))
        # Ranks are centred, so that their weighted sum is 0.
        size = marginals.sum(axis=1)
        expected = 2 * size * (marginals * ranks**2).sum(axis=1)
        with np.errstate(all="ignore"):
            return np.where(expected > 0, 1 - (size - 1) * observed / expected, np.nan)

    def influence(self):
        """What an item does at fixed ranks, and by moving the ranks."""
        counts = self.panel.counts
        marginals = counts.sum(axis=0)
        ranks = mid_ranks(marginals[None])[0]
        pairs = counts.T @ (counts / (self.panel.per_item - 1)[:, None])
        observed = pairs.sum(axis=0) * ranks - pairs @ ranks
        expected = marginals.sum() * marginals * ranks
        disagreement = ranks @ expected
        slope = observed - (ranks @ observed) / disagreement * expected
        slope *= -2 * marginals.sum() / disagreement
        return super().influence() + self.panel.n_items * (mid_ranks(counts) @ slope)

    def expected(self):
        return None


def kappa(panel, chance, weights="identity", two=False):
    """A kappa with one of three kinds of partial credit."""
    check_choice("weights", weights, ("identity", "linear", "quadratic"))
    return Kappa(panel, chance, weights, two)


def alpha(panel, level="ordinal"):
    """Krippendorff's alpha of a level of measurement."""
    check_choice("level", level, MEASUREMENT_LEVELS)
    if level != "nominal":
        _ = panel.values  # refuses labels without an order
    kind = OrdinalAlpha if level == "ordinal" else Kappa
    return kind(panel, "ratings", level)


class LightKappa(Coefficient):
    """Mean of the pairwise Cohen's kappas, each on the items that both rated."""

    needs = frozenset({"raters", "variation"})
    undefined = "undefined_for_a_pair"

    def __init__(self, panel, weights="identity"):
        super().__init__(panel, panel.per_item >= 2)
        self.weights = weights

    @cached_property
    def pairs(self):
        pairs = []
        for pair in combinations(range(self.panel.n_raters), 2):
            pairs.append(kappa(self.panel.only(list(pair)), "rater", self.weights, two=True))
        return pairs

    def values(self, weights):
        return np.mean([pair.values(weights[:, pair.used_items]) for pair in self.pairs], axis=0)


class OfCompleteItems(Coefficient):
    """A coefficient of the items that every rater rated, at least two of them."""

    needs = frozenset({"raters", "complete", "variation"})

    def __init__(self, panel):
        super().__init__(panel, panel.per_item == panel.n_raters)

    @cached_property
    def ratings(self):
        ratings = self.panel.values[self.panel.codes]
        return ratings - ratings.mean()


class IntraclassCorrelation(OfCompleteItems):
    """Share of the variance of ratings that lies between the items: Shrout and Fleiss (1979)."""

    def __init__(self, panel, form="2,1"):
        super().__init__(panel)
        self.model = int(form[0])
        self.average = form[2] == "k"

    def values(self, weights):
        k = 1 if self.average else self.panel.n_raters
        with np.errstate(all="ignore"):
            n, between, raters, error = self._mean_squares(weights)
            below = between + (k - 1) * error + k * (raters - error) / n
            # Rounding may leave a trace of variance where there is none, as in a draw of one item.
            is_defined = below > 1e-12 * (weights @ (self.ratings**2).sum(axis=1)) / n
            return np.where(is_defined, (between - error) / below, np.nan)

    def _mean_squares(self, weights):
        """Items, and mean squares between items, of raters and of error.

        Where raters are not drawn, theirs is that of error: one formula then fits every form.
        """
        ratings = self.ratings
        k = self.panel.n_raters
        n = weights.sum(axis=1)
        columns = weights @ ratings
        of_items = weights @ ratings.sum(axis=1) ** 2 / k
        within = weights @ (ratings**2).sum(axis=1) - of_items
        centre = columns.sum(axis=1) ** 2 / (n * k)
        between = (of_items - centre) / (n - 1)
        of_raters = (columns**2).sum(axis=1) / n - centre
        if self.model == 1:
            error = within / (n * (k - 1))
        else:
            error = np.maximum(within - of_raters, 0.0) / ((n - 1) * (k - 1))
        return n, between, of_raters / (k - 1) if self.model == 2 else error, error

    def intervals(self, tail):
        """F interval of the panel that the model is about, and reasons for what there is not."""
        bounds = self._bounds(tail)
        about, other = "panel_ci", "new_panel_ci"
        if self.model == 2:
            about, other = other, about
        reasons = {other: MODEL_REASONS[self.model], about: None if bounds else "no_variation"}
        return {about: bounds}, reasons

    def _bounds(self, tail):
        squares = self._mean_squares(np.ones((1, self.panel.n_items)))
        n, between, raters, error = (float(square[0]) for square in squares)
        k = self.panel.n_raters
        if error <= 1e-12 * between:
            return None
        df = n * (k - 1) if self.model == 1 else (n - 1) * (k - 1)
        with np.errstate(all="ignore"):
            if self.model == 2:
                icc = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
                a = k * icc / (n * (1 - icc)) * raters
                b = (1 + k * icc * (n - 1) / (n * (1 - icc))) * error
                df = np.divide((a + b) ** 2, a**2 / (k - 1) + b**2 / df)
            f_low, f_high = special.fdtri([n - 1, df], [df, n - 1], tail)
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
        sums = np.zeros(weights.shape)
        ties = 0.0
        for ratings in self.ratings.T:
            order = np.argsort(ratings, kind="stable")
            starts = np.diff(ratings[order], prepend=np.nan) != 0
            counts = np.add.reduceat(weights[:, order], np.flatnonzero(starts), axis=1)
            sums[:, order] += mid_ranks(counts)[:, np.cumsum(starts) - 1]
            ties += (counts**3 - counts).sum(axis=1)
        r = self.panel.n_raters
        n = weights.sum(axis=1)
        most = r * (r * (n**3 - n) - ties) / 12
        squares = np.einsum("di,di,di->d", weights, sums, sums)
        with np.errstate(all="ignore"):
            return np.where(most > 0, squares / most, np.nan)
