"""Krippendorff's alpha, intraclass correlation and Kendall's W."""

from casebook.measures.agreement_icc import FORMS
from casebook.measures.agreement_recipes import measure_one
from casebook.stats.samples import check_choice


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

    References
    ----------
    Krippendorff, Content Analysis, 4th ed., 2019, ch. 12; standard error: Gwet (2014),
    ch. 5.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 2], [5, 4]]).estimate, 3)
    0.889
    """
    chosen = {"level": level, "weights": weights}
    return measure_one("krippendorff_alpha", ratings, chosen, n_boot, options)


def intraclass_correlation(ratings, form="2,1", n_boot=1000, **options):
    """Intraclass correlation in one of the six forms of Shrout and Fleiss."""
    check_choice("form", form, FORMS)
    return measure_one(f"icc_{form.replace(',', '_')}", ratings, {}, n_boot, options)


def kendall_w(ratings, n_boot=1000, **options):
    """Kendall's W: how far the raters rank the items alike, corrected for ties."""
    return measure_one("kendall_w", ratings, {}, n_boot, options)
