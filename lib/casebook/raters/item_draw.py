"""Which items of a collection are judged: drawn at random, stratum by stratum."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.stats.samples import check_count, stream


def draw_items(items, count=None, strata=None, seed=0):
    """Draw items at random, in proportion to the strata if there are any."""
    count = len(items) if count is None else count
    check_count("items", count)
    if count > len(items):
        raise InputError(f"{count} items are asked for, but there are {len(items)}")
    strata = np.array(["all"] * len(items) if strata is None else list(strata))
    rng = np.random.Generator(stream(seed, "draw of items"))
    drawn = np.zeros(len(items), dtype=bool)
    for name, quota in _quotas(strata, count).items():
        drawn[rng.choice(np.flatnonzero(strata == name), quota, replace=False)] = True
    return pd.DataFrame({"item_id": list(items), "stratum": strata, "drawn": drawn})


def _quotas(strata, count):
    names, sizes = np.unique(strata, return_counts=True)
    shares = sizes * count / len(strata)
    quotas = np.floor(shares).astype(int)
    order = np.argsort(quotas - shares, kind="stable")
    quotas[order[: count - quotas.sum()]] += 1
    return dict(zip(names.tolist(), quotas.tolist(), strict=True))
