"""The run artefact: one ``run.json`` per executed notebook.

Its keys are the documented ones (RunId, Workflow, Tenant, StartedAtUtc,
CompletedAtUtc, Success, Labels, Metrics). A reader also accepts the other spelling
that is in circulation (WorkflowName, StartedUtc, FinishedUtc), in any letter case.
"""

import datetime
import json
import os
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from casebook.errors import InputError
from casebook.files import write_json

SCHEMA_VERSION = 1


def _spelled(*names):
    """Accept several spellings of a key, all in lower case."""
    return AliasChoices(*(name.lower() for name in names))


class RunRecord(BaseModel):
    """What one executed notebook leaves behind, besides its rows and figures."""

    model_config = ConfigDict(extra="ignore")

    run_id: str = Field(validation_alias=_spelled("RunId"))
    workflow: str = Field(validation_alias=_spelled("Workflow", "WorkflowName"))
    tenant: str | None = Field(None, validation_alias=_spelled("Tenant"))
    started: datetime.datetime = Field(
        validation_alias=_spelled("StartedAtUtc", "StartedUtc")
    )
    completed: datetime.datetime | None = Field(
        None, validation_alias=_spelled("CompletedAtUtc", "FinishedUtc")
    )
    success: bool = Field(True, validation_alias=_spelled("Success"))
    labels: dict = Field(default_factory=dict, validation_alias=_spelled("Labels"))
    metrics: dict = Field(default_factory=dict, validation_alias=_spelled("Metrics"))
    schema_version: int = Field(
        SCHEMA_VERSION, validation_alias=_spelled("SchemaVersion")
    )


def now():
    """Give the current time, or the one that SOURCE_DATE_EPOCH fixes.

    Returns
    -------
    datetime.datetime
        Aware, in UTC, whole seconds. A fixed time makes reruns byte-identical.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    moment = (
        datetime.datetime.fromtimestamp(int(fixed), datetime.UTC)
        if fixed
        else datetime.datetime.now(datetime.UTC)
    )
    return moment.replace(microsecond=0)


def write_record(path, record):
    """Write ``run.json`` under its documented keys.

    Parameters
    ----------
    path : path-like
        The file to write.
    record : RunRecord
        What to write.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    return write_json(
        path,
        {
            "SchemaVersion": record.schema_version,
            "RunId": record.run_id,
            "Workflow": record.workflow,
            "Tenant": record.tenant,
            "StartedAtUtc": _stamp(record.started),
            "CompletedAtUtc": _stamp(record.completed),
            "Success": record.success,
            "Labels": record.labels,
            "Metrics": record.metrics,
        },
    )


def _stamp(moment):
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_record(path):
    """Read a ``run.json`` in either known spelling, in any letter case.

    Parameters
    ----------
    path : path-like
        The file to read; a byte order mark is accepted.

    Returns
    -------
    RunRecord
        The record.

    Raises
    ------
    InputError
        If the file is not JSON, or lacks a required key.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        return RunRecord.model_validate({k.lower(): v for k, v in value.items()})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{path}: {first['loc'][0]}: {first['msg']}") from None
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path}: not a run record: {error}") from None
