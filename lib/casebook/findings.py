"""Verdicts on values by where their intervals lie."""

import pandas as pd

from casebook.verdicts import NO_DIFFERENCE, NOT_MEASURED, verdict_of


def interval_verdicts(frame, null=0.0):
    """Verdict on each row by where its interval lies; without one by its reason, if it has any.

    Examples
    --------
    >>> auroc = pd.DataFrame({"low": [0.6, 0.4, None], "high": [0.9, 0.8, None]}, dtype=float)
    >>> interval_verdicts(auroc, null=0.5).tolist()
    ['better', 'undecided', 'cannot be measured']
    """
    bounds = frame[["low", "high"]].astype(float) - null
    reasons = frame.get("reason", pd.Series(None, frame.index, dtype=object))
    verdicts = [
        verdict_of(*row, reason=reason)
        for *row, reason in bounds.assign(reason=reasons).itertuples(index=False)
    ]
    verdicts = pd.Series(verdicts, frame.index, dtype=object)
    is_unknown = bounds.isna().any(axis=1) & (verdicts != NO_DIFFERENCE)
    return verdicts.mask(is_unknown, NOT_MEASURED)
