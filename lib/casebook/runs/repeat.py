"""Runs made again or in many variants, and runs for others: matrix, rerun, TREC export."""

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from casebook.errors import InputError
from casebook.files import replacing, write_json, write_text
from casebook.paths import valid_name
from casebook.readers import parse_json, read_yaml
from casebook.runs.record import canonical, digest, read_record
from casebook.runs.registry import REQUEST, TOLERANCE

TIMED_OUT = 124  # exit code of a child that ran out of time
_GRACE = 5.0  # seconds between the request to end and the order to

# --- child processes of the command line


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    name: str
    exit_code: int
    seconds: float
    log: Path


def command_line(arguments):
    """Give the command that runs this library's command line."""
    return [sys.executable, "-m", "casebook", *arguments]


def run_child(name, arguments, log, environment=None, timeout=None):
    """Run the command line in a process group of its own, logged, and ended as a group."""
    log.parent.mkdir(parents=True, exist_ok=True)
    errors = log.with_suffix(".stderr")
    settings = os.environ | (environment or {})
    start = time.monotonic()
    with log.open("wb") as out, errors.open("wb") as err:
        streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        child = subprocess.Popen(command_line(arguments), **streams, env=settings, start_new_session=True)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            _end(child)
    with log.open("ab") as out:
        out.write(b"[STDERR]\n" + errors.read_bytes())
    errors.unlink()
    return Ended(name, code, round(time.monotonic() - start, 2), log)


def _end(child):
    """End whatever is left of the group, also when this process is interrupted."""
    for order, patience in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(child.pid, order)
        except ProcessLookupError:
            break
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


# --- a matrix: variants of a command, run one after another, then compared


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


_VARIANT = {"name": "", "args": (), "env": {}, "timeoutSeconds": None, "timeout": None}
_AFTER = {
    "compareMetric": "ndcg@3",
    "top": 10,
    "writeCompare": True,
    "promoteBest": False,
    "openOutput": False,
    "domainKey": None,
}
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])')


def read_matrix(path):
    """Read the specification of a matrix: YAML, or JSON that may hold comments and trailing commas."""
    path = Path(path)
    value = read_yaml(path, "matrix file") if path.suffix.lower() != ".json" else _commented_json(path)
    spec = _filled(path, value, {"variants": None, "stopOnFailure": True, "after": None})
    if not isinstance(spec["variants"], list) or not spec["variants"]:
        raise InputError(f"{path}: a matrix needs a list of variants")
    if not isinstance(spec["stoponfailure"], bool):
        raise InputError(f"{path}: stopOnFailure must be true or false")
    variants = [_variant(f"{path}: variant {n}", row) for n, row in enumerate(spec["variants"], 1)]
    if len({variant.name.lower() for variant in variants}) < len(variants):
        raise InputError(f"{path}: two variants share a name (letter case aside)")
    return Matrix(variants, spec["stoponfailure"], _after(f"{path}: after", spec["after"] or {}))


def _commented_json(path):
    try:
        text = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", path.read_text(encoding="utf-8-sig"))
        return parse_json(_STRING_OR_COMMA.sub(lambda match: match[1] or "", text))
    except FileNotFoundError:
        raise InputError(f"{path}: no such matrix file") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None


def _filled(where, value, known):
    """Give a table with keys in small letters and defaults; keys that mean nothing are refused."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected keys and values")
    found = {str(key).lower(): item for key, item in value.items()}
    defaults = {key.lower(): item for key, item in known.items()}
    unknown = sorted(set(found) - set(defaults))
    if unknown:
        raise InputError(f"{where}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    return defaults | found


def _variant(where, row):
    row = _filled(where, row, _VARIANT)
    args, env = row["args"], row["env"] or {}
    timeout = row["timeout"] if row["timeoutseconds"] is None else row["timeoutseconds"]
    if not isinstance(args, list) or not args:
        raise InputError(f"{where}: args must be a list of arguments")
    if not isinstance(env, dict):
        raise InputError(f"{where}: env must hold names and values")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout < math.inf):
        raise InputError(f"{where}: timeout must be a number of seconds above 0")
    args = tuple(map(str, args))
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


def _after(where, value):
    """Check what follows the variants before any of them runs."""
    after = _filled(where, value, _AFTER)
    if not isinstance(after["comparemetric"], str):
        raise InputError(f"{where}: compareMetric must be the name of a metric")
    canonical(after["comparemetric"])
    if not isinstance(after["top"], int) or isinstance(after["top"], bool) or after["top"] < 1:
        raise InputError(f"{where}: top must be a whole number of at least 1")
    for name in ("writeCompare", "promoteBest", "openOutput"):
        if not isinstance(after[name.lower()], bool):
            raise InputError(f"{where}: {name} must be true or false")
    if after["domainkey"] is not None:
        valid_name(after["domainkey"], f"{where}: domainKey")
    return after


def run_matrix(matrix, folder, environment=None, report=print):
    """Run the variants one after another; logs and a summary lie in the folder."""
    rows = [
        {
            "name": variant.name,
            "exitCode": None,
            "seconds": None,
            "log": f"{variant.name}.log",
            "arguments": list(variant.args),
            "settings": sorted(variant.env),  # their values may be keys of services
            "timeoutSeconds": variant.timeout,
        }
        for variant in matrix.variants
    ]
    for row, variant in zip(rows, matrix.variants, strict=True):
        report(f"running {variant.name}: casebook {' '.join(variant.args)}")
        settings = {**(environment or {}), **variant.env}
        ended = run_child(variant.name, variant.args, folder / row["log"], settings, variant.timeout)
        row |= {"exitCode": ended.exit_code, "seconds": ended.seconds}
        write_json(folder / "summary.json", rows)
        write_text(folder / "_summary.txt", "".join(map(_summary_line, rows)))
        report(f"{'FAILED ' if ended.exit_code else 'done   '} {variant.name}")
        if ended.exit_code and matrix.stop_on_failure:
            break
    return rows


def _summary_line(row):
    if row["exitCode"] is None:
        return f"{row['name']}: left out\n"
    return f"{row['name']}: exit {row['exitCode']}, {row['seconds']} s\n"


def commands(matrix):
    """Give the commands of a matrix without running them."""
    return [f"{variant.name}: {' '.join(command_line(list(variant.args))[1:])}" for variant in matrix.variants]


# --- a run again, from its recorded inputs

_SETTINGS = ("CASEBOOK_", "EMBEDDINGSHIFT_", "EMBEDDING_")
_NEVER = ("KEY", "TOKEN", "SECRET", "PASSWORD", "ROOT", "TENANT")


@dataclass(frozen=True)
class Request:
    """What makes a run again."""

    arguments: list
    environment: dict = field(default_factory=dict)
    record: str | None = None

    @property
    def line(self):
        """The command as one would type it."""
        settings = [f"{name}={shlex.quote(v)}" for name, v in self.environment.items()]
        return " ".join([*settings, "casebook", shlex.join(self.arguments)])


def request_of(folder, name=None):
    """Find out how a run was made: by a command that it recorded, or as a cell of a report."""
    if (folder / REQUEST).is_file():
        if name:
            raise InputError(
                "--as is for the runs of a report: this one was made by a command, which names its run itself"
            )
        return _recorded(folder / REQUEST)
    labels = read_record(folder / "run.json").labels
    inputs, cell = labels.get("Inputs"), labels.get("Cell")
    if not isinstance(inputs, dict) or not isinstance(cell, str):
        raise InputError(f"{folder}: the run did not record how it was made")
    parameters = inputs.get("parameters") or {}
    report = valid_name(name or f"{folder.parents[1].name}-rerun", "run")
    # The name of a cell that -p made ends in a hash of its parameters.
    stem, _, suffix = cell.rpartition("-")
    chosen = stem if stem and suffix == digest(parameters)[:8] else cell
    arguments = ["run", chosen, "--run", report, "--force"]
    for key, value in parameters.items():
        arguments += ["-p", f"{key}={json.dumps(value)}"]
    return Request(arguments, record=f"{report}/runs/{cell}")


def _recorded(path):
    try:
        value = parse_json(path.read_text(encoding="utf-8-sig"))
        request = {k.lower(): v for k, v in value["request"].items()}
        arguments = [*(request.get("globalargs") or []), *request["commandargs"]]
        settings = dict(request.get("environmentsnapshot") or {})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: not a run request") from None
    kept = {
        str(name): str(value)
        for name, value in settings.items()
        if name.startswith(_SETTINGS) and not any(word in name for word in _NEVER)
    }
    return Request(list(map(str, arguments)), kept)


def differences(before, after):
    """Compare the metrics of a run and of its repetition; gives a line per difference."""
    found = []
    for metric in sorted(before.metrics.keys() | after.metrics.keys()):
        old, new = before.metric(metric), after.metric(metric)
        if old != new and (None in (old, new) or abs(old - new) > TOLERANCE):
            found.append(f"{metric}: {old} before, {new} now")
    return found


# --- TREC runs that say where they come from


def choose_system(record, name=None):
    """Choose one system of a run, whose metric keys are ``<dataset>.<system>.<measure>``; gives name and measures."""
    systems = {}
    for metric, value in record.metrics.items():
        head, bracket, tail = metric.partition("(")  # a number in brackets, rbp(p=0.9), may hold a point too
        prefix, _, measure = head.rpartition(".")
        systems.setdefault(prefix or record.workflow.lower(), {})[measure + bracket + tail] = value
    wanted = (name or "").lower()
    fits = [s for s in systems if not name or s == wanted or s.endswith("." + wanted)]
    if len(fits) != 1:
        known = ", ".join(sorted(systems)[:8]) or "none"
        raise InputError(f"choose one system with --system; the run holds {known}")
    return fits[0], systems[fits[0]]


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
            "test collection": {"name": parameters.get("dataset"), "sha256": (inputs.get("data") or {}).get("dataset")}
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
        temporary.write_bytes("".join(f"# {x}\n" for x in lines).encode() + body)
    return path
