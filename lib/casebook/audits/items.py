"""Single rows of reported tables, for a page of their own."""

import numpy as np
import pandas as pd

from casebook.audits.tables import REPORTED_MEASURES
from casebook.runs.items import ALL_TEXTS, item_page

IMPOSSIBLE = "impossible"


def reported_items(rows):
    """Collect rows that `check_tables` has checked, impossible ones first."""
    names = rows["table"] + ": " + rows["row"]
    again = names.groupby(names).cumcount()
    counts = rows[["n", "positives"]].itertuples(index=False, name=None)
    items = pd.DataFrame(
        {
            "id": np.where(again > 0, names + " (" + (again + 1).astype(str) + ")", names),
            "text": ["Reported of {} claims, {} of them positive".format(*pair) for pair in counts],
            "verdict": rows["verdict"],
            "impossible by themselves": rows["impossible alone"],
            "accuracy that the other columns leave, least": rows["implied accuracy low"],
            "accuracy that the other columns leave, most": rows["implied accuracy high"],
            "confusion matrices that give the row": rows["n tables"],
            "chance that an invented row would pass": rows["chance"],
        }
    )
    items = items.join(rows[list(REPORTED_MEASURES)].add_prefix("reported "))
    items = items.join(pd.get_dummies(rows["verdict"]))
    items = items.join(pd.get_dummies(rows["table"], prefix="table", prefix_sep=": "))
    is_impossible = rows["verdict"] == IMPOSSIBLE
    items = pd.concat([items[is_impossible], items[~is_impossible]])
    return item_page(items, noun="row", ready=[(IMPOSSIBLE, None, None)], shown=ALL_TEXTS)
