"""Conversion of a collection of any usual layout to the folder that every chapter reads.

The folder is that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``. What is
taken and what is dropped, and why, stands in the report.
"""

import contextlib
import hashlib
import json
import math
import os
import shutil
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from casebook.data.folders import MAX_MISSING
from casebook.data.layouts import (
    CollectionFiles,
    files_below,
    judgement_rows,
    lacks_header,
    layout_of,
    part_rows,
    split_of,
    usual_name,
)
from casebook.data.records import (
    COLUMN_NAMES,
    LAYOUTS,
    column_of,
    field_text,
    read_table,
    rows_by_id,
)
from casebook.errors import InputError
from casebook.files import PARTIAL_SUFFIX, exchange, new_folder
from casebook.paths import valid_name
from casebook.readers import near_names
from casebook.trec import GRADE_LIMIT

NO_ID = "no id"
NO_TEXT = "no text"
BAD_ID = "id with a tab, a line break or # at its beginning"
COPY = "copy of another row"
OTHER_CONTENT = "id of another row, with other content"
NO_GRADE = "grade that is no whole number"
UNKNOWN_QUERY = "judgement of an unknown question"
UNKNOWN_DOCUMENT = "judgement of an unknown document"
OTHER_GRADE = "pair of another row, with another grade"
# Names that readers of the folder use, which no further column may have.
_FIELDS = {
    "corpus": {"_id", "doc_id", "title", "text", "metadata"},
    "queries": {"_id", "query_id", "text", "metadata"},
}
_WRITTEN = {"corpus.jsonl", "queries.jsonl", "qrels"}
_SHORT = {"corpus": "documents", "queries": "questions", "pairs": "pairs"}


@dataclass
class PartReport:
    """What was read of one part, and what became of it."""

    files: list
    columns: dict = field(default_factory=dict)
    left_out: list = field(default_factory=list)  # further columns that are not written
    rows: int = 0
    accepted: int = 0
    dropped: Counter = field(default_factory=Counter)

    def drop(self, reason):
        """Count a row that is left out."""
        self.dropped[reason] += 1

    def use(self, columns, left_out=()):
        """Note the columns of a file."""
        self.columns = columns | self.columns
        self.left_out += [name for name in left_out if name not in self.left_out]


class ColumnRoles:
    """ColumnRoles of parts by role: those that the user names, else those of usual names."""

    def __init__(self, mapping=None):
        self.mapping = mapping or {}
        self.used = set()
        roles = {role for part in COLUMN_NAMES.values() for role in part}
        for key in self.mapping:
            part, _, role = key.rpartition(".")
            if role not in roles or part not in ("", *COLUMN_NAMES):
                near = near_names(role, roles)
                hint = f"is it {near[0]!r}? " if near else ""
                raise InputError(
                    f"--columns: {key!r} is no role of a column: {hint}choose from "
                    f"{', '.join(sorted(roles))}, or one of them after corpus., queries. or qrels."
                )

    @property
    def names(self):
        """Names of columns that the user gave."""
        return set(self.mapping.values())

    def find(self, record, part, role):
        """Give the column of a role in a record, or None."""
        for key in (f"{part}.{role}", role):
            if self.mapping.get(key) in record:
                self.used.add(key)
                return self.mapping[key]
        return column_of(record, part, role)

    def of(self, path, record, part, needed):
        """Give the columns of a part in a record by role; a needed one that is absent is named."""
        columns = {role: self.find(record, part, role) for role in COLUMN_NAMES[part]}
        for role in needed:
            if columns[role] is None:
                raise InputError(f"{path}: {_no_column(record, part, role)}")
        return {role: column for role, column in columns.items() if column is not None}

    def check_used(self):
        """Refuse names that no file had a column for."""
        for key in sorted(self.mapping.keys() - self.used):
            raise InputError(f"--columns: no file has a column {self.mapping[key]!r} for {key}")


def _no_column(record, part, role):
    aliases = COLUMN_NAMES[part][role]
    near = [name for name in record if near_names(name, aliases)]
    name = near[0] if near else "NAME"
    hint = f"is it {name!r}? " if near else ""
    names = ", ".join(map(str, record)) or "nothing"
    what = _SHORT.get(part, "judgements")
    alone = "; name a file of documents by --corpus" if part == "pairs" else ""
    return (
        f"no column is the {role} of the {what}: it has {names}: {hint}"
        f"say so: --columns {role}={name}{alone}"
    )


def convert(
    source,
    out,
    *,
    corpus=(),
    queries=(),
    qrels=(),
    columns=None,
    max_missing=MAX_MISSING,
    force=False,
):
    r"""Convert a collection to the folder that every chapter reads.

    Parameters
    ----------
    source : path-like or None
        A folder, or one table with a question and a passage in each row. None, if the files are
        named.
    out : path-like
        Folder to make; it appears complete or not at all.
    corpus, queries : sequence of path-like
        Files of documents and questions, which go before what the source holds.
    qrels : sequence of path-like
        Files of judgements; their split is told by their names, ``test`` if there is none.
    columns : dict of str to str, optional
        Roles of columns (``id``, ``text``, ``query``, ``document``, ``grade`` ...), also of one
        part (``corpus.text``), and their names in the files.
    max_missing : float
        Largest share of judgements, 0 to 1, that may name what is not there.
    force : bool
        Replace a folder that this function made.

    Returns
    -------
    dict
        ``folder``; ``corpus``, ``queries``, ``qrels`` by split and ``pairs`` by split, each with
        ``files``, ``columns``, ``left_out`` columns, ``rows``, ``accepted`` and ``dropped`` by
        reason; ``written`` and ``unread`` files; ``notes``.

    Raises
    ------
    InputError
        With file, row and remedy, if a part is absent or cannot be read, nothing of it is left,
        or the folder exists.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> table = folder / "faq.csv"
    >>> _ = table.write_text("question,passage\nWhen is rent due?,On the first day.\n")
    >>> convert(table, folder / "faq")["written"]
    ['corpus.jsonl', 'queries.jsonl', 'qrels/test.tsv']
    """
    if isinstance(max_missing, bool) or not 0 <= max_missing <= 1:
        raise InputError(f"max_missing is a share from 0 to 1, not {max_missing!r}")
    out = Path(out)
    if source is not None and Path(source).resolve().is_relative_to(out.resolve()):
        raise InputError(f"{out}: is read, and would be written: name another folder")
    layout = _chosen_layout(source, out, corpus, queries, qrels)
    _refuse_sources(layout, out)
    columns = ColumnRoles(columns)
    parts = {}
    with _target(out, force) as folder:
        if layout.pairs:
            n_queries, judged_queries = _convert_pairs(folder, layout, columns, parts)
        else:
            n_queries, judged_queries = _convert_parts(folder, layout, columns, parts, max_missing)
        columns.check_used()
        written = [path.relative_to(folder).as_posix() for path in folder.rglob("*.*")]
    notes = _notes(parts, n_queries, judged_queries)
    for name in ("corpus", "queries"):
        for path in getattr(layout, name):
            if lacks_header(path, name, columns.names):
                notes.append(f"{path.name}: without a header: id first, text last")
    report = {"folder": str(out), **_plain(parts)}
    return report | {
        "written": sorted(written, key=_in_order),
        "unread": _names(layout.unread),
        "notes": notes,
    }


def _in_order(name):
    """Order files as their readers do: documents, questions, judgements."""
    return name.startswith("qrels"), name


def _plain(parts):
    """Give parts, and those by split, as dictionaries."""
    plain = {}
    for name, part in parts.items():
        if isinstance(part, dict):
            plain[name] = _plain(part)
        else:
            plain[name] = asdict(part) | {"dropped": dict(part.dropped)}
    return plain


def _chosen_layout(source, out, corpus, queries, qrels):
    """Find the parts in the source, and put named files in their place."""
    layout = CollectionFiles() if source is None else layout_of(source, out)
    if corpus or queries or qrels:
        layout.pairs = {}
    if corpus:
        layout.corpus = _files(corpus)
    if queries:
        layout.queries = _files(queries)
    if qrels:
        by_split = {}
        for path in _files(qrels):
            by_split.setdefault(split_of(path.name), []).append(path)
        layout.qrels = usual_name(by_split)
    for split in (*layout.qrels, *layout.pairs):
        valid_name(split, "split")
    if not (layout.corpus or layout.pairs):
        raise InputError(f"{source or out}: {_no_documents(layout)}")
    if layout.qrels and not layout.queries:
        raise InputError(
            f"{source or out}: judgements without questions: name them: --queries FILE"
        )
    return layout


def _files(paths):
    """Give the files that paths stand for; a folder stands for those below it."""
    files = []
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
        files += files_below(path) if path.is_dir() else [path]
    return files


def _no_documents(layout):
    names = [path.name for path in (*layout.queries, *sum(layout.qrels.values(), layout.unread))]
    there = ", ".join(names[:8]) or "no file"
    return (
        "no file is called corpus, collection, documents, docs or passages; there is "
        f"{there}: name the documents: --corpus FILE"
    )


def _refuse_sources(layout, out):
    """Refuse to write where something is read."""
    files = [*layout.corpus, *layout.queries]
    for by_split in (layout.qrels, layout.pairs):
        files += [path for paths in by_split.values() for path in paths]
    for path in files:
        if path.resolve().is_relative_to(out.resolve()):
            raise InputError(f"{out}: holds {path.name}, which is read: name another folder")


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


# --- documents and questions


def _convert_parts(folder, layout, columns, report, max_missing):
    """Convert files by part; gives the number of questions, and those that are judged."""
    report["corpus"] = PartReport(_names(layout.corpus))
    documents = _write_texts(folder / "corpus.jsonl", "corpus", layout.corpus, columns, report)
    queries = set()
    if layout.queries:
        report["queries"] = PartReport(_names(layout.queries))
        path = folder / "queries.jsonl"
        queries = _write_texts(path, "queries", layout.queries, columns, report)
    report["qrels"] = {}
    judged_queries = set()
    for split, files in layout.qrels.items():
        part = report["qrels"][split] = PartReport(_names(files))
        grades = _judgements(files, part, columns, queries, documents)
        _check_missing(files, part, max_missing)
        judged_queries.update(_write_judgements(folder, split, grades))
    return len(queries), judged_queries


def _names(paths):
    return [path.name for path in paths]


def _write_texts(target, name, files, columns, report):
    """Write documents or questions, each id once; gives the ids."""
    part = report[name]
    contents = {}
    root = Path(os.path.commonpath([path.parent for path in files]))
    with target.open("w", encoding="utf-8", newline="\n") as stream:
        for path in files:
            readings = {}  # by the columns of a record
            for _, record in part_rows(path, name, columns.names, root):
                part.rows += 1
                key = tuple(record)
                if key not in readings:
                    needed = ("id",) if readings else ("id", "text")
                    readings[key] = _reading(path, record, name, columns, needed)
                    part.use(*readings[key])
                line, reason = _text_line(record, *readings[key], contents)
                if reason:
                    part.drop(reason)
                    continue
                part.accepted += 1
                stream.write(line)
    if not part.accepted:
        raise InputError(f"{_listed(files)}: no {_SHORT[name]} are left: {_reasons(part)}")
    return contents.keys()


def _reading(path, record, name, columns, needed):
    """Give the columns by role, and further ones that cannot be written."""
    roles = columns.of(path, record, name, needed)
    left_out = []
    for column, value in record.items():
        is_metadata = column == "metadata" and isinstance(value, dict)
        clashes = column in _FIELDS[name] and not is_metadata
        if column not in roles.values() and (clashes or isinstance(value, bytes)):
            left_out.append(column)
        if is_metadata:
            left_out += sorted(_FIELDS[name] & value.keys())
    return roles, left_out


def _text_line(record, roles, left_out, contents):
    """Give the line of a row, or the reason why it is left out; ``contents`` are by id."""
    name = field_text(record.get(roles["id"]))
    text = _text(record.get(roles.get("text")))
    title = _text(record.get(roles.get("title")))
    if not name:
        return None, NO_ID
    if _breaks_lines(name):
        return None, BAD_ID
    if not (text or title):
        return None, NO_TEXT
    row = {"_id": name, "title": title, "text": text}
    if "title" not in roles:
        del row["title"]
    line = _line(row | _metadata(record, {*roles.values(), *left_out}))
    content = hashlib.sha256(line.encode()).digest()[:8]
    if name in contents:
        return None, COPY if contents[name] == content else OTHER_CONTENT
    contents[name] = content
    return line, None


def _text(value):
    """Give a text; sentences in a list are one."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = " ".join(value)
    return "" if isinstance(value, list | dict) else field_text(value)


def _breaks_lines(name):
    return name.startswith("#") or any(mark in name for mark in "\t\r\n")


def _metadata(record, excluded):
    """Give further columns that have a value; fields of BEIR's ``metadata`` are columns too."""
    nested = record.get("metadata")
    fields = record
    if isinstance(nested, dict):
        fields = nested | {name: value for name, value in record.items() if name != "metadata"}
    metadata = {}
    for name, value in fields.items():
        if not (name in excluded or value is None or value == "" or value != value):
            metadata[name] = value
    return metadata


def _line(row):
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        text = json.dumps(_finite(row), ensure_ascii=False, default=str)
    return f"{text}\n"


def _finite(value):
    """Give a value without numbers that JSON has not."""
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- judgements


def grade_of(value):
    """Give a grade as a whole number, or None; truth values and words have one too."""
    if isinstance(value, bool):
        return int(value)
    text = field_text(value).lower()
    if text in LAYOUTS["grades"]:
        return LAYOUTS["grades"][text]
    try:
        number = float(text.replace("_", "?"))
    except ValueError:
        return None
    return int(number) if number.is_integer() and abs(number) < GRADE_LIMIT else None


def _judgements(files, part, columns, queries, documents):
    """Read judgements of what is there: grades by question and document."""
    grades = {}
    for path in files:
        roles_of = {}
        for _, record in judgement_rows(path, columns.names):
            part.rows += 1
            names = tuple(record)
            if names not in roles_of:
                roles_of[names] = columns.of(path, record, "qrels", ("query", "document"))
                part.use(roles_of[names])
            roles = roles_of[names]
            query = field_text(record.get(roles["query"]))
            document = field_text(record.get(roles["document"]))
            grade = grade_of(record.get(roles["grade"])) if "grade" in roles else 1
            if grade is None:
                part.drop(NO_GRADE)
            elif query not in queries:
                part.drop(UNKNOWN_QUERY)
            elif document not in documents:
                part.drop(UNKNOWN_DOCUMENT)
            else:
                _take(grades, query, document, grade, part)
    return grades


def _take(grades, query, document, grade, part):
    """Keep a judgement, once."""
    grades_of_query = grades.setdefault(query, {})
    if document in grades_of_query:
        part.drop(COPY if grades_of_query[document] == grade else OTHER_GRADE)
        return
    grades_of_query[document] = grade
    part.accepted += 1


def _check_missing(files, part, max_missing):
    """Refuse judgements that are not about this collection."""
    unknown = part.dropped[UNKNOWN_QUERY] + part.dropped[UNKNOWN_DOCUMENT]
    if unknown > max_missing * part.rows:
        share = math.ceil(100 * unknown / part.rows) / 100
        raise InputError(
            f"{_listed(files)}: {unknown} of {part.rows} judgements name questions or documents "
            f"that are not there ({_reasons(part)}): correct the files, or leave them out with "
            f"--max-missing {share:.2f}"
        )
    if not part.accepted:
        raise InputError(f"{_listed(files)}: no judgements are left: {_reasons(part)}")


def _write_judgements(folder, split, grades):
    """Write one split of judgements; gives its questions."""
    lines = ["query-id\tcorpus-id\tscore\n"]
    for query, grades_of_query in grades.items():
        for document, grade in grades_of_query.items():
            lines.append(f"{query}\t{document}\t{grade}\n")
    path = folder / "qrels" / f"{split}.tsv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return grades.keys()


# --- a table with a question and a passage in each row


def _convert_pairs(folder, layout, columns, report):
    """Convert tables of pairs, of which equal texts are one; gives the same as for parts."""
    documents = _Texts("d")
    queries = _Texts("q")
    report["pairs"] = {}
    judged_queries = set()
    for split, files in layout.pairs.items():
        part = report["pairs"][split] = PartReport(_names(files))
        grades = {}
        for path in files:
            for _, record in read_table(path, rows_of=rows_by_id, plain_tabs=True):
                part.rows += 1
                roles = columns.of(path, record, "pairs", ("question", "passage"))
                part.use(roles, [name for name in record if name not in roles.values()])
                _take_pair(record, roles, documents, queries, grades, part)
        if not part.accepted:
            raise InputError(f"{_listed(files)}: no pairs are left: {_reasons(part)}")
        judged_queries.update(_write_judgements(folder, split, grades))
    for name, texts in (("corpus", documents), ("queries", queries)):
        lines = map(_line, texts.rows.values())
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
    return len(queries.rows), judged_queries


def _take_pair(record, roles, documents, queries, grades, part):
    """Keep the question, the passage and the judgement of one row, or say why not."""
    grade = grade_of(record[roles["grade"]]) if "grade" in roles else 1
    if grade is None:
        part.drop(NO_GRADE)
        return
    row = {"title": _text(record.get(roles.get("title"))), "text": _text(record[roles["passage"]])}
    if "title" not in roles:
        del row["title"]
    document, reason = documents.id_of(row, field_text(record.get(roles.get("document"))))
    if reason:
        part.drop(reason)
        return
    row = {"text": _text(record[roles["question"]])}
    group = field_text(record.get(roles.get("group")))
    if group:
        row["group"] = group
    query, reason = queries.id_of(row, field_text(record.get(roles.get("query"))))
    if reason:
        part.drop(reason)
        return
    _take(grades, query, document, grade, part)


class _Texts:
    """Texts of a column, each once, under ids of the file or numbers."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.rows = {}
        self.numbered = {}

    def id_of(self, row, name):
        """Give the id of a row, or the reason why it has none."""
        if not row["text"]:
            return None, NO_TEXT
        if _breaks_lines(name):
            return None, BAD_ID
        if not name:
            content = _line(row)
            name = self.numbered.setdefault(content, f"{self.prefix}{len(self.numbered) + 1}")
        row = {"_id": name, **row}
        if self.rows.setdefault(name, row) != row:
            return None, OTHER_CONTENT
        return name, None


# --- the report


def _listed(files):
    return ", ".join(map(str, files[:3]))


def _reasons(part):
    return ", ".join(f"{count} {reason}" for reason, count in part.dropped.items()) or "no rows"


def _notes(report, n_queries, judged_queries):
    """Say what a reader of the folder has to know."""
    notes = []
    if not judged_queries:
        notes.append("no judgements: chapters that score rankings need them")
    elif n_queries > len(judged_queries):
        notes.append(f"questions without a judgement: {n_queries - len(judged_queries)}")
    for kind in ("qrels", "pairs"):
        for split, part in report.get(kind, {}).items():
            if "grade" not in part.columns:
                notes.append(f"{split}: no column is a grade, so each row counts as relevant")
    return notes


def report_lines(report):
    """Lines for people about a conversion."""
    for name in ("corpus", "queries", "qrels", "pairs"):
        part = report.get(name)
        if part is None:
            continue
        parts = part if name in ("qrels", "pairs") else {"": part}
        for split, of_split in parts.items():
            yield from _part_lines(f"{name} {split}".strip(), of_split)
    if report["unread"]:
        names = report["unread"]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield f"not read: {', '.join(names[:5])}{more}"
    yield from (f"note: {note}" for note in report["notes"])
    yield f"{report['folder']}: {', '.join(report['written'])}"


def _part_lines(name, part):
    columns = ", ".join(f"{role}: {column}" for role, column in part["columns"].items())
    files = ", ".join(part["files"][:3]) + (" ..." if len(part["files"]) > 3 else "")
    yield f"{name}: {part['accepted']:,} of {part['rows']:,} rows taken from {files} ({columns})"
    for reason, count in part["dropped"].items():
        yield f"    dropped: {count:,} {reason}"
    if part["left_out"]:
        yield f"    columns that are not kept: {', '.join(sorted(part['left_out']))}"
