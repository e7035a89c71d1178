"""Coefficients of agreement under any weighting of the items: a resample of them is a weighting.

They have observed and expected agreement, linear in features of the items, so that the slope of
the value by each weight is known too.
"""

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from casebook.errors import InputError
from casebook.stats.samples import check_choice, number_or_none

MEASUREMENT_LEVELS = ("nominal", "ordinal", "interval", "ratio")
WEIGHTS = ("identity", "linear", "quadratic", "ordinal", "ratio")
STEP = 1e-20j  # of derivatives: the imaginary part of what it moves, without rounding
ALIKE = "no_variation"
ALWAYS = ("fewer_than_two_raters", "no_pairable_items")


def problems(panel):
    """Why coefficients are undefined on a panel, and whether that is so."""
    pairable = panel.counts[panel.per_item >= 2]
    n_used = np.count_nonzero(pairable.any(axis=0))
    return {
        "raters_unknown": panel.raters is None,
        "needs_two_raters": panel.n_raters != 2,
        "fewer_than_two_raters": panel.n_raters < 2,
        "no_pairable_items": len(pairable) == 0,
        "labels_without_order": not panel.ordered,
        "too_many_categories": len(panel.scale) > 2000,
        ALIKE: n_used < 2,
    }


def credit(kind, panel):
    """What a pair of ratings is worth [categories, categories]: 1 if they are equal."""
    values = panel.values
    if kind == "identity" or len(values) < 2:
        return np.eye(len(values))
    if kind == "ordinal":
        values = mid_ranks(panel.counts.sum(axis=0))
    gap = np.abs(np.subtract.outer(values, values))
    if kind == "linear":
        return 1 - gap / gap.max()
    if kind != "ratio":
        return 1 - (gap / gap.max()) ** 2
    if values.min() < 0:
        raise InputError(
            f"ratio distances need ratings of at least 0, found {values.min():g}"
        )
    total = np.add.outer(values, values)
    return 1 - (gap / np.where(gap, total, 1.0)) ** 2


def mid_ranks(marginals):
    """Centred mid-rank of each category."""
    before = np.cumsum(marginals, axis=-1) - marginals / 2
    return before - marginals.sum(axis=-1, keepdims=True) / 2


def matches(shares, credit):
    """Mean credit of two ratings drawn from the same shares of categories."""
    return ((shares @ credit) * shares).sum(axis=-1)


class Kappa:
    """``(observed - chance) / (1 - chance)``; the chance term makes the kappa.

    With r_ik raters who put item i into category k, r_i raters in all and credit w, the observed
    agreement is the mean over items with r_i >= 2 of
    ``sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))``.
    Krippendorff's alpha is such a kappa whose means weigh an item by r_i, and whose chance is
    a pair of ratings drawn without replacement.
    """

    def __init__(self, panel, chance, weights="identity", needs=(ALIKE,)):
        check_choice("weights", weights, WEIGHTS)
        self.chance_term = chance
        self.is_alpha = chance == "ratings"
        self.weights = weights
        self.needs = {*needs, *ALWAYS, "too_many_categories"}
        if weights != "identity":
            self.needs.add("labels_without_order")
        used_items = panel.per_item >= (2 if self.is_alpha else 1)
        if "needs_two_raters" in needs and panel.n_raters == 2:
            used_items = panel.per_item == 2
        self.panel = replace(panel, codes=panel.codes[used_items])

    def estimate(self):
        """The estimate, or None and why."""
        for reason, holds in problems(self.panel).items():
            if holds and reason in self.needs:
                return None, reason
        value = number_or_none(self.values(np.ones((1, self.panel.n_items)))[0])
        return value, ALIKE if value is None else None

    @cached_property
    def credit(self):
        return credit(self.weights, self.panel)

    @cached_property
    def features(self):
        """Weight, pairable weight, observed agreement, shares of categories by item."""
        counts = self.panel.counts
        m = self.panel.per_item
        weight = m if self.is_alpha else np.ones(len(m))
        pairs = np.maximum(m * (m - 1), 1)
        credits = counts @ self.credit - 1
        observed = (counts * credits).sum(axis=1) / pairs
        shares = counts * (weight / m)[:, None]
        if self.chance_term == "rater":
            columns = self.panel.n_raters * len(self.credit)
            shares = self.panel.one_hot.reshape(len(m), columns)
        pairable = weight * (m >= 2)
        return np.column_stack([weight, pairable, weight * observed, shares])

    @np.errstate(all="ignore")
    def values(self, weights):
        """The coefficient under item weights [draws, items], NaN where undefined."""
        totals = weights @ self.features
        chance = self.chance(totals)
        values = (totals[:, 2] / totals[:, 1] - chance) / (1 - chance)
        return np.where(np.isfinite(values), values, np.nan)

    def chance(self, totals, drawn=1):
        """Agreement by chance: pooled is Fleiss and Scott, by rater Conger and Cohen."""
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
            with_themselves = matches(shares, w).sum(axis=1)
            with_all = matches(shares.sum(axis=1), w)
            return (with_all - with_themselves) / (r * (r - 1))
        size = totals[:, 0]
        shares = totals[:, 3:] / size[:, None]
        if self.chance_term == "gwet":
            spread = (shares * (1 - shares)).sum(axis=1)
            return w.sum() / (q * (q - 1)) * spread
        pooled = matches(shares, w)
        return (size * pooled - drawn) / (size - drawn) if self.is_alpha else pooled

    @np.errstate(all="ignore")
    def influence(self):
        # Gwet's linearisation: alpha draws with replacement, others fix the pairable items.
        totals = self.features.sum(axis=0) + STEP * self.features
        chance = self.chance(totals, drawn=0)
        pairable = totals[:, 1]
        excess = totals[:, 2] - chance * pairable
        if not self.is_alpha:
            pairable = pairable.real
        kappa = excess / pairable / (1 - chance)
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
        counts = self.panel.counts
        m = self.panel.per_item[:, None]
        marginals = weights @ counts
        ranks = mid_ranks(marginals) + moved
        sums = ranks @ (counts / np.sqrt(m - 1)).T
        weighted = weights @ (counts * m / (m - 1))
        observed = (ranks**2 * weighted).sum(axis=1)
        observed = observed - (weights * sums**2).sum(axis=1)
        size = marginals.sum(axis=1)
        expected = size * (marginals * ranks**2).sum(axis=1)
        expected = np.where(expected == 0, np.nan, expected)
        return 1 - (size - 1) * observed / expected

    def influence(self):
        # What an item does at fixed ranks, and by moving the ranks.
        counts = self.panel.counts
        n, q = counts.shape
        moved = self.values(np.ones((q, n)), STEP * np.eye(q)).imag / STEP.imag
        slope = moved * counts.sum() / (counts.sum() - 1)
        return super().influence() + n * (mid_ranks(counts) @ slope)


def alpha(panel, level="ordinal"):
    check_choice("level", level, MEASUREMENT_LEVELS)
    if level == "ordinal":
        return OrdinalAlpha(panel, "ratings", level)
    weights = {"nominal": "identity", "interval": "quadratic", "ratio": "ratio"}
    return Kappa(panel, "ratings", weights[level])


pooled = partial(Kappa, chance="pooled")
by_rater = partial(Kappa, chance="rater")
cohen = partial(by_rater, needs=("needs_two_raters", "raters_unknown", ALIKE))
gwet = partial(Kappa, chance="gwet")
COEFFICIENTS = {
    "percent_agreement": partial(Kappa, chance="none", needs=()),
    "cohen_kappa": cohen,
    "cohen_kappa_linear": partial(cohen, weights="linear"),
    "cohen_kappa_quadratic": partial(cohen, weights="quadratic"),
    "scott_pi": partial(pooled, needs=("needs_two_raters", ALIKE)),
    "fleiss_kappa": pooled,
    "conger_kappa": partial(by_rater, needs=("raters_unknown", ALIKE)),
    "brennan_prediger": partial(Kappa, chance="even"),
    "gwet_ac1": gwet,
    "gwet_ac2": partial(gwet, weights="quadratic"),
    "krippendorff_alpha": alpha,
}
for level in MEASUREMENT_LEVELS:
    COEFFICIENTS[f"krippendorff_alpha_{level}"] = partial(alpha, level=level)
