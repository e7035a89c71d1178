"""Defects of a folder of questions, documents and judgements: what is there twice, or nowhere."""

import pandas as pd

from casebook.data.folders import one_of
from casebook.data.tables import read_roles, read_table
from casebook.readers import read_jsonl

MOST_EXAMPLES = 3
PAIR = ["query", "document"]
NEEDED = [*PAIR, "value"]


def folder_defects(folder):
    """Repeated ids and texts, unknown ids, conflicting grades, and questions shared by splits.

    A row for each check that finds something, with how many of how many, and examples. Texts are
    compared without letter case and blanks. What a reader refuses is counted all the same.
    """
    documents = _records(one_of(folder, "corpus"))
    questions = _records(one_of(folder, "queries"))
    paths = sorted(folder.glob("qrels/*.tsv"))
    tables = {path.stem: read_roles(read_table(path), "qrels", NEEDED).table for path in paths}
    judged = pd.concat(tables, names=["split"]).reset_index()
    texts = documents[documents["text"] != ""].drop_duplicates("id")
    pairs = judged[["split", "query"]].drop_duplicates()
    asked = pairs.merge(questions.drop_duplicates("id"), left_on="query", right_on="id")
    asked["place"] = asked["id"] + " (" + asked["split"] + ")"
    in_split = asked.duplicated(["split", "text"])
    known = judged["document"].isin(documents["id"]) & judged["query"].isin(questions["id"])
    same_grade = judged.duplicated(["split", *PAIR, "value"])
    other_grade = judged.duplicated(["split", *PAIR]) & ~same_grade
    names = judged["query"] + " " + judged["document"]
    checks = [
        ("documents of one id", documents, documents.duplicated("id"), documents["id"]),
        ("questions of one id", questions, questions.duplicated("id"), questions["id"]),
        ("documents of one text", texts, texts.duplicated("text"), _same(texts, "text")),
        ("questions of one text", asked, in_split, _same(asked, ["split", "text"])),
        (
            "questions of an earlier split",
            asked,
            asked.duplicated("text") & ~in_split,
            _same(asked, "text", "place"),
        ),
        ("unknown ids", judged, ~known, names),
        ("judgements made twice", judged, same_grade, names),
        ("conflicting grades", judged, other_grade, names),
    ]
    rows = []
    for check, records, found, examples in checks:
        splits = records["split"] if "split" in records else pd.Series("", records.index)
        for split, part in records.groupby(splits, sort=False):
            names = examples[part.index][found[part.index]]
            row = (check, split, len(names), len(part), "; ".join(names[:MOST_EXAMPLES]))
            rows.append(row)
    table = pd.DataFrame(rows, columns=["check", "split", "n", "of", "examples"])
    return table[table["n"] > 0].reset_index(drop=True)


def _same(records, keys, name="id"):
    return records["id"] + " = " + records.groupby(keys)[name].transform("first")


def _records(path):
    """Ids, and titles with texts as they are compared."""
    frame = pd.DataFrame([record for _, record in read_jsonl(path, {"_id": str, "text": str})])
    titles = frame["title"].fillna("") + " " if "title" in frame else ""
    texts = (titles + frame["text"]).str.lower().str.split().str.join(" ")
    return pd.DataFrame({"id": frame["_id"], "text": texts})
