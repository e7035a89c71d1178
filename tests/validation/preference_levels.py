"""How often each test finds a preference when nobody is preferred.

``python tests/validation/preference_levels.py`` writes the table of the book.
"""

import pandas as pd

from casebook.files import write_text
from casebook.paths import ROOT
from casebook.raters.power import rejection_rates, simulate_votes
from casebook.raters.preference import NEW_RATERS, THESE_RATERS, preference_lines
from casebook.stats.intervals import bounds_text, wilson

TABLE = ROOT / "book" / "methods" / "false_positives.csv"
CONDITIONS = (
    ("votes independent", 4, 0.0, 0.0),
    ("items differ", 4, 1.3, 0.0),
    ("raters lean a little", 4, 1.3, 0.25),
    ("raters lean", 4, 1.3, 0.5),
    ("raters lean much", 4, 1.3, 1.0),
    ("three raters lean", 3, 1.3, 0.5),
    ("eight raters lean", 8, 1.3, 0.5),
)
"""Name, raters, and standard deviations of items and raters (log odds); 1.3 and 0.5
were fitted to the documented study."""

OTHERS = ("pooled sign",)


def false_positive_study(*, studies=2_000, items=50, alpha=0.05, seed=0):
    """Reject a true null hypothesis many times, under several kinds of dependence.

    That nobody is preferred is meant over all items and raters that could be drawn.
    Rows: condition, raters, item_sd, rater_sd, test, rejected (share), low
    and high (Wilson, 95 %), n and holds (whether that interval reaches down to
    `alpha`). The two lines come from `preference_lines`, study by study.
    """
    tables = []
    for name, raters, item_sd, rater_sd in CONDITIONS:
        spread = {"tie_rate": 0.12, "item_sd": item_sd, "rater_sd": rater_sd}
        votes = simulate_votes(studies, items, raters, **spread, seed=seed)
        rates = rejection_rates(votes, alpha=alpha, seed=seed)
        rates = rates[rates["test"].isin(OTHERS)]
        found = [preference_lines(study, level=1 - alpha) for study in votes]
        for scope in (THESE_RATERS, NEW_RATERS):
            verdicts = [t.set_index("scope").loc[scope, "verdict"] for t in found]
            rejected = sum(verdict in ("better", "worse") for verdict in verdicts)
            share = wilson(rejected, studies)
            row = [scope, share.estimate, share.low, share.high, share.n]
            rates = pd.concat([rates, pd.DataFrame([row], columns=rates.columns)])
        rates.insert(0, "condition", name)
        known = {"raters": raters, "item_sd": item_sd, "rater_sd": rater_sd}
        tables.append(rates.assign(**known))
    table = pd.concat(tables, ignore_index=True)
    return table.assign(holds=table["low"] <= alpha)


def book_table(study):
    """Arrange the study for reading; a star marks intervals above the nominal level."""
    rows = {}
    for row in study.itertuples():
        cell = f"{row.rejected:.3f} {bounds_text(row.low, row.high)}"
        simulated = f"{row.condition} ({row.raters}; {row.item_sd}, {row.rater_sd})"
        cells = rows.setdefault(
            row.condition, {"condition (raters; SD of items, of raters)": simulated}
        )
        cells[row.test] = cell if row.holds else f"{cell} *"
    return pd.DataFrame(rows.values())


if __name__ == "__main__":
    found = book_table(false_positive_study())
    write_text(TABLE, found.to_csv(index=False, lineterminator="\n"))
    print(found.to_string(index=False))
