"""How often each test finds a preference when nobody is preferred.

``python tests/validation/preference_levels.py`` writes the table of the book.
"""

import numpy as np
import pandas as pd
from scipy import stats

from casebook.files import write_text
from casebook.frames import shares
from casebook.paths import ROOT
from casebook.raters.power import simulate_votes
from casebook.raters.preference import NEW_RATERS, THESE_RATERS, preference_lines
from casebook.stats.intervals import bounds_text

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

POOLED = "pooled sign"
SIMULATED = "condition (raters; SD of items, of raters)"


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
        wins, losses = ((votes == vote).sum(axis=(1, 2)) for vote in (1, -1))
        p = 2 * stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5)
        rejected = {POOLED: int((p <= alpha).sum())}
        found = pd.concat([preference_lines(study, level=1 - alpha) for study in votes])
        for scope in (THESE_RATERS, NEW_RATERS):
            verdicts = found.loc[found["who"] == scope, "verdict"]
            rejected[scope] = int(verdicts.isin(["better", "worse"]).sum())
        rates = shares({test: (count, studies) for test, count in rejected.items()})
        rates = rates.rename(columns={"system": "test", "value": "rejected"})
        tables.append(rates.assign(condition=name, raters=raters, **spread))
    table = pd.concat(tables, ignore_index=True)
    return table.assign(holds=table["low"] <= alpha)


def book_table(study):
    """Arrange the study for reading; a star marks intervals above the nominal level."""
    rows = {}
    for row in study.itertuples():
        star = "" if row.holds else " *"
        simulated = f"{row.condition} ({row.raters}; {row.item_sd}, {row.rater_sd})"
        cells = rows.setdefault(simulated, {SIMULATED: simulated})
        cells[row.test] = f"{row.rejected:.3f} {bounds_text(row.low, row.high)}{star}"
    return pd.DataFrame(rows.values())


if __name__ == "__main__":
    found = book_table(false_positive_study())
    write_text(TABLE, found.to_csv(index=False, lineterminator="\n"))
    print(found.to_string(index=False))
