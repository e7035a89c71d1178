"""Agreement among raters: coefficients of a table of items x raters, with intervals.

Ratings are a table with NaN where missing; `from_counts` takes published counts instead. Every
coefficient is a function of the ratings that takes the options of `measure`, and gives an
`Agreement`: the estimate, its standard error, the interval for this panel and the one for a new
panel, percent agreement, and a reason for all that is None.
"""

import math
from collections import namedtuple
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.measures.coefficients import COEFFICIENTS, MEASUREMENT_LEVELS, Kappa
from casebook.readers import read_yaml
from casebook.stats.intervals import FEWEST, bca_bounds, resample_counts
from casebook.stats.samples import check_choice

COEFFICIENT_TITLES = read_yaml(Path(__file__).with_name("coefficients.yml"))
DEFAULT_COEFFICIENTS = [
    name for name in COEFFICIENTS if not name.endswith(MEASUREMENT_LEVELS)
]
TAIL = 0.975  # of intervals of 95 %


#: Of a coefficient: its uncertainty and counts, and why there is no estimate, or what else is None.
FIELDS = {
    "coefficient": None,
    "estimate": None,
    "se": None,
    "panel_ci": None,
    "new_panel_ci": None,
    "n_items": 0,
    "n_raters": 0,
    "n_left_out": 0,
    "percent_agreement": None,
    "expected": None,
    "reason": None,
}


class Agreement(namedtuple("Agreement", FIELDS, defaults=FIELDS.values())):
    """One coefficient with its uncertainty, counts and reasons."""

    @property
    def bounds(self):
        """Bounds for this panel and for a new one, as columns of a table; None where none are."""
        low, high = self.panel_ci or (None, None)
        new_low, new_high = self.new_panel_ci or (None, None)
        return {
            "panel_low": low,
            "panel_high": high,
            "new_panel_low": new_low,
            "new_panel_high": new_high,
        }


# From a coefficient and a table of ratings to the estimate with both intervals.


def measure(
    name,
    ratings,
    *,
    n_resamples=1000,
    seed=0,
    categories=None,
    wide=False,
    **settings,
):
    """One coefficient of a table of ratings.

    Parameters
    ----------
    name : str
        A name of `COEFFICIENT_TITLES`.
    ratings : array_like, pandas.DataFrame or RatingPanel, shape [items, raters]
        Ratings, NaN where missing.
    n_resamples : int, default 1000
        Resamples of the items; 0 for none.
    seed : int, default 0
        Seed of the resamples.
    categories : sequence, optional
        The rating scale in order, if it has categories that nobody used, or labels.
    wide : bool, default False
        More raters than items are meant; otherwise they raise, as a transposed table.
    **settings
        ``weights`` of kappas, percent agreement and Gwet's AC2: identity, linear or quadratic,
        the partial credit for near misses; ``level`` of alpha.

    Raises
    ------
    InputError
        If the ratings are no such table, or an option is wrong.
    """
    check_choice("coefficient", name, COEFFICIENTS)
    panel = as_panel(ratings, categories, wide)
    build = partial(COEFFICIENTS[name], **settings)
    coefficient = build(panel)
    used = coefficient.panel
    estimate, reason = coefficient.estimate()
    percent = Kappa(panel if reason else used, "none", needs=())
    found = Agreement(
        name,
        estimate,
        n_items=used.n_items,
        n_raters=used.n_raters,
        n_left_out=panel.n_items - used.n_items,
        percent_agreement=percent.estimate()[0],
        reason=reason,
    )
    if reason:
        return found
    n = used.n_items
    draws = np.empty(0)
    se = None
    influence = None
    if n > 1:
        blocks = map(coefficient.values, resample_counts(n, n_resamples, seed))
        draws = np.concatenate([draws, *blocks])
        influence = coefficient.influence()
        influence = influence - influence.mean()
        se = math.sqrt(np.sum(influence**2) / (n * (n - 1)))
    panel_ci, why = bootstrap_interval(draws, estimate, n, influence)
    reasons = {"panel_ci": why, "se": why if se is None else None, "new_panel_ci": why}
    new_panel_ci = None
    if panel.raters is None:
        reasons["new_panel_ci"] = "raters_unknown"
    elif panel.n_raters < 3:
        reasons["new_panel_ci"] = "fewer_than_three_raters"
    elif panel_ci:
        raters = range(panel.n_raters)
        others = [build(panel.only(np.delete(raters, rater))) for rater in raters]
        values = [other.estimate()[0] for other in others]
        new_panel_ci = _new_panel_interval(
            values, estimate, panel_ci, coefficient.chance_term
        )
        reasons["new_panel_ci"] = None if new_panel_ci else "undefined_without_a_rater"
    texts = [f"{key}: {code}" for key, code in reasons.items() if code]
    return found._replace(
        se=se,
        panel_ci=panel_ci,
        new_panel_ci=new_panel_ci,
        expected=coefficient.expected,
        reason="; ".join(texts) or None,
    )


def bootstrap_interval(draws, estimate, n, influence):
    """BCa interval of bootstrap draws with Student's quantiles (Hesterberg 2015), and why none."""
    if n < FEWEST:
        return None, "fewer_than_six_items"
    if not len(draws):
        return None, "not_asked"
    student = math.sqrt(n / (n - 1)) * special.stdtrit(n - 1, TAIL)
    if np.ptp(influence) <= 1e-12:
        influence = np.zeros(1)
    quantiles = np.array([-student, student])
    low, high = bca_bounds(
        draws, estimate, quantiles, influence, tolerance=1e-12, clip_bias=False
    )
    if not math.isfinite(high - low):
        return None, "undefined_in_resamples"
    return (low, high), "all_resamples_equal" if low == high else None


def _new_panel_interval(values, estimate, panel_ci, chance):
    """Interval for other raters and items, None where a value without a rater is undefined.

    The variance over raters, a delete-one-rater jackknife, is added to the squared
    distances of the bounds over items (Zou & Donner 2008).
    """
    if None in values:
        return None
    reach = special.ndtri(TAIL) * math.sqrt((len(values) - 1) * np.var(values))
    low = estimate - math.hypot(max(estimate - panel_ci[0], 0.0), reach)
    high = estimate + math.hypot(max(panel_ci[1] - estimate, 0.0), reach)
    return (max(low, 0.0) if chance == "none" else low), min(1.0, high)


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
        seed, categories, wide: see `measure`.

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
    return measure(
        "krippendorff_alpha", ratings, level=level, n_resamples=n_resamples, **options
    )


def agreement_results(
    ratings,
    level="ordinal",
    n_resamples=1000,
    *,
    weights="quadratic",
    coefficients=DEFAULT_COEFFICIENTS,
    categories=None,
    wide=False,
    seed=0,
):
    """Many coefficients of one panel, by name; one that cannot take the ratings has a reason."""
    panel = as_panel(ratings, categories, wide)
    settings = {
        "gwet_ac2": {"weights": weights},
        "krippendorff_alpha": {"level": level},
    }
    return {
        x: measure(x, panel, n_resamples=n_resamples, seed=seed, **settings.get(x, {}))
        for x in coefficients
    }


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
        coefficients : sequence of str, by default eleven;
        categories, wide, seed: see `measure`.

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
    results = agreement_results(ratings, level, n_resamples, **options)
    table = pd.DataFrame([found._asdict() | found.bounds for found in results.values()])
    return table.drop(columns=["panel_ci", "new_panel_ci"]).astype({"reason": object})


# A panel's ratings: a table of items x raters, or counts, checked and coded.


@dataclass(frozen=True, eq=False)
class RatingPanel:
    """Items rated by a panel: codes of categories [items, raters], -1 where missing."""

    scale: pd.Index  # numbers, or labels in order
    codes: np.ndarray
    raters: np.ndarray | None  # if somebody knows who rated what
    ordered: bool = True

    @property
    def n_items(self):
        return len(self.codes)

    @property
    def n_raters(self):
        return self.codes.shape[1]

    @property
    def values(self):
        """Categories as numbers: themselves, or 1, 2, ... for labels in order."""
        is_number = self.scale.dtype.kind in "iuf"
        return (
            self.scale.to_numpy(float)
            if is_number
            else np.arange(1.0, len(self.scale) + 1)
        )

    @property
    def one_hot(self):
        return self.codes[:, :, None] == np.arange(len(self.scale))

    @cached_property
    def counts(self):
        counts = [(self.codes == k).sum(axis=1) for k in range(len(self.scale))]
        return np.array(counts, dtype=float).reshape(len(self.scale), self.n_items).T

    @cached_property
    def per_item(self):
        return self.counts.sum(axis=1)

    def only(self, columns):
        return replace(self, codes=self.codes[:, columns], raters=self.raters[columns])


def as_panel(ratings, categories=None, wide=False):
    """A table of ratings, checked, as a panel."""
    if isinstance(ratings, RatingPanel):
        return ratings
    # A list is taken as objects: numpy would make text of numbers beside text.
    is_table = isinstance(ratings, pd.DataFrame | np.ndarray)
    frame = pd.DataFrame(ratings if is_table else np.array(ratings, dtype=object))
    items, raters = frame.shape
    if not frame.columns.is_unique:
        raise InputError(
            f"raters named more than once: {', '.join(map(str, frame.columns))}"
        )
    if raters > items and not wide:
        raise InputError(
            f"{items} items (rows), {raters} raters (columns): more raters than items; "
            "transpose the table, or allow wide tables if that is meant"
        )
    try:
        long = pd.Series(frame.to_numpy(dtype=float, na_value=np.nan).ravel())
    except (TypeError, ValueError):
        long = pd.Series(frame.to_numpy(dtype=object).ravel())
        if not long.dropna().map(type).eq(str).all():
            raise InputError(
                "ratings mix numbers and text; write them all in one way"
            ) from None
    scale = (
        pd.Index(np.unique(long.dropna())) if categories is None else _scale(categories)
    )
    codes = scale.get_indexer(long)
    unknown = long[(codes < 0) & long.notna()].unique().tolist()
    if unknown:
        raise InputError(f"ratings outside of the categories: {unknown[:5]}")
    codes = codes.reshape(frame.shape)
    used = (codes >= 0).any(axis=0)
    ordered = long.dtype.kind == "f" or categories is not None
    return RatingPanel(scale, codes[:, used], frame.columns.to_numpy()[used], ordered)


def from_counts(counts, categories=None):
    """Panel of a table [items, categories] of how many raters chose which, whoever they are."""
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or (table < 0).any() or (table != np.floor(table)).any():
        raise InputError("counts must be items x categories, whole and not negative")
    scale = _scale(range(1, table.shape[1] + 1) if categories is None else categories)
    rows = [
        pd.Series(np.repeat(np.arange(len(scale)), row)) for row in table.astype(int)
    ]
    panel = as_panel(pd.DataFrame(rows), range(len(scale)), wide=True)
    return replace(panel, scale=scale, raters=None)


def _scale(categories):
    scale = pd.Index(list(categories))
    if not scale.is_unique or (
        scale.dtype.kind in "iuf" and not scale.is_monotonic_increasing
    ):
        raise InputError("categories must be distinct, and numbers in ascending order")
    return scale
