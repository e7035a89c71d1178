"""Conversion of tables to the folder that every chapter reads.

The folder is that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``. What is
taken and what is dropped, and why, stands in the report.
"""

import contextlib
import json
import math
import os
import shutil
from collections import Counter
from pathlib import Path

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
NO_ID = "no id"
NO_TEXT = "no text"
BAD_ID = "id with a tab, a line break or # at its beginning"
COPY = "copy of another row"
OTHER_CONTENT = "id of another row, with other content"
NO_GRADE = "score that is no whole number"
UNKNOWN_QUERY = "judgement of an unknown question"
UNKNOWN_DOCUMENT = "judgement of an unknown document"
OTHER_GRADE = "pair of another row, with another score"
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
    _check_roles(columns)
    report = {"folder": str(out), "corpus": _report(corpus)}
    with _target(out, force) as folder:
        documents = _write_texts(folder, "corpus", report["corpus"], columns)
        questions = {}
        if queries is not None:
            report["queries"] = _report(queries)
            questions = _write_texts(folder, "queries", report["queries"], columns)
        report["qrels"] = {valid_name(split, "split"): _report(qrels[split]) for split in qrels}
        judged = set()
        for split, part in report["qrels"].items():
            grades = _judgements(part, columns, questions, documents)
            _check_missing(part, max_missing)
            _write_judgements(folder / "qrels" / f"{split}.tsv", grades)
            judged.update(grades)
    report["notes"] = []
    if not judged:
        report["notes"].append("no judgements: chapters that score rankings need them")
    elif len(questions) > len(judged):
        report["notes"].append(f"questions without a judgement: {len(questions) - len(judged)}")
    return report


def _check_roles(columns):
    """Refuse names of columns for roles that no table has."""
    roles = [f"{part}.{role}" for part in COLUMNS for role in COLUMNS[part]]
    for key in columns.keys() - set(roles):
        near = near_names(key, roles)
        hint = f"is it {near[0]!r}? " if near else ""
        raise InputError(f"--columns: {key!r} is no column: {hint}choose from {', '.join(roles)}")


def _report(path):
    """What is read of a table, and what becomes of its rows."""
    counts = {"rows": 0, "accepted": 0, "dropped": Counter()}
    return {"file": str(path), "columns": {}, "left_out": []} | counts


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


def _rows(part, report, columns):
    """Yield the cells of each row of a table by role, and its further cells."""
    names = {role: columns.get(f"{part}.{role}", role) for role in COLUMNS[part]}
    for _, record in read_table(report["file"], plain_tabs=True):
        if not report["rows"]:
            _check_columns(part, report["file"], record, names, columns)
            report["columns"] = {role: name for role, name in names.items() if name in record}
        report["rows"] += 1
        further = {name: cell for name, cell in record.items() if name not in names.values()}
        unread = further.keys() if part == "qrels" else further.keys() & _RESERVED
        report["left_out"] = sorted(unread | set(report["left_out"]))
        yield {role: record.get(name) for role, name in names.items()}, further


def _check_columns(part, path, record, names, columns):
    """Refuse a table without a column that it needs, or that was named."""
    for role, name in names.items():
        key = f"{part}.{role}"
        if name in record or (role == "title" and key not in columns):
            continue
        near = near_names(name, record)
        hint = f"is it {near[0]!r}? " if near else ""
        raise InputError(
            f"{path}: has no column {name!r}: it has {', '.join(map(str, record))}: {hint}"
            f"say so: --columns {key}={near[0] if near else 'NAME'}"
        )


def _write_texts(folder, part, report, columns):
    """Write documents or questions, each id once; give their lines by id."""
    lines = {}
    for cells, further in _rows(part, report, columns):
        if any(isinstance(cell, list | dict) for cell in cells.values()):
            where = f"{report['file']}: record {report['rows']}"
            raise InputError(f"{where}: an id or text is a list or an object: give plain text")
        texts = {role: field_text(cells[role]) for role in report["columns"]}
        name = texts.pop("id")
        metadata = {
            column: cell
            for column, cell in further.items()
            if column not in _RESERVED and field_text(cell)
        }
        line = json.dumps({"_id": name, **texts, **metadata}, ensure_ascii=False, default=str)
        reason = None
        if not name:
            reason = NO_ID
        elif name.startswith("#") or any(mark in name for mark in "\t\r\n"):
            reason = BAD_ID
        elif not any(texts.values()):
            reason = NO_TEXT
        elif name in lines:
            reason = COPY if lines[name] == line else OTHER_CONTENT
        if reason is None:
            lines[name] = line
            report["accepted"] += 1
        else:
            report["dropped"][reason] += 1
    if not lines:
        raise InputError(f"{report['file']}: no rows are left: {_reasons(report)}")
    text = "".join(f"{line}\n" for line in lines.values())
    (folder / f"{part}.jsonl").write_text(text, encoding="utf-8", newline="\n")
    return lines


def _judgements(report, columns, questions, documents):
    """Read judgements of what is there: grades by question and document."""
    grades = {}
    for cells, _ in _rows("qrels", report, columns):
        query = field_text(cells["query-id"])
        document = field_text(cells["corpus-id"])
        grade = _grade(cells["score"])
        of_query = grades.get(query, {})
        reason = None
        if grade is None:
            reason = NO_GRADE
        elif query not in questions:
            reason = UNKNOWN_QUERY
        elif document not in documents:
            reason = UNKNOWN_DOCUMENT
        elif document in of_query:
            reason = COPY if of_query[document] == grade else OTHER_GRADE
        if reason is None:
            grades.setdefault(query, {})[document] = grade
            report["accepted"] += 1
        else:
            report["dropped"][reason] += 1
    return grades


def _grade(value):
    """Grade as a whole number, or None."""
    try:
        number = float(field_text(value).replace("_", "?"))  # float takes 1_0 for a number
    except ValueError:
        return None
    return int(number) if number.is_integer() and abs(number) < GRADE_LIMIT else None


def _check_missing(report, max_missing):
    """Refuse judgements that are not about this collection."""
    unknown = report["dropped"][UNKNOWN_QUERY] + report["dropped"][UNKNOWN_DOCUMENT]
    if unknown > max_missing * report["rows"]:
        share = math.ceil(100 * unknown / report["rows"]) / 100
        raise InputError(
            f"{report['file']}: {unknown} of {report['rows']} judgements name questions or "
            f"documents that are not there ({_reasons(report)}): correct the files, or leave them "
            f"out with --max-missing {share:.2f}"
        )
    if not report["accepted"]:
        raise InputError(f"{report['file']}: no judgements are left: {_reasons(report)}")


def _write_judgements(path, grades):
    """Write one split of judgements."""
    lines = ["query-id\tcorpus-id\tscore\n"]
    for query, of_query in grades.items():
        lines += [f"{query}\t{document}\t{grade}\n" for document, grade in of_query.items()]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def _reasons(report):
    dropped = {reason: count for reason, count in report["dropped"].items() if count}
    return ", ".join(f"{count} {reason}" for reason, count in dropped.items())


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
