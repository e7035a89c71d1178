"""Conversion of tables to the folder that every chapter reads.

The folder is that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``. What is
taken and what is dropped, and why, stands in the report.
"""

import contextlib
import json
import math
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data.folders import MAX_MISSING
from casebook.data.records import field_text, read_table
from casebook.errors import InputError
from casebook.files import PARTIAL_SUFFIX, exchange, new_folder
from casebook.paths import valid_name
from casebook.readers import near_names
from casebook.trec import GRADE_LIMIT

#: Columns of each table, by their exact names; all but ``title`` must be there.
COLUMNS = {
    "corpus": ("id", "title", "text"),
    "queries": ("id", "text"),
    "qrels": ("query-id", "corpus-id", "score"),
}
# Names that readers of the folder use, which no further column may have.
_RESERVED = {"_id", "doc_id", "query_id", "title", "text", "metadata"}
_WRITTEN = {"corpus.jsonl", "queries.jsonl", "qrels"}


def convert(
    out, corpus, queries=None, qrels=None, *, columns=None, max_missing=MAX_MISSING, force=False
):
    """Write tables of documents, questions and judgements, by split, as a folder; give a report.

    `columns` names columns that are not called as in `COLUMNS`: ``{"corpus.text": "body"}``.
    `max_missing` is the largest share of judgements that may name what is not there.
    """
    out = Path(out)
    columns = columns or {}
    qrels = qrels or {}
    tables = [path for path in (corpus, queries, *qrels.values()) if path is not None]
    if isinstance(max_missing, bool) or not 0 <= max_missing <= 1:
        raise InputError(f"max_missing is a share from 0 to 1, not {max_missing!r}")
    if qrels and queries is None:
        raise InputError(f"{out}: judgements without questions: name them: --queries FILE")
    for path in tables:
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(out)):
            raise InputError(f"{out}: holds {path}, which is read: name another folder")
    missing = {"queries": queries is None, "qrels": not qrels}
    _check_roles(columns, [part for part in COLUMNS if not missing.get(part)])
    report = {"folder": str(out), "corpus": {"file": str(corpus)}}
    with _target(out, force) as folder:
        documents = _write_texts(folder, "corpus", report["corpus"], columns)
        questions = set()
        if queries is not None:
            report["queries"] = {"file": str(queries)}
            questions = _write_texts(folder, "queries", report["queries"], columns)
        report["qrels"] = {
            valid_name(split, "split"): {"file": str(path)} for split, path in qrels.items()
        }
        judged = set()
        for split, part in report["qrels"].items():
            path = folder / "qrels" / f"{split}.tsv"
            judged |= _write_judgements(path, part, columns, questions, documents, max_missing)
    report["notes"] = []
    if not judged:
        report["notes"].append("no judgements: chapters that score rankings need them")
    elif len(questions) > len(judged):
        report["notes"].append(f"questions without a judgement: {len(questions) - len(judged)}")
    return report


def _check_roles(columns, parts):
    """Refuse names of columns for roles that no table has."""
    roles = [f"{part}.{role}" for part in parts for role in COLUMNS[part]]
    for key in columns.keys() - set(roles):
        near = near_names(key, roles)
        hint = f"is it {near[0]!r}? " if near else ""
        raise InputError(f"--columns: {key!r} is no column: {hint}choose from {', '.join(roles)}")


@contextlib.contextmanager
def _target(out, force):
    """Fill a new folder, or one that takes the place of an earlier conversion."""
    if not (force and out.is_dir()):
        with new_folder(out, "name a new folder, or replace it with --force") as folder:
            yield folder
        return
    foreign = [path.name for path in out.iterdir() if path.name not in _WRITTEN]
    if foreign:
        raise InputError(
            f"{out}: holds {', '.join(sorted(foreign)[:3])}, which no conversion wrote: "
            "name a new folder"
        )
    replacement = out.with_name(f".{out.name}.new{PARTIAL_SUFFIX}")
    shutil.rmtree(replacement, ignore_errors=True)
    try:
        with new_folder(replacement) as folder:
            yield folder
        exchange(replacement, out)
    finally:
        shutil.rmtree(replacement, ignore_errors=True)


def _read(part, report, columns):
    """Cells of a table by role, as text, and its further cells by column."""
    names = {role: columns.get(f"{part}.{role}", role) for role in COLUMNS[part]}
    table = pd.DataFrame(
        [record for _, record in read_table(report["file"], plain_tabs=True)], dtype=object
    )
    for role, name in list(names.items()):
        key = f"{part}.{role}"
        if name in table:
            continue
        if key == "corpus.title" and key not in columns:
            del names[role]
            continue
        near = near_names(name, table)
        hint = f"is it {near[0]!r}? " if near else ""
        raise InputError(
            f"{report['file']}: has no column {name!r}: it has {', '.join(map(str, table))}: {hint}"
            f"say so: --columns {key}={near[0] if near else 'NAME'}"
        )
    cells = pd.DataFrame({role: table[name] for role, name in names.items()})
    for row in np.flatnonzero(cells.map(lambda cell: isinstance(cell, list | dict)).any(axis=1)):
        where = f"{report['file']}: record {row + 1}"
        raise InputError(f"{where}: an id or text is a list or an object: give plain text")
    further = table.drop(columns=list(names.values()))
    unread = [name for name in further if part == "qrels" or name in _RESERVED]
    report |= {"columns": names, "left_out": sorted(unread), "rows": len(table)}
    return cells.map(field_text), further.drop(columns=unread)


def _taken(report, rows, key, content, checks):
    """Rows that fail no check and are no repetition; the others are counted by reason."""
    reasons = pd.Series("", rows.index)
    for reason, failed in checks.items():
        reasons = reasons.mask((reasons == "") & failed, reason)
    rest = rows[reasons == ""]
    repeated = rest.duplicated(key)
    same = rest[content] == rest.groupby(key)[content].transform("first")
    reasons.update(repeated[repeated & same].map(lambda _: "copy of another row"))
    other = f"{' and '.join(key)} of another row, with another {content}"
    reasons.update(repeated[repeated & ~same].map(lambda _: other))
    dropped = reasons[reasons != ""].value_counts(sort=False)
    report |= {"accepted": int((reasons == "").sum()), "dropped": dropped.to_dict()}
    if not report["accepted"]:
        raise InputError(f"{report['file']}: no rows are left: {_reasons(report)}")
    return rows[reasons == ""]


def _write_texts(folder, part, report, columns):
    """Write documents or questions, each id once; give the ids."""
    cells, further = _read(part, report, columns)
    lines = []
    for texts, metadata in zip(
        cells.rename(columns={"id": "_id"}).to_dict("records"),
        further.to_dict("records"),
        strict=True,
    ):
        filled = {name: cell for name, cell in metadata.items() if field_text(cell)}
        lines.append(json.dumps(texts | filled, ensure_ascii=False, default=str))
    checks = {
        "no id": cells["id"] == "",
        "id with a tab, a line break or # at its beginning": cells["id"].str.contains(
            r"^#|[\t\r\n]"
        ),
        "no text": (cells.drop(columns="id") == "").all(axis=1),
    }
    rows = _taken(report, cells.assign(content=lines), ["id"], "content", checks)
    text = "".join(f"{line}\n" for line in rows["content"])
    (folder / f"{part}.jsonl").write_text(text, encoding="utf-8", newline="\n")
    return set(rows["id"])


def _write_judgements(path, report, columns, questions, documents, max_missing):
    """Write one split of judgements of what is there; give its questions."""
    cells, _ = _read("qrels", report, columns)
    cells["score"] = cells["score"].map(_grade)
    checks = {
        "score that is no whole number": cells["score"].isna(),
        "judgement of an unknown question": ~cells["query-id"].isin(questions),
        "judgement of an unknown document": ~cells["corpus-id"].isin(documents),
    }
    rows = _taken(report, cells, ["query-id", "corpus-id"], "score", checks)
    unknown = sum(report["dropped"].get(reason, 0) for reason in list(checks)[1:])
    if unknown > max_missing * len(cells):
        share = math.ceil(100 * unknown / len(cells)) / 100
        raise InputError(
            f"{report['file']}: {unknown} of {len(cells)} judgements name questions or documents "
            f"that are not there ({_reasons(report)}): correct the files, or leave them out with "
            f"--max-missing {share:.2f}"
        )
    path.parent.mkdir(exist_ok=True)
    lines = ["query-id\tcorpus-id\tscore\n"]
    for query, document, score in rows.itertuples(index=False):
        lines.append(f"{query}\t{document}\t{int(score)}\n")
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return set(rows["query-id"])


def _grade(value):
    """Grade as a whole number, or None."""
    try:
        number = float(field_text(value).replace("_", "?"))  # float takes 1_0 for a number
    except ValueError:
        return None
    return int(number) if number.is_integer() and abs(number) < GRADE_LIMIT else None


def _reasons(report):
    return ", ".join(f"{count} {reason}" for reason, count in report["dropped"].items())


def report_lines(report):
    """Lines for people about a conversion."""
    parts = {name: report[name] for name in ("corpus", "queries") if name in report}
    parts |= {f"qrels {split}": part for split, part in report["qrels"].items()}
    for name, part in parts.items():
        columns = ", ".join(f"{role}: {column}" for role, column in part["columns"].items())
        taken = f"{part['accepted']:,} of {part['rows']:,} rows taken"
        yield f"{name}: {taken} from {part['file']} ({columns})"
        for reason, count in part["dropped"].items():
            yield f"    dropped: {count:,} {reason}"
        if part["left_out"]:
            yield f"    columns that are not kept: {', '.join(part['left_out'])}"
    yield from (f"note: {note}" for note in report["notes"])
