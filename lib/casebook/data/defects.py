"""Defects of a folder of questions, documents and judgements: what is there twice, or nowhere."""

from pathlib import Path

import pandas as pd

from casebook.data.folders import one_of, read_mini_insurance
from casebook.data.tables import read_roles, read_table
from casebook.readers import read_jsonl

MOST_EXAMPLES = 3
PAIR = ["query", "document"]


def folder_defects(folder):
    """Repeated ids and texts, unknown ids, conflicting grades, and questions shared by splits.

    A row for each check that finds something, with how many of how many, and examples. Texts are
    compared without letter case and blanks. What a reader refuses is counted all the same.
    """
    documents, questions, judged = _content(Path(folder))
    rows = []
    for kind, records in (("documents", documents), ("questions", questions)):
        repeated = records["id"][records["id"].duplicated()]
        rows.append(_row(f"{kind} of one id", "", repeated, records))
    documents = documents.drop_duplicates("id").set_index("id")["text"]
    questions = questions.drop_duplicates("id").set_index("id")["text"]
    rows.append(_repeated_texts("documents", "", documents[documents != ""]))
    earlier = {}
    for split, judgements_of_split in judged.items():
        texts = questions[questions.index.isin(judgements_of_split["query"])]
        rows.append(_repeated_texts("questions", split, texts))
        shared = [f"{name} = {earlier[text]}" for name, text in texts.items() if text in earlier]
        rows.append(_row("questions of an earlier split", split, shared, texts))
        rows += _judgement_rows(split, judgements_of_split, documents.index, questions.index)
        earlier |= {text: f"{name} ({split})" for name, text in texts.items()}
    columns = ["check", "split", "n", "of", "examples"]
    return pd.DataFrame([row for row in rows if row["n"]], columns=columns)


def _content(folder):
    """Documents and questions (id, text), and judgements (query, document, grade) by split."""
    if (folder / "policies").is_dir():
        dataset = read_mini_insurance(folder)
        documents = dataset.documents.rename(columns={"doc_id": "id"})
        questions = dataset.queries.rename(columns={"query_id": "id"})
        rows = []
        for query, grades in dataset.qrels.items():
            rows += [(query, document, grade) for document, grade in grades.items()]
        judged = {"test": pd.DataFrame(rows, columns=[*PAIR, "value"])}
    else:
        documents = _records(one_of(folder, "corpus"))
        questions = _records(one_of(folder, "queries"))
        judged = {}
        for path in sorted(folder.glob("qrels/*.tsv")):
            reading = read_roles(read_table(path), "qrels", [*PAIR, "value"])
            judged[path.stem] = reading.table
    return _compared(documents), _compared(questions), judged


def _records(path):
    rows = [record for _, record in read_jsonl(path, {"_id": str, "text": str})]
    return pd.DataFrame(rows).rename(columns={"_id": "id"})


def _compared(frame):
    """Ids, and titles with texts as they are compared."""
    texts = frame["text"]
    if "title" in frame:
        texts = frame["title"].fillna("") + " " + texts
    return pd.DataFrame({"id": frame["id"], "text": texts.str.lower().str.split().str.join(" ")})


def _row(check, split, found, everything):
    examples = "; ".join(list(found)[:MOST_EXAMPLES])
    n = len(found)
    return {"check": check, "split": split, "n": n, "of": len(everything), "examples": examples}


def _repeated_texts(kind, split, texts):
    first = pd.Series(texts.index, texts).groupby(level=0).first()
    repeated = texts[texts.duplicated()]
    pairs = repeated.index + " = " + repeated.map(first)
    return _row(f"{kind} of one text", split, pairs, texts)


def _judgement_rows(split, judged, documents, questions):
    """Judgements of what is not there, judgements made twice, and those that contradict another."""
    unknown = ~judged["document"].isin(documents) | ~judged["query"].isin(questions)
    repeated = judged.duplicated([*PAIR, "value"])
    conflicting = judged.duplicated(PAIR) & ~repeated
    names = judged["query"] + " " + judged["document"]
    return [
        _row("unknown ids", split, names[unknown], judged),
        _row("judgements made twice", split, names[repeated], judged),
        _row("conflicting grades", split, names[conflicting], judged),
    ]
