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
CONDITION = "condition (raters; SD of items, of raters)"
# Name, raters, and standard deviations of items and raters (log odds); 1.3 and 0.5 were fitted to
# the documented study.
CONDITIONS = (
    ("votes independent", 4, 0.0, 0.0),
    ("items differ", 4, 1.3, 0.0),
    ("raters lean a little", 4, 1.3, 0.25),
    ("raters lean", 4, 1.3, 0.5),
    ("raters lean much", 4, 1.3, 1.0),
    ("three raters lean", 3, 1.3, 0.5),
    ("eight raters lean", 8, 1.3, 0.5),
)

POOLED = "pooled sign"


def false_positive_study(*, studies=2_000, items=50, alpha=0.05, seed=0):
    """Reject a true null hypothesis many times, under several kinds of dependence.

    That nobody is preferred is meant over all items and raters that could be drawn. ``holds`` is
    whether Wilson's interval of the share of rejections reaches down to `alpha`.
    """
    rows = []
    for name, raters, item_sd, rater_sd in CONDITIONS:
        spread = {"tie_rate": 0.12, "item_sd": item_sd, "rater_sd": rater_sd}
        votes = simulate_votes(studies, items, raters, **spread, seed=seed)
        rates = rejection_rates(votes, alpha=alpha, seed=seed).set_index("test")
        shares = {POOLED: rates.loc[POOLED, ["rejected", "low", "high"]].tolist()}
        lines = [preference_lines(study, level=1 - alpha).set_index("scope") for study in votes]
        for scope in (THESE_RATERS, NEW_RATERS):
            verdicts = [line.loc[scope, "verdict"] for line in lines]
            share = wilson(verdicts.count("better") + verdicts.count("worse"), studies)
            shares[scope] = [share.estimate, share.low, share.high]
        for test, found in shares.items():
            rows.append((name, raters, item_sd, rater_sd, test, *found, found[1] <= alpha))
    columns = ["condition", "raters", "item_sd", "rater_sd", "test", "rejected", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "holds"])


def book_table(study):
    """Arrange the study for reading; a star marks intervals above the nominal level."""
    rows = {}
    for row in study.itertuples():
        cell = f"{row.rejected:.3f} {bounds_text(row.low, row.high)}"
        simulated = f"{row.condition} ({row.raters}; {row.item_sd}, {row.rater_sd})"
        cells = rows.setdefault(simulated, {CONDITION: simulated})
        cells[row.test] = cell if row.holds else f"{cell} *"
    return pd.DataFrame(rows.values())


if __name__ == "__main__":
    found = book_table(false_positive_study())
    write_text(TABLE, found.to_csv(index=False, lineterminator="\n"))
    print(found.to_string(index=False))
