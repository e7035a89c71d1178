"""Systems compared on the same claims: which is right where the other is wrong."""

import numpy as np
import pandas as pd

from casebook.inference.mcnemar import mcnemar
from casebook.inference.mcnemar_power import minimal_detectable_difference
from casebook.inference.multiplicity import holm
from casebook.measures import confusion, verdict_labels


def is_right(gold, predicted, labels=None, policy=None):
    """Say row by row whether a verdict is right under the policies.

    Parameters
    ----------
    gold, predicted : array_like of str, shape [n]
        Labels.
    labels : dict, optional
        Further spellings, to those of `casebook.measures.verdict_labels.GOLD`.
    policy : dict of str, optional
        As for `casebook.measures.confusion.collapse`.

    Returns
    -------
    pandas.Series of object
        True or False; None where a policy leaves the row out.
    """
    rows, _ = verdict_labels.encode(gold, labels)
    columns, _ = verdict_labels.encode(predicted, labels)
    shape = (-1, len(verdict_labels.GOLD), len(verdict_labels.OUTCOMES))
    cells = np.eye(confusion.CELLS, dtype=int).reshape(shape)
    flat = confusion.collapse(cells, **(policy or {}))
    right = np.trace(flat, axis1=1, axis2=2).astype(bool).astype(object)
    right[flat.sum((1, 2)) == 0] = None
    index = gold.index if isinstance(gold, pd.Series) else None
    return pd.Series(right[rows * shape[2] + columns], index=index, dtype=object)


def compare_verdicts(right, rivals, *, clusters=None):
    """Compare a system with others on the same claims.

    Parameters
    ----------
    right : array_like of bool or None, shape [n]
        Whether the system was right; None where a row does not count.
    rivals : dict of array_like
        The same for other systems.
    clusters : array_like, shape [n], optional
        Resampled together for the interval of the difference.

    Returns
    -------
    pandas.DataFrame
        One row per rival: n, accuracy of both, system_only, rival_only, difference
        with ``difference low`` and ``difference high``, p_exact, p_mid, p_holm (of
        mid-p), and detectable: the true difference found with power 0.8.
    """
    rows, own = [], pd.Series(list(right), dtype=object)
    for name, other in rivals.items():
        other = pd.Series(list(other), dtype=object)
        kept = own.notna() & other.notna()
        groups = None if clusters is None else pd.Series(list(clusters))[kept]
        a, b = own[kept].astype(bool), other[kept].astype(bool)
        test = mcnemar(a, b, clusters=groups)
        discordant = (test.first_only + test.second_only) / max(test.n, 1)
        rows.append(
            {
                "rival": name,
                "n": test.n,
                "accuracy": a.mean() if test.n else None,
                "rival accuracy": b.mean() if test.n else None,
                "system_only": test.first_only,
                "rival_only": test.second_only,
                "difference": test.difference.estimate,
                "difference low": test.difference.low,
                "difference high": test.difference.high,
                "p_exact": test.pvalue,
                "p_mid": test.mid_pvalue,
                "detectable": minimal_detectable_difference(test.n, discordant)
                if discordant
                else None,
            }
        )
    table = pd.DataFrame(rows)
    if rows:
        table["p_holm"] = holm([row["p_mid"] for row in rows])
    return table
