"""Words for a difference: better, worse, or undecided, which is not equal."""

import math

import pandas as pd

HIGHER, LOWER, UNDECIDED = "better", "worse", "undecided"
SAME = "same"  # on every unit, not on average
UNTESTED = "not tested"


def verdict(low, high, p, alpha=0.05):
    """Say what an interval and a corrected test of one difference decide together.

    Parameters
    ----------
    low, high : float or None
        Bounds of the interval; None or NaN where undefined.
    p : float or None
        Corrected p-value; None or NaN for a difference that was not tested.
    alpha : float, default 0.05
        Significance level.

    Returns
    -------
    str
        `UNTESTED` without a p-value; `SAME` if both bounds are 0, as they are only
        where no unit differs; `HIGHER` or `LOWER` if the interval leaves out 0 and
        ``p <= alpha``; else `UNDECIDED`: a difference may be there that these data
        cannot show.
    """
    low, high, p = (math.nan if x is None else x for x in (low, high, p))
    if math.isnan(p):
        return UNTESTED
    if low == high == 0:
        return SAME
    if p <= alpha and low > 0:
        return HIGHER
    if p <= alpha and high < 0:
        return LOWER
    return UNDECIDED


def verdicts(frame, low, high, p, alpha=0.05):
    """Say of each row of a table what it decides.

    Parameters
    ----------
    frame : pandas.DataFrame
        One difference a row.
    low, high, p : str
        Names of its columns, see `verdict`.
    alpha : float, default 0.05
        Significance level.

    Returns
    -------
    pandas.Series
        Words, with the index of the table.
    """
    rows = zip(frame[low], frame[high], frame[p], strict=True)
    words = [verdict(*row, alpha=alpha) for row in rows]
    return pd.Series(words, index=frame.index, dtype=object)


def count_verdicts(words, what):
    """Say how many differences are decided, and that the others are not.

    Parameters
    ----------
    words : sequence of str
        From `verdicts`; what was not tested does not count.
    what : str
        What is compared, in the plural.

    Returns
    -------
    str
        One sentence.
    """
    tested = [word for word in words if word != UNTESTED]
    same, unclear = (tested.count(word) for word in (SAME, UNDECIDED))
    parts = [f"{len(tested) - same - unclear} decided"]
    parts += [f"{same} the same throughout"] if same else []
    return (
        f"Of {len(tested)} {what}: {', '.join(parts)}, {unclear} undecided, which is "
        "not to say equal."
    )
