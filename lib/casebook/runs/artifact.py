"""The run artefact: one ``run.json`` per executed notebook.

Its keys are the documented ones (RunId, Workflow, Tenant, StartedAtUtc,
CompletedAtUtc, Success, Labels, Metrics). A reader also accepts the other spelling
that is in circulation (WorkflowName, StartedUtc, FinishedUtc), in any letter case.
``schemas/run.schema.json`` beside this module is the JSON Schema of what is written.
"""

import datetime
import os
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_serializer, field_validator

from casebook.errors import InputError
from casebook.files import write_json
from casebook.readers import parse_json
from casebook.runs.metrics import canonical, canonical_metrics

SCHEMA_VERSION = 1
SCHEMA_FILE = Path(__file__).parent / "schemas" / "run.schema.json"


def _key(*names, **options):
    """Write a field under its first name; read it under any, in lower case."""
    spellings = AliasChoices(*(name.lower() for name in names))
    options.setdefault("default", ...)
    if "default_factory" in options:
        options.pop("default")
    return Field(validation_alias=spellings, serialization_alias=names[0], **options)


class RunRecord(BaseModel):
    """What one executed notebook leaves behind, besides its rows and figures."""

    model_config = ConfigDict(extra="ignore", title="Run")

    schema_version: int = _key("SchemaVersion", default=SCHEMA_VERSION)
    run_id: str = _key("RunId", min_length=1)
    workflow: str = _key("Workflow", "WorkflowName", min_length=1)
    tenant: str | None = _key("Tenant", default=None)
    started: datetime.datetime = _key("StartedAtUtc", "StartedUtc")
    completed: datetime.datetime | None = _key("CompletedAtUtc", "FinishedUtc", default=None)
    success: bool = _key("Success", default=True)
    labels: dict = _key("Labels", default_factory=dict)
    metrics: dict[str, float | None] = _key("Metrics", default_factory=dict)

    @field_validator("metrics")
    @classmethod
    def _canonical(cls, metrics):
        return canonical_metrics(metrics)

    @field_validator("started", "completed")
    @classmethod
    def _in_utc(cls, moment):
        """Take a time without a zone as the UTC that its key promises."""
        if moment is None:
            return None
        if moment.tzinfo is None:
            return moment.replace(tzinfo=datetime.UTC)
        try:
            return moment.astimezone(datetime.UTC)
        except OverflowError:
            raise ValueError("outside the calendar in UTC") from None

    @field_serializer("started")
    def _start(self, moment) -> str:
        return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @field_serializer("completed")
    def _end(self, moment) -> str | None:
        return None if moment is None else self._start(moment)

    def metric(self, name):
        """Look a metric up, in any letter case."""
        return self.metrics.get(canonical(name))


def now():
    """Give the current time, or the one that SOURCE_DATE_EPOCH fixes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.datetime.fromtimestamp(int(fixed), datetime.UTC) if fixed else datetime.datetime.now(datetime.UTC)
    return moment.replace(microsecond=0)


def json_schema():
    """Give the JSON Schema of ``run.json`` as it is written."""
    schema = RunRecord.model_json_schema(mode="serialization", by_alias=True)
    for name, rule in schema["properties"].items():
        del rule["title"]
        if name.endswith("Utc"):
            for text in rule.get("anyOf", [rule]):
                text.update({"format": "date-time"} if text["type"] == "string" else {})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def write_record(path, record):
    """Write ``run.json`` under its documented keys."""
    return write_json(path, record.model_dump(by_alias=True))


def read_record(path):
    """Read a ``run.json`` in either known spelling, in any letter case."""
    try:
        value = parse_json(Path(path).read_text(encoding="utf-8-sig"))
        record = RunRecord.model_validate({k.lower(): v for k, v in value.items()})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{path}: {first['loc'][0]}: {first['msg']}") from None
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path}: not a run record: {error}") from None
    if record.schema_version > SCHEMA_VERSION:
        raise InputError(
            f"{path}: schema version {record.schema_version} is newer than "
            f"{SCHEMA_VERSION}, the latest known here; update casebook"
        )
    return record
