"""Agreement among raters: coefficients of a table of items x raters, with intervals.

Ratings are a table with NaN where missing; `casebook.measures.ratings` takes counts
instead. Every coefficient takes the options

n_boot : int, default 1000
    Resamples of the items; 0 for none.
seed : int, default 0
    Seed of the resamples.
confidence : float, default 0.95
    Coverage of the intervals.
categories : sequence, optional
    The rating scale in order, if it has categories that nobody used, or labels.
wide : bool, default False
    More raters than items are meant; otherwise they raise, as a transposed table.

and gives an `Agreement`: the estimate, its standard error, the interval for this panel
and the one for a new panel, percent agreement, and a reason for all that is None.
Input that is not such a table raises `casebook.errors.InputError`.
"""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.measures.coefficients import FORMS, LEVELS, IntraclassCorrelation, Kappa, KendallW, LightKappa, alpha
from casebook.measures.ratings import UnfitRatings, as_panel
from casebook.stats.intervals import FEWEST, resample_counts
from casebook.stats.samples import check_choice, check_count, check_share

SCALES = {
    "landis-koch": {"almost perfect": 0.8, "substantial": 0.6, "moderate": 0.4, "fair": 0.2, "slight": 0, "poor": -1},
    "altman": {"very good": 0.8, "good": 0.6, "moderate": 0.4, "fair": 0.2, "poor": -1},
    "fleiss": {"excellent": 0.75, "intermediate to good": 0.4, "poor": -1},
}


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


def krippendorff_alpha(ratings, level="ordinal", n_boot=1000, *, weights=None, **options):
    """Krippendorff's alpha: one minus observed over expected disagreement.

    Parameters
    ----------
    ratings : array_like, pandas.DataFrame or Panel, shape [items, raters]
        Ratings, NaN where missing; an item with a single rating does not count.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Krippendorff's distance: 0 or 1; between mid-ranks, squared; difference,
        squared; difference over sum, squared.
    n_boot, **options
        See the module.
    weights : str or array_like, optional
        Use one minus these weights as distance instead, as irrCAC does. The
        ``"ordinal"`` weights are *not* Krippendorff's ordinal distance.

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
    return _measure_one("krippendorff_alpha", ratings, {"level": level, "weights": weights}, n_boot, options)


def percent_agreement(ratings, weights="identity", n_boot=1000, **options):
    """Share of agreeing pairs of ratings of one item, averaged over items."""
    return _measure_one("percent_agreement", ratings, {"weights": weights}, n_boot, options)


def cohen_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Cohen's kappa of two raters, on the items that both rated."""
    return _measure_one("cohen_kappa", ratings, {"weights": weights}, n_boot, options)


def scott_pi(ratings, weights="identity", n_boot=1000, **options):
    """Scott's pi of two raters, on the items that both rated."""
    return _measure_one("scott_pi", ratings, {"weights": weights}, n_boot, options)


def fleiss_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Fleiss' kappa: chance is the pooled distribution of categories."""
    return _measure_one("fleiss_kappa", ratings, {"weights": weights}, n_boot, options)


def conger_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Conger's kappa: every rater has a distribution of categories of his own."""
    return _measure_one("conger_kappa", ratings, {"weights": weights}, n_boot, options)


def light_kappa(ratings, weights="identity", n_boot=1000, **options):
    """Light's kappa: the mean of Cohen's kappa over all pairs of raters."""
    return _measure_one("light_kappa", ratings, {"weights": weights}, n_boot, options)


def brennan_prediger(ratings, weights="identity", n_boot=1000, **options):
    """Brennan and Prediger's coefficient: chance is even over the scale."""
    return _measure_one("brennan_prediger", ratings, {"weights": weights}, n_boot, options)


def gwet_ac1(ratings, n_boot=1000, **options):
    """Gwet's AC1, which skewed categories do not pull down."""
    return _measure_one("gwet_ac1", ratings, {}, n_boot, options)


def gwet_ac2(ratings, weights="quadratic", n_boot=1000, **options):
    """Gwet's AC2: AC1 with partial credit."""
    return _measure_one("gwet_ac2", ratings, {"weights": weights}, n_boot, options)


def intraclass_correlation(ratings, form="2,1", n_boot=1000, **options):
    """Intraclass correlation in one of the six forms of Shrout and Fleiss (1979)."""
    check_choice("form", form, FORMS)
    return _measure_one(f"icc_{form.replace(',', '_')}", ratings, {}, n_boot, options)


def kendall_w(ratings, n_boot=1000, **options):
    """Kendall's W: how far the raters rank the items alike, corrected for ties."""
    return _measure_one("kendall_w", ratings, {}, n_boot, options)


def agreement_results(
    ratings,
    level="ordinal",
    n_boot=1000,
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
    built, unfit = {}, {}
    for name, build in builders.items():
        try:
            built[name] = build(panel)
        except UnfitRatings as problem:
            unfit[name] = Agreement(
                name, None, n_items=panel.n_items, n_raters=panel.n_raters, reasons={"estimate": problem.code}
            )
    found = unfit | _measure(builders, built, panel, n_boot, seed, confidence)
    return {name: found[name] for name in builders}


def agreement_table(ratings, level="ordinal", n_boot=1000, *, scale=None, **options):
    """Tabulate the coefficients of one panel.

    Parameters
    ----------
    ratings : array_like, pandas.DataFrame or Panel, shape [items, raters]
        Ratings, NaN where missing.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Of Krippendorff's alpha.
    n_boot, **options
        As of `agreement_results`; see the module.
    scale : {"landis-koch", "altman", "fleiss"}, optional
        Words for the coefficients; Landis and Koch's by default.

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
    for name, found in agreement_results(ratings, level, n_boot, **options).items():
        label, probability, _ = benchmark(found.estimate, found.se, scale or "landis-koch")
        if name in ("percent_agreement", "kendall_w", "icc_1_k", "icc_2_k", "icc_3_k"):
            label = probability = None
        own, new = found.panel_ci or (None, None), found.new_panel_ci or (None, None)
        rows.append((name, found.estimate, found.se, *own, *new, found.expected, found.percent_agreement))
        rows[-1] += (found.n_items, found.n_raters, found.n_left_out, label, probability, found.reason)
    columns = ["coefficient", "estimate", "se", "panel_low", "panel_high", "new_panel_low", "new_panel_high"]
    columns += ["expected", "percent_agreement", "n_items", "n_raters", "n_left_out", "label", "probability", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"label": object, "reason": object})


def benchmark(estimate, se, scale="landis-koch", least=0.95):
    """Give the best word that a coefficient surely deserves, its probability, and those of all words."""
    check_choice("scale", scale, SCALES)
    if estimate is None or se is None:
        return None, None, {}

    def share_above(bound):
        if bound == -1:
            return 1.0
        if se == 0:
            return float(estimate >= bound)
        top, bottom = special.ndtr((estimate - 1) / se), special.ndtr((estimate + 1) / se)
        return float((special.ndtr((estimate - bound) / se) - top) / (bottom - top))

    shares = {word: share_above(bound) for word, bound in SCALES[scale].items()}
    label = next(word for word, share in shares.items() if share >= least)
    return label, shares[label], shares


def leave_one_rater_out(ratings, coefficient="krippendorff_alpha", *, chosen=None, **options):
    """Measure agreement without each rater in turn."""
    panel, build = as_panel(ratings, **options), _builder(coefficient, chosen or {})
    whole, _ = build(panel).estimate()
    rows = []
    for column, rater in enumerate(panel.raters or ()):
        rest = build(panel.without(column))
        value, reason = rest.estimate()
        change = None if whole is None or value is None else value - whole
        rows.append((rater, value, change, rest.panel.n_items, rest.panel.n_raters, reason))
    return pd.DataFrame(rows, columns=["rater", "estimate", "change", "n_items", "n_raters", "reason"])


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
    "krippendorff_alpha": ("Krippendorff's alpha", alpha, {"level": "ordinal"}, ("level", "weights")),
    "kendall_w": ("Kendall's W", KendallW, {}, ()),
    **{
        f"cohen_kappa_{x}": (f"Cohen's kappa, {x} weights", Kappa, {"chance": "own", "two": True, "weights": x}, ())
        for x in ("linear", "quadratic")
    },
    **{f"krippendorff_alpha_{x}": (f"Krippendorff's alpha, {x}", alpha, {"level": x}, ()) for x in LEVELS},
    **{f"icc_{x.replace(',', '_')}": (f"ICC({x})", IntraclassCorrelation, {"form": x}, ()) for x in FORMS},
}
NAMES = tuple(COEFFICIENTS)
TITLES = {name: entry[0] for name, entry in COEFFICIENTS.items()}
DEFAULT = (
    *("percent_agreement", "cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic", "scott_pi", "fleiss_kappa"),
    *("conger_kappa", "light_kappa", "brennan_prediger", "gwet_ac1", "gwet_ac2", "krippendorff_alpha"),
    *("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k", "kendall_w"),
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


def _measure_one(name, ratings, chosen, n_boot, options):
    panel = as_panel(ratings, *(options.pop(key, None) for key in ("categories", "wide")))
    build = _builder(name, chosen)
    return _measure({name: build}, {name: build(panel)}, panel, n_boot, **options)[name]


def _measure(builders, built, panel, n_boot, seed=0, confidence=0.95):
    """Measure several coefficients on one panel; those of the same items share the resamples."""
    check_count("n_boot", n_boot, least=0)
    check_count("seed", seed, least=0)
    check_share("confidence", confidence)
    values = {name: coefficient.estimate() for name, coefficient in built.items()}
    groups, draws = {}, {}
    for name, coefficient in built.items():
        if values[name][0] is not None and n_boot and coefficient.panel.n_items > 1:
            groups.setdefault(coefficient.kept.tobytes(), []).append(name)
    for names in groups.values():
        resamples = resample_counts(built[names[0]].panel.n_items, n_boot, seed)
        blocks = [np.stack([built[name].values(weights) for name in names]) for weights in resamples]
        draws |= dict(zip(names, np.concatenate(blocks, axis=1), strict=True))
    found = {}
    for name, (estimate, reason) in values.items():
        held, fields, reasons = built[name].panel, {}, {"estimate": reason}
        if reason is None:
            tail = (1 + confidence) / 2
            fields, reasons = _uncertainty(builders[name], built[name], panel, estimate, draws.get(name), tail)
            fields["expected"] = built[name].expected()
        shown = panel if reason else held
        found[name] = Agreement(
            name,
            estimate,
            n_items=held.n_items,
            n_raters=held.n_raters,
            n_left_out=panel.n_rows - held.n_items,
            percent_agreement=None if shown.tallied is None else Kappa(shown, "none").estimate()[0],
            reasons=reasons,
            **fields,
        )
    return found


def _uncertainty(build, coefficient, panel, estimate, draws, tail):
    """Give standard error, formula interval, tests and the intervals for these and for new raters."""
    reasons, n = {}, coefficient.panel.n_items
    influence = coefficient.influence() if n > 1 else None
    fields = coefficient.formula(tail)
    model = getattr(coefficient, "model", None)  # of an intraclass correlation, which has an interval of its own
    if n < FEWEST and not model:
        reasons["panel_ci"] = "fewer_than_six_items"
    elif draws is None and not model:
        reasons["panel_ci"] = "not_asked"
    elif not model:
        fields["panel_ci"], reasons["panel_ci"] = bootstrap_interval(draws, estimate, n, tail, influence)
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
        reasons[other] = {1: "raters_nested_in_items", 2: "raters_are_drawn", 3: "raters_are_fixed"}[model]
        reasons[own] = None if fields[own] else "no_variation"
    else:
        found = _new_panel(build, coefficient, panel, estimate, fields, tail)
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
    """Give the interval of bootstrap draws: BCa with Student's quantiles (Hesterberg 2015).

    Undefined draws widen it, as if they lay outside on both sides.
    """
    missing = np.isnan(draws)
    known, bias, acceleration = draws[~missing], 0.0, 0.0
    z = math.sqrt(n_items / (n_items - 1)) * special.stdtrit(n_items - 1, tail) * np.array([-1.0, 1.0])
    near = np.abs(known - estimate) <= 1e-12
    below = np.mean((known < estimate) & ~near) + near.mean() / 2 if len(known) else 0.5
    if 0 < below < 1:  # with all draws on one side nothing is known about the bias
        bias = special.ndtri(below)
    if influence is not None and np.ptp(influence) > 1e-12:
        pull = influence - influence.mean()
        acceleration = np.sum(pull**3) / (6 * np.sum(pull**2) ** 1.5)
    tails = special.ndtr(bias + (bias + z) / np.maximum(1 - acceleration * (bias + z), 0.1))
    with np.errstate(invalid="ignore"):
        sides = zip((-np.inf, np.inf), tails, strict=True)
        low, high = (float(np.quantile(np.where(missing, end, draws), share)) for end, share in sides)
    if not math.isfinite(low) or not math.isfinite(high):
        return None, "undefined_in_resamples"
    return (low, high), "all_resamples_equal" if low == high else None


def _new_panel(build, coefficient, panel, estimate, fields, tail):
    """Give the interval for other raters and items, or why there is none.

    The variance over raters, a delete-one-rater jackknife, is added to the squared
    distances of the bounds over items (Zou & Donner 2008).
    """
    if panel.codes is None:
        return None, "raters_unknown"
    if panel.n_raters < 3:
        return None, "fewer_than_three_raters"
    if coefficient.panel.n_items < FEWEST:
        return None, "fewer_than_six_items"
    z, bounds = float(special.ndtri(tail)), fields.get("panel_ci")
    if bounds is None:
        if fields.get("se") is None or "panel_ci" in fields:
            return None, "undefined_in_resamples"
        bounds = (estimate - z * fields["se"], estimate + z * fields["se"])
    values = [build(panel.without(rater)).estimate()[0] for rater in range(panel.n_raters)]
    if None in values:
        return None, "undefined_without_a_rater"
    r = len(values)
    reach = z * math.sqrt((r - 1) / r * np.sum((np.array(values) - np.mean(values)) ** 2))
    below, above = max(estimate - bounds[0], 0.0), max(bounds[1] - estimate, 0.0)
    low, high = estimate - math.hypot(below, reach), estimate + math.hypot(above, reach)
    return (max(coefficient.lowest, low), min(1.0, high)), None
