"""Explanations for people to rate, and what they say of them."""

import pandas as pd

from casebook.raters.forms import EXPLANATIONS as COLUMNS
from casebook.raters.ratings import likert_summary
from casebook.raters.read import read_forms, read_key, unblind_likert

SHOWN = ("scale", "system", "mean", "mean low", "mean high", "median", "n", "ratings")
ALPHA = ("alpha", "alpha low", "alpha high", "raters", "reason")


def for_raters(explained):
    """Give explanations as `casebook.raters.forms.make_likert_forms` takes them."""
    rows = [
        (key, explained.own[key], text, explained.sources[explained.own[key]])
        for key, text in explained.explanations.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def ratings_table(forms, key, *, n_boot=10_000, seed=0):
    """Summarise returned Likert forms: clarity, legal accuracy, usefulness."""
    if forms is None:
        return pd.DataFrame(columns=[*SHOWN, "defects"])
    ratings, defects = unblind_likert(read_forms([forms]), read_key(key))
    summary = likert_summary(ratings, n_boot=n_boot, seed=seed)
    kept = [name for name in (*SHOWN, *ALPHA) if name in summary]
    return summary[kept].assign(defects=len(defects))


def ratings_note(table):
    """Say what the ratings are, or that there are none."""
    if table.empty:
        return "No person has rated these explanations: no ratings are shown, and none are made up."
    count, raters = int(table["ratings"].sum()), table["raters"].max()
    return f"{count} ratings by up to {raters:.0f} raters on three scales."
