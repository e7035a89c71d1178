"""Defects of a folder of questions, documents and judgements: what is there twice, or nowhere."""

import pandas as pd

from casebook.data.folders import one_of, with_titles
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
    asked = judged[["split", "query"]].drop_duplicates()
    asked = asked.merge(questions, left_on="query", right_on="id")
    asked["id"] += " (" + asked["split"] + ")"
    once = asked.drop_duplicates(["split", "text"])
    has_document = judged["document"].isin(documents["id"])
    has_question = judged["query"].isin(questions["id"])
    filled = documents[documents["text"] != ""]
    checks = {
        "documents of one id": _repeated(documents, "id"),
        "questions of one id": _repeated(questions, "id"),
        "documents of one text": _repeated(filled, "text"),
        "questions of one text": _repeated(questions, "text"),
        "questions of two splits": _repeated(once, "text"),
        "unknown ids": judged["id"].mask(has_document & has_question),
        "pairs judged twice": _repeated(judged, ["split", *PAIR]),
    }
    for check, names in checks.items():
        found = names.dropna()
        if len(found):
            examples = "; ".join(found[:MOST_EXAMPLES])
            yield f"{check}: {len(found):,} of {len(names):,}, such as {examples}"


# Ids of records that are like an earlier one, with its id.
def _repeated(records, keys):
    first = records.groupby(keys)["id"].transform("first")
    names = records["id"] + " = " + first
    return names.where(records.duplicated(keys))


def _judgements(folder):
    needed = [*PAIR, "value"]
    tables = {path.stem: read_table(path) for path in sorted(folder.glob("qrels/*.tsv"))}
    read = {split: read_roles(table, "qrels", needed).table for split, table in tables.items()}
    judged = pd.concat(read, names=["split"]).reset_index()
    judged["id"] = judged[needed].agg(" ".join, axis=1) + " (" + judged["split"] + ")"
    return judged


# Ids, and titles with texts as they are compared.
def _records(path):
    records = pd.DataFrame([record for _, record in read_jsonl(path, ["_id", "text"])])
    texts = with_titles(records)["text"].str.lower().str.split().str.join(" ")
    return pd.DataFrame({"id": records["_id"], "text": texts})
