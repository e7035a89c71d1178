"""Two coefficients on the same items and raters, and a panel without each rater."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.agreement_input import as_frame, as_panel
from casebook.measures.agreement_intervals import bootstrap_interval, item_draws, whole, widened
from casebook.measures.agreement_measure import measure, without_each_rater
from casebook.measures.agreement_recipes import panel_options, recipe
from casebook.measures.agreement_result import Settings
from casebook.stats.samples import check_count


@dataclass(frozen=True)
class AgreementDifference:
    """A difference of two coefficients, first minus second."""

    estimate: float | None
    first: float | None
    second: float | None
    se: float | None = None
    panel_ci: tuple | None = None
    new_panel_ci: tuple | None = None
    n_items: int = 0
    n_raters: int = 0
    reasons: dict = field(default_factory=dict)


def paired_difference(
    first, second, coefficient="krippendorff_alpha", *, other=None, chosen=None, n_boot=1000, **options
):
    """Compare two panels' coefficients on the same items and raters."""
    check_count("n_boot", n_boot)
    chosen, scale = chosen or {}, panel_options(options)
    tables = _aligned(first, second)
    panels = [as_panel(t, every_row=True, **scale) for t in tables]
    if panels[0].raters != panels[1].raters:
        idle = set(panels[0].raters) ^ set(panels[1].raters)
        names = ", ".join(sorted(map(str, idle)))
        raise InputError(f"paired ratings: {names} rated nothing in one table")
    recipes = [recipe(coefficient, **chosen), recipe(other or coefficient, **chosen)]
    return _contrast(recipes, panels, Settings(n_boot, **options))


def leave_one_rater_out(ratings, coefficient="krippendorff_alpha", *, chosen=None, **options):
    """Measure agreement without each rater in turn."""
    panel = as_panel(ratings, **panel_options(options))
    wanted = recipe(coefficient, **(chosen or {}))
    settings = Settings(0, **options)
    (full,) = measure([wanted], panel, settings)
    rows = []
    for column, rater in enumerate(panel.raters or ()):
        (rest,) = measure([wanted], panel.without(column), settings)
        known = None not in (full.estimate, rest.estimate)
        rows.append(
            {
                "rater": rater,
                "estimate": rest.estimate,
                "change": rest.estimate - full.estimate if known else None,
                "n_items": rest.n_items,
                "n_raters": rest.n_raters,
                "reason": rest.reasons.get("estimate"),
            }
        )
    columns = ["rater", "estimate", "change", "n_items", "n_raters", "reason"]
    return pd.DataFrame(rows, columns=columns)


def _contrast(recipes, panels, settings):
    """Compare two coefficients by paired resamples."""
    rows = np.zeros(panels[0].n_items, dtype=bool)
    for wanted, panel in zip(recipes, panels, strict=True):
        rows |= wanted.kind.usable(panel)
    built = [r.build(p, rows) for r, p in zip(recipes, panels, strict=True)]
    parts = [None if c.reason() else whole(c) for c in built]
    size = {"n_items": int(rows.sum()), "n_raters": panels[0].n_raters}
    if None in parts:
        code = next(c.reason() or "no_variation" for c in built if _undefined(c))
        return AgreementDifference(None, *parts, **size, reasons={"estimate": code})
    estimate, reasons = parts[0] - parts[1], {}
    if size["n_items"] < 2:
        reasons = {"panel_ci": "fewer_than_two_items"}
        return AgreementDifference(estimate, *parts, **size, reasons=reasons)
    draws = item_draws(built, size["n_items"], settings)
    difference = draws[:, 0] - draws[:, 1]
    ci, why = bootstrap_interval(difference, estimate, size["n_items"], settings)
    if why:
        reasons["panel_ci"] = why
    se = None if np.isnan(difference).any() else float(difference.std(ddof=1))
    wide, why = _new_panel(recipes, panels, estimate, ci, settings)
    if why:
        reasons["new_panel_ci"] = why
    return AgreementDifference(estimate, *parts, se, ci, wide, **size, reasons=reasons)


def _undefined(coefficient):
    return coefficient.reason() is not None or whole(coefficient) is None


def _new_panel(recipes, panels, estimate, bounds, settings):
    if panels[0].n_raters < 3:
        return None, "fewer_than_three_raters"
    if bounds is None:
        return None, "undefined_in_resamples"
    first, second = map(without_each_rater, recipes, panels)
    if np.isnan(first - second).any():
        return None, "undefined_without_a_rater"
    return widened(estimate, bounds, first - second, settings), None


def _aligned(first, second):
    """Bring two tables of ratings into the same items and raters."""
    tables = [as_frame(table) for table in (first, second)]
    for what, labels in (("items", [t.index for t in tables]), ("raters", [t.columns for t in tables])):
        if not all(index.is_unique for index in labels):
            raise InputError(f"paired ratings: {what} are not named uniquely")
        unpaired = labels[0].symmetric_difference(labels[1])
        if len(unpaired):
            raise InputError(f"paired ratings: {len(unpaired)} {what} stand in one table only (first: {unpaired[0]})")
    return tables[0], tables[1].loc[tables[0].index, tables[0].columns]
