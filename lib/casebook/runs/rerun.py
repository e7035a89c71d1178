"""Execute a run again from its recorded inputs, and compare what came out."""

import json
import shlex
from dataclasses import dataclass, field

from casebook.errors import InputError
from casebook.paths import valid_name
from casebook.readers import parse_json
from casebook.runs.artifact import read_record
from casebook.runs.fingerprint import digest
from casebook.runs.recording import REQUEST
from casebook.runs.rows import TOLERANCE

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
    """Find out how a run was made."""
    if (folder / REQUEST).is_file():
        if name:
            raise InputError(
                "--as is for the runs of a report: this one was made by a command, which names its run itself"
            )
        return _recorded(folder / REQUEST)
    labels = read_record(folder / "run.json").labels
    inputs = labels.get("Inputs")
    if not isinstance(inputs, dict) or not isinstance(labels.get("Cell"), str):
        raise InputError(f"{folder}: the run did not record how it was made")
    return _of_cell(folder, labels["Cell"], inputs.get("parameters") or {}, name)


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
    return Request([str(argument) for argument in arguments], kept)


def _of_cell(folder, cell, parameters, name):
    """Ask for a cell of the grid, or for one of ``-p``, whose name ends in a hash."""
    report = valid_name(name or f"{folder.parents[1].name}-rerun", "run")
    stem, _, suffix = cell.rpartition("-")
    chosen = stem if stem and suffix == digest(parameters)[:8] else cell
    arguments = ["run", chosen, "--run", report, "--force"]
    for key, value in parameters.items():
        arguments += ["-p", f"{key}={json.dumps(value)}"]
    return Request(arguments, record=f"{report}/runs/{cell}")


def differences(before, after):
    """Compare the metrics of a run and of its repetition."""
    found = []
    for metric in sorted(before.metrics.keys() | after.metrics.keys()):
        old, new = before.metric(metric), after.metric(metric)
        same = old == new if None in (old, new) else abs(old - new) <= TOLERANCE
        if not same:
            found.append(f"{metric}: {old} before, {new} now")
    return found
