"""Raters one by one: copies of each other, and votes against own ratings."""

import itertools

import numpy as np
import pandas as pd

from casebook.raters.unblinding import SCALES

COPIED = 0.8  # share of equal rows of ratings above which two raters are flagged


def duplicate_raters(panel):
    """Compare all pairs of raters, in case one copied the other."""
    keys = [(scale, arm) for scale in SCALES for arm in (panel.focus, panel.other)]
    rows = []
    for one, two in itertools.combinations(panel.raters, 2):
        votes = panel.votes[[one, two]].dropna()
        rated = [panel.ratings[key][[one, two]] for key in keys]
        known = np.all([r.notna().all(axis=1) for r in rated], axis=0)
        equal = np.all([r[one] == r[two] for r in rated], axis=0)[known]
        same = float(equal.mean()) if len(equal) else None
        shares = [votes[r].value_counts(normalize=True) for r in (one, two)]
        rows.append(
            {
                "rater_a": one,
                "rater_b": two,
                "n": len(votes),
                "same_votes": _mean(votes[one] == votes[two]),
                "expected": float(shares[0].mul(shares[1], fill_value=0).sum()),
                "same_ratings": same,
                "suspicious": bool(len(equal) >= 10 and same > COPIED),
            }
        )
    columns = ["rater_a", "rater_b", "n", "same_votes", "expected", "same_ratings"]
    return pd.DataFrame(rows, columns=[*columns, "suspicious"])


def _mean(values):
    return float(values.mean()) if len(values) else None


def consistency(panel):
    """Hold votes against the sums of the ratings of the same judgement."""
    total = sum(panel.differences(scale) for scale in SCALES)
    rows = []
    for rater in panel.raters:
        pair = pd.DataFrame({"v": panel.votes[rater], "d": np.sign(total[rater])})
        pair = pair.dropna()
        product = pair["v"] * pair["d"]
        agree = (pair["v"] == pair["d"]).sum()
        contradict = (product < 0).sum()
        rows.append(
            {
                "rater": rater,
                "agree": int(agree),
                "contradict": int(contradict),
                "one_tied": int(len(pair) - agree - contradict),
                "n": len(pair),
            }
        )
    return pd.DataFrame(rows)
