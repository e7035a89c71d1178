"""Runs made again or in many variants, and runs for others: matrix, rerun, TREC export."""

import json
import os
import re
import shlex
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

from casebook.credentials import SECRET_WORDS, without_secrets
from casebook.errors import InputError
from casebook.files import replacing, write_json, write_text
from casebook.models.device import model_settings
from casebook.paths import valid_name
from casebook.readers import parse_json, read_yaml
from casebook.runs.locations import in_project, read_private, restored
from casebook.runs.record import digest, first_error, metric_key, read_record
from casebook.runs.registry import REQUEST, TOLERANCE, model_settings_of

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


def _check_name(name):
    try:
        return valid_name(name)
    except InputError as error:
        raise ValueError(str(error)) from None


def _check_metric(name):
    try:
        metric_key(name)
    except InputError as error:
        raise ValueError(str(error)) from None
    return name


Word = Annotated[str, BeforeValidator(_word_of)]
Setting = Annotated[Word, AfterValidator(_check_setting)]
ValidName = Annotated[str, AfterValidator(_check_name)]


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

    compare_metric: Annotated[str, AfterValidator(_check_metric)] = Field(
        "ndcg@3", validation_alias="comparemetric"
    )
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
        value = read_yaml(path, "matrix file")
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


# --- a run again, from its recorded inputs

_SETTINGS = ("CASEBOOK_", "EMBEDDINGSHIFT_", "EMBEDDING_")
_NEVER = (*SECRET_WORDS, "ROOT", "TENANT")


def request_of(folder, name=None):
    """Find out how a run was made; gives arguments, settings, and the new run's folder.

    The folder is None for a run of a command, which names its runs itself; a chapter of a report is
    repeated in a report called ``name``.
    """
    if (folder / REQUEST).is_file():
        if name:
            raise InputError(
                "--as is for the runs of a report: this one was made by a command, "
                "which names its run itself"
            )
        arguments, settings = _read_request(folder / REQUEST)
        return arguments, settings, None
    labels = read_record(folder / "run.json").labels
    inputs = labels.get("Inputs")
    cell = labels.get("Cell")
    if not isinstance(inputs, dict) or not isinstance(cell, str):
        raise InputError(f"{folder}: the run did not record how it was made")
    private = read_private(folder.parents[1])
    parameters = {
        key: restored(value, private) for key, value in (inputs.get("parameters") or {}).items()
    }
    report = valid_name(name or f"{folder.parents[1].name}-rerun", "run")
    # The name of a cell that -p made ends in a hash of its parameters.
    stem, _, suffix = cell.rpartition("-")
    portable = {key: in_project(value) for key, value in parameters.items()}
    chosen = stem if stem and suffix == digest(portable)[:8] else cell
    arguments = ["run", chosen, "--run", report, "--force"]
    for key, value in parameters.items():
        arguments += ["-p", f"{key}={json.dumps(value)}"]
    recorded = model_settings_of(inputs)
    if recorded != model_settings().fingerprint:
        for option, value in recorded.items():
            arguments += [f"--{option}", value]
    return arguments, {}, f"{report}/runs/{cell}"


def _read_request(path):
    try:
        value = parse_json(path.read_text(encoding="utf-8-sig"))
        request = {name.lower(): item for name, item in value["request"].items()}
        arguments = [*(request.get("globalargs") or []), *request["commandargs"]]
        environment = dict(request.get("environmentsnapshot") or {})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: not a run request") from None
    settings = {}
    for name, value in environment.items():
        if name.startswith(_SETTINGS) and not any(word in name for word in _NEVER):
            settings[str(name)] = str(value)
    return list(map(str, arguments)), settings


def request_line(arguments, settings):
    """Give a command as one would type it."""
    words = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
    return " ".join([*words, "casebook", shlex.join(arguments)])


def metric_differences(before, after):
    """Compare the metrics of a run and of its repetition; gives a line per difference."""
    lines = []
    for metric in sorted(before.metrics.keys() | after.metrics.keys()):
        old = before.metric(metric)
        new = after.metric(metric)
        if old == new:
            continue
        if old is None or new is None or abs(old - new) > TOLERANCE:
            lines.append(f"{metric}: {old} before, {new} now")
    return lines


# --- TREC runs that say where they come from


def choose_system(record, name=None):
    """Choose one system of a run, whose metric keys are ``<dataset>.<system>.<measure>``."""
    # A number in brackets, rbp(p=0.9), may hold a point too.
    systems = {
        metric.partition("(")[0].rpartition(".")[0] or record.workflow.lower()
        for metric in record.metrics
    }
    if name:
        wanted = name.lower()
        matches = [system for system in systems if f".{system}".endswith(f".{wanted}")]
    else:
        matches = list(systems)
    if len(matches) != 1:
        choices = ", ".join(sorted(systems)[:8]) or "none"
        raise InputError(f"choose one system with --system; the run holds {choices}")
    return matches[0]


def ir_metadata(record, tag):
    """Describe a run by the parts of the PRIMAD model."""
    labels = record.labels
    inputs = labels.get("Inputs") or {}
    parameters = inputs.get("parameters") or {}
    machine = labels.get("Environment") or {}
    return {
        "tag": tag,
        "actor": {"team": record.tenant or "casebook", "role": "experimenter"},
        "platform": {
            "hardware": {"cpu": {"architecture": machine.get("machine")}},
            "operating system": {"platform": machine.get("platform")},
            "software": {
                "libraries": {"python": [f"casebook=={labels.get('Version')}"]},
                "python": machine.get("python"),
            },
        },
        "research goal": {"evaluation": {"reported measures": sorted(record.metrics)}},
        "implementation": {"source": {"lang": ["Python"], "commit": inputs.get("library")}},
        "method": {"automatic": True, "name": tag, "parameters": parameters},
        "data": {
            "test collection": {
                "name": parameters.get("dataset"),
                "sha256": (inputs.get("data") or {}).get("dataset"),
            }
        },
        "run": {"id": record.run_id, "content key": labels.get("ContentKey")},
    }


def write_trec(path, ranking, record, tag):
    """Write a TREC run below an ir_metadata header."""
    import yaml

    from casebook.trec import write_run

    header = yaml.safe_dump(ir_metadata(record, tag), sort_keys=False, width=4096)
    path = Path(path)
    with replacing(path) as temporary:
        write_run(temporary, ranking, tag)
        body = temporary.read_bytes()
        lines = ["ir_metadata.start", *header.splitlines(), "ir_metadata.end"]
        comments = "".join(f"# {line}\n" for line in lines)
        temporary.write_bytes(comments.encode() + body)
    return path
