"""Findings: the sentences above figures, made from the verdicts on what was drawn."""

import pandas as pd

from casebook.tables import enumerated
from casebook.verdicts import NO_DIFFERENCE, NOT_MEASURED, verdict_of


def interval_verdicts(frame, null=0.0, low="low", high="high"):
    """Verdict on each row by where its interval lies; without one by its reason, if it has any.

    Examples
    --------
    >>> auroc = pd.DataFrame({"low": [0.6, 0.4, None], "high": [0.9, 0.8, None]}, dtype=float)
    >>> interval_verdicts(auroc, null=0.5).tolist()
    ['better', 'undecided', 'cannot be measured']
    """
    bounds = frame[[low, high]].astype(float) - null
    reasons = frame.get("reason", pd.Series(None, frame.index, dtype=object))
    verdicts = [
        verdict_of(*row, reason=reason)
        for *row, reason in bounds.assign(reason=reasons).itertuples(index=False)
    ]
    verdicts = pd.Series(verdicts, frame.index, dtype=object)
    is_unknown = bounds.isna().any(axis=1) & (verdicts != NO_DIFFERENCE)
    return verdicts.mask(is_unknown, NOT_MEASURED)


def clauses(names, verdicts, words):
    """Clauses that say which names have which verdict, one for each verdict that a name has.

    ``words`` has the texts by verdict, in their order; ``{names}`` in a text are the names,
    ``{either}`` the same with "or", and ``{count}`` is their number. Names without any difference
    need no words of their own.

    Examples
    --------
    >>> words = {"better": "above on {names}", "undecided": "not shown on {either}"}
    >>> clauses(["A", "B", "C"], ["undecided", "better", "undecided"], words)
    ['above on B', 'not shown on A or C']
    """
    words = {NO_DIFFERENCE: "no row differs for {names}"} | words
    names_by_verdict = {verdict: [] for verdict in words}
    for name, verdict in zip(names, verdicts, strict=True):
        names_by_verdict[verdict].append(name)
    return [
        words[verdict].format(
            names=enumerated(members), either=enumerated(members, "or"), count=len(members)
        )
        for verdict, members in names_by_verdict.items()
        if members
    ]


def not_corrected(rows, low="low"):
    """Words of a caption for a list of intervals that each hold on their own.

    Examples
    --------
    >>> not_corrected(pd.DataFrame({"low": [0.1, -0.2, None]}))
    ', not corrected for 2 comparisons'
    >>> not_corrected(pd.DataFrame({"low": [0.1]}))
    ''
    """
    n = rows[low].notna().sum() if len(rows) else 0
    return f", not corrected for {n} comparisons" if n > 1 else ""
