"""A matrix of runs: variants of a command, run one after another, then compared."""

import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from casebook.errors import InputError
from casebook.files import write_json, write_text
from casebook.paths import valid_name
from casebook.readers import parse_json, read_yaml
from casebook.runs.children import command_line, run_child
from casebook.runs.metrics import canonical

_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])')
_VARIANT = {"name": "", "args": (), "env": {}, "timeoutseconds": None}
_AFTER = {
    "comparemetric": "ndcg@3",
    "top": 10,
    "writecompare": True,
    "promotebest": False,
    "openoutput": False,
    "domainkey": None,
}


@dataclass(frozen=True)
class Variant:
    """One command of a matrix."""

    name: str
    args: tuple
    env: dict = field(default_factory=dict)
    timeout: float | None = None


@dataclass(frozen=True)
class Matrix:
    """Variants, and what follows them."""

    variants: list
    stop_on_failure: bool
    after: dict


def read_matrix(path):
    """Read the specification of a matrix."""
    path = Path(path)
    spec = _checked(path, _parsed(path), {"variants", "stoponfailure", "after"})
    rows = spec.get("variants")
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path}: a matrix needs a list of variants")
    variants = [_variant(f"{path}: variant {n}", row) for n, row in enumerate(rows, 1)]
    names = [variant.name.lower() for variant in variants]
    if len(set(names)) < len(names):
        raise InputError(f"{path}: two variants share a name (letter case aside)")
    after = _after(f"{path}: after", spec.get("after") or {})
    stop = spec.get("stoponfailure", True)
    if not isinstance(stop, bool):
        raise InputError(f"{path}: stopOnFailure must be true or false")
    return Matrix(variants, stop, after)


def _after(where, value):
    """Check what follows the variants before any of them runs."""
    after = _AFTER | _checked(where, value, set(_AFTER))
    if not isinstance(after["comparemetric"], str):
        raise InputError(f"{where}: compareMetric must be the name of a metric")
    canonical(after["comparemetric"])
    top = after["top"]
    if not isinstance(top, int) or isinstance(top, bool) or top < 1:
        raise InputError(f"{where}: top must be a whole number of at least 1")
    for name in ("writeCompare", "promoteBest", "openOutput"):
        if not isinstance(after[name.lower()], bool):
            raise InputError(f"{where}: {name} must be true or false")
    if after["domainkey"] is not None:
        valid_name(after["domainkey"], f"{where}: domainKey")
    return after


def _parsed(path):
    if path.suffix.lower() != ".json":
        return read_yaml(path, "matrix file")
    try:
        text = path.read_text(encoding="utf-8-sig")
        text = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
        return parse_json(_STRING_OR_COMMA.sub(lambda match: match[1] or "", text))
    except FileNotFoundError:
        raise InputError(f"{path}: no such matrix file") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None


def _checked(where, value, known):
    """Lower the keys of a table and refuse those that mean nothing."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected keys and values")
    lower = {str(key).lower(): item for key, item in value.items()}
    unknown = sorted(set(lower) - known)
    if unknown:
        raise InputError(f"{where}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    return lower


def _variant(where, row):
    if isinstance(row, dict) and "timeout" in row:
        row = {**row, "timeoutSeconds": row["timeout"]}
        del row["timeout"]
    row = _VARIANT | _checked(where, row, set(_VARIANT))
    args, env, timeout = row["args"], row["env"] or {}, row["timeoutseconds"]
    if not isinstance(args, list) or not args:
        raise InputError(f"{where}: args must be a list of arguments")
    if not isinstance(env, dict):
        raise InputError(f"{where}: env must hold names and values")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout < math.inf):
        raise InputError(f"{where}: timeout must be a number of seconds above 0")
    args = tuple(str(argument) for argument in args)
    env = {str(name): str(value) for name, value in env.items()}
    for text in (*args, *env, *env.values()):
        if "\0" in text:
            raise InputError(f"{where}: {text!r}: no command takes a NUL character")
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise InputError(f"{where}: {text!a}: not text in UTF-8") from None
    for name in env:
        if not name or "=" in name:
            raise InputError(f"{where}: env {name!r}: no name of a setting")
    return Variant(valid_name(row["name"], f"{where}: name"), args, env, timeout)


def run_matrix(matrix, folder, environment=None, report=print):
    """Run the variants one after another."""
    rows = [_planned(variant) for variant in matrix.variants]
    for row, variant in zip(rows, matrix.variants, strict=True):
        report(f"running {variant.name}: casebook {' '.join(variant.args)}")
        log = folder / f"{variant.name}.log"
        settings = {**(environment or {}), **variant.env}
        ended = run_child(variant.name, variant.args, log, settings, variant.timeout)
        row |= {"exitCode": ended.exit_code, "seconds": ended.seconds}
        _write_summary(folder, rows)
        report(f"{'FAILED ' if ended.exit_code else 'done   '} {variant.name}")
        if ended.exit_code and matrix.stop_on_failure:
            break
    return rows


def _planned(variant):
    return {
        "name": variant.name,
        "exitCode": None,
        "seconds": None,
        "log": f"{variant.name}.log",
        "arguments": list(variant.args),
        # Values may be keys of services: their names are enough to ask for them.
        "settings": sorted(variant.env),
        "timeoutSeconds": variant.timeout,
    }


def _write_summary(folder, rows):
    write_json(folder / "summary.json", rows)
    lines = [
        f"{row['name']}: "
        + ("left out" if row["exitCode"] is None else f"exit {row['exitCode']}")
        + ("" if row["seconds"] is None else f", {row['seconds']} s")
        for row in rows
    ]
    write_text(folder / "_summary.txt", "\n".join(lines) + "\n")


def commands(matrix):
    """Give the commands of a matrix without running them."""
    return [f"{variant.name}: {' '.join(command_line(list(variant.args))[1:])}" for variant in matrix.variants]
