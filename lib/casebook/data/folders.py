"""Collections in folders: BEIR, and documents with TREC judgements; read, written and checked."""

from pathlib import Path

import pandas as pd

from casebook.data.rankings import read_rankings
from casebook.data.splits import RetrievalDataset
from casebook.data.tables import read_roles, read_table, refusal
from casebook.errors import InputError
from casebook.files import new_folder
from casebook.paths import valid_name
from casebook.readers import read_jsonl, read_text
from casebook.stats.samples import check_choice

# Share of judgements that may name what a collection lacks: one in twenty takes about
# .05 from a recall, which is half the interval of a few hundred queries.
MAX_MISSING = 0.05
LAYOUT = "corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv"
PARTS = ("corpus", "queries", "qrels")
PAIR = ["query", "document"]


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
    return load_files(
        *texts, qrels, key=key, split=split, card=card, max_missing=max_missing
    )


def load_files(
    documents,
    queries,
    qrels,
    *,
    key,
    split,
    card=None,
    max_missing=MAX_MISSING,
    id_field="_id",
):
    """Documents and queries in JSON lines with judgements in TREC format, or in a table."""
    documents = _documents(documents, id_field)
    queries = read_questions(queries, id_field)
    grades, _ = read_rankings(qrels, "qrels")
    judged = pd.Series(
        {query: [*row] for query, row in grades.items()}, dtype=object
    ).explode()
    is_asked = judged.index.isin(queries["query_id"])
    missing = judged[~(is_asked & judged.isin(documents["doc_id"]))]
    share = len(missing) / len(judged)
    if share > max_missing:
        counted = f"{len(missing)} of {len(judged)} judgements"
        pair = f"{missing.iloc[0]!r} for {missing.index[0]!r}"
        way = f"correct the files, or allow them with max_missing={share + 0.005:.2f}"
        raise InputError(
            f"{qrels}: {counted} name what is not there, such as {pair}: {way}"
        )
    queries = queries[queries["query_id"].isin(grades)].reset_index(drop=True)
    grades = {query: grades[query] for query in queries["query_id"]}
    groups = (
        dict(zip(queries["query_id"], queries.get("group", ()), strict=False)) or None
    )
    n_left_out = sum(~is_asked)
    note = (
        f"{n_left_out} judgements of queries without a text are left out"
        if n_left_out
        else ""
    )
    return RetrievalDataset(
        key, split, documents, queries, grades, card, groups=groups, note=note
    )


def read_frame(path, id_field, id_column):
    """Documents or queries of JSON lines: an id, a text, metadata as further columns."""
    rows = {}
    for number, record in read_jsonl(path, [id_field, "text"]):
        name = record.pop(id_field)
        metadata = record.pop("metadata", None) or {}
        if id_column in record or metadata.keys() & {id_column, "title", *record}:
            raise InputError.at(
                path, number, "a field of metadata has the name of another column"
            )
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
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in (".txt", ".md")
    ]
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
    texts = (
        (titles + " " + documents["text"])
        .str.strip()
        .where(titles != "", documents["text"])
    )
    return documents.assign(text=texts)


def one_of(folder, stem):
    for path in (folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz"):
        if path.is_file():
            return path
    problem = (
        f"has no {stem}.jsonl: .txt and .md files are documents without questions; "
        f"questions with judgements need {LAYOUT}"
        if folder.is_dir()
        else f"no such folder: give one with {LAYOUT}, or with .txt and .md files"
    )
    raise InputError(f"{folder}: {problem}")


# --- tables of any format, written as a folder


def convert(out, corpus, queries=None, qrels=None, *, columns=None):
    """Write tables of documents, questions and judgements, by split, as a folder; give readings.

    `columns` names columns by table and role, ``{"corpus.text": "body"}``. Readings are by part,
    such as ``qrels test``.
    """
    told = {part: {} for part in PARTS}
    for key, name in (columns or {}).items():
        part, _, role = key.partition(".")
        check_choice("part of --columns PART.ROLE=COLUMN", part, PARTS)
        told[part][role] = name
    readings = {}
    contents = {}
    for part, path in {"corpus": corpus, "queries": queries}.items():
        if path is not None:
            texts, readings[part] = _texts(part, path, told[part])
            contents[f"{part}.jsonl"] = texts.to_json(
                orient="records", lines=True, force_ascii=False
            )
    for split, path in (qrels or {}).items():
        name = f"qrels/{valid_name(split, 'split')}.tsv"
        rankings, reading = read_rankings(path, "qrels", told["qrels"], prefix="qrels.")
        judged = [
            (query, *pair) for query, row in rankings.items() for pair in row.items()
        ]
        table = pd.DataFrame(judged, columns=["query-id", "corpus-id", "score"])
        contents[name] = table.to_csv(sep="\t", index=False)
        if reading is not None:  # as it is of TREC's own text
            readings[f"qrels {split}"] = reading
    with new_folder(Path(out), "name a new folder") as folder:
        for name, text in contents.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return readings


def _texts(part, path, columns):
    """Documents or questions that have a text, and what was read."""
    reading = read_roles(
        read_table(path), part, ["id", "text"], columns, prefix=f"{part}."
    )
    for role in reading.columns:
        reading.texts(role, may_be_empty=role != "id")
    reading.refuse_repeats("id")
    texts = reading.cells("title") + reading.cells("text")
    rows = reading.table[texts.str.strip() != ""]
    if rows.empty:
        raise refusal(path, "has no row with a text")
    reading.notes.append(f"{len(rows)} of {len(texts)} rows have a text and are taken")
    return rows.rename(columns={"id": "_id"}), reading


# --- what is there twice, or nowhere


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
            examples = "; ".join(found[:3])
            yield f"{check}: {len(found):,} of {len(names):,}, such as {examples}"


def _repeated(records, keys):
    """Ids of records that are like an earlier one, with its id."""
    first = records.groupby(keys)["id"].transform("first")
    names = records["id"] + " = " + first
    return names.where(records.duplicated(keys))


def _judgements(folder):
    needed = [*PAIR, "value"]
    read = {
        path.stem: read_roles(read_table(path), "qrels", needed).table
        for path in sorted(folder.glob("qrels/*.tsv"))
    }
    judged = pd.concat(read, names=["split"]).reset_index()
    judged["id"] = judged[needed].agg(" ".join, axis=1) + " (" + judged["split"] + ")"
    return judged


def _records(path):
    """Ids, and titles with texts as they are compared."""
    records = pd.DataFrame([record for _, record in read_jsonl(path, ["_id", "text"])])
    texts = with_titles(records)["text"].str.lower().str.split().str.join(" ")
    return pd.DataFrame({"id": records["_id"], "text": texts})
