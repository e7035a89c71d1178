"""A matrix: variants of a command, run one after another."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from casebook.credentials import without_secrets
from casebook.errors import InputError
from casebook.files import write_json, write_text
from casebook.paths import valid_name
from casebook.readers import parse_json, read_yaml
from casebook.runs.record import first_error, metric_key

TIMED_OUT = 124  # exit code of a child that ran out of time

# --- child processes of the command line


def command_line(arguments):
    """Give the command that runs this library's command line."""
    return [sys.executable, "-m", "casebook", *arguments]


def run_child(arguments, log, environment=None, timeout=None):
    """Run the command line with a log of what it prints; gives its exit code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    errors = log.with_suffix(".stderr")
    settings = os.environ | (environment or {})
    with log.open("wb") as out, errors.open("wb") as err:
        streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        try:
            code = subprocess.run(
                command_line(arguments), **streams, env=settings, timeout=timeout
            ).returncode
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
    with log.open("ab") as out:
        out.write(b"[STDERR]\n" + errors.read_bytes())
    errors.unlink()
    return code


# --- a matrix: variants of a command, run one after another, then compared


def _word_of(value):
    """Take any value as a word of a command."""
    text = str(value)
    if "\0" in text:
        raise ValueError(f"{text!r}: no command takes a NUL character")
    return text


def _check_setting(name):
    if not name or "=" in name:
        raise ValueError(f"{name!r}: no name of a setting")
    return name


def _passes(check):
    """A check of ours, as pydantic takes it."""

    def checked(value):
        try:
            check(value)
        except InputError as error:
            raise ValueError(str(error)) from None
        return value

    return AfterValidator(checked)


Word = Annotated[str, BeforeValidator(_word_of)]
Setting = Annotated[Word, AfterValidator(_check_setting)]
ValidName = Annotated[str, _passes(valid_name)]
Metric = Annotated[str, _passes(metric_key)]


class _Table(BaseModel):
    """Keys and values, the keys in any letter case; keys that mean nothing are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _lower_keys(cls, value):
        if not isinstance(value, dict):
            return value
        return {str(key).lower(): item for key, item in value.items()}


class Variant(_Table):
    """One command of a matrix."""

    name: ValidName
    args: list[Word] = Field(min_length=1)
    env: dict[Setting, Word] | None = None
    timeout: float | None = Field(
        None, gt=0, allow_inf_nan=False, validation_alias=AliasChoices("timeoutseconds", "timeout")
    )


class After(_Table):
    """What follows the variants."""

    compare_metric: Metric = Field("ndcg@3", validation_alias="comparemetric")
    top: int = Field(10, ge=1)
    write_compare: bool = Field(True, validation_alias="writecompare")
    promote_best: bool = Field(False, validation_alias="promotebest")
    open_output: bool = Field(False, validation_alias="openoutput")
    domain_key: ValidName | None = Field(None, validation_alias="domainkey")


class Matrix(_Table):
    """Variants, and what follows them."""

    variants: list[Variant] = Field(min_length=1)
    stop_on_failure: bool = Field(True, validation_alias="stoponfailure")
    after: After = After()

    @field_validator("variants")
    @classmethod
    def _names_differ(cls, variants):
        if len({variant.name.lower() for variant in variants}) < len(variants):
            raise ValueError("two variants share a name (letter case aside)")
        return variants


_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])')


def read_matrix(path):
    """Read the specification of a matrix: YAML, or JSON with comments and trailing commas."""
    path = Path(path)
    if path.suffix.lower() == ".json":
        value = _commented_json(path)
    else:
        value = read_yaml(path)
    try:
        return Matrix.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{path}: {first_error(error)}") from None


def _commented_json(path):
    try:
        text = path.read_text(encoding="utf-8-sig")
        text = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
        text = _STRING_OR_COMMA.sub(lambda match: match[1] or "", text)
        return parse_json(text)
    except FileNotFoundError:
        raise InputError(f"{path}: no such matrix file") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None


def run_matrix(matrix, folder, environment=None, report=print):
    """Run the variants one after another; logs and a summary are written to the folder."""
    rows = [
        {
            "name": variant.name,
            "exitCode": None,
            "seconds": None,
            "log": f"{variant.name}.log",
            "arguments": list(map(without_secrets, variant.args)),
            "settings": sorted(variant.env or {}),  # their values may be keys of services
            "timeoutSeconds": variant.timeout,
        }
        for variant in matrix.variants
    ]
    for row, variant in zip(rows, matrix.variants, strict=True):
        report(f"running {variant.name}: casebook {' '.join(row['arguments'])}")
        settings = {**(environment or {}), **(variant.env or {})}
        start = time.monotonic()
        code = run_child(variant.args, folder / row["log"], settings, variant.timeout)
        row |= {"exitCode": code, "seconds": round(time.monotonic() - start, 2)}
        write_json(folder / "summary.json", rows)
        write_text(folder / "_summary.txt", "".join(map(_summary_line, rows)))
        report(f"{'FAILED ' if code else 'done   '} {variant.name}")
        if code and matrix.stop_on_failure:
            break
    return rows


def _summary_line(row):
    if row["exitCode"] is None:
        return f"{row['name']}: left out\n"
    return f"{row['name']}: exit {row['exitCode']}, {row['seconds']} s\n"
