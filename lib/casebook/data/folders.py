"""Collections in folders: BEIR, documents with TREC judgements, and Mini-Insurance."""

import math
from operator import index
from pathlib import Path

import pandas as pd

from casebook.data.rankings import read_rankings
from casebook.data.splits import RetrievalDataset
from casebook.data.tables import read_table, records_of, refusal
from casebook.errors import InputError
from casebook.paths import valid_name
from casebook.readers import parse_json, read_jsonl, read_text

# Share of judgements that may name what a collection lacks: one in twenty takes about
# .05 from a recall, which is half the interval of a few hundred queries.
MAX_MISSING = 0.05
LAYOUT = "corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv"


def load_folder(folder, split="test", *, key=None, max_missing=MAX_MISSING, card=None):
    """One split of a BEIR folder (`LAYOUT`), or Mini-Insurance."""
    folder = Path(folder)
    check_folder(folder)
    key = key or folder.resolve().name
    if (folder / "policies").is_dir():
        if split != "test":
            raise InputError(f"{folder}: Mini-Insurance has no split {split!r}, only 'test'")
        return read_mini_insurance(folder, key=key)
    texts = one_of(folder, "corpus"), one_of(folder, "queries")
    qrels = folder / "qrels" / f"{valid_name(split, 'split')}.tsv"
    if not qrels.is_file():
        there = sorted(path.name for path in [*folder.glob("*qrel*.*"), *folder.glob("qrels/*")])
        rule = "judgements are in qrels/SPLIT.tsv, under the line query-id, corpus-id, score"
        raise InputError(f"{qrels}: no such file: {rule}; there are {', '.join(there)}")
    about = {"key": key, "split": split, "id_field": "_id", "card": card}
    return load_trec(*texts, qrels, share=max_missing, **about)


def load_trec(
    documents, queries, qrels, *, key, split="all", id_field="id", card=None, share=MAX_MISSING
):
    """Documents and queries in JSON lines with judgements in TREC format, or in a table.

    At most this `share` of judgements may be about what is not there.
    """
    documents = _documents(documents, id_field)
    queries = read_frame(queries, id_field, "query_id")
    grades, _ = read_rankings(qrels, "qrels")
    judged = pd.Series({query: [*row] for query, row in grades.items()}, dtype=object).explode()
    is_asked = judged.index.isin(queries["query_id"])
    missing = judged[~(is_asked & judged.isin(documents["doc_id"]))]
    found = len(missing) / len(judged)
    if found > share:
        query, document = next(missing.items())
        way = f"max_missing={math.ceil(100 * found) / 100:.2f}"
        raise InputError(
            f"{qrels}: judges the document {document!r} for the query {query!r}, one of which does "
            f"not exist, as in {len(missing)} of {len(judged)} judgements ({found:.1%}): correct "
            f"the files, or allow them with {way}"
        )
    queries = queries[queries["query_id"].isin(grades.keys())].reset_index(drop=True)
    left_out = {
        "judgements of queries without a text are left out": int((~is_asked).sum()),
        "documents occur twice and are read once": documents.attrs["copies"],
    }
    return RetrievalDataset(
        key,
        split,
        documents,
        queries,
        {query: grades[query] for query in queries["query_id"]},
        card,
        groups=_groups(queries),
        notes=tuple(f"{n} {what}" for what, n in left_out.items() if n),
    )


def read_frame(path, id_field, id_column, fields=("text",), blank=False):
    """Documents or queries of JSON lines: an id, text fields, metadata as further columns.

    Copies of a record are left out and counted in ``attrs["copies"]``.
    """
    rows = {}
    n_copies = 0
    for number, record in read_jsonl(path, {id_field: str, "text": str}):
        name = record.pop(id_field)
        row = {id_column: name} | {field: record.pop(field, None) or "" for field in fields}
        metadata = record.pop("metadata", None) or {}
        if {*row, *record} & {*metadata} or {*row} & {*record}:
            raise InputError.at(path, number, "a field of metadata has the name of another column")
        if not name.strip() or not (blank or row["text"].strip()):
            raise InputError.at(path, number, f"{name!r} has no text, or an empty {id_field!r}")
        row |= record | metadata
        n_copies += name in rows
        if rows.setdefault(name, row) != row:
            raise InputError.at(path, number, f"id {name!r} stood above with other content")
    if not rows:
        raise InputError(f"{path}: holds no records")
    frame = pd.DataFrame([*rows.values()])
    frame.attrs["copies"] = n_copies
    return frame


def _groups(queries):
    return queries.set_index("query_id")["group"].to_dict() if "group" in queries else None


def read_collection(folder, titles=True):
    """Documents of a BEIR folder, or the .txt and .md files of any other; no judgements."""
    folder = Path(folder)
    check_folder(folder)
    if any(folder.glob("corpus.jsonl*")):
        documents = _documents(one_of(folder, "corpus"), "_id")
        return with_titles(documents) if titles else documents
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in (".txt", ".md")]
    rows = [(path.relative_to(folder).as_posix(), read_text(path)) for path in paths]
    documents = pd.DataFrame(rows, columns=["doc_id", "text"])
    documents = documents[documents["text"].str.strip() != ""]
    if documents.empty:
        remedy = "put a corpus.jsonl (BEIR layout), .txt or .md files there"
        raise InputError(f"{folder}: holds no documents: {remedy}")
    return documents.reset_index(drop=True)


def read_questions(path):
    path = Path(path)
    path = one_of(path, "queries") if path.is_dir() else path
    return read_frame(path, "_id", "query_id")


def check_folder(folder):
    folder = Path(folder)
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.is_file() else "no such folder"
        remedy = f"give one with {LAYOUT}, or with .txt and .md files"
        raise InputError(f"{folder}: {problem}: {remedy}")


def with_titles(documents):
    """The text of each document after its title: title, blank, text."""
    if "title" not in documents:
        return documents
    titles = documents["title"].fillna("")
    texts = (titles + " " + documents["text"]).str.strip().where(titles != "", documents["text"])
    return documents.assign(text=texts)


def one_of(folder, stem):
    for path in (folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: is no BEIR folder ({LAYOUT}): it has no {stem}.jsonl")


def _documents(path, id_field):
    return read_frame(path, id_field, "doc_id", ("title", "text"), blank=True)


def read_mini_insurance(folder, *, key=None):
    """``policies/<id>.txt`` and ``queries/queries.json``, a list of id, text and relevantDocId.

    Ids are equal whatever their case. Two fields are ours: ``relevant`` has the grades of several
    policies, and ``group`` the label of dependent questions.
    """
    folder = Path(folder)
    policies = {path.stem: path for path in sorted((folder / "policies").glob("*.txt"))}
    names = {name.casefold(): name for name in policies}
    if not names or len(names) < len(policies):
        problem = "holds no policy (policies/*.txt), or two that differ in case alone"
        raise InputError(f"{folder}: {problem}")
    path = folder / "queries" / "queries.json"
    qrels = {}
    table = read_table(path, parse=parse_json)
    for number, row in records_of(table):
        try:
            grades = row.get("relevant") or {row["relevantDocId"]: 1}
            qrels[row["id"]] = {names[name.casefold()]: index(grades[name]) for name in grades}
            row["text"].strip()
        except (AttributeError, KeyError, TypeError) as error:
            problem = f"lacks {error}, a field or the file of a policy: id, text, relevantDocId"
            raise refusal(path, problem, number) from None
    queries = pd.DataFrame([row for _, row in records_of(table)]).rename(columns={"id": "query_id"})
    queries = queries.drop(columns=["relevantDocId", "relevant"], errors="ignore")
    # With its last line end, on which embeddings by hash depend.
    texts = [policy.read_text(encoding="utf-8-sig") for policy in policies.values()]
    documents = pd.DataFrame({"doc_id": list(policies), "title": "", "text": texts})
    name = key or folder.resolve().name
    return RetrievalDataset(name, "test", documents, queries, qrels, groups=_groups(queries))
