"""False positives of preference tests when neither system is preferred.

``python -m casebook.inference.false_positives FILE`` writes the table of the book.
"""

import sys

import pandas as pd

from casebook.files import write_text
from casebook.inference.intervals import bounds_text
from casebook.inference.mixed_models import fit_cumulative_link
from casebook.inference.preference_study import rejection_rates
from casebook.inference.proportions import wilson
from casebook.inference.vote_simulation import simulate_votes

CONDITIONS = (
    ("votes independent", 0.0, 0.0),
    ("items differ", 1.3, 0.0),
    ("items and raters differ", 1.3, 0.5),
)
"""Name, and standard deviations of items and raters (log odds), as fitted to the
documented study."""

MODEL = "crossed logit"


def false_positive_study(
    *, studies=4_000, models=300, items=50, raters=4, tie_rate=0.12, alpha=0.05, seed=0
):
    """Reject a true null hypothesis many times, under three kinds of dependence.

    Parameters
    ----------
    studies : int, default 4000
        Simulated studies per condition.
    models : int, default 300
        Studies among them to which the crossed mixed model is fitted; 0 for none.
    items, raters, tie_rate
        Design, as in `casebook.inference.vote_simulation.simulate_votes`.
    alpha : float, default 0.05
        Nominal two-sided level.
    seed : int, default 0
        Seed.

    Returns
    -------
    pandas.DataFrame
        ``condition``, ``item_sd``, ``rater_sd``, ``test``, ``rejected`` (share of
        studies that find a preference), ``ci_low``, ``ci_high`` (Wilson, 95 %), ``n``
        and ``holds``: whether the interval reaches down to `alpha`. That nobody is
        preferred is meant over all items and all raters that might have been drawn.

    Raises
    ------
    InputError
        If an argument is outside its range.
    """
    tables = []
    for name, item_sd, rater_sd in CONDITIONS:
        votes = simulate_votes(
            studies,
            items,
            raters,
            tie_rate=tie_rate,
            item_sd=item_sd,
            rater_sd=rater_sd,
            seed=seed,
        )
        rates = rejection_rates(votes, alpha=alpha, seed=seed)
        if models:
            rates.loc[len(rates)] = _model_rate(votes[:models], alpha)
        rates.insert(0, "condition", name)
        rates.insert(1, "item_sd", item_sd)
        rates.insert(2, "rater_sd", rater_sd)
        tables.append(rates)
    table = pd.concat(tables, ignore_index=True)
    return table.assign(holds=table["ci_low"] <= alpha)


def _model_rate(votes, alpha):
    """Row of the crossed mixed model's Wald test; a fit without numbers rejects not."""
    rejected = 0
    for study in votes:
        item, rater = study.nonzero()
        wins, groups = study[item, rater] > 0, {"item": item, "rater": rater}
        fit = fit_cumulative_link(wins, groups=groups)
        rejected += fit.reason is None and fit.table["pvalue"].iloc[0] <= alpha
    share = wilson(int(rejected), len(votes))
    return [MODEL, share.estimate, share.low, share.high, share.n]


def book_table(study):
    """Arrange the study for reading: tests in rows, conditions in columns.

    Parameters
    ----------
    study : pandas.DataFrame
        Of `false_positive_study`.

    Returns
    -------
    pandas.DataFrame
        ``test``, one column per condition with the share and its interval, and
        ``studies``. A star marks shares whose interval lies above the nominal level.
    """
    rows = {}
    for row in study.itertuples():
        cell = f"{row.rejected:.3f} {bounds_text(row.ci_low, row.ci_high)}"
        cells = rows.setdefault(row.test, {"test": row.test})
        cells[row.condition] = cell if row.holds else f"{cell} *"
        cells["studies"] = row.n
    columns = ["test", *dict.fromkeys(study["condition"]), "studies"]
    return pd.DataFrame(rows.values())[columns]


if __name__ == "__main__":
    table = book_table(false_positive_study())
    write_text(sys.argv[1], table.to_csv(index=False, lineterminator="\n"))
