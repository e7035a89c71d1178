"""Conversion of tables to the folder that every chapter reads.

The folder is that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.
"""

import contextlib
import json
import math
import os
import shutil
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
_RESERVED = {"_id", "doc_id", "query_id", "title", "text", "metadata"}
_WRITTEN = {"corpus.jsonl", "queries.jsonl", "qrels"}
JUDGED = ["query-id", "corpus-id", "score"]


def convert(
    out, corpus, queries=None, qrels=None, *, columns=None, max_missing=MAX_MISSING, force=False
):
    """Write tables of documents, questions and judgements, by split, as a folder; give readings.

    `columns` names columns by table and role, ``{"corpus.text": "body"}``. `max_missing` is the
    largest share of judgements that may name what is not there. Readings are by part, such as
    ``qrels test``.
    """
    out = Path(out)
    qrels = {valid_name(split, "split"): path for split, path in (qrels or {}).items()}
    if qrels and queries is None:
        raise InputError(f"{out}: judgements without questions: name them: --queries FILE")
    for path in filter(None, [corpus, queries, *qrels.values()]):
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(out)):
            raise InputError(f"{out}: holds {path}, which is read: name another folder")
    tables = {"corpus": corpus, "queries": queries, "qrels": qrels}
    columns = _by_part(columns or {}, [part for part, table in tables.items() if table])
    readings = {}
    files = {}
    ids = {"corpus": set(), "queries": set()}
    for part in ids:
        if tables[part] is not None:
            rows, readings[part] = _texts(part, tables[part], columns[part])
            ids[part] = set(rows)
            files[f"{part}.jsonl"] = "".join(f"{line}\n" for line in rows.values())
    for split, path in qrels.items():
        with _role_of("qrels"):
            rankings, reading = read_rankings(path, "qrels", columns["qrels"])
        rows = _known(rankings, reading, ids, max_missing)
        readings[f"qrels {split}"] = reading
        lines = ["\t".join(map(str, row)) for row in (JUDGED, *rows.itertuples(index=False))]
        files[f"qrels/{split}.tsv"] = "".join(f"{line}\n" for line in lines)
    if force and out.is_dir():
        _make_room(out)
    with new_folder(out, "name a new folder, or replace it with --force") as folder:
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return readings


def _by_part(columns, parts):
    """Names of columns by part and role."""
    roles = {f"{part}.{role}": (part, role) for part in parts for role in ROLES[part]}
    by_part = {part: {} for part in parts}
    for key, name in columns.items():
        if key not in roles:
            near = did_you_mean(key, roles)
            raise InputError(f"--columns: {key!r} is no column{near}; choose from {listed(roles)}")
        part, role = roles[key]
        by_part[part][role] = name
    return by_part


@contextlib.contextmanager
def _role_of(part):
    """Let an error name what to type of a part: ``--columns corpus.id=``."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace("--columns ", f"--columns {part}.")) from None


def _texts(part, path, columns):
    """Documents or questions as lines of JSON by id, with their further columns."""
    table = read_table(path, parse=parse_json)  # numbers of further columns stay numbers
    with _role_of(part):
        reading = read_roles(table, part, ["id", "text"], columns)
        ids = reading.texts("id")
        roles = [role for role in reading.columns if role != "id"]
        for role in roles:
            reading.texts(role, may_be_empty=True)
    for row, name in ids[ids.str.contains(r"[\t\r\n]")].items():
        reading.refuse(row, f"id {short(name)} holds a tab or a line break: rename it")
    further = [name for name in reading.unread if name not in _RESERVED]
    reading.unread = [name for name in reading.unread if name in _RESERVED]
    texts = reading.table[[role for role in ("title", "text") if role in roles]]
    rows = zip(
        texts.assign(_id=ids).to_dict("records"),
        reading.table[roles].drop(columns=texts.columns).to_dict("records"),
        table[further].to_dict("records"),
        strict=True,
    )
    lines = []
    for row, groups, metadata in rows:
        filled = {name: cell for name, cell in (metadata | groups).items() if cell_text(cell) != ""}
        lines.append(
            json.dumps({"_id": row["_id"]} | row | filled, ensure_ascii=False, default=str)
        )
    is_filled = (texts.apply(lambda cells: cells.str.strip()) != "").any(axis=1)
    rows = pd.DataFrame({"id": ids, "line": lines})[is_filled]
    is_copy = rows.duplicated()
    rows = rows[~is_copy]
    for row, name in rows["id"][rows["id"].duplicated()].items():
        reading.refuse(row, f"id {short(name)} stands in an earlier row already: keep one")
    if rows.empty:
        raise refusal(path, "has no row with a text")
    counts = {"without text": (~is_filled).sum(), "copies of other rows": is_copy.sum()}
    reading.notes.append(_taken(len(rows), len(ids), counts))
    if further:
        reading.notes.append(f"kept beside the texts: {listed(further)}")
    return dict(rows.itertuples(index=False)), reading


def _known(rankings, reading, ids, max_missing):
    """Judgements of questions and documents that are there."""
    judged = [(query, *pair) for query, grades in rankings.items() for pair in grades.items()]
    rows = pd.DataFrame(judged, columns=JUDGED)
    is_asked = rows["query-id"].isin(ids["queries"])
    is_known = is_asked & rows["corpus-id"].isin(ids["corpus"])
    counts = {
        "of unknown questions": (~is_asked).sum(),
        "of unknown documents": (is_asked & ~is_known).sum(),
    }
    taken = _taken(is_known.sum(), len(rows), counts)
    if len(rows) - is_known.sum() > max_missing * len(rows) or not is_known.any():
        share = math.ceil(100 * (1 - is_known.mean())) / 100
        remedy = f"correct the files, or leave these out with --max-missing {share:.2f}"
        raise refusal(reading.path, f"{taken}: {remedy}")
    reading.notes.append(taken)
    without = len(ids["queries"]) - rows.loc[is_known, "query-id"].nunique()
    if without:
        reading.notes.append(f"questions without a judgement: {without}")
    return rows[is_known]


def _taken(taken, n_rows, counts):
    """How many rows were taken, and why others were not."""
    left_out = [f"{count:,} {reason}" for reason, count in counts.items() if count]
    text = f"{taken:,} of {n_rows:,} rows taken"
    return ", left out: ".join(filter(None, [text, ", ".join(left_out)]))


def _make_room(out):
    """Remove an earlier conversion; nothing else is removed."""
    foreign = [path.name for path in out.iterdir() if path.name not in _WRITTEN]
    if foreign:
        problem = f"holds {listed(sorted(foreign), most=3)}, which no conversion wrote"
        raise InputError(f"{out}: {problem}: name a new folder")
    shutil.rmtree(out)
