"""Coefficients of agreement under any weighting of the items: a resample of them is a weighting.

Most have observed and expected agreement, linear in features of the items, so that the slope of
the value by each weight is known too.
"""

from functools import cached_property, partial
from itertools import combinations

import numpy as np
from scipy import special

from casebook.errors import InputError
from casebook.stats.samples import check_choice, number_or_none

MEASUREMENT_LEVELS = ("nominal", "ordinal", "interval", "ratio")
WEIGHTS = ("identity", "linear", "quadratic")
ICC_FORMS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
MODEL_REASONS = {1: "raters_nested_in_items", 2: "raters_are_drawn", 3: "raters_are_fixed"}
"""Why an analysis of variance has one interval only: for this panel, of model 2 for a new one."""

UNORDERED = ("identity", "nominal")
MOST_CATEGORIES = 2000
TAIL = 0.975  # of intervals of 95 %
STEP = 1e-20j  # of derivatives: the imaginary part of what it moves, without rounding


def credit(kind, panel):
    """What a pair of ratings is worth [categories, categories]: 1 if they are equal."""
    values = panel.values
    if kind in UNORDERED or len(values) < 2:
        return np.eye(len(values))
    if kind == "ordinal":
        values = mid_ranks(panel.counts.sum(axis=0, keepdims=True))[0]
    gap = np.abs(values[:, None] - values)
    largest = np.ptp(values)
    if kind == "ratio":
        if values.min() < 0:
            raise InputError(f"ratio distances need ratings of at least 0, found {values.min():g}")
        largest = np.where(gap, values[:, None] + values, 1.0)
    return 1 - (gap / largest) ** (1 if kind == "linear" else 2)


def mid_ranks(marginals):
    """Centred mid-rank of each category."""
    return np.cumsum(marginals, axis=1) - marginals / 2 - marginals.sum(axis=1, keepdims=True) / 2


class Coefficient:
    """One coefficient on the items of a panel that it uses, for any weighting of them."""

    lowest = -np.inf
    needs = ("raters", "order", "complete", "variation")
    undefined = "no_variation"
    expected = None  # chance agreement

    def __init__(self, panel, used_items):
        self.used_items = used_items
        self.panel = panel.keep(used_items)

    def reason(self):
        """Why the coefficient is undefined on this panel, or None."""
        panel = self.panel
        unmet = {
            "raters": ("raters_unknown", panel.raters is None),
            "two": ("needs_two_raters", panel.n_raters != 2),
            "panel": ("fewer_than_two_raters", panel.n_raters < 2),
            "complete": ("fewer_than_two_complete_items", panel.n_items < 2),
            "pairs": ("no_pairable_items", not (panel.per_item >= 2).any()),
            "order": ("labels_without_order", not panel.ordered),
            "counts": ("too_many_categories", len(panel.categories) > MOST_CATEGORIES),
            "variation": ("no_variation", not panel.vary),
        }
        for need, (code, is_unmet) in unmet.items():
            if is_unmet and need in (*self.needs, "panel", "pairs"):
                return code
        return None

    def estimate(self):
        """The estimate, or None and why."""
        if reason := self.reason():
            return None, reason
        value = number_or_none(self.values(np.ones((1, self.panel.n_items)))[0])
        return value, self.undefined if value is None else None

    def influence(self):
        """Slope by each item's weight; None without theory."""
        return None


class Kappa(Coefficient):
    """``(observed - chance) / (1 - chance)``; the chance term makes the kappa.

    With r_ik raters who put item i into category k, r_i raters in all and credit w, the observed
    agreement is the mean over items with r_i >= 2 of
    ``sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))``.
    Krippendorff's alpha is such a kappa whose means weigh an item by r_i, and whose chance is
    a pair of ratings drawn without replacement.
    """

    def __init__(self, panel, chance, weights="identity", needs=("variation",)):
        self.is_alpha = chance == "ratings"
        used_items = panel.per_item >= (2 if self.is_alpha else 1)
        if "two" in needs:
            used_items = panel.per_item == 2
        super().__init__(panel, used_items)
        self.chance_term = chance
        self.weights = weights
        self.needs = (*needs, "counts")
        if weights not in UNORDERED:
            self.needs = (*self.needs, "order")
        if chance == "none":
            self.lowest = 0.0

    @cached_property
    def credit(self):
        return credit(self.weights, self.panel)

    @cached_property
    def features(self):
        """Weight, weight if pairable, observed agreement, and shares of categories by item."""
        counts = self.panel.counts
        m = self.panel.per_item
        weight = m if self.is_alpha else np.ones(len(m))
        agreeing = (counts * (counts @ self.credit - 1)).sum(axis=1)
        observed = agreeing / np.maximum(m * (m - 1), 1)
        shares = counts * (weight / m)[:, None]
        if self.chance_term == "rater":
            shares = self.panel.codes[:, :, None] == np.arange(len(self.credit))
            shares = shares.reshape(len(m), self.panel.n_raters * len(self.credit))
        return np.column_stack([weight, weight * (m >= 2), weight * observed, shares])

    def values(self, weights):
        """The coefficient under item weights [draws, items]; NaN where undefined."""
        totals = weights @ self.features
        with np.errstate(all="ignore"):
            chance = self.chance(totals)
            values = (totals[:, 2] / totals[:, 1] - chance) / (1 - chance)
        return np.where(np.isfinite(values), values, np.nan)

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
            return w.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)
        pooled = ((shares @ w) * shares).sum(axis=1)
        return (size * pooled - drawn) / (size - drawn) if self.is_alpha else pooled

    def influence(self):
        """Gwet's linearisation.

        Of large samples: alpha draws with replacement, and the number of pairable items in the
        mean of the others is fixed.
        """
        totals = self.features.sum(axis=0) + STEP * self.features
        with np.errstate(all="ignore"):
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

    @cached_property
    def scaled(self):
        """Counts times m / (m - 1), and counts over the root of m - 1."""
        m = self.panel.per_item[:, None]
        return self.panel.counts * (m / (m - 1)), self.panel.counts / np.sqrt(m - 1)

    def values(self, weights):
        marginals = weights @ self.panel.counts
        distance = self.distance(weights, marginals, mid_ranks(marginals))
        return 1 - (marginals.sum(axis=1) - 1) * distance

    def distance(self, weights, marginals, ranks):
        """Observed over expected squared distance of two ratings."""
        # Within an item they add up to 2 m sum r^2 - 2 (sum r)^2; over all items sum r is 0.
        by_rating, by_root = self.scaled
        sums = ranks @ by_root.T
        observed = (ranks**2 * (weights @ by_rating)).sum(axis=1)
        observed = observed - np.einsum("di,di,di->d", weights, sums, sums)
        expected = marginals.sum(axis=1) * (marginals * ranks**2).sum(axis=1)
        return observed / np.where(expected == 0, np.nan, expected)

    def influence(self):
        """What an item does at fixed ranks, and by moving the ranks."""
        counts = self.panel.counts
        n, size = counts.shape
        marginals = counts.sum(axis=0, keepdims=True)
        moved = mid_ranks(marginals) + STEP * np.eye(size)
        distance = self.distance(np.ones((size, n)), marginals, moved)
        slope = -marginals.sum() * distance.imag / STEP.imag
        return super().influence() + n * (mid_ranks(counts) @ slope)


def alpha(panel, level="ordinal"):
    """Krippendorff's alpha of a level of measurement."""
    kind = OrdinalAlpha if level == "ordinal" else Kappa
    return kind(panel, "ratings", level)


class LightKappa(Coefficient):
    """Mean of the pairwise Cohen's kappas, each on the items that both rated."""

    needs = ("raters", "counts", "variation")
    undefined = "undefined_for_a_pair"

    def __init__(self, panel):
        super().__init__(panel, panel.per_item >= 2)

    @cached_property
    def pairs(self):
        pairs = combinations(range(self.panel.n_raters), 2)
        return [Kappa(self.panel.only(pair), "rater", needs=("two",)) for pair in pairs]

    def values(self, weights):
        return np.mean([pair.values(weights[:, pair.used_items]) for pair in self.pairs], axis=0)


class OfCompleteItems(Coefficient):
    """A coefficient of the items that every rater rated, at least two of them."""

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
        self.is_average = form[2] == "k"

    def values(self, weights):
        return self.analysis(weights)[0]

    def intervals(self):
        """F interval of the panel that the model is about, and reasons for what there is not."""
        bounds = self.analysis(np.ones((1, self.panel.n_items)))[1:, 0]
        is_known = np.isfinite(bounds).all()
        about, other = (
            ("new_panel_ci", "panel_ci") if self.model == 2 else ("panel_ci", "new_panel_ci")
        )
        reasons = {other: MODEL_REASONS[self.model], about: None if is_known else "no_variation"}
        return {about: tuple(bounds.tolist()) if is_known else None}, reasons

    @np.errstate(all="ignore")
    def analysis(self, weights):
        """Value and F bounds [3, draws] under item weights, NaN where undefined."""
        # Mean squares between items, of error and of raters; these are error if not drawn.
        n = weights.sum(axis=1)
        k = self.panel.n_raters
        columns = weights @ self.ratings
        total = weights @ (self.ratings**2).sum(axis=1)
        of_items = weights @ self.ratings.sum(axis=1) ** 2 / k
        centre = columns.sum(axis=1) ** 2 / (n * k)
        of_raters = (columns**2).sum(axis=1) / n - centre
        between = (of_items - centre) / (n - 1)
        df = n * (k - 1)
        error = (total - of_items) / df
        if self.model > 1:
            df = (n - 1) * (k - 1)
            error = np.maximum(total - of_items - of_raters, 0.0) / df
        raters = of_raters / (k - 1) if self.model == 2 else error
        # Rounding may leave a trace of variance where there is none, as in a draw of one item.
        others = 0 if self.is_average else k - 1
        below = between + others * error + (others + 1) * (raters - error) / n
        value = np.where(below > 1e-12 * total / n, (between - error) / below, np.nan)
        # Bounds of one rater, by Spearman and Brown of the mean of all.
        if self.model == 2:
            icc = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
            a = k * icc / (n * (1 - icc)) * raters
            b = (1 + k * icc * (n - 1) / (n * (1 - icc))) * error
            df = (a + b) ** 2 / (a**2 / (k - 1) + b**2 / df)
        f_low = special.fdtri(n - 1, df, TAIL)
        f_high = special.fdtri(df, n - 1, TAIL)
        common = k * raters + (k * n - k - n) * error
        low = n * (between - f_low * error) / (f_low * common + n * between)
        high = n * (f_high * between - error) / (common + n * f_high * between)
        bounds = np.where(error > 1e-12 * between, [low, high], np.nan)
        if self.is_average:
            bounds = k * bounds / (1 + (k - 1) * bounds)
        return np.stack([value, *bounds])


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


cohen = partial(Kappa, chance="rater", needs=("raters", "two", "variation"))
COEFFICIENTS = {
    "percent_agreement": partial(Kappa, chance="none", needs=()),
    "cohen_kappa": cohen,
    "scott_pi": partial(Kappa, chance="pooled", needs=("two", "variation")),
    "fleiss_kappa": partial(Kappa, chance="pooled"),
    "conger_kappa": partial(Kappa, chance="rater", needs=("raters", "variation")),
    "light_kappa": LightKappa,
    "brennan_prediger": partial(Kappa, chance="even"),
    "gwet_ac1": partial(Kappa, chance="gwet"),
    "gwet_ac2": partial(Kappa, chance="gwet", weights="quadratic"),
    "krippendorff_alpha": alpha,
    "kendall_w": KendallW,
    "cohen_kappa_linear": partial(cohen, weights="linear"),
    "cohen_kappa_quadratic": partial(cohen, weights="quadratic"),
    **{f"krippendorff_alpha_{level}": partial(alpha, level=level) for level in MEASUREMENT_LEVELS},
    **{f"icc_{form[0]}_{form[2]}": partial(IntraclassCorrelation, form=form) for form in ICC_FORMS},
}
"""What computes a coefficient on a panel."""


def coefficient_build(name, **settings):
    """The function that computes a coefficient on a panel, with weights, level or form."""
    check_choice("coefficient", name, COEFFICIENTS)
    for option, value in settings.items():
        check_choice(option, value, MEASUREMENT_LEVELS if option == "level" else WEIGHTS)
    return partial(COEFFICIENTS[name], **settings)
