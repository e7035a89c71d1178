"""Conversion of tables to the folder that every chapter reads.

The folder is that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.
"""

import json
import math
from pathlib import Path

import pandas as pd

from casebook.data.folders import MAX_MISSING
from casebook.data.rankings import read_rankings
from casebook.data.tables import ROLES, cell_text, listed, read_roles, read_table, refusal, short
from casebook.errors import InputError
from casebook.files import new_folder
from casebook.paths import valid_name
from casebook.readers import did_you_mean, parse_json

# Names that readers of the folder use, which no further column may have.
_RESERVED = ["_id", "doc_id", "query_id", "title", "text", "metadata"]
JUDGED = ["query-id", "corpus-id", "score"]


def convert(out, corpus, queries=None, qrels=None, *, columns=None, max_missing=MAX_MISSING):
    """Write tables of documents, questions and judgements, by split, as a folder; give readings.

    `columns` names columns by table and role, ``{"corpus.text": "body"}``. `max_missing` is the
    largest share of judgements that may name what is not there. Readings are by part, such as
    ``qrels test``.
    """
    if qrels and queries is None:
        raise InputError(f"{out}: judgements without questions: name them: --queries FILE")
    tables = {"corpus": corpus}
    if queries is not None:
        tables["queries"] = queries
    for split, path in (qrels or {}).items():
        tables[f"qrels {valid_name(split, 'split')}"] = path
    columns = _by_part(columns or {}, dict.fromkeys(name.split()[0] for name in tables))
    ids = {"queries": []}
    readings = {}
    files = {}
    for name, path in tables.items():
        part, _, split = name.partition(" ")
        if part == "qrels":
            lines, readings[name] = _judgements(path, columns[part], ids, max_missing)
            files[f"qrels/{split}.tsv"] = lines
        else:
            rows, readings[name] = _texts(part, path, columns[part])
            files[f"{part}.jsonl"] = rows["line"]
            ids[part] = rows["id"]
    with new_folder(Path(out), "name a new folder") as folder:
        for name, lines in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            text = "".join(f"{line}\n" for line in lines)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return readings


def _by_part(columns, parts):
    """Names of columns by part and role."""
    roles = [f"{part}.{role}" for part in parts for role in ROLES[part]]
    by_part = {part: {} for part in parts}
    for key, name in columns.items():
        if key not in roles:
            near = did_you_mean(key, roles)
            raise InputError(f"--columns: {key!r} is no column{near}; choose from {listed(roles)}")
        part, _, role = key.partition(".")
        by_part[part][role] = name
    return by_part


def _texts(part, path, columns):
    """Documents or questions as lines of JSON, with their further columns."""
    table = read_table(path, parse=parse_json)  # numbers of further columns stay numbers
    reading = read_roles(table, part, ["id", "text"], columns, prefix=f"{part}.")
    for role in reading.columns:
        reading.texts(role, may_be_empty=role != "id")
    for row, name in reading.table["id"].items():
        if set(name) & set("\t\r\n"):
            reading.refuse(row, f"id {short(name)} holds a tab or a line break: rename it")
    further = [name for name in reading.unread if name not in (*_RESERVED, *reading.table)]
    reading.unread = [name for name in reading.unread if name not in further]
    cells = pd.concat([reading.table.rename(columns={"id": "_id"}), table[further]], axis=1)
    lines = []
    for record in cells.to_dict("records"):
        filled = {
            name: cell
            for name, cell in record.items()
            if name in ("title", "text") or cell_text(cell) != ""
        }
        lines.append(json.dumps(filled, ensure_ascii=False, default=str))
    rows = pd.DataFrame({"id": reading.table["id"], "line": lines})
    texts = cells[cells.columns.intersection(["title", "text"])]
    with_text = rows[texts.map(str.strip).ne("").any(axis=1)]
    taken = with_text.drop_duplicates()
    for row, name in taken["id"][taken["id"].duplicated()].items():
        reading.refuse(row, f"id {short(name)} stands in an earlier row already: keep one")
    if taken.empty:
        raise refusal(path, "has no row with a text")
    without = {"without text": len(rows) - len(with_text)}
    copies = {"copies of other rows": len(with_text) - len(taken)}
    reading.notes.append(_counts(len(taken), len(rows), without | copies))
    if further:
        reading.notes.append(f"kept beside the texts: {listed(further)}")
    return taken, reading


def _judgements(path, columns, ids, max_missing):
    """Judgements of questions and documents that are there."""
    rankings, reading = read_rankings(path, "qrels", columns, prefix="qrels.")
    judged = [(query, *pair) for query, grades in rankings.items() for pair in grades.items()]
    rows = pd.DataFrame(judged, columns=JUDGED)
    is_asked = rows["query-id"].isin(ids["queries"])
    taken = rows[is_asked & rows["corpus-id"].isin(ids["corpus"])]
    counts = {"of unknown questions": (~is_asked).sum()}
    counts["of unknown documents"] = is_asked.sum() - len(taken)
    text = _counts(len(taken), len(rows), counts)
    missing = 1 - len(taken) / len(rows)
    if missing > max_missing or taken.empty:
        share = math.ceil(100 * missing) / 100
        remedy = f"correct the files, or leave these out with --max-missing {share:.2f}"
        raise refusal(path, f"{text}: {remedy}")
    without = len(ids["queries"]) - taken["query-id"].nunique()
    reading.notes.append(text)
    if without:
        reading.notes.append(f"questions without a judgement: {without}")
    return ["\t".join(map(str, row)) for row in (JUDGED, *taken.itertuples(index=False))], reading


def _counts(taken, n_rows, left_out):
    """How many rows were taken, and why others were not."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items() if count)
    return f"{taken:,} of {n_rows:,} rows taken" + (f", left out: {reasons}" if reasons else "")
