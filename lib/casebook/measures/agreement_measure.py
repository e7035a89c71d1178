"""From a coefficient and a panel to its estimate with both intervals."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from casebook.measures.agreement_chance import PercentAgreement
from casebook.measures.agreement_icc import IntraclassCorrelation
from casebook.measures.agreement_intervals import bootstrap_interval, item_draws, student, whole, widened
from casebook.measures.agreement_result import Agreement
from casebook.stats.intervals import FEWEST


@dataclass(frozen=True)
class Recipe:
    """Which coefficient with which options, before the panel is known."""

    name: str
    kind: type
    options: dict = field(default_factory=dict)

    def build(self, panel, rows=None):
        """Put the coefficient on a panel."""
        usable = self.kind.usable(panel)
        held = panel.keep(usable if rows is None else rows)
        if rows is not None:
            held = held.blank(~self.kind.usable(held))
        return self.kind(held, **self.options)


def measure(recipes, panel, settings):
    """Measure several coefficients on one panel."""
    built = [recipe.build(panel) for recipe in recipes]
    undefined = [_undefined(coefficient) for coefficient in built]
    draws = _shared_draws(recipes, built, undefined, panel, settings)
    return [
        _report(recipe, coefficient, reason, panel, draws.get(k), settings)
        for k, (recipe, coefficient, reason) in enumerate(zip(recipes, built, undefined, strict=True))
    ]


def _undefined(coefficient):
    """Why there is no estimate, or None."""
    found = coefficient.reason()
    if found is None and whole(coefficient) is None:
        return "no_variation"
    return found


def _shared_draws(recipes, built, undefined, panel, settings):
    """Bootstrap draws by number of the recipe, if asked for and possible."""
    groups = {}
    for k, recipe in enumerate(recipes):
        if undefined[k] is None and settings.n_boot and built[k].panel.n_items > 1:
            groups.setdefault(recipe.kind.usable(panel).tobytes(), []).append(k)
    found = {}
    for members in groups.values():
        coefficients = [built[k] for k in members]
        draws = item_draws(coefficients, coefficients[0].panel.n_items, settings)
        found |= dict(zip(members, draws.T, strict=True))
    return found


def _report(recipe, coefficient, reason, panel, draws, settings):
    held = coefficient.panel
    size = {
        "n_items": held.n_items,
        "n_raters": held.n_raters,
        "n_ratings": int(held.per_item.sum()),
        "n_left_out": panel.n_rows - held.n_items,
        "percent_agreement": _percent(panel if reason else held),
    }
    if reason is not None:
        return Agreement(recipe.name, None, **size, reasons={"estimate": reason})
    estimate = whole(coefficient)
    observed, expected = coefficient.agreement()
    fields, reasons = _uncertainty(coefficient, estimate, draws, settings)
    if isinstance(coefficient, IntraclassCorrelation):
        found, why = _of_the_model(coefficient, fields)
        fields |= found
        reasons |= why
    else:
        ci, why = _new_panel(recipe, coefficient, panel, estimate, fields, settings)
        fields["new_panel_ci"] = ci
        if why:
            reasons["new_panel_ci"] = why
    fields |= size | {"observed": observed, "expected": expected}
    return Agreement(recipe.name, estimate, **fields, reasons=reasons)


def _of_the_model(coefficient, fields):
    """Give the F interval to the population that the ICC's own model speaks of."""
    bounds = fields.get("interval")
    panel, new = ("panel_ci", "new_panel_ci")
    if coefficient.model == 2:
        panel, new = new, panel
    other = {1: "raters_nested_in_items", 2: "raters_are_drawn", 3: "raters_are_fixed"}
    reasons = {new: other[coefficient.model]}
    if bounds is None:
        reasons[panel] = "no_variation"
    return {panel: bounds, new: None}, reasons


def _percent(panel):
    if panel.tallied is None:
        return None
    found = PercentAgreement(panel)
    return None if found.reason() else whole(found)


def _uncertainty(coefficient, estimate, draws, settings):
    """Give standard error, formula interval, tests and item bootstrap."""
    fields, reasons = {}, {}
    n = coefficient.panel.n_items
    influence = coefficient.influence() if n > 1 else None
    if isinstance(coefficient, IntraclassCorrelation):
        pass  # its model has an interval of its own
    elif n < FEWEST:
        reasons["panel_ci"] = "fewer_than_six_items"
    elif draws is None:
        reasons["panel_ci"] = "not_asked"
    else:
        ci, why = bootstrap_interval(draws, estimate, n, settings, influence)
        fields["panel_ci"] = ci
        if why:
            reasons["panel_ci"] = why
    se, method = _standard_error(coefficient.panel, influence, draws)
    if se is None:
        reasons["se"] = reasons.get("panel_ci", "undefined_in_resamples")
    else:
        fields |= {"se": se, "se_method": method}
    formula = coefficient.formula(settings)
    if formula is not None:
        fields |= formula
    elif method == "linearised":
        fields |= student(estimate, se, coefficient.panel.n_rated - 1, settings)
    return fields, reasons


def _standard_error(panel, influence, draws):
    """Give the standard error over items and how it was found, or None twice."""
    n = panel.n_items
    if influence is not None:
        spread = np.sum((influence - influence.mean()) ** 2)
        last = n if panel.large_sample else n - 1
        return math.sqrt(spread / (n * last)), "linearised"
    if draws is None or np.isnan(draws).any():
        return None, None
    return float(draws.std(ddof=1)), "item bootstrap"


def _new_panel(recipe, coefficient, panel, estimate, fields, settings):
    """Give the interval for other raters and items, or why there is none."""
    if panel.codes is None:
        return None, "raters_unknown"
    if coefficient.nested:
        return None, "raters_nested_in_items"
    if panel.n_raters < 3:
        return None, "fewer_than_three_raters"
    if coefficient.panel.n_items < FEWEST:
        return None, "fewer_than_six_items"
    bounds = fields.get("panel_ci")
    if bounds is None:
        se = fields.get("se")
        if se is None or "panel_ci" in fields:
            return None, "undefined_in_resamples"
        reach = float(special.ndtri(settings.tails[1])) * se
        bounds = (estimate - reach, estimate + reach)
    values = without_each_rater(recipe, panel)
    if np.isnan(values).any():
        return None, "undefined_without_a_rater"
    low, high = widened(estimate, bounds, values, settings)
    return (max(coefficient.lowest, low), min(1.0, high)), None


def without_each_rater(recipe, panel):
    """Give the coefficient without each rater in turn."""
    values = []
    for rater in range(panel.n_raters):
        rest = recipe.build(panel.without(rater))
        value = None if rest.reason() else whole(rest)
        values.append(np.nan if value is None else value)
    return np.array(values)
