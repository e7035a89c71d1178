"""Readers of text, JSON, JSON lines, CSV and YAML: an error names file, line and remedy.

TREC files are read by `casebook.trec`, workbooks by `casebook.sheets`.
"""

import csv
import difflib
import gzip
import io
import json
import lzma
import shlex
import zlib
from functools import partial
from pathlib import Path
from typing import ClassVar

import yaml

from casebook.errors import InputError

csv.field_size_limit(50 << 20)  # the usual limit would refuse a long claim
DEEPER = {
    yaml.MappingStartEvent: 1,
    yaml.SequenceStartEvent: 1,
    yaml.MappingEndEvent: -1,
    yaml.SequenceEndEvent: -1,
}
DEEPEST = 100  # levels of YAML; tens of thousands crash its reader
MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
OPENERS = {".gz": gzip.open, ".xz": lzma.open}
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


# Text


def read_lines(path):
    """Yield (number, line) of a UTF-8 file, plain, .gz or .xz, with line ends of any kind."""
    path = Path(path)
    opened = OPENERS.get(path.suffix, open)
    try:
        with opened(path, "rt", encoding="utf-8-sig") as stream:
            for number, line in enumerate(stream, 1):
                yield number, line.removesuffix("\n")
    except UnicodeDecodeError as error:
        code = MARKS.get(error.object[:2], "WINDOWS-1252")
        command = f"iconv -f {code} -t UTF-8 {shlex.quote(path.name)} > NEW"
        problem = f"is not UTF-8 text, perhaps {code}: save it as 'CSV UTF-8'"
        raise InputError(f"{path}: {problem}, or type {command}") from None
    except (OSError, *DAMAGED) as error:
        raise unreadable(path, error) from None


def unreadable(path, error):
    problem = getattr(error, "strerror", None) or f"is damaged: {error}"
    return InputError(f"{path}: cannot be read: {' '.join(problem.split())}")


def read_text(path):
    """Text of a UTF-8 file, plain, .gz or .xz, with line ends of any kind."""
    return "\n".join(line for _, line in read_lines(path))


def suffix_of(path):
    """Ending of a file, before that of its compression."""
    if path.suffix in OPENERS:
        path = path.with_suffix("")
    return path.suffix.lower()


def csv_rows(path, text, delimiter):
    """Rows of cells of a CSV."""
    reader = csv.reader(io.StringIO(text, ""), delimiter=delimiter, strict=True)
    try:
        return list(reader)
    except csv.Error as error:  # such as a file cut within a quoted cell
        problem = f"is not CSV, is damaged or cut: {error}"
        raise InputError.at(path, reader.line_num, problem) from None


# JSON


def _once(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(f"key {_repeated(name for name, _ in pairs)!r} stands twice")
    return members


def _repeated(names):
    names = list(names)
    return max(names, key=names.count)


_STRICT = json.JSONDecoder(object_pairs_hook=_once)
_CELLS = json.JSONDecoder(
    object_pairs_hook=_once,
    parse_int=str,
    parse_float=str,
    parse_constant={"NaN": None, "Infinity": "Infinity", "-Infinity": "-Infinity"}.get,
)


def parse_json(text, decoder=_STRICT):
    """Content of JSON: no key twice, no half characters; else ValueError."""
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if "\\ud" in text or "\\uD" in text:  # half of a character, if it is alone
        json.dumps(value, ensure_ascii=False).encode()
    return value


# JSON whose numbers are texts, as they are written: ids keep their zeros.
parse_cells = partial(parse_json, decoder=_CELLS)


def read_json(path, parse=parse_json):
    """Content of a JSON file, plain or compressed."""
    try:
        return parse(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: is not JSON: {error}") from None


def read_jsonl(path, texts=(), *, parse=parse_json, may_be_cut=False):
    """Yield (line, object) of JSON lines, which have some fields that are texts.

    A last line that breaks off may be left out.
    """
    lines = ((number, line) for number, line in read_lines(path) if line.strip())
    for number, line in lines:
        try:
            record = parse(line)
        except ValueError as error:
            if may_be_cut and next(lines, None) is None:
                return
            raise InputError.at(path, number, f"is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise InputError.at(path, number, "is not a JSON object")
        for name in texts:
            if not isinstance(record.get(name), str):
                raise InputError.at(path, number, f"has no field {name!r} that is text")
        yield number, record


def part_of(value, path):
    """Part of a nested value: names, places in a list, and ``*`` for each of a list."""
    if not path:
        return value
    name, _, rest = path.partition(".")
    if isinstance(value, list) and name == "*":
        return [part_of(each, rest) for each in value]
    if isinstance(value, list):
        value = {str(place): value[place] for place in range(-len(value), len(value))}
    if not isinstance(value, dict):
        return None
    return value[path] if path in value else part_of(value.get(name), rest)


# Names


def near_names(name, names, n=1):
    """Up to `n` of the names that another is likely a slip of, the nearest first."""
    by_spelling = {
        str(candidate).casefold(): candidate for candidate in reversed([*names])
    }
    # Names of at least this similarity may be slips.
    matches = difflib.get_close_matches(str(name).casefold(), by_spelling, n, 0.75)
    return [by_spelling[match] for match in matches]


def did_you_mean(name, names, n=1):
    """The end of an error about a name that is none of some; empty if none is near."""
    near = map(repr, near_names(name, names, n))
    choice = " or ".join(near)
    return f": did you mean {choice}?" if choice else ""


# YAML


class _Yaml(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Safe loader that refuses a key that stands twice."""

    def construct_mapping(self, node, deep=False):
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            problem = (
                f"key {_repeated(key.value for key, _ in node.value)!r} stands twice"
            )
            raise yaml.constructor.ConstructorError(
                None, None, problem, node.start_mark
            )
        return mapping


class _TextYaml(_Yaml):
    """Loader that takes every scalar for text: numbers, dates, yes and null too."""

    yaml_implicit_resolvers: ClassVar[dict] = {}


def parse_yaml(text, where, as_text=False):
    """Parse YAML into plain data: no tags, no key twice; scalars may stay text."""
    try:
        _refuse_depth(text)
        return yaml.load(text, _TextYaml if as_text else _Yaml)  # safe loaders
    except (yaml.YAMLError, ValueError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", error)).split())
        raise InputError(f"{where}{line}: not YAML: {problem}") from None


def _refuse_depth(text):
    depth = 0
    for event in yaml.parse(text, _Yaml):
        depth += DEEPER.get(type(event), 0)
        if depth > DEEPEST:
            raise ValueError(f"nested in more than {DEEPEST} levels")


def read_yaml(path):
    """Content of a YAML file as plain data."""
    return parse_yaml(read_text(path) + "\n", path)
