"""Agreement among raters: coefficients of a table of items x raters, with intervals.

Ratings are a table with NaN where missing; `from_counts` takes published counts instead. Every
coefficient takes the options

n_resamples : int, default 1000
    Resamples of the items; 0 for none.
seed : int, default 0
    Seed of the resamples.
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
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.measures.coefficients import (
    ICC_FORMS,
    MEASUREMENT_LEVELS,
    TAIL,
    IntraclassCorrelation,
    Kappa,
    coefficient_build,
)
from casebook.stats.intervals import FEWEST, bca_bounds, cluster_codes, resample_counts
from casebook.stats.samples import check_choice, check_count, number_or_none


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
        bounds = [*(self.panel_ci or (None, None)), *(self.new_panel_ci or (None, None))]
        names = ("panel_low", "panel_high", "new_panel_low", "new_panel_high")
        return dict(zip(names, bounds, strict=True))

    @property
    def reason(self):
        """Why the estimate is None, else which intervals are None and why."""
        if "estimate" in self.reasons:
            return self.reasons["estimate"]
        return "; ".join(f"{name}: {code}" for name, code in self.reasons.items()) or None


def krippendorff_alpha(ratings, level="ordinal", n_resamples=1000, **options):
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
    **options
        seed, categories, wide, clusters: see the module.

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
    options["n_resamples"] = n_resamples
    return measure_coefficient("krippendorff_alpha", ratings, {"level": level}, **options)


# The other coefficients. Their options are those of `measure_coefficient`.


def percent_agreement(ratings, weights="identity", **options):
    """Share of agreeing pairs of ratings of one item, averaged over items."""
    return measure_coefficient("percent_agreement", ratings, {"weights": weights}, **options)


def cohen_kappa(ratings, weights="identity", **options):
    """Cohen's kappa of two raters, on the items that both rated."""
    return measure_coefficient("cohen_kappa", ratings, {"weights": weights}, **options)


def scott_pi(ratings, weights="identity", **options):
    """Scott's pi of two raters, on the items that both rated."""
    return measure_coefficient("scott_pi", ratings, {"weights": weights}, **options)


def fleiss_kappa(ratings, weights="identity", **options):
    """Fleiss' kappa: chance is the pooled distribution of categories."""
    return measure_coefficient("fleiss_kappa", ratings, {"weights": weights}, **options)


def conger_kappa(ratings, weights="identity", **options):
    """Conger's kappa: every rater has a distribution of categories of his own."""
    return measure_coefficient("conger_kappa", ratings, {"weights": weights}, **options)


def light_kappa(ratings, **options):
    """Light's kappa: the mean of Cohen's kappa over all pairs of raters."""
    return measure_coefficient("light_kappa", ratings, **options)


def brennan_prediger(ratings, weights="identity", **options):
    """Brennan and Prediger's coefficient: chance is even over the scale."""
    return measure_coefficient("brennan_prediger", ratings, {"weights": weights}, **options)


def gwet_ac1(ratings, **options):
    """Gwet's AC1, which skewed categories do not pull down."""
    return measure_coefficient("gwet_ac1", ratings, **options)


def gwet_ac2(ratings, weights="quadratic", **options):
    """Gwet's AC2: AC1 with partial credit."""
    return measure_coefficient("gwet_ac2", ratings, {"weights": weights}, **options)


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
):
    """Many coefficients of one panel, by name; one that cannot take the ratings has a reason."""
    panel = as_panel(ratings, categories, wide)
    settings = {"gwet_ac2": {"weights": weights}, "krippendorff_alpha": {"level": level}}
    resamples = cache(_kept_resamples)
    results = {}
    for name in coefficients or DEFAULT_COEFFICIENTS:
        build = coefficient_build(name, **settings.get(name, {}))
        results[name] = _measured(name, build, panel, n_resamples, seed, resamples=resamples)
    return results


def agreement_table(ratings, level="ordinal", n_resamples=1000, **options):
    """Table of the coefficients of one panel.

    Parameters
    ----------
    ratings : array_like, pandas.DataFrame or RatingPanel, shape [items, raters]
        Ratings, NaN where missing.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Of Krippendorff's alpha.
    n_resamples : int, default 1000
        Resamples of the items; 0 for none.
    **options
        weights : {"quadratic", "linear", "identity"}, of Gwet's AC2;
        coefficients : sequence of str, by default nineteen;
        categories, wide, seed: see the module.

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
    rows = []
    for agreement in agreement_results(ratings, level, n_resamples, **options).values():
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


def leave_one_rater_out(ratings, coefficient="krippendorff_alpha", *, categories=None, wide=False):
    """Agreement without each rater in turn."""
    panel = as_panel(ratings, categories, wide)
    build = coefficient_build(coefficient)
    with_all, _ = build(panel).estimate()
    rows = []
    for column, rater in enumerate(panel.raters or ()):
        without_rater = build(panel.without(column))
        value, reason = without_rater.estimate()
        change = None if with_all is None or value is None else value - with_all
        used = without_rater.panel
        rows.append((rater, value, change, used.n_items, used.n_raters, reason))
    columns = ["rater", "estimate", "change", "n_items", "n_raters", "reason"]
    return pd.DataFrame(rows, columns=columns)


# Names of the coefficients.


COEFFICIENT_TITLES = {
    "percent_agreement": "percent agreement",
    "cohen_kappa": "Cohen's kappa",
    "scott_pi": "Scott's pi",
    "fleiss_kappa": "Fleiss' kappa",
    "conger_kappa": "Conger's kappa",
    "light_kappa": "Light's kappa",
    "brennan_prediger": "Brennan-Prediger",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "krippendorff_alpha": "Krippendorff's alpha",
    "kendall_w": "Kendall's W",
    "cohen_kappa_linear": "Cohen's kappa, linear weights",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
    **{f"krippendorff_alpha_{x}": f"Krippendorff's alpha, {x}" for x in MEASUREMENT_LEVELS},
    **{f"icc_{form[0]}_{form[2]}": f"ICC({form})" for form in ICC_FORMS},
}
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


def measure_coefficient(
    name,
    ratings,
    settings=None,
    *,
    n_resamples=1000,
    seed=0,
    categories=None,
    wide=False,
    clusters=None,
    **unknown,
):
    """One coefficient of a table of ratings; settings are its weights, level or form."""
    if unknown:
        raise InputError(f"{name} has no option {', '.join(unknown)}")
    panel = as_panel(ratings, categories, wide)
    if clusters is not None:
        if name.startswith("icc"):
            raise InputError("clusters: an intraclass correlation takes every item as a unit")
        clusters = cluster_codes(clusters, panel.n_items)
    build = coefficient_build(name, **(settings or {}))
    return _measured(name, build, panel, n_resamples, seed, clusters=clusters)


def _kept_resamples(n, n_resamples, seed):
    """Resamples for many coefficients, in a quarter of the space."""
    return [drawn.astype(np.uint16) for drawn in resample_counts(n, n_resamples, seed)]


def _measured(name, build, panel, n_resamples, seed, *, clusters=None, resamples=resample_counts):
    """A coefficient of a panel, with standard error, intervals and reasons."""
    check_count("n_resamples", n_resamples, least=0)
    coefficient = build(panel)
    used = coefficient.panel
    estimate, reason = coefficient.estimate()
    percent, _ = Kappa(panel if reason else used, "none", needs=()).estimate()
    agreement = Agreement(
        name,
        estimate,
        n_items=used.n_items,
        n_raters=used.n_raters,
        n_left_out=panel.n_items - used.n_items,
        percent_agreement=percent,
        reasons={"estimate": reason},
    )
    if reason:
        return agreement
    # What is drawn: items, or clusters of them.
    units = np.arange(used.n_items)
    copies = slice(None)
    if clusters is not None:
        units = copies = np.unique(clusters[coefficient.used_items], return_inverse=True)[1]
    n = int(units.max()) + 1
    draws = None
    if n_resamples and n > 1:
        draws = []
        for drawn in resamples(n, n_resamples, seed):
            draws.append(coefficient.values(drawn[:, copies].astype(float, copy=False)))
        draws = np.concatenate(draws)
    # Standard error: by influence, else of the draws.
    se = None
    influence = coefficient.influence() if n > 1 else None
    if influence is not None:
        influence = np.bincount(units, influence - influence.mean()) * n / used.n_items
        se = math.sqrt(np.sum(influence**2) / (n * (n - 1)))
    elif draws is not None:
        se = number_or_none(draws.std(ddof=1))
    kind = "items" if clusters is None else "clusters"
    panel_ci, reason = bootstrap_interval(draws, estimate, n, influence, kind)
    reasons = {"panel_ci": reason}
    if se is None:
        reasons["se"] = reason if draws is None else "undefined_in_resamples"
    if isinstance(coefficient, IntraclassCorrelation):
        intervals, of_model = coefficient.intervals()
        reasons |= of_model
    else:
        new_panel_ci, why = _new_panel_interval(
            estimate, coefficient.lowest, build, panel, panel_ci, reason
        )
        reasons["new_panel_ci"] = why
        intervals = {"panel_ci": panel_ci, "new_panel_ci": new_panel_ci}
    reasons = {name: code for name, code in reasons.items() if code}
    return replace(agreement, se=se, **intervals, expected=coefficient.expected, reasons=reasons)


def bootstrap_interval(draws, estimate, n, influence=None, kind="items"):
    """BCa interval of bootstrap draws with Student's quantiles, and why there is none.

    Hesterberg (2015) gives the quantiles.
    """
    if n < FEWEST:
        return None, f"fewer_than_six_{kind}"
    if draws is None:
        return None, "not_asked"
    student = math.sqrt(n / (n - 1)) * special.stdtrit(n - 1, TAIL)
    quantiles = np.array([-student, student])
    if influence is None or np.ptp(influence) <= 1e-12:
        influence = np.zeros(1)
    low, high = bca_bounds(draws, estimate, quantiles, influence, tolerance=1e-12, clip_bias=False)
    if not math.isfinite(high - low):
        return None, "undefined_in_resamples"
    return (low, high), "all_resamples_equal" if low == high else None


def _new_panel_interval(estimate, lowest, build, panel, panel_ci, reason):
    """Interval for other raters and items, or why there is none.

    The variance over raters, a delete-one-rater jackknife, is added to the squared
    distances of the bounds over items (Zou & Donner 2008).
    """
    r = panel.n_raters
    if panel.raters is None:
        return None, "raters_unknown"
    if r < 3:
        return None, "fewer_than_three_raters"
    if panel_ci is None:
        return None, reason
    values = [build(panel.without(rater)).estimate()[0] for rater in range(r)]
    if None in values:
        return None, "undefined_without_a_rater"
    reach = special.ndtri(TAIL) * math.sqrt((r - 1) * np.var(values))
    low = estimate - math.hypot(max(estimate - panel_ci[0], 0.0), reach)
    high = estimate + math.hypot(max(panel_ci[1] - estimate, 0.0), reach)
    return (max(lowest, low), min(1.0, high)), None


# A panel's ratings: a table of items x raters, or counts, checked and coded.

MOST_RATINGS = 100_000  # of one item


@dataclass(frozen=True, eq=False)
class RatingPanel:
    """Items rated by a panel: codes of categories [items, raters], -1 where missing."""

    categories: np.ndarray
    codes: np.ndarray
    raters: tuple | None  # if somebody knows who rated what
    ordered: bool = True

    @property
    def n_items(self):
        return len(self.codes)

    @property
    def n_raters(self):
        """Number of raters; the most of one item if nobody knows them."""
        return self.codes.shape[1]

    @cached_property
    def per_item(self):
        return (self.codes >= 0).sum(axis=1).astype(float)

    @cached_property
    def counts(self):
        """How many raters put each item into each category."""
        size = len(self.categories)
        cells = (np.arange(self.n_items)[:, None] * size + self.codes)[self.codes >= 0]
        counts = np.bincount(cells, minlength=self.n_items * size)
        return counts.astype(float).reshape(self.n_items, size)

    @property
    def vary(self):
        """Whether the pairable ratings fall into more than one category."""
        codes = self.codes[self.per_item >= 2]
        codes = codes[codes >= 0]
        return bool((codes != codes[:1]).any())

    @property
    def values(self):
        """Categories as numbers: themselves, or 1, 2, ... for labels in order."""
        if self.categories.dtype.kind == "f":
            return self.categories
        return np.arange(1.0, len(self.categories) + 1)

    def keep(self, rows):
        return replace(self, codes=self.codes[rows])

    def only(self, columns):
        """Some raters, and every item."""
        raters = tuple(self.raters[k] for k in columns)
        return replace(self, codes=self.codes[:, list(columns)], raters=raters)

    def without(self, column):
        """All raters but one, and every item."""
        return self.only([k for k in range(self.n_raters) if k != column])


def as_panel(ratings, categories=None, wide=False):
    """A table of ratings, checked, as a panel."""
    if isinstance(ratings, RatingPanel):
        return ratings
    frame = ratings
    if not isinstance(frame, pd.DataFrame):
        # A list is taken as objects: numpy would make text of numbers beside text.
        values = np.array(ratings, dtype=getattr(ratings, "dtype", object))
        if values.ndim != 2:
            raise InputError(f"ratings must be items x raters, not {values.ndim}-D")
        frame = pd.DataFrame(values)
    _refuse_other_tables(frame, wide)
    ratings = _long_ratings(frame)
    scale = np.unique(ratings.dropna()) if categories is None else _scale(categories)
    codes = pd.Index(scale).get_indexer(ratings)
    unknown = ratings[(codes < 0) & ratings.notna()].unique().tolist()
    if unknown:
        raise InputError(f"ratings outside of the categories: {unknown[:5]}")
    codes = codes.reshape(frame.shape)
    used = (codes >= 0).any(axis=0)
    ordered = ratings.dtype.kind == "f" or categories is not None
    return RatingPanel(scale, codes[:, used], tuple(frame.columns[used]), ordered)


def from_counts(counts, categories=None):
    """Panel of a table [items, categories] of how many raters chose which, whoever they are."""
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or (table < 0).any() or (table != np.floor(table)).any():
        raise InputError("counts must be items x categories, whole and not negative")
    items, size = table.shape
    per_item = table.sum(axis=1)
    most = per_item.max(initial=0)
    if most > MOST_RATINGS:
        raise InputError(
            f"an item has at most {MOST_RATINGS:,} ratings: is this a table of counts?"
        )
    scale = _scale(range(1, size + 1) if categories is None else categories)
    if len(scale) != size:
        raise InputError(f"{len(scale)} categories for {size} columns")
    codes = np.full((items, int(most)), -1)
    filled = np.arange(most) < per_item[:, None]
    codes[filled] = np.repeat(np.tile(np.arange(size), items), table.astype(int).ravel())
    return RatingPanel(scale, codes, raters=None)


def _refuse_other_tables(frame, wide):
    """Refuse a transposed table, and a column that names the items: it is no rater."""
    twice = frame.columns[frame.columns.duplicated()].unique()
    if len(twice):
        raise InputError(f"raters named more than once: {', '.join(map(str, twice))}")
    items, raters = frame.shape
    if raters > items and not wide:
        raise InputError(
            f"{items} items (rows), {raters} raters (columns): more raters than items; "
            "transpose the table, or allow wide tables if that is meant"
        )
    for name in frame.columns.intersection(["item", "item_id", "id"]):
        raise InputError(
            f"column {name!r} names the items: ratings.set_index({name!r}), or leave it out"
        )


def _long_ratings(frame):
    """All ratings, item by item: numbers with NaN, or labels with None."""
    try:
        numbers = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        labels = pd.Series(frame.to_numpy(dtype=object).ravel())
        if not labels.dropna().map(type).eq(str).all():
            raise InputError("ratings mix numbers and text; write them all in one way") from None
        return labels
    for row, column in np.argwhere(np.isinf(numbers)):
        raise InputError(f"item {frame.index[row]}, rater {frame.columns[column]}: infinite rating")
    return pd.Series(numbers.ravel())


def _scale(categories):
    """Categories that were given, checked."""
    scale = pd.Index(list(categories))
    if scale.empty or not scale.is_unique:
        raise InputError("categories must be distinct, and at least one")
    if scale.dtype.kind not in "biuf":
        return scale.to_numpy(str)
    if not scale.is_monotonic_increasing:
        raise InputError("numeric categories must be given in ascending order")
    return scale.to_numpy(float)
