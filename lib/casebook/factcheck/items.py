"""Single claims: the verdict of every system, and the passages that decided and that were found."""

import pandas as pd

from casebook.data.cards import card_of
from casebook.factcheck.study import NOT_KINDS
from casebook.runs.items import MOST_BYTES, item_page, one_line

WRONG = "wrong verdict"
CONFUSION = "gold {}, verdict {}"
DECISIVE = "decisive evidence; ✓ was found"
FOUND = "evidence that was found; ✓ decides"
FIELDS = {"decisive": DECISIVE, "found": FOUND}


def claim_items(study, most_bytes=MOST_BYTES):
    """Single claims, those that the first system has wrong first, then with missed evidence."""
    results = study.rows()
    cells = map(CONFUSION.format, results["label"], results["verdict"].fillna("none"))
    results = results.join(pd.get_dummies(pd.Series(list(cells))))
    results[WRONG] = results["right"] == 0
    results["system"] = results["system"].map(study.names)
    kinds = study.claims.drop(columns=NOT_KINDS)
    items = study.claims[["id", "label", "text"]]
    if len(kinds.columns):
        items = items.join(pd.get_dummies(kinds, prefix_sep=": "))
    items["text"] = items["text"].map(one_line)
    passages = study.passages.assign(name=study.passages["doc_id"])
    if "start" in passages:
        spans = passages["start"].astype(str) + " to " + passages["end"].astype(str)
        passages["name"] += ", characters " + spans
    passages["pair"] = list(zip(passages["name"], passages["note"], strict=True))
    for role, name in FIELDS.items():
        of_role = passages[passages["role"] == role].groupby("id")["pair"].agg(list)
        items[name] = items["id"].map(of_role)
    items["marked"] = items["id"].map(passages[passages["met"]].groupby("id")["name"].agg(list))
    fields = [*FIELDS.values(), "marked"]
    items[fields] = items[fields].map(lambda cell: cell if isinstance(cell, list) else [])
    first = results["system"].iloc[0]
    is_wrong = results.loc[results["system"] == first, WRONG].to_numpy()
    columns = ["id", "system", "verdict", "right", "probability"]
    return item_page(
        items.iloc[(~is_wrong).argsort(kind="stable")],
        results[columns].join(results.select_dtypes(bool)),
        noun="claim",
        ready=[(WRONG, first, None)],
        card=card_of(study.name),
        documents=dict(zip(passages["name"], passages["text"], strict=True)),
        item_texts=[DECISIVE],
        most_bytes=most_bytes,
    )
