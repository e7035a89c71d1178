"""Readers of every file that somebody else wrote: an error names file, line and remedy.

JSON, JSON lines and YAML; records and tables; TREC runs and judgements; workbooks and
grids of ratings; and the text of cells, made safe for spreadsheets on the way out.
Nothing is skipped, guessed or evaluated.
"""

import csv
import gzip
import io
import json
import lzma
import math
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml

from casebook.errors import InputError
from casebook.files import replacing

LARGEST = 5_000_000  # bytes of a YAML file, which somebody wrote by hand
GRADE_LIMIT = 2**31
MOST_ROWS, MOST_COLUMNS = 20_000, 200
MOST_FILE, MOST_UNPACKED, MOST_MEMBERS = 50 << 20, 200 << 20, 500
KINDS = (".xlsx", ".xlsm", ".csv")
LONGEST = 32_767  # UTF-16 units of one cell; longer text would be cut without a word
CUT = "\n[cut here: the text is longer than a cell can hold]"
EMPTY = "(no answer)"

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}
_DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


# JSON


def read_json(path):
    """Read a JSON file in UTF-8: no key twice, no half characters, no endless numbers."""
    path = Path(path)
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON in UTF-8: {error}") from error


def parse_json(text):
    """Parse JSON strictly; whatever is wrong is a JSONDecodeError."""
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        value = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text:  # half of a character, if it stands alone
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError:
        raise
    except UnicodeEncodeError:
        why = "a lone surrogate, which is no character"
    except RecursionError:
        why = "nested too deeply"
    except ValueError as error:
        why = str(error)
    raise json.JSONDecodeError(why, "", 0) from None


def _once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return found


def _whole(digits):
    if len(digits) > sys.float_info.max_10_exp:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_int=_whole)


def read_lines(path):
    """Yield (number, line) of a UTF-8 file, plain, .gz or .xz, with line ends of any kind."""
    path = Path(path)
    number = 0
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as stream:
            for line in stream:
                for part in line.splitlines() if b"\r" in line else (line.rstrip(b"\n"),):
                    number += 1
                    yield number, part.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError.at(path, number, "is not UTF-8 text") from error
    except _DAMAGED as error:
        problem = "the compressed file ends early or is damaged after this line"
        raise InputError.at(path, number, problem) from error
    except OSError as error:
        raise _unreadable(path, error) from error


def read_jsonl(path, required):
    """Yield (line, object) of JSON lines; `required` maps a field to its type."""
    kinds = {str: "text", dict: "an object", list: "a list"}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        record = _object(path, number, line)
        for name, kind in required.items():
            if name not in record:
                raise InputError.at(path, number, f"has no field {name!r}")
            if not isinstance(record[name], kind):
                raise InputError.at(path, number, f"field {name!r} is not {kinds[kind]}")
        yield number, record


def _object(path, number, line, hint=""):
    try:
        record = parse_json(line)
    except json.JSONDecodeError as error:
        raise InputError.at(path, number, f"is not JSON{hint}: {error}") from error
    if not isinstance(record, dict):
        raise InputError.at(path, number, "is not a JSON object")
    return record


def read_frame(path, id_field, id_column, fields=("text",), blank=False):
    """Read documents or queries of JSON lines: an id, text fields, metadata as further columns.

    Copies of a record are left out and listed in ``attrs["copies"]``.
    """
    rows, lines, copies = [], {}, []
    for number, record in read_jsonl(path, {id_field: str, "text": str}):
        name = record.pop(id_field)
        if not name.strip():
            raise InputError.at(path, number, f"field {id_field!r} is empty")
        if not blank and not record["text"].strip():
            raise InputError.at(path, number, f"{name!r} has no text")
        texts = {field: record.pop(field, None) or "" for field in fields}
        row = {id_column: name, **texts, **_metadata(path, number, record, texts, (id_column, *fields))}
        place, first = lines.setdefault(name, (len(rows), number))
        if place == len(rows):
            rows.append(row)
        elif row == rows[place]:
            copies.append(f"line {number}: {name}, as in line {first}")
        else:
            raise InputError.at(path, number, f"id {name!r} stood already in line {first}, with other content")
    if not rows:
        raise InputError(f"{path}: holds no records")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    frame = pd.DataFrame({name: [row.get(name) for row in rows] for name in columns})
    frame.attrs["copies"] = copies
    return frame


def _metadata(path, number, record, texts, taken):
    """All other fields of a record, those under ``metadata`` included."""
    wrong = [field for field, value in texts.items() if not isinstance(value, str)]
    if wrong:
        raise InputError.at(path, number, f"field {wrong[0]!r} is not text")
    nested = record.pop("metadata", None) or {}
    if not isinstance(nested, dict):
        raise InputError.at(path, number, "field 'metadata' is not an object")
    clash = {*taken} & {*record, *nested} or record.keys() & nested.keys()
    if clash:
        raise InputError.at(path, number, f"metadata field {min(clash)!r} has the name of another column")
    return record | nested


# Records of a CSV, JSON or JSONL file


def read_records(path, *, tolerate_truncation=False):
    """Read objects as [(line or element, object)], and how many broke off at the end (0 or 1)."""
    path = Path(path)
    kind = (path.with_suffix("") if path.suffix in _OPENERS else path).suffix.lower()
    if kind not in (".csv", ".json", ".jsonl"):
        raise InputError(f"{path}: name a .csv, .json or .jsonl file")
    lines = list(read_lines(path))
    truncated = 0
    if kind == ".csv":
        rows = _csv_records(path, "\n".join(text for _, text in lines))
    elif kind == ".json":
        rows = _json_records(path, "\n".join(text for _, text in lines))
    else:
        filled = [(number, text) for number, text in lines if text.strip()]
        rows = [(number, _object(path, number, text)) for number, text in filled[:-1]]
        for number, text in filled[-1:]:
            try:
                rows.append((number, _object(path, number, text, ": the last line breaks off")))
            except InputError as error:
                broken = isinstance(error.__cause__, json.JSONDecodeError)
                if not (tolerate_truncation and broken):
                    raise
                truncated = 1
    if not rows:
        raise InputError(f"{path}: holds no records")
    return rows, truncated


def _csv_records(path, text):
    (_, names), *rows = csv_rows(path, text) or [(1, [])]
    if len(set(names)) < len(names):
        raise InputError.at(path, 1, "a column stands twice in the header")
    rows = [(line, row) for line, row in rows if row]
    for line, row in rows:
        if len(row) != len(names):
            raise InputError.at(path, line, f"has not the {len(names)} fields of the header")
    return [(line, dict(zip(names, row, strict=True))) for line, row in rows]


def _json_records(path, text):
    try:
        content = parse_json(text)
    except json.JSONDecodeError as error:
        raise InputError.at(path, error.lineno, f"is not JSON: {error}") from error
    if not isinstance(content, list):
        raise InputError(f"{path}: is not a list of objects")
    for number, record in enumerate(content, start=1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: element {number} is not an object")
    return list(enumerate(content, start=1))


def csv_rows(path, text, delimiters=","):
    """Rows of a CSV as [(number of the last line, cells)]; its header tells the delimiter."""
    header = re.split("[\r\n]", text, maxsplit=1)[0]
    usual = csv.field_size_limit(MOST_FILE)  # csv's own limit would refuse a long claim
    reader = csv.reader(io.StringIO(text, ""), delimiter=max(delimiters, key=header.count), strict=True)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:  # such as a file cut within a quoted cell
        raise InputError.at(path, reader.line_num, f"is not CSV: {error}") from error
    finally:
        csv.field_size_limit(usual)


# YAML


class _PlainYaml(yaml.SafeLoader):
    """Safe loader that refuses what is only ever a mistake or an attack."""

    most_aliases, aliases, inside = 100, 0, 0  # inside: how many anchored nodes are being composed

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > self.most_aliases or self.inside:
                mark = self.peek_event().start_mark
                raise yaml.composer.ComposerError(None, None, "an anchor within an anchor, or too many of them", mark)
            return super().compose_node(parent, index)
        anchored = self.peek_event().anchor is not None
        self.inside += anchored
        try:
            return super().compose_node(parent, index)
        finally:
            self.inside -= anchored

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"key {key.value!r} stands twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def parse_yaml(text, where):
    """Parse YAML into plain data: no tags, no bombs, no key twice."""
    try:
        value = yaml.load(text, Loader=_PlainYaml)  # a SafeLoader: plain data only
        if "\\u" in text.lower():
            json.dumps(value, ensure_ascii=False, default=str).encode()
        return value
    except UnicodeEncodeError:
        raise InputError(f"{where}: a lone surrogate, which is no character") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError.at(where, mark.line + 1 if mark else 1, f"not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise InputError(f"{where}: nested too deeply") from None
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(f"{where}: not YAML: {error}") from None


def read_yaml(path, kind="YAML file"):
    """Read a YAML file into plain data; `kind` names it in errors."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such {kind}") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(data) > LARGEST:
        raise InputError(f"{path}: {len(data):,} bytes: no {kind} is so large")
    try:
        return parse_yaml(data.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from None


# TREC runs and judgements, BEIR judgements


class Layout(NamedTuple):
    """What one kind of file holds on each line."""

    fields: tuple[str, ...]
    document: int
    value: int
    parse: Callable
    number: str
    open_ended: bool = False  # more fields may follow, as after the tag of a run
    separator: bytes | None = None


def _score(text):
    value = float(text)
    if not math.isfinite(value) or b"_" in text:
        raise ValueError(text)
    return value


def _grade(text):
    grade = int(text)
    if abs(grade) >= GRADE_LIMIT or b"_" in text:
        raise ValueError(text)
    return grade


_RUN = Layout(
    ("query", "Q0", "document", "rank", "score", "tag"), 2, 4, _score, "score {} is not a finite number", True
)
_QRELS = Layout(("query", "iteration", "document", "grade"), 2, 3, _grade, "grade {} is not an integer")
_BEIR = Layout(("query-id", "corpus-id", "score"), 1, 2, _grade, "grade {} is not an integer", separator=b"\t")
_BLOCK = 1 << 22


def read_run(path):
    """Read a TREC run, ``query Q0 document rank score tag``, as {query: {document: score}}.

    Scores are exactly ``float(text)``. Comments (``#`` as first character of a line) and
    blank lines are skipped, as are fields after the sixth.
    """
    raw = _text_bytes(path)
    return _regular_table(raw, _RUN) or _table_by_line(path, raw, _RUN)


def read_qrels(path):
    """Read TREC judgements, ``query iteration document grade``; BEIR's are known by their header."""
    raw = _text_bytes(path)
    if b"\t".join(name.encode() for name in _BEIR.fields) in raw[:64]:
        return _table_by_line(path, raw, _BEIR)
    return _regular_table(raw, _QRELS) or _table_by_line(path, raw, _QRELS)


def read_beir_qrels(path):
    """Read BEIR judgements: tab-separated, under a line that names the columns."""
    return _table_by_line(path, _text_bytes(path), _BEIR)


def _text_bytes(path):
    """Bytes of a plain or gzip-compressed text, without mark of order, lines ended by LF."""
    try:
        raw = Path(path).read_bytes()
        if raw.startswith(b"\x1f\x8b"):
            raw = gzip.decompress(raw)
    except _DAMAGED as error:
        raise InputError(f"{path}: damaged gzip file: {error}") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in raw else raw


def _regular_table(raw, layout):
    """Read a file whose every line has just the expected fields; None for any other.

    Whole blocks are split at once, four times as fast as line by line. A NUL stands for
    the end of each line, so that a field too many or too few shows.
    """
    if b"\0" in raw or raw.startswith(b"#") or b"\n#" in raw:
        return None
    table, width, rows, start = {}, len(layout.fields) + 1, 0, 0
    while start < len(raw):
        stop = raw.find(b"\n", start + _BLOCK) + 1 or len(raw)
        tokens = [*raw[start:stop].rstrip(b"\n").replace(b"\n", b" \0 ").split(), b"\0"]
        start = stop
        if len(tokens) % width or set(tokens[width - 1 :: width]) != {b"\0"}:
            return None
        try:
            values = _values_of(tokens[layout.value :: width], layout)
            documents = [name.decode() for name in tokens[layout.document :: width]]
            low = 0
            for query, lines in groupby(tokens[::width]):
                high = low + sum(1 for _ in lines)
                table.setdefault(query.decode(), {}).update(zip(documents[low:high], values[low:high], strict=True))
                low = high
        except ValueError:  # of a number, or of text that is not UTF-8
            return None
        rows += low
    return table if sum(map(len, table.values())) == rows else None  # a document stands twice


def _values_of(texts, layout):
    if b"_" in b"".join(texts):
        raise ValueError("int and float take 1_0 for a number")
    values = list(map(float if layout is _RUN else int, texts))
    if not (np.isfinite(values).all() if layout is _RUN else max(map(abs, values)) < GRADE_LIMIT):
        raise ValueError("out of range")
    return values


def _table_by_line(path, raw, layout):
    """Read any file line by line: the right table, or the line at fault."""
    table, header = {}, layout is _BEIR
    expected, names = len(layout.fields), " ".join(layout.fields)
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.startswith(b"#") or not line.strip():
            continue
        fields = line.split(layout.separator)
        if header:
            if tuple(field.strip().decode(errors="replace") for field in fields) != layout.fields:
                raise InputError.at(path, number, f"expected the header line {names!r}")
            header = False
            continue
        if len(fields) < expected or (len(fields) > expected and not layout.open_ended):
            raise InputError.at(path, number, f"expected {expected} fields ({names}), found {len(fields)}")
        try:
            query, document = fields[0].decode(), fields[layout.document].decode()
        except UnicodeDecodeError as error:
            raise InputError.at(path, number, "an id is not valid UTF-8: re-encode the file") from error
        if not query or not document:
            raise InputError.at(path, number, "an id is empty")
        text = fields[layout.value]
        try:
            value = layout.parse(text)
        except ValueError as error:
            shown = repr(text.decode(errors="replace"))
            raise InputError.at(path, number, layout.number.format(shown)) from error
        if document in table.setdefault(query, {}):
            raise InputError.at(path, number, f"document {document!r} appears twice for query {query!r}: keep one")
        table[query][document] = value
    if not table:
        raise InputError(f"{path}: no data line: expected '{names}' on each line")
    return table


def write_run(path, run, tag="casebook"):
    """Write a TREC run, plain or .gz, best document first, ties by document id descending."""
    return _write_lines(path, run_lines(run, tag))


def run_lines(run, tag="casebook"):
    """Lines of a TREC run, best document first, ties by id descending."""
    _check_token(tag, "tag")
    lines = []
    for query, scores in run.items():
        _check_query(query)
        ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
        for rank, (document, score) in enumerate(ranked, 1):
            _check_token(document, "document id")
            if not math.isfinite(score):
                raise InputError(f"score {score} of {query} {document} is not finite")
            lines.append(f"{query} Q0 {document} {rank} {float(score)!r} {tag}\n")
    return lines


def write_qrels(path, qrels):
    """Write TREC judgements, plain or .gz, in the order given."""
    lines = []
    for query, grades in qrels.items():
        _check_query(query)
        for document, grade in grades.items():
            _check_token(document, "document id")
            if grade != int(grade):
                raise InputError(f"grade {grade} of {query} {document}: not an integer")
            lines.append(f"{query} 0 {document} {int(grade)}\n")
    return _write_lines(path, lines)


def _check_query(query):
    _check_token(query, "query id")
    if query.startswith("#"):
        raise InputError(f"query id {query!r} would start a comment line: rename it")


def _check_token(text, kind):
    if len(text.split()) != 1 or text != text.strip():
        raise InputError(f"{kind} {text!r} is empty or holds white space: rename it")


def _write_lines(path, lines):
    data = "".join(lines).encode()
    with replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)
    return Path(path)


# Workbooks and CSV as grids of cells: limited in size, never evaluated


@dataclass(frozen=True)
class Formula:
    """A cell that holds a formula, with the value that was stored when it was saved."""

    text: str
    value: object = None


@dataclass(frozen=True)
class Grid:
    """One sheet: cells by row number, empty rows left out."""

    name: str
    rows: dict
    hidden: bool = False


@dataclass(frozen=True)
class Book:
    """All sheets of one file, and remarks (kind, text) on what in it was not read."""

    path: Path
    grids: tuple
    remarks: tuple = ()


def read_book(path):
    """Read all sheets of a workbook (.xlsx, .xlsm) or a CSV (comma or semicolon)."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".xls":
        raise InputError(f"{path}: is an old workbook: save it as .xlsx")
    if kind not in KINDS:
        raise InputError(f"{path}: is no form: expected {', '.join(KINDS)}")
    try:
        size = path.stat().st_size
        if size > MOST_FILE:
            raise InputError(f"{path}: {size:,} bytes: a form has at most {MOST_FILE:,}")
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    if not content:
        raise InputError(f"{path}: is empty")
    if kind == ".csv":
        return Book(path, (_csv_grid(path, content),))
    return Book(path, *_workbook(path, content))


def _csv_grid(path, content):
    rows = {}
    for number, (_, cells) in enumerate(csv_rows(path, _utf8(path, content), ",;"), start=1):
        _check_size(path, path.name, number, len(cells))
        if any(cells):
            rows[number] = tuple(from_csv(cell) or None for cell in cells)
    return Grid(path.name, rows)


def _utf8(path, content):
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8; save it as 'CSV UTF-8'") from error


def _workbook(path, content):
    """Sheets and remarks of a workbook."""
    from openpyxl import load_workbook

    def sheets(stored):
        return load_workbook(io.BytesIO(content), read_only=True, data_only=stored, keep_links=False)

    try:
        remarks = _check_archive(path, content)
        grids = [_xlsx_grid(path, sheet) for sheet in sheets(False).worksheets]
        if any(isinstance(cell, Formula) for grid in grids for row in grid.rows.values() for cell in row):
            stored = sheets(True)
            grids = [_with_stored(grid, stored[grid.name]) for grid in grids]
        return tuple(grids), remarks
    except InputError:
        raise
    except Exception as error:  # zipfile and openpyxl raise many kinds on damaged files
        raise InputError(f"{path}: is no workbook, or is damaged: {error}") from error


def _check_archive(path, content):
    """Refuse archives that unpack to too much or declare entities; remark on links and macros."""
    traces = {
        "xl/externalLinks/": ("external_link", "links to another file; not followed"),
        "xl/vbaProject": ("macro", "holds macros; not run"),
        "xl/connections": ("connection", "holds a data connection; not opened"),
        "xl/comments": ("cell_comment", "holds cell comments; not read"),
    }
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        if size > MOST_UNPACKED or len(members) > MOST_MEMBERS:
            raise InputError(f"{path}: unpacks to {size:,} bytes in {len(members)} parts: too much for a form")
        names = [member.filename for member in members]
        for name in names:
            if name.endswith((".xml", ".rels")):
                with archive.open(name) as stream:
                    head = stream.read(2048)
                if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                    raise InputError(f"{path}: {name} declares entities: refused")
    return tuple(remark for start, remark in traces.items() if any(name.startswith(start) for name in names))


def _xlsx_grid(path, sheet):
    sheet.reset_dimensions()  # its declared size is only a claim, and may be a million rows
    rows = {}
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        values = tuple(_xlsx_cell(cell) for cell in cells)
        if any(value is not None for value in values):
            rows[number] = values
            _check_size(path, sheet.title, len(rows), len(cells))
    return Grid(sheet.title, rows, sheet.sheet_state != "visible")


def _xlsx_cell(cell):
    if cell.data_type == "f":  # of an array, openpyxl gives an object with its text
        return Formula(str(getattr(cell.value, "text", cell.value)))
    return (from_workbook(cell.value) or None) if isinstance(cell.value, str) else cell.value


def _with_stored(grid, sheet):
    """The grid with the value that was stored with every formula."""
    sheet.reset_dimensions()
    rows = dict(grid.rows)
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        if number in rows:
            rows[number] = tuple(
                Formula(cell.text, _xlsx_cell(stored)) if isinstance(cell, Formula) else cell
                for cell, stored in zip(rows[number], cells, strict=True)
            )
    return Grid(grid.name, rows, grid.hidden)


def _check_size(path, sheet, rows, columns):
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise InputError(
            f"{path}: sheet {sheet!r} has more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns: this is no form"
        )


def value_of(path, sheet, row, column, cell):
    """Value of a cell that is needed: that of a formula, if it was stored."""
    if not isinstance(cell, Formula):
        return cell
    if cell.value is None:
        raise InputError(
            f"{path}: sheet {sheet!r}, row {row}, column {column!r}: the formula {cell.text[:40]!r} has no "
            "stored value: open the file in a spreadsheet and save it, or type the value"
        )
    return cell.value


def header_of(grid):
    """Row number of a sheet's header (0: empty) and the columns' names."""
    for number, row in grid.rows.items():
        return number, ["" if cell is None else str(cell).strip() for cell in row]
    return 0, []


def sheet_records(path, grid, needed=None):
    """Rows of a sheet as [(row number, {column: value})]; only `needed` formulas must have a value."""
    head, names = header_of(grid)
    if not head:
        raise InputError(f"{path}: sheet {grid.name!r} is empty")
    found = []
    for number, cells in grid.rows.items():
        if number > head:
            padded = [*cells, *[None] * (len(names) - len(cells))]
            record = {
                name: value_of(path, grid.name, number, name, cell) if needed is None or name in needed else cell
                for name, cell in zip(names, padded, strict=False)
                if name
            }
            found.append((number, record))
    return found


# Ratings: items in rows, raters in columns

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ID_NAMES = {
    *("", "id", "ids", "item", "items", "unit", "units", "subject", "subjects", "case"),
    *("cases", "question", "prompt", "index", "row", "no", "nr", "#"),
}


def read_ratings(path, *, numbers=None, id_column=None):
    r"""Read ratings, items x raters, from a CSV or workbook; blank cells are missing.

    Parameters
    ----------
    path : path-like
        CSV (comma, semicolon or tab; UTF-8), ``.xlsx`` or ``.xlsm``; the first row names
        the raters.
    numbers : bool, optional
        Whether ratings must be numbers (True) or may be labels (False); by default most
        of the cells tell.
    id_column : str, optional
        Column that names the items, ``""`` if there is none; by default the first column,
        if it is not a rater's.

    Returns
    -------
    pandas.DataFrame, shape [items, raters]
        Numbers (float, NaN missing) or labels (object, None missing).

    Raises
    ------
    InputError
        If the table is damaged, names no raters, repeats an item, holds text among
        numbers, or a column that is not the first looks like names of the items.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("item,ann,bob\nq1,4,5\nq2,2,\n")
    >>> read_ratings(path).to_dict("index")
    {'q1': {'ann': 4.0, 'bob': 5.0}, 'q2': {'ann': 2.0, 'bob': nan}}
    """
    path = Path(path)
    found = [(line, cells) for line, cells in _rating_rows(path) if cells]
    if not found:
        raise InputError(f"{path}: is empty")
    (_, header), *rows = found
    _check_raters(path, header)
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError.at(path, line, f"has {len(cells)} cells, the header has {len(header)}")
    if not rows:
        raise InputError(f"{path}: has a header but no items")
    table = pd.DataFrame([cells for _, cells in rows], [line for line, _ in rows], header, dtype=object)
    column = _id_column(path, table, id_column)
    if column is None:
        return _as_ratings(path, table, numbers).rename_axis("row")
    ids = table.pop(column)
    _check_ids(path, ids)
    ratings = _as_ratings(path, table, numbers)
    return ratings.set_axis(pd.Index(ids.to_list(), name=column))


def _rating_rows(path):
    """[(row number, cells as text)] of a CSV, or of the first sheet of a workbook."""
    if path.suffix.lower() not in (".xlsx", ".xlsm", ".xls"):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _unreadable(path, error) from None
        rows = csv_rows(path, _utf8(path, content), ",;\t")
        return [(line, [cell.strip() for cell in cells]) for line, cells in rows]
    grid = read_book(path).grids[0]
    names = header_of(grid)[1]
    rows = []
    for number, cells in grid.rows.items():
        padded = [*cells, *[None] * (len(names) - len(cells))]
        values = zip(names, padded, strict=False)
        row = [_as_text(value_of(path, grid.name, number, name, cell)) for name, cell in values]
        rows.append((number, row if any(row) else []))
    return rows


def _as_text(cell):
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _check_raters(path, header):
    if len(header) < 2:
        raise InputError(f"{path}: there is one column only: separate cells by comma, one per rater")
    unnamed = [place for place, name in enumerate(header, start=1) if not name and place > 1]
    if unnamed:
        raise InputError(f"{path}: column {unnamed[0]} has no name in the first row")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"{path}: column {twice[0]!r} stands twice; the first row must name the raters, each once")


def _id_column(path, table, wanted):
    """Name of the column that names the items, or None."""
    if wanted == "":
        return None
    if wanted is not None:
        if wanted not in table:
            raise InputError(f"{path}: has no column {wanted!r}: it has {', '.join(table)}")
        return wanted
    first = table.columns[0]
    column = first if _names_rows(table) else None
    for name in table.columns.drop(column or []):
        others = [table[other].to_list() for other in table if other not in (name, column)]
        if names_items(name, table[name].to_list(), others):
            raise InputError(
                f"{path}: column {name!r} looks like names of the items, not ratings: "
                f"say --id {name!r}, leave it out, or say --no-id if it is a rater"
            )
    return column


def _names_rows(table):
    """Tell whether the first column is an id rather than a rater."""
    name, values = table.columns[0], table.iloc[:, 0].to_list()
    if name == "" or names_items(name, None, None):
        return True
    if "" in values or len(set(values)) < len(values):
        return False
    if not all(map(_is_number, values)):
        return True
    return names_items(name, values, [table[other].to_list() for other in table.columns[1:]], least=1)


def names_items(name, values, others, least=5):
    """Tell whether a column beside ratings names the items instead of rating them."""
    name = str(name).strip().lower()
    if name and (name in _ID_NAMES or name.endswith(("_id", " id"))):
        return True
    if values is None or len(others) < 2 or len(set(values)) < max(least, len(values)):
        return False
    given = [[v for v in column if v not in ("", None) and v == v] for column in others]
    if len(given) < len(others) or any(v in ("", None) or v != v for v in values):
        return False
    pool = [value for column in given for value in column]
    repeated = all(len(set(column)) < len(column) for column in given)
    try:
        numbers, pool = [float(v) for v in values], [float(v) for v in pool]
    except (TypeError, ValueError):
        return repeated and not set(values) & set(pool)
    if not pool:
        return False
    if numbers in ([float(k + start) for k in range(len(numbers))] for start in (0, 1)):
        return not set(numbers) <= set(pool)
    outside = sum(not min(pool) <= number <= max(pool) for number in numbers)
    return repeated and outside > len(numbers) / 2


def _check_ids(path, ids):
    seen = {}
    for line, value in ids.items():
        if not value:
            raise InputError.at(path, line, f"column {ids.name!r} is blank: name the item")
        if value in seen:
            raise InputError.at(path, line, f"{ids.name} {value!r} stands in row {seen[value]} already")
        seen[value] = line


def _as_ratings(path, table, numbers):
    """Turn text into numbers or labels."""
    present = [cell for cell in table.to_numpy().ravel() if cell]
    numeric = sum(map(_is_number, present))
    if numbers is None:
        numbers = numeric >= len(present) / 2
    if numeric == len(present):
        return table.map(lambda cell: float(cell or "nan")).astype(float)
    if not numbers:
        return table.map(lambda cell: cell or None).astype(object)
    line, rater, cell = next(
        (line, rater, cell)
        for line, row in table.iterrows()
        for rater, cell in row.items()
        if cell and not _is_number(cell)
    )
    raise InputError.at(
        path,
        line,
        f"column {rater!r}: {cell[:40]!r} is not a number; "
        "leave a missing rating blank, or treat the ratings as nominal",
    )


def _is_number(cell):
    return bool(_NUMBER.fullmatch(cell)) and math.isfinite(float(cell))


# Text of cells: what a workbook cannot hold is changed and named, what a spreadsheet would run is marked

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
# Blanks before the sign, and signs of full width, do not keep a spreadsheet from it.
_FORMULA = re.compile("'*(?:[\t\r]|[\\s\u200b\ufeff]*[=+@＝＋－＠-])")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?", re.ASCII)


def clean(text):
    """Make a text fit for a cell; also give the kinds of changes."""
    changes = []
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    if lines != text:
        changes.append("line_ends")
    kept = _CONTROL.sub("", lines)
    if kept != lines:
        changes.append("control_characters")
    if not kept.strip():
        return EMPTY, [*changes, "empty"]
    if _units(kept) > LONGEST:
        room = LONGEST - len(CUT)
        kept = kept[:room]
        while _units(kept) > room:
            kept = kept[: len(kept) - max(1, (_units(kept) - room) // 2)]
        return kept + CUT, [*changes, "cut"]
    return kept, changes


def _units(text):
    """Length as a workbook counts it: characters beyond U+FFFF count twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def for_workbook(text):
    """Escape what a workbook would read as an escaped character, such as ``_x0041_``."""
    return re.sub("_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)


def from_workbook(text):
    """Undo `for_workbook`."""
    return re.sub("_x005F_(?=x[0-9A-Fa-f]{4}_)", "_", text)


def for_csv(text):
    """Mark text that a spreadsheet would take for a formula with an apostrophe."""
    runs = _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text)
    return f"'{text}" if runs else text


def from_csv(text):
    """Undo `for_csv`."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text[1:]) else text


def table_for_csv(frame):
    """A DataFrame whose texts and names no spreadsheet runs, by `for_csv`."""
    return _each_text(frame, lambda text: for_csv(re.sub("\r\n?", "\n", text)))


def table_from_csv(frame):
    """Undo `table_for_csv` on a DataFrame that was read from a file."""
    return _each_text(frame, from_csv)


def _each_text(frame, change):
    def of(cell):
        return change(cell) if isinstance(cell, str) else cell

    texts = {name: column.map(of) for name, column in frame.items() if column.dtype.kind not in "biufmM"}
    return frame.assign(**texts).rename(columns=of)


def _unreadable(path, error):
    return InputError(f"{path}: cannot be read: {error.strerror or error}")
