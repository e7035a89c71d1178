"""Agreement among raters: coefficients of a table of items x raters, with intervals.

Ratings are a table with NaN where missing; `from_counts` takes published counts instead. Every
coefficient takes the options

n_resamples : int, default 1000
    Resamples of the items; 0 for none.
seed : int, default 0
    Seed of the resamples.
confidence : float, default 0.95
    Coverage of the intervals.
categories : sequence, optional
    The rating scale in order, if it has categories that nobody used, or labels.
wide : bool, default False
    More raters than items are meant; otherwise they raise, as a transposed table.
clusters : sequence, optional
    What each item belongs to: items of one cluster are resampled together. Of all but the
    intraclass correlations.
weights : {"identity", "linear", "quadratic"}, optional
    Partial credit for near misses, of kappas, percent agreement and Gwet's AC2.

and gives an `Agreement`: the estimate, its standard error, the interval for this panel
and the one for a new panel, percent agreement, and a reason for all that is None.
Input that is not such a table raises `casebook.errors.InputError`.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.measures.coefficients import (
    ICC_FORMS,
    MEASUREMENT_LEVELS,
    POWERS,
    IntraclassCorrelation,
    Kappa,
    KendallW,
    LightKappa,
    alpha,
)
from casebook.sheets import names_items
from casebook.stats.intervals import FEWEST, bca_bounds, cluster_codes, resample_counts
from casebook.stats.samples import check_choice, check_count, check_share


@dataclass(frozen=True)
class Agreement:
    """One coefficient with its uncertainty, counts and reasons."""

    coefficient: str
    estimate: float | None
    se: float | None = None
    panel_ci: tuple | None = None
    new_panel_ci: tuple | None = None
    n_items: int = 0
    n_raters: int = 0
    n_left_out: int = 0
    percent_agreement: float | None = None
    expected: float | None = None
    reasons: dict = field(default_factory=dict)

    @property
    def bounds(self):
        """Bounds for this panel and for a new one, as columns of a table; None where none are."""
        panel_low, panel_high = self.panel_ci or (None, None)
        new_panel_low, new_panel_high = self.new_panel_ci or (None, None)
        return {
            "panel_low": panel_low,
            "panel_high": panel_high,
            "new_panel_low": new_panel_low,
            "new_panel_high": new_panel_high,
        }

    @property
    def reason(self):
        """Why the estimate is None, else which intervals are None and why."""
        if "estimate" in self.reasons:
            return self.reasons["estimate"]
        return "; ".join(f"{name}: {code}" for name, code in self.reasons.items()) or None


def krippendorff_alpha(
    ratings,
    level="ordinal",
    n_resamples=1000,
    *,
    seed=0,
    confidence=0.95,
    categories=None,
    wide=False,
    clusters=None,
):
    """Krippendorff's alpha: one minus observed over expected disagreement.

    Parameters
    ----------
    ratings : array_like, pandas.DataFrame or RatingPanel, shape [items, raters]
        Ratings, NaN where missing; an item with a single rating does not count.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Krippendorff's distance: 0 or 1; between mid-ranks, squared; difference,
        squared; difference over sum, squared.
    n_resamples : int, default 1000
        Resamples of the items; 0 for none.
    seed : int, default 0
        Seed of the resamples.
    confidence : float, default 0.95
        Coverage of the intervals.
    categories : sequence, optional
        The rating scale in order, if it has categories that nobody used, or labels.
    wide : bool, default False
        More raters than items are meant; otherwise they raise, as a transposed table.
    clusters : sequence, optional
        What each item belongs to; items of one cluster are resampled together.

    Returns
    -------
    Agreement
        At most 1. None without variation: agreement then says nothing.

    Raises
    ------
    InputError
        If the ratings are no such table, or an option is wrong.

    References
    ----------
    Krippendorff, Content Analysis, 4th ed., 2019, ch. 12; standard error: Gwet (2014),
    ch. 5.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 2], [5, 4]]).estimate, 3)
    0.889
    """
    return measure_coefficient(
        "krippendorff_alpha",
        ratings,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        confidence=confidence,
        categories=categories,
        wide=wide,
        clusters=clusters,
    )


# The other coefficients. Their options are those of `measure_coefficient`.


def percent_agreement(ratings, weights="identity", **options):
    """Share of agreeing pairs of ratings of one item, averaged over items."""
    return measure_coefficient("percent_agreement", ratings, weights=weights, **options)


def cohen_kappa(ratings, weights="identity", **options):
    """Cohen's kappa of two raters, on the items that both rated."""
    return measure_coefficient("cohen_kappa", ratings, weights=weights, **options)


def scott_pi(ratings, weights="identity", **options):
    """Scott's pi of two raters, on the items that both rated."""
    return measure_coefficient("scott_pi", ratings, weights=weights, **options)


def fleiss_kappa(ratings, weights="identity", **options):
    """Fleiss' kappa: chance is the pooled distribution of categories."""
    return measure_coefficient("fleiss_kappa", ratings, weights=weights, **options)


def conger_kappa(ratings, weights="identity", **options):
    """Conger's kappa: every rater has a distribution of categories of his own."""
    return measure_coefficient("conger_kappa", ratings, weights=weights, **options)


def light_kappa(ratings, weights="identity", **options):
    """Light's kappa: the mean of Cohen's kappa over all pairs of raters."""
    return measure_coefficient("light_kappa", ratings, weights=weights, **options)


def brennan_prediger(ratings, weights="identity", **options):
    """Brennan and Prediger's coefficient: chance is even over the scale."""
    return measure_coefficient("brennan_prediger", ratings, weights=weights, **options)


def gwet_ac1(ratings, **options):
    """Gwet's AC1, which skewed categories do not pull down."""
    return measure_coefficient("gwet_ac1", ratings, **options)


def gwet_ac2(ratings, weights="quadratic", **options):
    """Gwet's AC2: AC1 with partial credit."""
    return measure_coefficient("gwet_ac2", ratings, weights=weights, **options)


def intraclass_correlation(ratings, form="2,1", **options):
    """Intraclass correlation in one of the six forms of Shrout and Fleiss (1979)."""
    check_choice("form", form, ICC_FORMS)
    return measure_coefficient(f"icc_{form.replace(',', '_')}", ratings, **options)


def kendall_w(ratings, **options):
    """Kendall's W: how far the raters rank the items alike, corrected for ties."""
    return measure_coefficient("kendall_w", ratings, **options)


def agreement_results(
    ratings,
    level="ordinal",
    n_resamples=1000,
    *,
    weights="quadratic",
    coefficients=None,
    categories=None,
    wide=False,
    seed=0,
    confidence=0.95,
):
    """Measure many coefficients at once, by name; they share the resamples."""
    panel = as_panel(ratings, categories, wide)
    settings = {"gwet_ac2": {"weights": weights}, "krippendorff_alpha": {"level": level}}
    builds = {}
    for name in coefficients or DEFAULT_COEFFICIENTS:
        builds[name] = coefficient_build(name, settings.get(name, {}))
    return _measure(builds, panel, n_resamples, seed, confidence, skipped=UnfitRatings)


def agreement_table(
    ratings,
    level="ordinal",
    n_resamples=1000,
    *,
    weights="quadratic",
    coefficients=None,
    categories=None,
    wide=False,
    seed=0,
    confidence=0.95,
):
    """Tabulate the coefficients of one panel.

    Parameters
    ----------
    ratings : array_like, pandas.DataFrame or RatingPanel, shape [items, raters]
        Ratings, NaN where missing.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Of Krippendorff's alpha.
    n_resamples, categories, wide, seed, confidence
        See the module.
    weights : {"quadratic", "linear", "identity"}
        Of Gwet's AC2.
    coefficients : sequence of str, optional
        Names of coefficients; by default nineteen.

    Returns
    -------
    pandas.DataFrame
        One row per coefficient: coefficient, estimate, se, the bounds for this panel and
        for a new panel, expected and percent_agreement, n_items, n_raters, n_left_out,
        and reason.

    Raises
    ------
    InputError
        If the ratings or an option are wrong.

    Examples
    --------
    >>> ratings = [[1, 1, 2], [2, 2, 2], [3, 3, 3], [1, 2, 1]]
    >>> table = agreement_table(ratings, coefficients=["krippendorff_alpha"])
    >>> print(table[["coefficient", "n_items", "n_raters"]].to_string(header=False))
    0  krippendorff_alpha  4  3
    """
    results = agreement_results(
        ratings,
        level,
        n_resamples,
        weights=weights,
        coefficients=coefficients,
        categories=categories,
        wide=wide,
        seed=seed,
        confidence=confidence,
    )
    rows = []
    for agreement in results.values():
        rows.append(
            {
                "coefficient": agreement.coefficient,
                "estimate": agreement.estimate,
                "se": agreement.se,
                **agreement.bounds,
                "expected": agreement.expected,
                "percent_agreement": agreement.percent_agreement,
                "n_items": agreement.n_items,
                "n_raters": agreement.n_raters,
                "n_left_out": agreement.n_left_out,
                "reason": agreement.reason,
            }
        )
    return pd.DataFrame(rows).astype({"reason": object})


def leave_one_rater_out(
    ratings, coefficient="krippendorff_alpha", *, settings=None, categories=None, wide=False
):
    """Measure agreement without each rater in turn."""
    panel = as_panel(ratings, categories, wide)
    build = coefficient_build(coefficient, settings or {})
    with_all, _ = build(panel).estimate()
    rows = []
    for column, rater in enumerate(panel.raters or ()):
        without_rater = build(panel.without(column))
        value, reason = without_rater.estimate()
        change = None if with_all is None or value is None else value - with_all
        rows.append(
            {
                "rater": rater,
                "estimate": value,
                "change": change,
                "n_items": without_rater.panel.n_items,
                "n_raters": without_rater.panel.n_raters,
                "reason": reason,
            }
        )
    columns = ["rater", "estimate", "change", "n_items", "n_raters", "reason"]
    return pd.DataFrame(rows, columns=columns)


# The coefficients by name.


@dataclass(frozen=True)
class CoefficientKind:
    """What computes a coefficient, with which settings, and which of them a caller may choose."""

    title: str
    build: object
    settings: dict = field(default_factory=dict)
    choices: tuple = ()


COEFFICIENTS = {
    "percent_agreement": CoefficientKind(
        "percent agreement", Kappa, {"chance": "none"}, ("weights",)
    ),
    "cohen_kappa": CoefficientKind(
        "Cohen's kappa", Kappa, {"chance": "rater", "two": True}, ("weights",)
    ),
    "scott_pi": CoefficientKind(
        "Scott's pi", Kappa, {"chance": "pooled", "two": True}, ("weights",)
    ),
    "fleiss_kappa": CoefficientKind("Fleiss' kappa", Kappa, {"chance": "pooled"}, ("weights",)),
    "conger_kappa": CoefficientKind("Conger's kappa", Kappa, {"chance": "rater"}, ("weights",)),
    "light_kappa": CoefficientKind("Light's kappa", LightKappa, {}, ("weights",)),
    "brennan_prediger": CoefficientKind(
        "Brennan-Prediger", Kappa, {"chance": "even"}, ("weights",)
    ),
    "gwet_ac1": CoefficientKind("Gwet's AC1", Kappa, {"chance": "gwet"}),
    "gwet_ac2": CoefficientKind(
        "Gwet's AC2", Kappa, {"chance": "gwet", "weights": "quadratic"}, ("weights",)
    ),
    "krippendorff_alpha": CoefficientKind(
        "Krippendorff's alpha", alpha, {"level": "ordinal"}, ("level",)
    ),
    "kendall_w": CoefficientKind("Kendall's W", KendallW),
}
COEFFICIENTS |= {
    f"cohen_kappa_{weights}": CoefficientKind(
        f"Cohen's kappa, {weights} weights",
        Kappa,
        {"chance": "rater", "two": True, "weights": weights},
    )
    for weights in POWERS
}
COEFFICIENTS |= {
    f"krippendorff_alpha_{level}": CoefficientKind(
        f"Krippendorff's alpha, {level}", alpha, {"level": level}
    )
    for level in MEASUREMENT_LEVELS
}
COEFFICIENTS |= {
    f"icc_{form.replace(',', '_')}": CoefficientKind(
        f"ICC({form})", IntraclassCorrelation, {"form": form}
    )
    for form in ICC_FORMS
}
COEFFICIENT_TITLES = {name: kind.title for name, kind in COEFFICIENTS.items()}
DEFAULT_COEFFICIENTS = (
    "percent_agreement",
    "cohen_kappa",
    "cohen_kappa_linear",
    "cohen_kappa_quadratic",
    "scott_pi",
    "fleiss_kappa",
    "conger_kappa",
    "light_kappa",
    "brennan_prediger",
    "gwet_ac1",
    "gwet_ac2",
    "krippendorff_alpha",
    "icc_1_1",
    "icc_2_1",
    "icc_3_1",
    "icc_1_k",
    "icc_2_k",
    "icc_3_k",
    "kendall_w",
)
# From a coefficient and a panel to its estimate with both intervals.


def coefficient_build(name, settings):
    """Give the function that computes a coefficient on a panel, with the caller's settings."""
    check_choice("coefficient", name, COEFFICIENTS)
    kind = COEFFICIENTS[name]
    foreign = sorted(set(settings) - set(kind.choices))
    if foreign:
        raise InputError(f"{name} has no option {', '.join(foreign)}")
    all_settings = kind.settings | settings

    def build(panel):
        return kind.build(panel, **all_settings)

    return build


def measure_coefficient(
    name,
    ratings,
    *,
    n_resamples=1000,
    seed=0,
    confidence=0.95,
    categories=None,
    wide=False,
    clusters=None,
    **settings,
):
    """Measure one coefficient on a table of ratings; options as of `krippendorff_alpha`.

    What else is named are settings of the coefficient, such as its weights; others are refused.
    """
    panel = as_panel(ratings, categories, wide)
    if clusters is not None:
        if COEFFICIENTS[name].build is IntraclassCorrelation:
            raise InputError("clusters: an intraclass correlation takes every item as a unit")
        panel = replace(panel, clusters=cluster_codes(clusters, panel.n_rows)[panel.rows])
    builds = {name: coefficient_build(name, settings)}
    return _measure(builds, panel, n_resamples, seed, confidence)[name]


def _measure(builds, panel, n_resamples, seed, confidence, skipped=()):
    """Measure several coefficients on one panel; those of the same items share the resamples."""
    check_count("n_resamples", n_resamples, least=0)
    check_count("seed", seed, least=0)
    check_share("confidence", confidence)
    results = {}
    defined = {}
    for name, build in builds.items():
        used = panel
        expected = None
        try:
            coefficient = build(panel)
            estimate, reason = coefficient.estimate()
            used = coefficient.panel
        except skipped as problem:
            estimate = None
            reason = problem.code
        if not reason:
            defined[name] = coefficient
            expected = coefficient.expected()
        results[name] = Agreement(
            name,
            estimate,
            n_items=used.n_items,
            n_raters=used.n_raters,
            n_left_out=panel.n_rows - used.n_items,
            percent_agreement=_observed_agreement(panel if reason else used),
            expected=expected,
            reasons={"estimate": reason} if reason else {},
        )
    draws = _resample(defined, n_resamples, seed) if n_resamples else {}
    for name, coefficient in defined.items():
        uncertainty = _uncertainty(
            coefficient, builds[name], panel, draws.get(name), (1 + confidence) / 2
        )
        results[name] = replace(results[name], **uncertainty)
    return results


def _resample(coefficients, n_resamples, seed):
    """Compute every coefficient on resamples of the items that it uses."""
    by_items = defaultdict(list)
    for name, coefficient in coefficients.items():
        if coefficient.panel.n_units > 1:
            by_items[coefficient.used_items.tobytes()].append(name)
    draws = {}
    for names in by_items.values():
        panel = coefficients[names[0]].panel
        blocks = []
        for counts in resample_counts(panel.n_units, n_resamples, seed):
            weights = panel.item_weights(counts)
            blocks.append([coefficients[name].values(weights) for name in names])
        draws |= zip(names, np.concatenate(blocks, axis=1), strict=True)
    return draws


def _uncertainty(coefficient, build, panel, draws, tail):
    """Standard error, intervals and reasons, as fields of an `Agreement`."""
    used = coefficient.panel
    n = used.n_units
    influence = coefficient.influence() if n > 1 else None
    se = None
    if influence is not None:
        influence = used.influence_of_units(influence)
        se = math.sqrt(np.sum((influence - influence.mean()) ** 2) / (n * (n - 1)))
    elif draws is not None and not np.isnan(draws).any():
        se = float(draws.std(ddof=1))
    if coefficient.model:
        intervals, reasons = _intervals_of_model(coefficient.model, coefficient.interval(tail))
        if se is None:
            reasons = {"se": "undefined_in_resamples"} | reasons
        return {"se": se, **intervals, "reasons": reasons}
    estimate, _ = coefficient.estimate()
    panel_ci, panel_reason = bootstrap_interval(draws, estimate, n, tail, influence)
    if panel_reason == "fewer_than_six_items" and used.clusters is not None:
        panel_reason = "fewer_than_six_clusters"
    bounds = panel_ci
    if panel_reason == "not_asked" and se is not None:
        z = float(special.ndtri(tail))
        bounds = (estimate - z * se, estimate + z * se)
    reasons = {"panel_ci": panel_reason}
    if se is None:
        reasons["se"] = panel_reason or "undefined_in_resamples"
    new_panel_ci, reasons["new_panel_ci"] = _new_panel_interval(
        coefficient, build, panel, bounds, panel_reason, tail
    )
    reasons = {name: reason for name, reason in reasons.items() if reason}
    return {"se": se, "panel_ci": panel_ci, "new_panel_ci": new_panel_ci, "reasons": reasons}


def _new_panel_interval(coefficient, build, panel, bounds, panel_reason, tail):
    """Interval for other raters and items, or why there is none.

    The variance over raters, a delete-one-rater jackknife, is added to the squared
    distances of the bounds over items (Zou & Donner 2008).
    """
    r = panel.n_raters
    if panel.codes is None:
        return None, "raters_unknown"
    if r < 3:
        return None, "fewer_than_three_raters"
    if panel_reason in ("fewer_than_six_items", "fewer_than_six_clusters"):
        return None, panel_reason
    if bounds is None:
        return None, "undefined_in_resamples"
    values = [build(panel.without(rater)).estimate()[0] for rater in range(r)]
    if None in values:
        return None, "undefined_without_a_rater"
    estimate, _ = coefficient.estimate()
    deviations = np.array(values) - np.mean(values)
    reach = float(special.ndtri(tail)) * math.sqrt((r - 1) / r * np.sum(deviations**2))
    below = max(estimate - bounds[0], 0.0)
    above = max(bounds[1] - estimate, 0.0)
    low = max(coefficient.lowest, estimate - math.hypot(below, reach))
    return (low, min(1.0, estimate + math.hypot(above, reach))), None


def _observed_agreement(panel):
    """Percent agreement of a panel, None where there are too many categories."""
    return None if panel.too_many else Kappa(panel, "none").estimate()[0]


def _intervals_of_model(model, interval):
    """A model's F interval for the panel of which it speaks, and why the other has none."""
    if model == 2:  # the only model that draws its raters
        of_model, other = "new_panel_ci", "panel_ci"
        reason = "raters_are_drawn"
    else:
        of_model, other = "panel_ci", "new_panel_ci"
        reason = "raters_nested_in_items" if model == 1 else "raters_are_fixed"
    reasons = {other: reason}
    if not interval:
        reasons[of_model] = "no_variation"
    return {of_model: interval}, reasons


def bootstrap_interval(draws, estimate, n_items, tail, influence=None):
    """BCa interval of bootstrap draws with Student's quantiles, and why there is none.

    Hesterberg (2015) gives the quantiles.
    """
    if n_items < FEWEST:
        return None, "fewer_than_six_items"
    if draws is None:
        return None, "not_asked"
    student = math.sqrt(n_items / (n_items - 1)) * special.stdtrit(n_items - 1, tail)
    quantiles = np.array([-student, student])
    centred = np.zeros(1)
    if influence is not None and np.ptp(influence) > 1e-12:
        centred = influence - influence.mean()
    low, high = bca_bounds(draws, estimate, quantiles, centred, tolerance=1e-12, clip_bias=False)
    if not math.isfinite(low) or not math.isfinite(high):
        return None, "undefined_in_resamples"
    return (low, high), "all_resamples_equal" if low == high else None


# A panel's ratings: a table of items x raters, or counts, checked and coded.

MOST_CATEGORIES = 2000
MOST_RATINGS = 10**9  # of one item


class UnfitRatings(InputError):
    """Ratings of a kind that a coefficient cannot take; `code` is the reason in tables."""

    def __init__(self, code, problem):
        super().__init__(problem)
        self.code = code


@dataclass(frozen=True, eq=False)
class RatingPanel:
    """Items rated by a panel: codes [items, raters], -1 missing, or a tally [items, categories]."""

    categories: np.ndarray
    codes: np.ndarray | None
    tally: np.ndarray | None
    raters: tuple | None
    n_rows: int
    rows: np.ndarray  # positions in the table of the items that were rated
    n_rated: int
    ordered: bool = True
    clusters: np.ndarray | None = None  # number of the cluster of each item

    @property
    def n_items(self):
        return len(self.per_item)

    @cached_property
    def units(self):
        """Number of each item's cluster, counted without gaps."""
        return np.unique(self.clusters, return_inverse=True)[1]

    @property
    def n_units(self):
        """Number of items or, if they belong to clusters, of these: what is resampled."""
        return self.n_items if self.clusters is None else int(self.units.max(initial=-1)) + 1

    def item_weights(self, counts):
        """Give weights [draws, items]: how often the unit of each item was drawn."""
        return counts if self.clusters is None else counts[:, self.units]

    def influence_of_units(self, influence):
        """Sum the influence of items within clusters, so that its variance is that over units."""
        if self.clusters is None:
            return influence
        sums = np.bincount(self.units, influence - influence.mean())
        return sums * self.n_units / self.n_items

    @property
    def too_many(self):
        """Whether there are too many categories to count ratings by them."""
        return self.tally is None and len(self.categories) > MOST_CATEGORIES

    @cached_property
    def counts(self):
        """How many raters put each item into each category."""
        size = len(self.categories)
        if self.tally is not None:
            return self.tally
        if self.too_many:
            raise UnfitRatings(
                "too_many_categories",
                f"{size} distinct ratings, at most {MOST_CATEGORIES}: these are measurements; "
                "use the intraclass correlation, or round them",
            )
        cells = (np.arange(self.n_items)[:, None] * size + self.codes)[self.codes >= 0]
        counts = np.bincount(cells, minlength=self.n_items * size)
        return counts.astype(float).reshape(self.n_items, size)

    @property
    def n_raters(self):
        """Number of raters with a rating; the most per item if only counts are known."""
        if self.raters is None:
            return int(self.per_item.max(initial=0))
        return len(self.raters)

    @cached_property
    def per_item(self):
        if self.codes is None:
            return self.tally.sum(axis=1)
        return (self.codes >= 0).sum(axis=1).astype(float)

    @property
    def vary(self):
        """Whether the pairable ratings fall into more than one category."""
        pairable = self.per_item >= 2
        if self.codes is None:
            return np.count_nonzero(self.tally[pairable].any(axis=0)) > 1
        codes = self.codes[pairable]
        return np.ptp(codes[codes >= 0]) > 0

    @property
    def values(self):
        """Categories as numbers: themselves, or 1, 2, ... for labels in order."""
        if self.categories.dtype.kind == "f":
            return self.categories
        if not self.ordered:
            raise UnfitRatings(
                "labels_without_order",
                f"labels such as {', '.join(self.categories[:4])} have no order: "
                "give categories in order, or treat the ratings as nominal",
            )
        return np.arange(1.0, len(self.categories) + 1)

    def keep(self, rows):
        if rows.all():
            return self
        clusters = None if self.clusters is None else self.clusters[rows]
        if self.codes is None:
            return replace(self, tally=self.tally[rows], clusters=clusters)
        return replace(self, codes=self.codes[rows], clusters=clusters)

    def only(self, columns):
        """Keep some raters, and every item."""
        codes = self.codes[:, columns]
        raters = tuple(self.raters[k] for k in columns)
        rated = int((codes >= 0).any(axis=1).sum())
        return replace(self, codes=codes, raters=raters, n_rated=rated)

    def without(self, column):
        """Leave one rater out, and keep every item."""
        return self.only([k for k in range(self.n_raters) if k != column])


def as_panel(ratings, categories=None, wide=False, ids_allowed=False):
    """Check a table of ratings."""
    if isinstance(ratings, RatingPanel):
        return ratings
    frame = ratings
    if not isinstance(frame, pd.DataFrame):
        # A list is taken as objects: numpy would make text of numbers beside text.
        values = ratings if isinstance(ratings, np.ndarray) else np.array(ratings, dtype=object)
        if values.ndim != 2:
            raise InputError(f"ratings must be items x raters, not {values.ndim}-D")
        frame = pd.DataFrame(values)
    _refuse_other_tables(frame, wide, ids_allowed)
    scores, numeric = _matrix(frame)
    codes, scale = _encode(scores, numeric, categories)
    used = (codes >= 0).any(axis=0)
    raters = tuple(frame.columns[used])
    codes = codes[:, used]
    rows = np.flatnonzero((codes >= 0).any(axis=1))
    codes = codes[rows]
    return RatingPanel(
        categories=scale,
        codes=codes,
        tally=None,
        raters=raters,
        n_rows=len(frame),
        rows=rows,
        n_rated=len(codes),
        ordered=numeric or categories is not None,
    )


def from_counts(counts, categories=None):
    """Take a table that says how many raters chose which category."""
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any():
        raise InputError("counts must be items x categories, finite and not negative")
    if (table > MOST_RATINGS).any() or (table.sum(axis=1) > MOST_RATINGS).any():
        raise InputError(
            f"an item has at most {MOST_RATINGS:,} ratings: is this a table of counts?"
        )
    rated = table.sum(axis=1) > 0
    return RatingPanel(
        categories=_scale(categories, table.shape[1]),
        codes=None,
        tally=table[rated],
        raters=None,
        n_rows=len(table),
        rows=np.flatnonzero(rated),
        n_rated=int(rated.sum()),
    )


def _refuse_other_tables(frame, wide, ids_allowed):
    """Refuse a transposed table, and a column that names the items: it would ruin the agreement."""
    if not frame.columns.is_unique:
        names = frame.columns[frame.columns.duplicated()].unique()
        raise InputError(f"raters named more than once: {', '.join(map(str, names))}")
    items, raters = frame.shape
    if raters > items and not wide:
        raise InputError(
            f"{items} items (rows), {raters} raters (columns): more raters than items; "
            "transpose the table, or allow wide tables if that is meant"
        )
    if ids_allowed:
        return
    for name in frame:
        if names_items(name):
            raise InputError(
                f"column {name!r} looks like names of the items: "
                "ratings.set_index(...), or leave it out"
            )


def _matrix(frame):
    """Give numbers with NaN, or labels with None, and which of the two."""
    try:
        scores = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        labels = frame.to_numpy(dtype=object)
        if not all(isinstance(value, str) for value in labels[~pd.isna(labels)]):
            raise InputError("ratings mix numbers and text; write them all in one way") from None
        return labels, False
    for row, column in np.argwhere(np.isinf(scores)):
        raise InputError(f"item {frame.index[row]}, rater {frame.columns[column]}: infinite rating")
    return scores, True


def _encode(scores, numeric, categories):
    """Give the number of each rating's category, -1 where missing, and the scale."""
    ratings = pd.Series(scores.ravel())
    present = ratings.dropna()
    if categories is None:
        scale = np.unique(present.to_numpy(float if numeric else str))
    else:
        scale = _scale(categories)
    unknown = np.unique(present[~present.isin(scale)]).tolist()
    if unknown:
        raise InputError(f"ratings outside of the categories: {unknown[:5]}")
    codes = pd.Categorical(ratings, categories=scale).codes
    return codes.astype(int).reshape(scores.shape), scale


def _scale(categories, size=None):
    """Check categories that were given; by default 1 to the number of columns of a table."""
    if categories is None:
        values = np.arange(1.0, size + 1)
    else:
        values = np.array(list(categories))
    scale = values.astype(float if values.dtype.kind in "biuf" else str)
    if size not in (None, len(scale)):
        raise InputError(f"{len(scale)} categories for {size} columns")
    if len(np.unique(scale)) < len(scale) or not len(scale):
        raise InputError("categories must be distinct, and at least one")
    if scale.dtype.kind == "f" and (np.diff(scale) <= 0).any():
        raise InputError("numeric categories must be given in ascending order")
    return scale
