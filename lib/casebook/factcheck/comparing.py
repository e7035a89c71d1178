"""Systems compared on the same claims: which is right where the other is wrong."""

import numpy as np
import pandas as pd

from casebook.estimates import contrasts
from casebook.measures import classification as confusion
from casebook.measures import classification as verdict_labels
from casebook.stats.tests import mcnemar

COLUMNS = [
    *("rival", "n", "groups", "accuracy", "rival accuracy", "system_only"),
    *("rival_only", "difference", "difference low", "difference high"),
    *("p", "p_adjusted", "verdict", "mcnemar", "reason"),
]


def is_right(gold, predicted, labels=None, policy=None):
    """Say row by row whether a verdict is right under the policies."""
    rows, _ = verdict_labels.encode(gold, labels)
    columns, _ = verdict_labels.encode(predicted, labels)
    shape = (-1, len(verdict_labels.GOLD), len(verdict_labels.OUTCOMES))
    cells = np.eye(confusion.CELLS, dtype=int).reshape(shape)
    flat = confusion.collapse(cells, **(policy or {}))
    right = np.trace(flat, axis1=1, axis2=2).astype(bool).astype(object)
    right[flat.sum((1, 2)) == 0] = None
    index = gold.index if isinstance(gold, pd.Series) else None
    return pd.Series(right[rows * shape[2] + columns], index=index, dtype=object)


def compare_verdicts(right, rivals, *, clusters=None, n_resamples=10_000, seed=0):
    """Compare a system with others on the same claims, as one family of contrasts."""
    table = pd.DataFrame({name: list(other) for name, other in rivals.items()})
    rivals = list(table)
    table.insert(0, "system", list(right), allow_duplicates=True)
    table.columns = range(len(rivals) + 1)  # a rival may be called "system"
    kept = table.notna().all(axis=1)
    table = table[kept].astype(float)
    groups = None if clusters is None else pd.Series(list(clusters))[kept.to_numpy()]
    if not rivals or table.empty:
        return pd.DataFrame(columns=COLUMNS)
    pairs = [(0, place) for place in range(1, len(rivals) + 1)]
    found = contrasts(table, pairs, groups, n_resamples=n_resamples, seed=seed)
    rows, alone = [], groups is None or groups.is_unique
    for place, row in zip(range(1, len(rivals) + 1), found.itertuples(), strict=True):
        a, b = table[0].astype(bool), table[place].astype(bool)
        exact = mcnemar(a, b).pvalue if alone else None
        rows.append(
            {
                "rival": rivals[place - 1],
                "n": row.n,
                "groups": row.groups,
                "accuracy": a.mean(),
                "rival accuracy": b.mean(),
                "system_only": int((a & ~b).sum()),
                "rival_only": int((b & ~a).sum()),
                "difference": row.difference,
                "difference low": row.low,
                "difference high": row.high,
                "p": row.p,
                "p_adjusted": row.p_adjusted,
                "verdict": row.verdict,
                "mcnemar": np.nan if exact is None else exact,
                "reason": row.reason,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)
