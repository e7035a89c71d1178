"""All coefficients of one panel side by side."""

import pandas as pd

from casebook.measures.agreement_benchmark import benchmark
from casebook.measures.agreement_input import as_panel
from casebook.measures.agreement_measure import measure
from casebook.measures.agreement_recipes import obstacle, recipe
from casebook.measures.agreement_result import Agreement, Settings

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
_UNLABELLED = ("percent_agreement", "kendall_w", "icc_1_k", "icc_2_k", "icc_3_k")


def agreement_results(
    ratings,
    level="ordinal",
    n_boot=1000,
    *,
    weights="quadratic",
    coefficients=DEFAULT,
    categories=None,
    wide=False,
    seed=0,
    confidence=0.95,
):
    """Measure many coefficients at once; they share the resamples."""
    panel = as_panel(ratings, categories, wide)
    settings = Settings(n_boot, seed, confidence)
    special = {"gwet_ac2": {"weights": weights}, "krippendorff_alpha": {"level": level}}
    recipes = [recipe(name, **special.get(name, {})) for name in coefficients]
    possible = [r for r in recipes if obstacle(r, panel) is None]
    found = {a.coefficient: a for a in measure(possible, panel, settings)}
    return {r.name: found.get(r.name) or _unfit(r, panel) for r in recipes}


def _unfit(wanted, panel):
    size = {"n_items": panel.n_items, "n_raters": panel.n_raters}
    reasons = {"estimate": obstacle(wanted, panel)}
    return Agreement(wanted.name, None, **size, reasons=reasons)


def agreement_table(ratings, level="ordinal", n_boot=1000, *, scale=None, **options):
    """Tabulate the coefficients of one panel.

    Parameters
    ----------
    ratings, level, n_boot, **options
        As `agreement_results`.
    scale : {"landis-koch", "altman", "fleiss"}, optional
        Words for the coefficients; Landis and Koch's by default.

    Returns
    -------
    pandas.DataFrame
        As `table_of`.

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
    found = agreement_results(ratings, level, n_boot, **options)
    return table_of(found, scale or "landis-koch")


def table_of(results, scale="landis-koch"):
    """Tabulate measured coefficients."""
    return pd.DataFrame([_row(name, result, scale) for name, result in results.items()]).astype(
        {"label": object, "reason": object}
    )


def _row(name, result, scale):
    said = None if name in _UNLABELLED else result.estimate
    word = benchmark(said, result.se, scale)
    panel, new_panel = (b or (None, None) for b in (result.panel_ci, result.new_panel_ci))
    return {
        "coefficient": name,
        "estimate": result.estimate,
        "se": result.se,
        "panel_low": panel[0],
        "panel_high": panel[1],
        "new_panel_low": new_panel[0],
        "new_panel_high": new_panel[1],
        "expected": result.expected,
        "percent_agreement": result.percent_agreement,
        "n_items": result.n_items,
        "n_raters": result.n_raters,
        "n_left_out": result.n_left_out,
        "label": word.label,
        "probability": word.probability,
        "reason": result.reason,
    }
