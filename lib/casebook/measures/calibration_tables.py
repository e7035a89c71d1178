"""Bins of a reliability diagram, and errors by coverage."""

import numpy as np
import pandas as pd

from casebook.stats.intervals import wilson


def bin_table(y, p, bins, level):
    """Give the mean statement and the share that came true of every bin."""
    rows = []
    for b in range(bins.max(initial=-1) + 1):
        inside = bins == b
        share = wilson(int(y[inside].sum()), int(inside.sum()), level)
        rows.append((share.n, p[inside].mean(), share.estimate, share.low, share.high))
    return pd.DataFrame(rows, columns=["n", "confidence", "share", "share low", "share high"])


def coverage_curve(y, p, missing):
    """Give the risk at every coverage that a threshold on the probability can give."""
    order = np.argsort(-p, kind="stable")
    last = np.flatnonzero(np.diff(p[order], append=-1.0))
    covered, wrong = last + 1, np.cumsum(~y[order])[last]
    return pd.DataFrame(
        {
            "threshold": p[order][last],
            "coverage": covered / max(len(y) + missing, 1),
            "risk": wrong / covered,
            "n": covered,
        }
    )
