"""Defects of a folder of questions, documents and judgements: what is there twice, or nowhere."""

import pandas as pd

from casebook.data.folders import one_of
from casebook.data.tables import read_roles, read_table
from casebook.readers import read_jsonl

MOST_EXAMPLES = 3
PAIR = ["query", "document"]


def folder_defects(folder):
    """Repeated ids and texts, unknown ids, conflicting grades, and questions shared by splits.

    A line for each check that finds something, with how many of how many, and examples. Texts are
    compared without letter case and blanks. What a reader refuses is counted all the same.
    """
    documents = _records(one_of(folder, "corpus"))
    questions = _records(one_of(folder, "queries"))
    judged = _judgements(folder)
    asked = judged.drop_duplicates(["split", "query"])[["split", "query"]]
    asked = asked.merge(questions, left_on="query", right_on="id")
    asked["id"] += " (" + asked["split"] + ")"
    is_known = judged["document"].isin(documents["id"]) & judged["query"].isin(questions["id"])
    checks = {
        "documents of one id": _repeated(documents, "id"),
        "questions of one id": _repeated(questions, "id"),
        "documents of one text": _repeated(documents[documents["text"] != ""], "text"),
        "questions of one text": _repeated(questions, "text"),
        "questions of two splits": _repeated(asked.drop_duplicates(["split", "text"]), "text"),
        "unknown ids": judged["id"].where(~is_known),
        "pairs judged twice": _repeated(judged, ["split", *PAIR]),
    }
    for check, names in checks.items():
        found = names.dropna()
        if len(found):
            examples = "; ".join(found[:MOST_EXAMPLES])
            yield f"{check}: {len(found):,} of {len(names):,}, such as {examples}"


# Ids of records that are like an earlier one, with its id.
def _repeated(records, keys):
    names = records["id"] + " = " + records.groupby(keys)["id"].transform("first")
    return names.where(records.duplicated(keys))


def _judgements(folder):
    needed = [*PAIR, "value"]
    paths = sorted(folder.glob("qrels/*.tsv"))
    tables = {path.stem: read_roles(read_table(path), "qrels", needed).table for path in paths}
    judged = pd.concat(tables, names=["split"]).reset_index()
    judged["id"] = judged[needed].agg(" ".join, axis=1) + " (" + judged["split"] + ")"
    return judged


# Ids, and titles with texts as they are compared.
def _records(path):
    frame = pd.DataFrame([record for _, record in read_jsonl(path, ["_id", "text"])])
    titles = frame.reindex(columns=["title"], fill_value="")["title"].fillna("")
    texts = (titles + " " + frame["text"]).str.lower()
    return pd.DataFrame({"id": frame["_id"], "text": texts.str.split().str.join(" ")})
