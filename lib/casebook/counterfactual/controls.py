"""What a sensitivity rests on: which types were assessed, and what placebos move."""

import numpy as np
import pandas as pd

from casebook.counterfactual.edges import OK, PARITY, PRIMARY
from casebook.counterfactual.facts import FACT_TYPES
from casebook.stats.intervals import bootstrap_mean, bounded


def coverage(edges, cases, least=1):
    """Count the cases in which each fact type was assessed."""
    used = edges[edges["status"] == OK]
    count = used.pivot_table("node", "case_id", "fact_type", aggfunc="count")
    count = count.reindex(columns=list(FACT_TYPES)).fillna(0)
    missing = [0] * (cases - len(count))
    rows = [
        {
            "fact type": name,
            "assessed": int((count[name] >= least).sum()),
            "cases": cases,
            "share": (count[name] >= least).sum() / cases if cases else None,
            "median edges": float(np.median([*count[name], *missing])) if cases else None,
        }
        for name in FACT_TYPES
    ]
    return pd.DataFrame(rows)


def placebo_table(placebos, measure=PRIMARY, thresholds=(1.0, 1.5), **options):
    """Say how far placebos alone move the results, by number of changed words."""
    valid = placebos[placebos["status"] == OK]
    parts = [*valid.groupby(["removed", "added"]), (("all", "all"), valid)]
    rows = []
    for (removed, added), part in parts:
        found = bootstrap_mean(part[measure].to_numpy(float), clusters=part["case_id"].tolist(), **options)
        shares = {f"above {limit}": float((part[PARITY] > limit).mean()) if len(part) else None for limit in thresholds}
        size = {"dropped": str(removed), "added": str(added), "n": len(part)}
        rows.append(size | bounded(measure, found) | shares)
    bounds = dict.fromkeys([measure, f"{measure} low", f"{measure} high"], float)
    return pd.DataFrame(rows).astype(bounds)
