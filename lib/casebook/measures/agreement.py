"""Agreement among raters: coefficients of a table of items x raters, with intervals.

Ratings are a table with NaN where missing; `from_counts` and `from_table` take published
tables instead. Every coefficient takes the options

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
weights : str or array_like, optional
    Partial credit for near misses, by name or as a matrix, of all but Gwet's AC1,
    Kendall's W and the intraclass correlations.

and gives an `Agreement`: the estimate, its standard error, the interval for this panel
and the one for a new panel, percent agreement, and a reason for all that is None.
Input that is not such a table raises `casebook.errors.InputError`.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.measures.coefficients import (
    FORMS,
    LEVELS,
    IntraclassCorrelation,
    Kappa,
    KendallW,
    LightKappa,
    alpha,
)
from casebook.sheets import names_items
from casebook.stats.intervals import FEWEST, bca_tails, resample_counts
from casebook.stats.samples import check_choice, check_count, check_share

LABELS = {
    "almost perfect": 0.8,
    "substantial": 0.6,
    "moderate": 0.4,
    "fair": 0.2,
    "slight": 0,
    "poor": -1,
}
"""Landis and Koch's words, each from this value on."""


@dataclass(frozen=True)
class Agreement:
    """One coefficient with everything that belongs beside it."""

    coefficient: str
    estimate: float | None
    se: float | None = None
    interval: tuple | None = None
    statistic: tuple | None = None
    p_greater: float | None = None
    p_two_sided: float | None = None
    panel_ci: tuple | None = None
    new_panel_ci: tuple | None = None
    n_items: int = 0
    n_raters: int = 0
    n_left_out: int = 0
    percent_agreement: float | None = None
    expected: float | None = None
    reasons: dict = field(default_factory=dict)

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
    ratings : array_like, pandas.DataFrame or Panel, shape [items, raters]
        Ratings, NaN where missing; an item with a single rating does not count.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Krippendorff's distance: 0 or 1; between mid-ranks, squared; difference,
        squared; difference over sum, squared.
    n_resamples, **options
        See the module; one minus ``weights`` is used as distance instead, as irrCAC
        does. The ``"ordinal"`` weights are *not* Krippendorff's ordinal distance.

    Returns
    -------
    Agreement
        At most 1. None without variation: agreement then says nothing.

    Raises
    ------
    InputError
        If the ratings are no such table, or an option is unknown.

    References
    ----------
    Krippendorff, Content Analysis, 4th ed., 2019, ch. 12; standard error: Gwet (2014),
    ch. 5.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 2], [5, 4]]).estimate, 3)
    0.889
    """
    return _measure_one(
        "krippendorff_alpha", ratings, level=level, n_resamples=n_resamples, **options
    )


def percent_agreement(ratings, weights="identity", **options):
    """Share of agreeing pairs of ratings of one item, averaged over items."""
    return _measure_one("percent_agreement", ratings, weights=weights, **options)


def cohen_kappa(ratings, weights="identity", **options):
    """Cohen's kappa of two raters, on the items that both rated."""
    return _measure_one("cohen_kappa", ratings, weights=weights, **options)


def scott_pi(ratings, weights="identity", **options):
    """Scott's pi of two raters, on the items that both rated."""
    return _measure_one("scott_pi", ratings, weights=weights, **options)


def fleiss_kappa(ratings, weights="identity", **options):
    """Fleiss' kappa: chance is the pooled distribution of categories."""
    return _measure_one("fleiss_kappa", ratings, weights=weights, **options)


def conger_kappa(ratings, weights="identity", **options):
    """Conger's kappa: every rater has a distribution of categories of his own."""
    return _measure_one("conger_kappa", ratings, weights=weights, **options)


def light_kappa(ratings, weights="identity", **options):
    """Light's kappa: the mean of Cohen's kappa over all pairs of raters."""
    return _measure_one("light_kappa", ratings, weights=weights, **options)


def brennan_prediger(ratings, weights="identity", **options):
    """Brennan and Prediger's coefficient: chance is even over the scale."""
    return _measure_one("brennan_prediger", ratings, weights=weights, **options)


def gwet_ac1(ratings, **options):
    """Gwet's AC1, which skewed categories do not pull down."""
    return _measure_one("gwet_ac1", ratings, **options)


def gwet_ac2(ratings, weights="quadratic", **options):
    """Gwet's AC2: AC1 with partial credit."""
    return _measure_one("gwet_ac2", ratings, weights=weights, **options)


def intraclass_correlation(ratings, form="2,1", **options):
    """Intraclass correlation in one of the six forms of Shrout and Fleiss (1979)."""
    check_choice("form", form, FORMS)
    return _measure_one(f"icc_{form.replace(',', '_')}", ratings, **options)


def kendall_w(ratings, **options):
    """Kendall's W: how far the raters rank the items alike, corrected for ties."""
    return _measure_one("kendall_w", ratings, **options)


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
    chosen = {"gwet_ac2": {"weights": weights}, "krippendorff_alpha": {"level": level}}
    builders = {name: _builder(name, chosen.get(name, {})) for name in coefficients or DEFAULT}
    return _measure(builders, panel, n_resamples, seed, confidence, skipped=UnfitRatings)


def agreement_table(ratings, level="ordinal", n_resamples=1000, **options):
    """Tabulate the coefficients of one panel.

    Parameters
    ----------
    ratings : array_like, pandas.DataFrame or Panel, shape [items, raters]
        Ratings, NaN where missing.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Of Krippendorff's alpha.
    n_resamples, **options
        As of `agreement_results`; see the module.

    Returns
    -------
    pandas.DataFrame
        One row per coefficient: coefficient, estimate, se, the bounds for this panel and
        for a new panel, expected and percent_agreement, n_items, n_raters, n_left_out,
        label and its probability (see `benchmark`), and reason.

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
    for name, found in agreement_results(ratings, level, n_resamples, **options).items():
        label, probability, _ = benchmark(found.estimate, found.se)
        if name in ("percent_agreement", "kendall_w", "icc_1_k", "icc_2_k", "icc_3_k"):
            label = probability = None
        panel_low, panel_high = found.panel_ci or (None, None)
        new_panel_low, new_panel_high = found.new_panel_ci or (None, None)
        counts = ("expected", "percent_agreement", "n_items", "n_raters", "n_left_out")
        rows.append(
            {
                "coefficient": name,
                "estimate": found.estimate,
                "se": found.se,
                "panel_low": panel_low,
                "panel_high": panel_high,
                "new_panel_low": new_panel_low,
                "new_panel_high": new_panel_high,
                **{field: getattr(found, field) for field in counts},
                "label": label,
                "probability": probability,
                "reason": found.reason,
            }
        )
    return pd.DataFrame(rows).astype({"label": object, "reason": object})


def benchmark(estimate, se):
    """Give the best word that a coefficient surely deserves, its probability, and those of all words."""
    if estimate is None or se is None:
        return None, None, {}

    def share_above(bound):
        if bound == -1:
            return 1.0
        if se == 0:
            return float(estimate >= bound)
        top = special.ndtr((estimate - 1) / se)
        bottom = special.ndtr((estimate + 1) / se)
        return float((special.ndtr((estimate - bound) / se) - top) / (bottom - top))

    shares = {word: share_above(bound) for word, bound in LABELS.items()}
    label = next(word for word, share in shares.items() if share >= 0.95)
    return label, shares[label], shares


def leave_one_rater_out(ratings, coefficient="krippendorff_alpha", *, chosen=None, **options):
    """Measure agreement without each rater in turn."""
    panel = as_panel(ratings, **options)
    build = _builder(coefficient, chosen or {})
    whole, _ = build(panel).estimate()
    rows = []
    for column, rater in enumerate(panel.raters or ()):
        rest = build(panel.without(column))
        value, reason = rest.estimate()
        change = None if whole is None or value is None else value - whole
        rows.append((rater, value, change, rest.panel.n_items, rest.panel.n_raters, reason))
    return pd.DataFrame(
        rows, columns=["rater", "estimate", "change", "n_items", "n_raters", "reason"]
    )


# The coefficients by name.

# name: title, coefficient, its options, the options that a caller may choose
COEFFICIENTS = {
    "percent_agreement": ("percent agreement", Kappa, {"chance": "none"}, ("weights",)),
    "cohen_kappa": ("Cohen's kappa", Kappa, {"chance": "own", "two": True}, ("weights",)),
    "scott_pi": ("Scott's pi", Kappa, {"chance": "pooled", "two": True}, ("weights",)),
    "fleiss_kappa": ("Fleiss' kappa", Kappa, {"chance": "pooled"}, ("weights",)),
    "conger_kappa": ("Conger's kappa", Kappa, {"chance": "own"}, ("weights",)),
    "light_kappa": ("Light's kappa", LightKappa, {}, ("weights",)),
    "brennan_prediger": ("Brennan-Prediger", Kappa, {"chance": "even"}, ("weights",)),
    "gwet_ac1": ("Gwet's AC1", Kappa, {"chance": "gwet"}, ()),
    "gwet_ac2": ("Gwet's AC2", Kappa, {"chance": "gwet", "weights": "quadratic"}, ("weights",)),
    "krippendorff_alpha": (
        "Krippendorff's alpha",
        alpha,
        {"level": "ordinal"},
        ("level", "weights"),
    ),
    "kendall_w": ("Kendall's W", KendallW, {}, ()),
    **{
        f"cohen_kappa_{x}": (
            f"Cohen's kappa, {x} weights",
            Kappa,
            {"chance": "own", "two": True, "weights": x},
            (),
        )
        for x in ("linear", "quadratic")
    },
    **{
        f"krippendorff_alpha_{x}": (f"Krippendorff's alpha, {x}", alpha, {"level": x}, ())
        for x in LEVELS
    },
    **{
        f"icc_{x.replace(',', '_')}": (f"ICC({x})", IntraclassCorrelation, {"form": x}, ())
        for x in FORMS
    },
}
NAMES = tuple(COEFFICIENTS)
TITLES = {name: entry[0] for name, entry in COEFFICIENTS.items()}
DEFAULT = (
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


def _builder(name, chosen):
    """Give the function that puts a coefficient on a panel."""
    check_choice("coefficient", name, COEFFICIENTS)
    _, kind, options, allowed = COEFFICIENTS[name]
    foreign = sorted(set(chosen) - set(allowed))
    if foreign:
        raise InputError(f"{name} has no option {', '.join(foreign)}")
    return partial(kind, **options | dict(chosen))


def _measure_one(
    name, ratings, categories=None, wide=False, n_resamples=1000, seed=0, confidence=0.95, **chosen
):
    panel = as_panel(ratings, categories, wide)
    return _measure({name: _builder(name, chosen)}, panel, n_resamples, seed, confidence)[name]


def _measure(builders, panel, n_resamples, seed, confidence, skipped=()):
    """Measure several coefficients on one panel; those of the same items share the resamples."""
    check_count("n_resamples", n_resamples, least=0)
    check_count("seed", seed, least=0)
    check_share("confidence", confidence)
    built = {}
    values = {}
    groups = {}
    draws = {}
    found = {}
    for name, build in builders.items():
        try:
            built[name] = build(panel)
            values[name] = built[name].estimate()
        except skipped as problem:
            values[name] = None, problem.code
        if values[name][0] is not None and n_resamples and built[name].panel.n_items > 1:
            groups.setdefault(built[name].kept.tobytes(), []).append(name)
    for names in groups.values():
        resamples = resample_counts(built[names[0]].panel.n_items, n_resamples, seed)
        blocks = [
            np.stack([built[name].values(weights) for name in names]) for weights in resamples
        ]
        draws |= dict(zip(names, np.concatenate(blocks, axis=1), strict=True))
    for name, (estimate, reason) in values.items():
        held = built[name].panel if name in built else panel
        fields = {}
        reasons = {"estimate": reason}
        if reason is None:
            tail = (1 + confidence) / 2
            fields, reasons = _uncertainty(
                builders[name], built[name], panel, estimate, draws.get(name), tail
            )
            fields["expected"] = built[name].expected()
        shown = panel if reason else held
        found[name] = Agreement(
            name,
            estimate,
            n_items=held.n_items,
            n_raters=held.n_raters,
            n_left_out=panel.n_rows - held.n_items,
            percent_agreement=None if shown.too_many else Kappa(shown, "none").estimate()[0],
            reasons=reasons,
            **fields,
        )
    return found


def _uncertainty(build, coefficient, panel, estimate, draws, tail):
    """Give standard error, formula interval, tests and the intervals for these and for new raters."""
    n = coefficient.panel.n_items
    model = coefficient.model
    influence = coefficient.influence() if n > 1 else None
    fields = coefficient.formula(tail)
    reasons = {}
    if not model:
        fields["panel_ci"], reasons["panel_ci"] = bootstrap_interval(
            draws, estimate, n, tail, influence
        )
    if influence is not None:
        spread = np.sum((influence - influence.mean()) ** 2)
        fields["se"] = math.sqrt(spread / (n * (n if coefficient.panel.large_sample else n - 1)))
        fields |= _student(estimate, fields["se"], coefficient.panel.n_rated - 1, tail)
    elif draws is not None and not np.isnan(draws).any():
        fields["se"] = float(draws.std(ddof=1))
    else:
        reasons["se"] = reasons.get("panel_ci") or "undefined_in_resamples"
    if model:  # the F interval speaks of other raters only where the model draws them
        own, other = ("new_panel_ci", "panel_ci") if model == 2 else ("panel_ci", "new_panel_ci")
        fields[own] = fields.get("interval")
        reasons[other] = {
            1: "raters_nested_in_items",
            2: "raters_are_drawn",
            3: "raters_are_fixed",
        }[model]
        reasons[own] = None if fields[own] else "no_variation"
    else:
        found = _new_panel(build, coefficient, panel, estimate, fields, reasons, tail)
        fields["new_panel_ci"], reasons["new_panel_ci"] = found
    return fields, {name: why for name, why in reasons.items() if why}


def _student(estimate, se, df, tail):
    """Give the t interval and the test against 0."""
    reach = float(special.stdtrit(df, tail)) * se
    found = {"interval": (estimate - reach, min(1.0, estimate + reach))}
    if se > 0:
        t = estimate / se
        found |= {"statistic": ("t", t, (df,)), "p_greater": float(special.stdtr(df, -t))}
        found["p_two_sided"] = float(2 * special.stdtr(df, -abs(t)))
    return found


def bootstrap_interval(draws, estimate, n_items, tail, influence=None):
    """Give the interval of bootstrap draws, and why there is none: BCa with Student's quantiles (Hesterberg 2015).

    Undefined draws widen it, as if they lay outside on both sides.
    """
    if n_items < FEWEST or draws is None:
        return None, "fewer_than_six_items" if n_items < FEWEST else "not_asked"
    missing = np.isnan(draws)
    known = draws[~missing]
    quantiles = (
        math.sqrt(n_items / (n_items - 1))
        * special.stdtrit(n_items - 1, tail)
        * np.array([-1.0, 1.0])
    )
    near = np.abs(known - estimate) <= 1e-12
    below = np.mean((known < estimate) & ~near) + near.mean() / 2 if len(known) else 0.5
    # With all draws on one side nothing is known about the bias.
    bias = special.ndtri(below) if 0 < below < 1 else 0.0
    skewed = influence is not None and np.ptp(influence) > 1e-12
    tails = bca_tails(quantiles, bias, influence - influence.mean() if skewed else np.zeros(1))
    with np.errstate(invalid="ignore"):
        sides = zip((-np.inf, np.inf), tails, strict=True)
        low, high = (
            float(np.quantile(np.where(missing, end, draws), share)) for end, share in sides
        )
    if not math.isfinite(low) or not math.isfinite(high):
        return None, "undefined_in_resamples"
    return (low, high), "all_resamples_equal" if low == high else None


def _new_panel(build, coefficient, panel, estimate, fields, reasons, tail):
    """Give the interval for other raters and items, or why there is none.

    The variance over raters, a delete-one-rater jackknife, is added to the squared
    distances of the bounds over items (Zou & Donner 2008).
    """
    z = float(special.ndtri(tail))
    r = panel.n_raters
    bounds = fields["panel_ci"]
    if panel.codes is None:
        return None, "raters_unknown"
    if r < 3:
        return None, "fewer_than_three_raters"
    if reasons["panel_ci"] == "fewer_than_six_items":
        return None, "fewer_than_six_items"
    if reasons["panel_ci"] == "not_asked" and "se" in fields:
        bounds = (estimate - z * fields["se"], estimate + z * fields["se"])
    if bounds is None:
        return None, "undefined_in_resamples"
    values = [build(panel.without(rater)).estimate()[0] for rater in range(r)]
    if None in values:
        return None, "undefined_without_a_rater"
    reach = z * math.sqrt((r - 1) / r * np.sum((np.array(values) - np.mean(values)) ** 2))
    below = max(estimate - bounds[0], 0.0)
    above = max(bounds[1] - estimate, 0.0)
    low = estimate - math.hypot(below, reach)
    high = estimate + math.hypot(above, reach)
    return (max(coefficient.lowest, low), min(1.0, high)), None


# A panel's ratings: a table of items x raters, counts, or a contingency table, checked and coded.

MOST_CATEGORIES = 2000
MOST_ITEMS = 200_000  # of a contingency table, whose items are resampled one by one
MOST_RATINGS = 10**9  # of one item


class UnfitRatings(InputError):
    """Ratings of a kind that a coefficient cannot take; `code` is the reason in tables."""

    def __init__(self, code, problem):
        super().__init__(problem)
        self.code = code


@dataclass(frozen=True, eq=False)
class Panel:
    """Items rated by a panel: codes [items, raters] (-1 missing), or only a tally [items, categories]."""

    categories: np.ndarray
    codes: np.ndarray | None
    tally: np.ndarray | None
    raters: tuple | None
    n_rows: int
    n_rated: int
    ordered: bool = True
    large_sample: bool = False

    @property
    def n_items(self):
        """Number of items held."""
        return len(self.per_item)

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
            many = f"{size} distinct ratings, at most {MOST_CATEGORIES}: these are measurements"
            raise UnfitRatings(
                "too_many_categories", f"{many}; use the intraclass correlation, or round them"
            )
        flat = (np.arange(self.n_items)[:, None] * size + self.codes)[self.codes >= 0]
        return (
            np.bincount(flat, minlength=self.n_items * size)
            .astype(float)
            .reshape(self.n_items, size)
        )

    @property
    def n_raters(self):
        """Number of raters with a rating; the most per item if only counts are known."""
        return int(self.per_item.max(initial=0)) if self.raters is None else len(self.raters)

    @cached_property
    def per_item(self):
        """Ratings per item, shape [items]."""
        return (
            self.tally.sum(axis=1)
            if self.codes is None
            else (self.codes >= 0).sum(axis=1).astype(float)
        )

    @property
    def vary(self):
        """Whether the pairable ratings fall into more than one category."""
        pairable = self.per_item >= 2
        if self.too_many:
            shown = self.codes[pairable]
            return np.ptp(shown[shown >= 0]) > 0
        return np.count_nonzero(self.counts[pairable].any(axis=0)) > 1

    @property
    def values(self):
        """Categories as numbers: themselves, or 1, 2, ... for labels in order."""
        if self.categories.dtype.kind == "f":
            return self.categories
        if not self.ordered:
            what = f"labels such as {', '.join(self.categories[:4])} have no order"
            remedy = "give categories in order, or treat the ratings as nominal"
            raise UnfitRatings("labels_without_order", f"{what}: {remedy}")
        return np.arange(1.0, len(self.categories) + 1)

    def keep(self, rows):
        """Keep some items."""
        if rows.all():
            return self
        codes, tally = (None if part is None else part[rows] for part in (self.codes, self.tally))
        return replace(self, codes=codes, tally=tally)

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
    if isinstance(ratings, Panel):
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
    codes = codes[(codes >= 0).any(axis=1)]
    return Panel(
        scale, codes, None, raters, len(frame), len(codes), numeric or categories is not None
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
    return Panel(
        _scale(categories, table.shape[1]), None, table[rated], None, len(table), int(rated.sum())
    )


def from_table(table, categories=None):
    """Take the contingency table of two raters."""
    cells = np.asarray(table, dtype=float)
    if (
        cells.ndim != 2
        or cells.shape[0] != cells.shape[1]
        or (cells < 0).any()
        or (cells % 1).any()
    ):
        raise InputError("a contingency table must be square and hold whole numbers of items")
    if (cells > MOST_ITEMS).any() or cells.sum() > MOST_ITEMS:
        raise InputError(
            f"a contingency table holds at most {MOST_ITEMS:,} items: analyse a sample of them"
        )
    codes = np.repeat(np.argwhere(np.ones_like(cells)), cells.ravel().astype(int), axis=0)
    scale = _scale(categories, len(cells))
    n = len(codes)
    return Panel(scale, codes, None, ("row", "column"), n, n, large_sample=True)


def _refuse_other_tables(frame, wide, ids_allowed):
    """Refuse a transposed table, and a column that names the items: it would ruin the agreement."""
    if not frame.columns.is_unique:
        names = frame.columns[frame.columns.duplicated()].unique()
        raise InputError(f"raters named more than once: {', '.join(map(str, names))}")
    items, raters = frame.shape
    if raters > items and not wide:
        size = f"{items} items (rows), {raters} raters (columns)"
        raise InputError(
            f"{size}: more raters than items; transpose the table, or allow wide tables if that is meant"
        )
    columns = {} if ids_allowed else {name: frame[name].tolist() for name in frame}
    for name, values in columns.items():
        if names_items(name, values, [columns[other] for other in columns if other != name]):
            raise InputError(
                f"column {name!r} looks like names of the items: ratings.set_index(...), or leave it out"
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
    flat = pd.Series(scores.ravel())
    known = flat.dropna()
    scale = (
        np.unique(known.to_numpy(float if numeric else str))
        if categories is None
        else _scale(categories)
    )
    unknown = np.unique(known[~known.isin(scale)]).tolist()
    if unknown:
        raise InputError(f"ratings outside of the categories: {unknown[:5]}")
    return pd.Categorical(flat, categories=scale).codes.astype(int).reshape(scores.shape), scale


def _scale(categories, size=None):
    """Check categories that were given; by default 1 to the number of columns of a table."""
    values = np.array(np.arange(1.0, size + 1) if categories is None else list(categories))
    scale = values.astype(float if values.dtype.kind in "biuf" else str)
    if size not in (None, len(scale)):
        raise InputError(f"{len(scale)} categories for {size} columns")
    if len(np.unique(scale)) < len(scale) or not len(scale):
        raise InputError("categories must be distinct, and at least one")
    if scale.dtype.kind == "f" and (np.diff(scale) <= 0).any():
        raise InputError("numeric categories must be given in ascending order")
    return scale
