"""Readers of JSON, JSON lines, YAML and CSV: an error names file, line and remedy.

TREC files are read by `casebook.trec`, workbooks and ratings by `casebook.sheets`.
"""

import contextlib
import csv
import difflib
import gzip
import io
import json
import lzma
import re
import shlex
import sys
import zlib
from pathlib import Path
from typing import ClassVar

import yaml

from casebook.errors import InputError

LARGEST = 5_000_000  # bytes of a YAML file, which somebody wrote by hand
LONGEST_FIELD = 50 << 20  # bytes of one cell; csv's own limit would refuse a long claim
LIKELY = 0.75  # similarity from which on a name may be a slip of another

OPENERS = {".gz": gzip.open, ".xz": lzma.open}
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


# JSON


def read_json(path):
    """Read a JSON file in UTF-8: no key twice, no half characters, no endless numbers."""
    path = Path(path)
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON in UTF-8: {error}") from error


def parse_json(text, decoder=None):
    """Parse JSON strictly; whatever is wrong is a JSONDecodeError."""
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        value = (decoder or _DECODER).decode(text)
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
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return members


def _whole(digits):
    if len(digits) > sys.float_info.max_10_exp:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _constant(name):
    return None if name == "NaN" else name


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_int=_whole)
_CELLS = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=str, parse_float=str, parse_constant=_constant
)


def parse_cells(text):
    """Parse JSON whose numbers are texts, as they are written: ids keep their zeros."""
    return parse_json(text, _CELLS)


def read_lines(path):
    """Yield (number, line) of a UTF-8 file, plain, .gz or .xz, with line ends of any kind."""
    path = Path(path)
    number = 0
    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as stream:
            for line in stream:
                for part in line.splitlines() if b"\r" in line else (line.rstrip(b"\n"),):
                    number += 1
                    yield number, part.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except DAMAGED as error:
        problem = "the compressed file ends early or is damaged after this line"
        raise InputError.at(path, number, problem) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _not_utf8(path):
    """Error about a file in another encoding, with the likely one."""
    with OPENERS.get(path.suffix, open)(path, "rb") as stream:
        is_utf16 = stream.read(2) in (b"\xff\xfe", b"\xfe\xff")
    code = "UTF-16" if is_utf16 else "WINDOWS-1252"
    command = f"iconv -f {code} -t UTF-8 {shlex.quote(path.name)} > NEW"
    return InputError(
        f"{path}: is not UTF-8 text, perhaps {code}: save it as 'CSV UTF-8', or type {command}"
    )


def read_text(path):
    """Text of a UTF-8 file, plain, .gz or .xz, with line ends of any kind."""
    return "\n".join(line for _, line in read_lines(path))


def read_jsonl(path, required):
    """Yield (line, object) of JSON lines; `required` maps a field to its type."""
    kinds = {str: "text", dict: "an object", list: "a list"}
    for number, record in json_lines(path):
        for name, kind in required.items():
            if name not in record:
                raise InputError.at(path, number, f"has no field {name!r}")
            if not isinstance(record[name], kind):
                raise InputError.at(path, number, f"field {name!r} is not {kinds[kind]}")
        yield number, record


def json_lines(path, tolerate_truncation=False, parse=parse_json):
    """Yield (line, object) of JSON lines; a last line that breaks off may be left out."""
    lines = ((number, line) for number, line in read_lines(path) if line.strip())
    for number, line in lines:
        try:
            record = parse(line)
        except json.JSONDecodeError as error:
            is_last = next(lines, None) is None
            if is_last and tolerate_truncation:
                return
            hint = ": the last line breaks off" if is_last else ""
            raise InputError.at(path, number, f"is not JSON{hint}: {error}") from error
        if not isinstance(record, dict):
            raise InputError.at(path, number, "is not a JSON object")
        yield number, record


def json_content(path, parse=parse_json):
    """Content of a JSON file, plain or compressed."""
    try:
        return parse(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError.at(path, error.lineno, f"is not JSON: {error}") from error


def read_frame(path, id_field, id_column, fields=("text",), blank=False):
    """Read documents or queries of JSON lines: an id, text fields, metadata as further columns.

    Copies of a record are left out and listed in ``attrs["copies"]``.
    """
    copies = []
    rows = list(_rows(path, id_field, id_column, fields, blank, copies))
    import pandas as pd  # most who read JSON need no frame and start faster without

    columns = list(dict.fromkeys(name for row in rows for name in row))
    frame = pd.DataFrame({name: [row.get(name) for row in rows] for name in columns})
    frame.attrs["copies"] = copies
    return frame


def _rows(path, id_field, id_column, fields, blank, copies):
    """Yield the records of JSON lines; copies of a record are noted and left out."""
    lines = {}
    for number, record in read_jsonl(path, {id_field: str, "text": str}):
        name = record.pop(id_field)
        if not name.strip():
            raise InputError.at(path, number, f"field {id_field!r} is empty")
        if not blank and not record["text"].strip():
            raise InputError.at(path, number, f"{name!r} has no text")
        texts = {field: record.pop(field, None) or "" for field in fields}
        metadata = _metadata(path, number, record, texts, columns=(id_column, *fields))
        # Texts are long, and hashed as they are; of metadata the order of names does not matter.
        content = hash((*texts.values(), json.dumps(metadata, sort_keys=True)))
        earlier_content, earlier_line = lines.setdefault(name, (content, number))
        if earlier_line == number:
            yield {id_column: name, **texts, **metadata}
        elif content == earlier_content:
            copies.append(f"line {number}: {name}, as in line {earlier_line}")
        else:
            raise InputError.at(
                path,
                number,
                f"id {name!r} stood already in line {earlier_line}, with other content",
            )
    if not lines:
        raise InputError(f"{path}: holds no records")


def _metadata(path, number, record, texts, columns):
    """All other fields of a record, those under ``metadata`` included."""
    wrong = [field for field, value in texts.items() if not isinstance(value, str)]
    if wrong:
        raise InputError.at(path, number, f"field {wrong[0]!r} is not text")
    nested = record.pop("metadata", None) or {}
    if not isinstance(nested, dict):
        raise InputError.at(path, number, "field 'metadata' is not an object")
    clash = {*columns} & {*record, *nested} or record.keys() & nested.keys()
    if clash:
        raise InputError.at(
            path, number, f"metadata field {min(clash)!r} has the name of another column"
        )
    return record | nested


# Names of fields and files; rows of a CSV


def spelling(name):
    """Give a field's name as it is compared: ``Doc ID``, ``docId`` and ``doc-id`` are one.

    Dots stay: they part the names of a path.
    """
    return re.sub(r"[^\w.]|_", "", str(name)).casefold()


def near_names(name, names, n=1):
    """Give up to ``n`` of the names that another is likely a slip of, the nearest first."""
    by_spelling = {}
    for candidate in names:
        by_spelling.setdefault(spelling(candidate), candidate)
    matches = difflib.get_close_matches(spelling(name), by_spelling, n, LIKELY)
    return [by_spelling[match] for match in matches]


def did_you_mean(name, names, n=1):
    """The end of an error about a name that is none of some; empty if none is near."""
    near = [repr(candidate) for candidate in near_names(name, names, n)]
    return f": did you mean {' or '.join(near)}?" if near else ""


def suffix_of(path):
    """Ending of a file, before that of its compression."""
    return (path.with_suffix("") if path.suffix in OPENERS else path).suffix.lower()


def csv_rows(path, text, delimiters=","):
    """Rows of cells of a CSV; its header tells the delimiter."""
    header = re.split("[\r\n]", text, maxsplit=1)[0]
    usual = csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(
        io.StringIO(text, ""), delimiter=max(delimiters, key=header.count), strict=True
    )
    try:
        return list(reader)
    except csv.Error as error:  # such as a file cut within a quoted cell
        raise InputError.at(
            path, reader.line_num, f"is not CSV, is damaged or cut: {error}"
        ) from error
    finally:
        csv.field_size_limit(usual)


# YAML


class _OnceYaml:
    """Refuses a key that stands twice."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"key {key.value!r} stands twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


class _PlainYaml(_OnceYaml, yaml.SafeLoader):
    """Safe loader that refuses what is only ever a mistake or an attack."""

    most_aliases = 100
    aliases = 0
    inside = 0  # anchored nodes that are being composed

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > self.most_aliases or self.inside:
                mark = self.peek_event().start_mark
                raise yaml.composer.ComposerError(
                    None, None, "an anchor within an anchor, or too many of them", mark
                )
            return super().compose_node(parent, index)
        anchored = self.peek_event().anchor is not None
        self.inside += anchored
        try:
            return super().compose_node(parent, index)
        finally:
            self.inside -= anchored


class _TextYaml(_PlainYaml):
    """Takes every scalar for text: numbers, dates, yes and null too."""

    yaml_implicit_resolvers: ClassVar[dict] = {}


if yaml.__with_libyaml__:

    class _FastYaml(_OnceYaml, yaml.CSafeLoader):
        """The same for texts without anchors, ten times as fast."""


def _load_yaml(text):
    """Load with libyaml what has no anchor; whatever it refuses, the strict loader describes."""
    if yaml.__with_libyaml__ and "&" not in text:
        with contextlib.suppress(yaml.YAMLError, UnicodeError, RecursionError, ValueError):
            return yaml.load(text, Loader=_FastYaml)  # a SafeLoader: plain data only
    return yaml.load(text, Loader=_PlainYaml)  # likewise


def parse_yaml(text, where, as_text=False):
    """Parse YAML into plain data: no tags, no bombs, no key twice; scalars may stay text."""
    try:
        value = yaml.load(text, Loader=_TextYaml) if as_text else _load_yaml(text)
        if "\\u" in text.lower():
            json.dumps(value, ensure_ascii=False, default=str).encode()
        return value
    except UnicodeEncodeError:
        raise InputError(f"{where}: a lone surrogate, which is no character") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError.at(
            where, mark.line + 1 if mark else 1, f"not YAML: {error.problem}"
        ) from None
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
        raise unreadable(path, error) from None
    if len(data) > LARGEST:
        raise InputError(f"{path}: {len(data):,} bytes: no {kind} is so large")
    try:
        return parse_yaml(data.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from None


def unreadable(path, error):
    return InputError(f"{path}: cannot be read: {error.strerror or error}")
