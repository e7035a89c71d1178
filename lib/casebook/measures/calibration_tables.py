"""Bins of a reliability diagram, and errors by coverage."""

import numpy as np
import pandas as pd

from casebook.inference.proportions import wilson


def bin_table(y, p, bins, level):
    """Give the mean statement and the share that came true of every bin.

    Parameters
    ----------
    y : numpy.ndarray of bool, shape [n]
        What came true.
    p : numpy.ndarray, shape [n]
        Stated probabilities in [0, 1].
    bins : numpy.ndarray of int, shape [n]
        Bin of each, from 0.
    level : float
        Of Wilson's intervals.

    Returns
    -------
    pandas.DataFrame
        Columns n, confidence, share, share low, share high.
    """
    rows = []
    for b in range(bins.max(initial=-1) + 1):
        inside = bins == b
        share = wilson(int(y[inside].sum()), int(inside.sum()), level)
        rows.append((share.n, p[inside].mean(), share.estimate, share.low, share.high))
    return pd.DataFrame(
        rows, columns=["n", "confidence", "share", "share low", "share high"]
    )


def coverage_curve(y, p, missing):
    """Give the risk at every coverage that a threshold on the probability can give.

    Parameters
    ----------
    y, p
        As for `bin_table`.
    missing : int
        Rows without a statement, which are never covered.

    Returns
    -------
    pandas.DataFrame
        Columns threshold, coverage, risk (share of errors) and n covered.
    """
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
