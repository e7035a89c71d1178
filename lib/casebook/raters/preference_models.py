"""Models of a panel's votes and ratings, side by side."""

import numpy as np
import pandas as pd
from scipy import special

from casebook.errors import InputError
from casebook.inference.mixed_models import fit_cumulative_link
from casebook.inference.samples import check_share
from casebook.inference.vote_simulation import marginal_probability
from casebook.inference.votes import check_sides, check_votes

SYSTEM, LEFT = "system", "left"


def vote_models(votes, on_the_left=None, *, level=0.95):
    """Log odds that the first system wins an untied vote, by three models.

    Parameters
    ----------
    votes : pandas.DataFrame, shape [items, raters]
        1, 0, -1 or NaN; ties are left out.
    on_the_left : array_like of bool, same shape, optional
        Side of the first system; then each model has a term for it and the log odds
        are those of equally used sides.
    level : float, default 0.95
        Nominal coverage of the Wald intervals.

    Returns
    -------
    pandas.DataFrame
        Rows ``logit`` (votes independent), ``GEE by item`` (exchangeable within items,
        robust errors) and ``crossed logit`` (random intercepts of items and raters,
        Laplace): ``log_odds``, ``se``, ``ci_low``, ``ci_high``, ``pvalue``,
        ``win_rate`` (for the mixed model averaged over items and raters), ``left``
        with ``left_pvalue`` (log odds added by standing on the left rather than the
        right), ``item_sd``, ``rater_sd``, ``log_likelihood``, ``n`` (untied votes) and
        ``reason``. NaN where a model has no such number.

    Raises
    ------
    InputError
        If a value is no vote, all votes are ties or a side is missing.

    References
    ----------
    Liang & Zeger, Biometrika 73, 1986 (GEE).
    """
    check_share("level", level)
    table = _untied(votes, on_the_left)
    fixed = table[[LEFT]] if on_the_left is not None else None
    groups = {"item": table["item"], "rater": table["rater"]}
    plain = fit_cumulative_link(table["win"], fixed, level=level)
    mixed = fit_cumulative_link(table["win"], fixed, groups, level=level)
    rows = [_cumulative_row("logit", plain)]
    if plain.reason is None:
        rows.append(_gee_row(table, fixed, level))
    rows.append(_cumulative_row("crossed logit", mixed))
    return pd.DataFrame(rows)


def _untied(votes, on_the_left):
    V = check_votes(votes)
    items, raters = np.nonzero(~np.isnan(V) & (V != 0))
    if not len(items):
        raise InputError("all votes are ties: there is no preference to model")
    table = {"item": items, "rater": raters, "win": (V[items, raters] > 0).astype(int)}
    if on_the_left is not None:
        left = check_sides(V, on_the_left)[items, raters]
        table[LEFT] = np.where(left, 0.5, -0.5)
    return pd.DataFrame(table)


def _cumulative_row(name, fit):
    """Row of a two-category model: the first system's log odds are minus the cut."""
    cut = fit.table.iloc[0] if len(fit.table) else None
    sds = fit.sds.set_index("group")["sd"]
    row = {"model": name, "n": fit.n, "log_likelihood": fit.log_likelihood}
    row |= {"item_sd": sds.get("item"), "rater_sd": sds.get("rater")}
    row["reason"] = fit.reason
    if fit.reason or cut is None:
        return row
    spread = float(np.sqrt(np.sum(fit.sds["sd"] ** 2)))
    row |= {
        **{"log_odds": -cut["estimate"], "se": cut["se"], "pvalue": cut["pvalue"]},
        **{"ci_low": -cut["ci_high"], "ci_high": -cut["ci_low"]},
        "win_rate": marginal_probability(-cut["estimate"], spread),
    }
    if len(fit.table) > 1:
        side = fit.table.iloc[1]
        row |= {"left": side["estimate"], "left_pvalue": side["pvalue"]}
    return row


def _gee_row(table, fixed, level):
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    X = np.ones((len(table), 1))
    if fixed is not None:
        X = np.column_stack([X, fixed])
    model = GEE(
        table["win"], X, table["item"], family=Binomial(), cov_struct=Exchangeable()
    )
    fit = model.fit()
    low, high = np.asarray(fit.conf_int(1 - level))[0]
    estimate, errors, pvalues = (
        np.asarray(x) for x in (fit.params, fit.bse, fit.pvalues)
    )
    row = {
        **{"model": "GEE by item", "n": len(table), "reason": None},
        **{"log_odds": estimate[0], "se": errors[0], "pvalue": pvalues[0]},
        **{"ci_low": low, "ci_high": high},
        "win_rate": float(special.expit(estimate[0])),
    }
    if len(estimate) > 1:
        row |= {"left": estimate[1], "left_pvalue": pvalues[1]}
    return row


def rating_models(ratings, *, first, level=0.95):
    """Log odds that the first system is rated higher, by two models.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Columns ``item``, ``rater``, ``system`` (two labels) and ``rating``; rows
        without a rating are counted and left out.
    first : str
        Label of the first system.
    level : float, default 0.95
        Nominal coverage of the Wald intervals.

    Returns
    -------
    pandas.DataFrame
        Rows ``proportional odds`` (with a fixed term for each rater) and ``mixed``
        (random intercepts of items and raters, Laplace): ``log_odds``, ``se``,
        ``ci_low``, ``ci_high``, ``pvalue``, ``item_sd``, ``rater_sd``,
        ``log_likelihood``, ``n``, ``missing`` and ``reason``.

    Raises
    ------
    InputError
        If there are not two systems.
    """
    rated = ratings.dropna(subset=["rating"])
    systems = sorted(set(rated["system"]))
    if len(systems) != 2 or first not in systems:
        names = ", ".join(map(str, systems))
        raise InputError(f"ratings need {first!r} and one other system, not: {names}")
    system = pd.DataFrame({SYSTEM: (rated["system"] == first).astype(float)})
    terms = pd.get_dummies(rated["rater"], drop_first=True, dtype=float)
    groups = {"item": rated["item"], "rater": rated["rater"]}
    fits = {
        "proportional odds": fit_cumulative_link(
            rated["rating"], pd.concat([system, terms], axis=1), level=level
        ),
        "mixed": fit_cumulative_link(rated["rating"], system, groups, level=level),
    }
    missing = len(ratings) - len(rated)
    return pd.DataFrame([_rating_row(name, fit, missing) for name, fit in fits.items()])


def _rating_row(name, fit, missing):
    effect = fit.table.set_index("parameter").loc[SYSTEM]
    sds = fit.sds.set_index("group")["sd"]
    return {
        **{"model": name, "log_odds": effect["estimate"], "se": effect["se"]},
        **{"ci_low": effect["ci_low"], "ci_high": effect["ci_high"]},
        **{"pvalue": effect["pvalue"], "item_sd": sds.get("item")},
        **{"rater_sd": sds.get("rater"), "log_likelihood": fit.log_likelihood},
        **{"n": fit.n, "missing": missing, "reason": fit.reason},
    }
