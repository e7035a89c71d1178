"""Coefficients of agreement under any weighting of the items: a resample of them is a weighting.

Most have observed and expected agreement, linear in features of the items, so that the slope of
the value by each weight is known too.
"""

from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.samples import check_choice, number_or_none

MEASUREMENT_LEVELS = ("nominal", "ordinal", "interval", "ratio")
WEIGHTS = ("identity", "linear", "quadratic", "ordinal", "ratio")
ICC_FORMS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
ABOUT = {  # the panel of which an analysis of variance has an interval, and why not of the other
    "1": ("panel_ci", "new_panel_ci", "raters_nested_in_items"),
    "2": ("new_panel_ci", "panel_ci", "raters_are_drawn"),
    "3": ("panel_ci", "new_panel_ci", "raters_are_fixed"),
}
MOST_CATEGORIES = 2000
TAIL = 0.975  # of intervals of 95 %
STEP = 1e-20j  # of derivatives: the imaginary part of what it moves, without rounding
ALIKE = "no_variation"
OF_ALL = ("fewer_than_two_raters", "no_pairable_items")
# Why a coefficient is undefined on a panel; all pairable ratings may be alike.
REASONS = {
    "raters_unknown": lambda panel: panel.raters is None,
    "needs_two_raters": lambda panel: panel.n_raters != 2,
    "fewer_than_two_raters": lambda panel: panel.n_raters < 2,
    "fewer_than_two_complete_items": lambda panel: panel.n_items < 2,
    "no_pairable_items": lambda panel: not (panel.per_item >= 2).any(),
    "labels_without_order": lambda panel: not panel.ordered,
    "too_many_categories": lambda panel: len(panel.values) > MOST_CATEGORIES,
    ALIKE: lambda panel: np.count_nonzero(panel.counts[panel.per_item >= 2].any(axis=0)) < 2,
}


def credit(kind, panel):
    """What a pair of ratings is worth [categories, categories]: 1 if they are equal."""
    values = panel.values
    if kind == "identity" or len(values) < 2:
        return np.eye(len(values))
    if kind == "ordinal":
        values = mid_ranks(panel.counts.sum(axis=0))
    gap = np.abs(values[:, None] - values)
    largest = np.ptp(values)
    if kind == "ratio":
        if values.min() < 0:
            raise InputError(f"ratio distances need ratings of at least 0, found {values.min():g}")
        largest = np.where(gap, values[:, None] + values, 1.0)
    return 1 - (gap / largest) ** (1 if kind == "linear" else 2)


def mid_ranks(marginals):
    """Centred mid-rank of each category."""
    return np.cumsum(marginals, axis=-1) - marginals / 2 - marginals.sum(-1, keepdims=True) / 2


class Coefficient:
    """One coefficient on the items of a panel that it uses.

    ``values(weights)`` is the coefficient under item weights [draws, items], NaN where undefined.
    """

    lowest = -np.inf
    needs = ("raters_unknown", "labels_without_order", "fewer_than_two_complete_items", ALIKE)
    undefined = ALIKE
    expected = None  # chance agreement

    def __init__(self, panel, used_items):
        self.used_items = used_items
        self.panel = replace(panel, codes=panel.codes[used_items])

    def estimate(self):
        """The estimate, or None and why."""
        for reason, is_unmet in REASONS.items():
            if reason in (*self.needs, *OF_ALL) and is_unmet(self.panel):
                return None, reason
        value = number_or_none(self.values(np.ones((1, self.panel.n_items)))[0])
        return value, self.undefined if value is None else None

    def influence(self):
        return None


class Kappa(Coefficient):
    """``(observed - chance) / (1 - chance)``; the chance term makes the kappa.

    With r_ik raters who put item i into category k, r_i raters in all and credit w, the observed
    agreement is the mean over items with r_i >= 2 of
    ``sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))``.
    Krippendorff's alpha is such a kappa whose means weigh an item by r_i, and whose chance is
    a pair of ratings drawn without replacement.
    """

    def __init__(self, panel, chance, weights="identity", needs=(ALIKE,)):
        check_choice("weights", weights, WEIGHTS)
        self.is_alpha = chance == "ratings"
        used_items = panel.per_item >= (2 if self.is_alpha else 1)
        if "needs_two_raters" in needs:
            used_items = panel.per_item == 2
        super().__init__(panel, used_items)
        self.chance_term = chance
        self.weights = weights
        order = () if weights == "identity" else ("labels_without_order",)
        self.needs = (*needs, "too_many_categories", *order)
        self.lowest = 0.0 if chance == "none" else -np.inf

    @cached_property
    def credit(self):
        return credit(self.weights, self.panel)

    @cached_property
    def features(self):
        # Weight, weight if pairable, observed agreement, and shares of categories of each item.
        counts = self.panel.counts
        m = self.panel.per_item
        weight = m if self.is_alpha else np.ones(len(m))
        observed = (counts * (counts @ self.credit - 1)).sum(axis=1) / np.maximum(m * (m - 1), 1)
        shares = counts * (weight / m)[:, None]
        if self.chance_term == "rater":
            shares = self.panel.one_hot.reshape(len(m), self.panel.n_raters * len(self.credit))
        return np.column_stack([weight, weight * (m >= 2), weight * observed, shares])

    @np.errstate(all="ignore")
    def values(self, weights):
        totals = weights @ self.features
        chance = self.chance(totals)
        values = (totals[:, 2] / totals[:, 1] - chance) / (1 - chance)
        return np.where(np.isfinite(values), values, np.nan)

    def chance(self, totals, drawn=1):
        # Pooled are Fleiss and Scott, by rater Conger and Cohen, of ratings is Krippendorff.
        w = self.credit
        q = len(w)
        if self.chance_term in ("none", "even"):
            return np.full(len(totals), w.mean() if self.chance_term == "even" else 0.0)
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
            return w.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
        pooled = ((shares @ w) * shares).sum(axis=1)
        return (size * pooled - drawn) / (size - drawn) if self.is_alpha else pooled

    @np.errstate(all="ignore")
    def influence(self):
        # Gwet's linearisation: alpha draws with replacement, others fix the pairable items.
        totals = self.features.sum(axis=0) + STEP * self.features
        chance = self.chance(totals, drawn=0)
        pairable = totals[:, 1] if self.is_alpha else totals[:, 1].real
        kappa = (totals[:, 2] - chance * totals[:, 1]) / pairable / (1 - chance)
        return self.panel.n_items * kappa.imag / STEP.imag

    @property
    def expected(self):
        return float(self.chance(self.features.sum(axis=0, keepdims=True))[0])


class OrdinalAlpha(Kappa):
    """Alpha with squared distances between mid-ranks, which every resample ranks anew."""

    expected = None

    def values(self, weights, moved=0):
        # Within an item squared distances add up to 2 m sum r^2 - 2 (sum r)^2; over all items
        # sum r is 0.
        m = self.panel.per_item[:, None]
        marginals = weights @ self.panel.counts
        ranks = mid_ranks(marginals) + moved
        sums = ranks @ (self.panel.counts / np.sqrt(m - 1)).T
        observed = (ranks**2 * (weights @ (self.panel.counts * m / (m - 1)))).sum(axis=1)
        observed = observed - np.einsum("di,di,di->d", weights, sums, sums)
        size = marginals.sum(axis=1)
        expected = size * (marginals * ranks**2).sum(axis=1)
        return 1 - (size - 1) * observed / np.where(expected == 0, np.nan, expected)

    def influence(self):
        # What an item does at fixed ranks, and by moving the ranks.
        counts = self.panel.counts
        n, q = counts.shape
        moved = self.values(np.ones((q, n)), STEP * np.eye(q)).imag / STEP.imag
        slope = moved * counts.sum() / (counts.sum() - 1)
        return super().influence() + n * (mid_ranks(counts) @ slope)


def alpha(panel, level="ordinal"):
    check_choice("level", level, MEASUREMENT_LEVELS)
    kind = OrdinalAlpha if level == "ordinal" else Kappa
    weights = {"nominal": "identity", "interval": "quadratic"}.get(level, level)
    return kind(panel, "ratings", weights)


class LightKappa(Coefficient):
    """Mean of the pairwise Cohen's kappas, each on the items that both rated."""

    needs = ("raters_unknown", "too_many_categories", ALIKE)
    undefined = "undefined_for_a_pair"

    def __init__(self, panel):
        super().__init__(panel, panel.per_item >= 2)

    @cached_property
    def pairs(self):
        return [
            cohen(self.panel.only(list(k))) for k in combinations(range(self.panel.n_raters), 2)
        ]

    def values(self, weights):
        return np.mean([pair.values(weights[:, pair.used_items]) for pair in self.pairs], axis=0)


class OfCompleteItems(Coefficient):
    """A coefficient of the items that every rater rated, at least two of them."""

    def __init__(self, panel):
        super().__init__(panel, panel.per_item == panel.n_raters)
        ratings = self.panel.values[self.panel.codes]
        self.ratings = ratings - ratings.mean() if ratings.size else ratings


class IntraclassCorrelation(OfCompleteItems):
    """Share of the variance of ratings that lies between the items: Shrout and Fleiss (1979)."""

    def __init__(self, panel, form="2,1"):
        check_choice("form", form, ICC_FORMS)
        super().__init__(panel)
        self.form = form

    def values(self, weights):
        return self.analysis(weights)[0]

    def intervals(self):
        """F interval of the panel that the model is about, and reasons for what there is not."""
        bounds = self.analysis(np.ones((1, self.panel.n_items)))[1:, 0]
        interval = tuple(bounds.tolist()) if np.isfinite(bounds).all() else None
        about, other, reason = ABOUT[self.form[0]]
        return {about: interval}, {other: reason, about: None if interval else ALIKE}

    @np.errstate(all="ignore")
    def analysis(self, weights):
        """Value and F bounds [3, draws] under item weights, NaN where undefined."""
        # Mean squares between items, of error and of raters; these are error if not drawn.
        n = weights.sum(axis=1)
        k = self.panel.n_raters
        total = weights @ (self.ratings**2).sum(axis=1)
        of_items = weights @ self.ratings.sum(axis=1) ** 2 / k
        of_raters = ((weights @ self.ratings) ** 2).sum(axis=1) / n
        centre = (weights @ self.ratings.sum(axis=1)) ** 2 / (n * k)
        between = (of_items - centre) / (n - 1)
        df = (n - 1) * (k - 1)
        error = np.maximum(total - of_items - of_raters + centre, 0.0) / df
        if self.form[0] == "1":
            df = n * (k - 1)
            error = (total - of_items) / df
        raters = (of_raters - centre) / (k - 1) if self.form[0] == "2" else error
        # Rounding may leave a trace of variance where there is none, as in a draw of one item.
        below = between + (k - 1) * error + k * (raters - error) / n
        icc = np.where(below > 1e-12 * total / n, (between - error) / below, np.nan)
        # Bounds of one rater; degrees of freedom of drawn raters by Satterthwaite.
        if self.form[0] == "2":
            a = k * icc / (n * (1 - icc)) * raters
            b = (1 + k * icc * (n - 1) / (n * (1 - icc))) * error
            df = (a + b) ** 2 / (a**2 / (k - 1) + b**2 / df)
        f_low = special.fdtri(n - 1, df, TAIL)
        f_high = special.fdtri(df, n - 1, TAIL)
        common = k * raters + (k * n - k - n) * error
        low = n * (between - f_low * error) / (f_low * common + n * between)
        high = n * (f_high * between - error) / (common + n * f_high * between)
        analysis = np.stack([icc, *np.where(error > 1e-12 * between, [low, high], np.nan)])
        if self.form[2] == "k":
            # The mean of all raters by Spearman and Brown.
            below = 1 + (k - 1) * analysis
            analysis = np.where(below > 1e-12, k * analysis / below, np.nan)
        return analysis


class KendallW(OfCompleteItems):
    """Variance of the items' rank sums over its maximum, corrected for ties, in [0, 1]."""

    lowest = 0.0

    def values(self, weights):
        sums = np.zeros(weights.shape)
        most = 0.0
        for ratings in self.ratings.T:
            order = np.argsort(ratings, kind="stable")
            starts = np.diff(ratings[order], prepend=np.nan) != 0
            counts = np.add.reduceat(weights[:, order], np.flatnonzero(starts), axis=1)
            ranks = mid_ranks(counts)
            sums[:, order] += ranks[:, np.cumsum(starts) - 1]
            most += self.panel.n_raters * (counts * ranks**2).sum(axis=1)
        squares = np.einsum("di,di,di->d", weights, sums, sums)
        return squares / np.where(most > 0, most, np.nan)


cohen = partial(Kappa, chance="rater", needs=("raters_unknown", "needs_two_raters", ALIKE))
COEFFICIENTS = {
    "percent_agreement": partial(Kappa, chance="none", needs=()),
    "cohen_kappa": cohen,
    "cohen_kappa_linear": partial(cohen, weights="linear"),
    "cohen_kappa_quadratic": partial(cohen, weights="quadratic"),
    "scott_pi": partial(Kappa, chance="pooled", needs=("needs_two_raters", ALIKE)),
    "fleiss_kappa": partial(Kappa, chance="pooled"),
    "conger_kappa": partial(Kappa, chance="rater", needs=("raters_unknown", ALIKE)),
    "light_kappa": LightKappa,
    "brennan_prediger": partial(Kappa, chance="even"),
    "gwet_ac1": partial(Kappa, chance="gwet"),
    "gwet_ac2": partial(Kappa, chance="gwet", weights="quadratic"),
    "krippendorff_alpha": alpha,
    **{f"krippendorff_alpha_{level}": partial(alpha, level=level) for level in MEASUREMENT_LEVELS},
    "intraclass_correlation": IntraclassCorrelation,
    **{f"icc_{form[0]}_{form[2]}": partial(IntraclassCorrelation, form=form) for form in ICC_FORMS},
    "kendall_w": KendallW,
}
