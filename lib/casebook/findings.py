"""Findings: the sentences above figures, made from the verdicts on what was drawn."""

import pandas as pd

from casebook.tables import enumerated
from casebook.verdicts import NOT_MEASURED, verdict_of


def interval_verdicts(frame, null=0.0, low="low", high="high"):
    """Give the verdict on each row by where its interval lies; without one it is not measured.

    Examples
    --------
    >>> auroc = pd.DataFrame({"low": [0.6, 0.4, None], "high": [0.9, 0.8, None]}, dtype=float)
    >>> interval_verdicts(auroc, null=0.5).tolist()
    ['better', 'undecided', 'cannot be measured']
    """
    bounds = frame[[low, high]].astype(float) - null
    verdicts = [verdict_of(*row) for row in bounds.itertuples(index=False)]
    verdicts = pd.Series(verdicts, frame.index, dtype=object)
    return verdicts.mask(bounds.isna().any(axis=1), NOT_MEASURED)


def clauses(names, verdicts, words):
    """Say which names have which verdict, one clause for each verdict that a name has.

    ``words`` has the texts by verdict, in their order; ``{names}`` in a text are the names,
    ``{either}`` the same with "or", and ``{count}`` is their number.

    Examples
    --------
    >>> words = {"better": "above on {names}", "undecided": "not shown on {either}"}
    >>> clauses(["A", "B", "C"], ["undecided", "better", "undecided"], words)
    ['above on B', 'not shown on A or C']
    """
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


def sentence(parts):
    """Join clauses to one sentence."""
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."
