"""What a run is: its metric keys, its record, its rows per query and its fingerprint.

``run.json`` has the documented keys (RunId, Workflow, Tenant, StartedAtUtc, CompletedAtUtc,
Success, Labels, Metrics). The other spelling in circulation (WorkflowName, StartedUtc, FinishedUtc)
is read too, both in any letter case. ``schemas/run.schema.json`` describes what is written.
"""

import datetime
import hashlib
import json
import math
import os
import re
from pathlib import Path

import pandas as pd
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
)

from casebook import paths
from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.files import sha256_file, write_json
from casebook.readers import read_json

# --- metric keys

# Raised when a measure's definition changes: older runs then no longer compare.
METRIC_VERSION = 1
ORIGINAL_PREFIX = "original:"
# Keys of EmbeddingShift's records: its own formulas, not AP@1 and nDCG@3.
DOCUMENTED_KEYS = ("map@1", "ndcg@3")
_LOWER_IS_BETTER = re.compile(
    r"(duration|seconds|latency|cost|_ms$|error|loss|brier|\bece\b|\bm?ae\b|rmse|"
    r"footrule|displacement|violation|hallucinat|missing|zero_?directions)"
)


def metric_key(metric):
    """The one spelling of a metric's name: in lower case, a documented key without prefix."""
    key = str(metric).strip().lower()
    if not key:
        raise InputError("a metric needs a name, such as original:ndcg@3")
    short = key.removeprefix(ORIGINAL_PREFIX)
    return short if short in DOCUMENTED_KEYS else key


def metric_label(key):
    return ORIGINAL_PREFIX + key if key in DOCUMENTED_KEYS else key


def higher_is_better(metric):
    key = re.sub(r"\([^)]*\)", "", metric_key(metric))  # rbp(p=0.9) holds a point too
    return not _LOWER_IS_BETTER.search(key.rsplit(".", 1)[-1])


# --- run.json

SCHEMA_VERSION = 1
SEAL = "RecordSha256"  # the hash of everything else in a record


def _key(*names, **options):
    spellings = AliasChoices(*(name.lower() for name in names))
    return Field(validation_alias=spellings, serialization_alias=names[0], **options)


class RunRecord(BaseModel):
    """What one executed notebook leaves behind, besides its rows and figures."""

    model_config = ConfigDict(extra="ignore", title="Run")

    schema_version: int = _key(
        "SchemaVersion", default=SCHEMA_VERSION, le=SCHEMA_VERSION
    )
    run_id: str = _key("RunId", min_length=1)
    workflow: str = _key("Workflow", "WorkflowName", min_length=1)
    tenant: str | None = _key("Tenant", default=None)
    started: datetime.datetime = _key("StartedAtUtc", "StartedUtc")
    completed: datetime.datetime | None = _key(
        "CompletedAtUtc", "FinishedUtc", default=None
    )
    success: bool = _key("Success", default=True)
    labels: dict = _key("Labels", default_factory=dict)
    metrics: dict[str, float | None] = _key("Metrics", default_factory=dict)
    # Name of a file, from the record's folder, to its SHA-256.
    outputs: dict[str, str] = _key("Outputs", default_factory=dict)

    @field_validator("metrics")
    @classmethod
    def _by_key(cls, metrics):
        by_key = {metric_key(name): value for name, value in metrics.items()}
        for key, value in by_key.items():
            by_key[key] = value if value is not None and math.isfinite(value) else None
        return by_key

    @field_serializer("started", "completed")
    def _written(self, moment) -> str | None:
        return moment and utc(moment)


def now():
    """The current time, or the one that SOURCE_DATE_EPOCH fixes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    if not fixed:
        return datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    try:
        return datetime.datetime.fromtimestamp(int(fixed), datetime.UTC)
    except (ValueError, OverflowError, OSError):
        problem = f"{fixed!r} is no number of seconds since 1970: correct or unset it"
        raise InputError(f"SOURCE_DATE_EPOCH: {problem}") from None


def utc(moment=None):
    moment = moment or now()
    zone = moment.tzinfo or datetime.UTC  # that the documented keys promise
    return f"{moment.replace(tzinfo=zone).astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


def write_record(path, record):
    value = json.loads(json.dumps(record.model_dump(by_alias=True)))
    return write_json(path, value | {SEAL: digest(value)})


def read_record(path):
    """Read a ``run.json`` in either known spelling, in any letter case."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: not a run record")
    content = {name: item for name, item in value.items() if name != SEAL}
    try:
        record = RunRecord.model_validate(
            {name.lower(): item for name, item in content.items()}
        )
        utc(record.started), utc(record.completed)  # which UTC's calendar may lack
    except (ValidationError, OverflowError) as error:
        raise InputError(f"{path}: {first_problem(error)}") from None
    is_sealed = SEAL in value or record.outputs
    if is_sealed and value.get(SEAL) != digest(content):
        raise InputError(
            f"{path}: was altered since it was written: restore it, or run it again"
        )
    return record


def each_number(tree, names=()):
    for name, inner in tree.items():
        if isinstance(inner, dict) and "value" not in inner:
            yield from each_number(inner, (*names, name))
        else:
            yield (*names, name), inner


# --- evidence: every file that a run wrote, by the SHA-256 that its record keeps

RECORD = "run.json"
# Of a report; measured times are not, as no rerun gives them.
EVIDENCE_FOLDERS = (
    "notebooks",
    "numbers",
    "contrasts",
    "headlines",
    "items",
    "leaderboard",
    "rows",
    "tables",
    "figures",
)


def files_of(run, cell, folders=EVIDENCE_FOLDERS):
    files = []
    for folder in folders:
        files += sorted((paths.run_dir(run) / folder).glob(f"{cell}.*"))
    return files


def file_hashes(folder, files):
    """Hashes of files by their names from a folder, such as ``../../rows/<cell>.csv.gz``."""
    return {
        Path(os.path.relpath(file, folder)).as_posix(): sha256_file(file)
        for file in files
    }


def output_faults(folder, record):
    """What is wrong with the outputs of a run: name of the file to reason.

    What a record of another program lists is unknown: it has no output that could be checked.
    """
    faults = {}
    for name, digest in record.outputs.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve().parents[1]):
            # Not even a hash of it is compared.
            faults[name] = "lies outside of the run"
        elif not path.is_file():
            faults[name] = "is gone"
        elif sha256_file(path) != digest:
            faults[name] = "was altered since the run wrote it"
    return faults


def require(folder, remedy="restore it from a copy, or run it again"):
    record = read_record(folder / RECORD)
    for name, reason in output_faults(folder, record).items():
        raise InputError(f"{(folder / name).resolve()}: {reason}: {remedy}")
    return record


# --- rows per query: eval.perQuery.<name>.json

PER_QUERY_PREFIX = "eval.perQuery"
REQUIRED_FIELDS = [
    "QueryId",
    "RelevantDocId",
    "Rank",
    "Ap1",
    "Ndcg3",
    "TopDocId",
    "TopScore",
]
PER_QUERY_FIELDS = [
    *REQUIRED_FIELDS,
    "Top2DocId",
    "Top2Score",
    "Top3DocId",
    "Top3Score",
]
GROUP = "Group"


def per_query_name(name=None):
    middle = f".{paths.valid_name(name, 'variant')}" if name else ""
    return f"{PER_QUERY_PREFIX}{middle}.json"


def write_per_query(path, frame):
    return write_json(path, json_rows(frame))


def json_rows(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def read_per_query(path):
    """Rows per query: documented fields, then others; a query without a group is one of its own."""
    records = read_json(path)
    if not records or not all(isinstance(row, dict) for row in records):
        raise InputError(f"{path}: not a list of per-query records")
    names = {name.lower(): name for name in (*PER_QUERY_FIELDS, GROUP)}
    frame = pd.DataFrame(records).rename(
        columns=lambda name: names.get(name.lower(), name)
    )
    required = frame.reindex(columns=REQUIRED_FIELDS)
    missing = required.columns[required.isna().any()]
    if len(missing):
        raise InputError(f"{path}: a record lacks {', '.join(missing)}")
    frame["QueryId"] = frame["QueryId"].astype(str)
    if frame["QueryId"].str.lower().duplicated().any():
        raise InputError(f"{path}: a query occurs twice")
    frame[GROUP] = groups_of(frame.reindex(columns=[GROUP])[GROUP], frame["QueryId"])
    others = frame.columns.difference(PER_QUERY_FIELDS, sort=False)
    return frame.reindex(columns=[*PER_QUERY_FIELDS, *others])


def groups_of(groups, queries):
    return groups.where(groups.notna(), "query " + queries).astype(str)


# --- fingerprints: what an experiment's numbers depend on, as hashes

# Executing, batching and rendering do not enter a number.
_OUTSIDE = ("__main__.py", "cli", "book", "batch", "project.py", "starter", "shipped")


def digest(value):
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def tree_digest(folder, skip=()):
    folder = Path(folder)
    if folder.is_file():
        return sha256_file(folder)
    hashes = {}
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in parts)
        if path.is_file() and not hidden and parts[0] not in skip:
            hashes["/".join(parts)] = sha256_file(path)
    return digest(hashes)


def library_digest():
    return tree_digest(Path(__file__).parents[1], skip=_OUTSIDE)


def lock_digest():
    """Hash of the lock file, which pins every package and packaged model weight."""
    locks = [folder / "requirements.lock" for folder in (paths.ROOT, paths.SHIPPED)]
    return next((sha256_file(lock) for lock in locks if lock.is_file()), None)


def comparability_key(labels):
    """What two runs must share to compete: data, judgements, queries, metric version; or None."""
    labels = {str(name).lower(): value for name, value in labels.items()}
    names = ("datasethash", "splithash", "qrelshash", "queryidshash")
    parts = {name: labels[name] for name in names if labels.get(name)}
    inputs = labels.get("inputs")
    if isinstance(inputs, dict) and inputs.get("data"):
        parts["data"] = inputs["data"]
    if not parts:
        return None
    return digest([parts, labels.get("metricversion", METRIC_VERSION)])
