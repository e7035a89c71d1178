"""Collections in folders: BEIR, and documents with TREC judgements."""

from pathlib import Path

import pandas as pd

from casebook.data.rankings import read_rankings
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.paths import valid_name
from casebook.readers import read_jsonl, read_text

# Share of judgements that may name what a collection lacks: one in twenty takes about
# .05 from a recall, which is half the interval of a few hundred queries.
MAX_MISSING = 0.05
LAYOUT = "corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv"


def load_folder(folder, split="test", *, key=None, max_missing=MAX_MISSING, card=None):
    """One split of a BEIR folder (`LAYOUT`)."""
    folder = Path(folder)
    key = key or folder.resolve().name
    texts = one_of(folder, "corpus"), one_of(folder, "queries")
    qrels = folder / "qrels" / f"{valid_name(split, 'split')}.tsv"
    if not qrels.is_file():
        there = ", ".join(sorted(path.name for path in folder.rglob("*qrel*/*")))
        rule = "judgements are in qrels/SPLIT.tsv, under the line query-id, corpus-id, score"
        raise InputError(f"{qrels}: no such file: {rule}; there are {there}")
    return load_files(*texts, qrels, key=key, split=split, card=card, max_missing=max_missing)


def load_files(
    documents, queries, qrels, *, key, split, card=None, max_missing=MAX_MISSING, id_field="_id"
):
    """Documents and queries in JSON lines with judgements in TREC format, or in a table."""
    documents = _documents(documents, id_field)
    queries = read_questions(queries, id_field)
    grades, _ = read_rankings(qrels, "qrels")
    judged = pd.Series({query: [*row] for query, row in grades.items()}, dtype=object).explode()
    is_asked = judged.index.isin(queries["query_id"])
    missing = judged[~(is_asked & judged.isin(documents["doc_id"]))]
    share = len(missing) / len(judged)
    if share > max_missing:
        counted = f"{len(missing)} of {len(judged)} judgements"
        pair = f"{missing.iloc[0]!r} for {missing.index[0]!r}"
        way = f"correct the files, or allow them with max_missing={share + 0.005:.2f}"
        raise InputError(f"{qrels}: {counted} name what is not there, such as {pair}: {way}")
    queries = queries[queries["query_id"].isin(grades)].reset_index(drop=True)
    grades = {query: grades[query] for query in queries["query_id"]}
    groups = dict(zip(queries["query_id"], queries.get("group", ()), strict=False)) or None
    n_left_out = sum(~is_asked)
    note = f"{n_left_out} judgements of queries without a text are left out" if n_left_out else ""
    about = {"groups": groups, "note": note}
    return RetrievalDataset(key, split, documents, queries, grades, card, **about)


def read_frame(path, id_field, id_column):
    """Documents or queries of JSON lines: an id, a text, metadata as further columns."""
    rows = {}
    for number, record in read_jsonl(path, [id_field, "text"]):
        name = record.pop(id_field)
        metadata = record.pop("metadata", None) or {}
        if id_column in record or metadata.keys() & {id_column, "title", *record}:
            raise InputError.at(path, number, "a field of metadata has the name of another column")
        if not name.strip() or name in rows:
            problem = f"{id_field} {name!r} is empty or stands above already"
            raise InputError.at(path, number, problem)
        rows[name] = {id_column: name} | record | metadata
    if not rows:
        raise InputError(f"{path}: holds no records")
    return pd.DataFrame([*rows.values()])


def _documents(path, id_field="_id"):
    documents = read_frame(path, id_field, "doc_id")
    return documents.assign(title=documents.get("title", "")).fillna({"title": ""})


def read_questions(path, id_field="_id"):
    """Questions of a file, or of a BEIR folder."""
    path = Path(path)
    path = one_of(path, "queries") if path.is_dir() else path
    queries = read_frame(path, id_field, "query_id")
    for name in queries["query_id"][queries["text"].str.strip() == ""]:
        raise InputError(f"{path}: {name!r} has no text")
    return queries


def read_collection(folder, titles=True):
    """Documents of a BEIR folder, or the .txt and .md files of any other; no judgements."""
    folder = Path(folder)
    if not folder.is_dir() or any(folder.glob("corpus.jsonl*")):
        documents = _documents(one_of(folder, "corpus"))
        return with_titles(documents) if titles else documents
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in (".txt", ".md")]
    rows = [(path.relative_to(folder).as_posix(), read_text(path)) for path in paths]
    documents = pd.DataFrame(rows, columns=["doc_id", "text"])
    documents = documents[documents["text"].str.strip() != ""]
    if documents.empty:
        remedy = "put a corpus.jsonl (BEIR layout), .txt or .md files there"
        raise InputError(f"{folder}: holds no documents: {remedy}")
    return documents.reset_index(drop=True)


def with_titles(documents):
    """The text of each document after its title: title, blank, text."""
    titles = documents.get("title", pd.Series("", documents.index)).fillna("")
    texts = (titles + " " + documents["text"]).str.strip().where(titles != "", documents["text"])
    return documents.assign(text=texts)


def one_of(folder, stem):
    for path in (folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz"):
        if path.is_file():
            return path
    problem = f"has no {stem}.jsonl" if folder.is_dir() else "no such folder"
    raise InputError(f"{folder}: {problem}: give one with {LAYOUT}, or with .txt and .md files")
