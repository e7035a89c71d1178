"""Tables on blinding: what the texts give away, and what raters guessed."""

import numpy as np
import pandas as pd

from casebook.raters.arm_guess import guess_arms
from casebook.raters.blinding import blinding_index
from casebook.stats.intervals import bounded

FOLDS = 10
GUESSES = ("S1", "S2", "DK")


def content_audit(panel, permutations=200, seed=0):
    """Ask whether the texts alone give the systems away."""
    texts = panel.texts[[panel.focus, panel.other]].fillna("")
    both = texts[(texts != "").all(axis=1)]
    options = {"folds": FOLDS, "n_permutations": permutations, "seed": seed}
    found = guess_arms(both[panel.focus], both[panel.other], **options)
    row = {
        **bounded("accuracy", found.accuracy),
        "chance": 0.5,
        "p": found.pvalue,
        "n": found.n,
        "reason": found.reason,
    }
    return {"arm_guess": pd.DataFrame([row]), "telling_words": found.words}


def guesses(panel):
    """Give the blinding indices, if raters were asked for a guess."""
    if panel.rows["guess"].isna().all():
        return pd.DataFrame([{"index": "Bang, James", "n": 0, "reason": "not_asked"}])
    arms = (f"{panel.focus} left", f"{panel.focus} right")
    found = blinding_index(guess_counts(panel), arms)
    parts = [("Bang", arm, interval) for arm, interval in found.bang.items()]
    rows = [
        {"index": name, "arm": arm, **bounded("value", interval), "n": interval.n, "reason": interval.reason}
        for name, arm, interval in [*parts, ("James", "both", found.james)]
    ]
    return pd.DataFrame(rows)


def guess_counts(panel):
    """Cross what raters guessed with the truth."""
    left, guess = panel.rows["focus_left"], panel.rows["guess"]
    return np.array([[((left == side) & (guess == g)).sum() for g in GUESSES] for side in (True, False)])
