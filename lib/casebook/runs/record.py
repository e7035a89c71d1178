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
import platform
import re
from pathlib import Path

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
)

from casebook.errors import InputError
from casebook.files import sha256_file, write_json
from casebook.paths import (
    ROOT,
    SHIPPED,
    card_files,
    collection_folder,
    data_folder,
    valid_name,
)
from casebook.readers import did_you_mean, parse_json

# --- metric keys

METRIC_VERSION = 1  # raised when a measure's definition changes: older runs then no longer compare
ORIGINAL_PREFIX = "original:"
# Keys of EmbeddingShift's records: its own formulas, not AP@1 and nDCG@3.
DOCUMENTED_KEYS = ("map@1", "ndcg@3")
_LOWER_IS_BETTER = re.compile(
    r"(duration|seconds|latency|cost|_ms$|error|loss|brier|\bece\b|\bm?ae\b|rmse|"
    r"footrule|displacement|violation|hallucinat|missing|zero_?directions)"
)


def metric_key(metric):
    """Give the one spelling of a metric's name: in lower case, a documented key without prefix."""
    key = str(metric).strip().lower()
    if key.removeprefix(ORIGINAL_PREFIX) in DOCUMENTED_KEYS:
        key = key.removeprefix(ORIGINAL_PREFIX)
    if not key:
        raise InputError("a metric needs a name, such as original:ndcg@3")
    return check_text(key, "metric")


def check_text(text, kind):
    """Refuse what cannot be written: half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{kind} {text!a}: not text in UTF-8") from None
    return text


def metric_label(key):
    """Name a record's metric for readers: a document's formula with its prefix."""
    return ORIGINAL_PREFIX + key if key in DOCUMENTED_KEYS else key


def higher_is_better(metric):
    """Tell the direction of a metric from the last part of its name."""
    key = re.sub(r"\([^)]*\)", "", metric_key(metric))  # rbp(p=0.9) holds a point too
    return not _LOWER_IS_BETTER.search(key.rsplit(".", 1)[-1])


def file_part(metric):
    """Give the part of a file name that stands for a metric, never the same for two."""
    key = metric_key(metric)
    safe = re.sub(r"[^a-z0-9_.@+-]", "_", key)[:120]
    if safe == key:
        return key
    return f"{safe}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def value_text(value):
    """Give one value of a table: six digits, ``n/a`` for what is undefined."""
    if value is None:
        return "n/a"
    return f"{value:.6f}" if isinstance(value, float) else str(value)


# --- run.json

SCHEMA_VERSION = 1
SCHEMA_FILE = Path(__file__).parent / "schemas" / "run.schema.json"


def _key(*names, **options):
    """Make a field that is written under its first name, and read under any, in lower case."""
    spellings = AliasChoices(*(name.lower() for name in names))
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
    # Name of a file, from the record's folder, to its SHA-256.
    outputs: dict[str, str] = _key("Outputs", default_factory=dict)

    @field_validator("metrics")
    @classmethod
    def _by_key(cls, metrics):
        by_key = {}
        for name, value in metrics.items():
            key = metric_key(name)
            finite = value if value is not None and math.isfinite(value) else None
            if by_key.setdefault(key, finite) != finite:
                raise ValueError(f"metric {key!r} occurs twice with different values")
        return by_key

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

    @field_serializer("started", "completed")
    def _written(self, moment) -> str | None:
        return moment and utc(moment)

    def metric(self, name):
        """Look a metric up, in any letter case."""
        return self.metrics.get(metric_key(name))


CLOCK_VARIABLE = "SOURCE_DATE_EPOCH"


def now():
    """Give the current time, or the one that SOURCE_DATE_EPOCH fixes."""
    fixed = os.environ.get(CLOCK_VARIABLE)
    if not fixed:
        return datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    problem = InputError(
        f"{CLOCK_VARIABLE}: {fixed!r} is no number of seconds since 1970: correct or unset it"
    )
    if not (fixed.isascii() and fixed.isdigit()):
        raise problem
    try:
        return datetime.datetime.fromtimestamp(int(fixed), datetime.UTC)
    except (ValueError, OverflowError, OSError):  # beyond the year 9999
        raise problem from None


def utc(moment=None):
    """Write a time, by default the current one, as the documented files hold it."""
    return f"{(moment or now()).astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


SEAL = "RecordSha256"  # the hash of everything else in a record


def write_record(path, record):
    """Write ``run.json`` under its documented keys, sealed by its own hash."""
    value = json.loads(json.dumps(record.model_dump(by_alias=True)))
    return write_json(path, value | {SEAL: digest(value)})


def first_error(error):
    """Give where the first error of pydantic is, counted from 1, and its message, in one line."""
    problem = error.errors()[0]
    where = " ".join(str(part + 1 if isinstance(part, int) else part) for part in problem["loc"])
    message = " ".join(problem["msg"].split())
    return f"{where or 'keys and values'}: {message}"


def read_record(path):
    """Read a ``run.json`` in either known spelling, in any letter case."""
    try:
        value = parse_json(Path(path).read_text(encoding="utf-8-sig"))
        content = {name: item for name, item in value.items() if name != SEAL}
        record = RunRecord.model_validate({name.lower(): item for name, item in content.items()})
    except ValidationError as error:
        raise InputError(f"{path}: {first_error(error)}") from None
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path}: not a run record: {error}") from None
    if record.schema_version > SCHEMA_VERSION:
        raise InputError(
            f"{path}: schema version {record.schema_version} is newer than {SCHEMA_VERSION}, "
            "the latest known here; update casebook"
        )
    sealed = SEAL in value or bool(record.outputs)
    if sealed and value.get(SEAL) != digest(content):
        raise InputError(
            f"{path}: was altered since it was written: restore it from a copy, or run it again"
        )
    return record


def each_number(tree, names=()):
    """Yield the names and the content of every number of a chapter."""
    for name, inner in tree.items():
        if isinstance(inner, dict) and "value" not in inner:
            yield from each_number(inner, (*names, name))
        else:
            yield (*names, name), inner


# --- rows per query: eval.perQuery.<name>.json

PER_QUERY_PREFIX = "eval.perQuery"
REQUIRED_FIELDS = ("QueryId", "RelevantDocId", "Rank", "Ap1", "Ndcg3", "TopDocId", "TopScore")
PER_QUERY_FIELDS = (*REQUIRED_FIELDS, "Top2DocId", "Top2Score", "Top3DocId", "Top3Score")


def per_query_name(name=None):
    """Give the file name of a per-query artefact."""
    middle = f".{valid_name(name, 'variant')}" if name else ""
    return f"{PER_QUERY_PREFIX}{middle}.json"


def write_per_query(path, frame):
    """Write a per-query artefact."""
    records = json_rows(frame)
    _check_queries(path, records)
    return write_json(path, records)


def json_rows(frame):
    """Give the rows of a frame as JSON has them: undefined is None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def read_per_query(path):
    """Read a per-query artefact as a frame: documented fields, then others, such as Group."""
    import pandas as pd

    names = {name.lower(): name for name in PER_QUERY_FIELDS}
    try:
        records = parse_json(Path(path).read_text(encoding="utf-8-sig"))
        rows = [
            {names.get(name.lower(), name): value for name, value in record.items()}
            for record in records
        ]
    except FileNotFoundError:
        raise InputError(f"{path}: no such per-query file") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: not a list of per-query records: {error}") from None
    _check_queries(path, rows)
    frame = pd.DataFrame(rows)
    further = [column for column in frame if column not in PER_QUERY_FIELDS]
    return frame.reindex(columns=[*PER_QUERY_FIELDS, *further])


def query_groups(frame):
    """Give the group of each query; one without a group is a group of its own."""
    singletons = frame["QueryId"].map("query {}".format)
    column = next((name for name in frame if name.lower() == "group"), None)
    if column is None:
        return singletons
    return frame[column].where(frame[column].notna(), singletons).astype(str)


def _check_queries(path, rows):
    """Refuse incomplete records, scores that are not those of their rank, and doubled queries."""
    if not rows:
        raise InputError(f"{path}: holds no query")
    queries = set()
    for number, row in enumerate(rows, 1):
        where = f"{path}: record {number}"
        missing = [name for name in REQUIRED_FIELDS if row.get(name) is None]
        if missing:
            raise InputError(f"{where}: lacks {', '.join(missing)}")
        _check_scores(row, where)
        query = str(row["QueryId"]).lower()
        if query in queries:
            raise InputError(f"{where}: query {row['QueryId']!r} occurs twice")
        queries.add(query)


def _check_scores(row, where):
    rank = row["Rank"]
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 0:
        raise InputError(f"{where}: Rank {rank!r} is not a whole number from 0")
    expected = {
        "Ap1": 1 / rank if rank else 0.0,
        "Ndcg3": 1 / math.log2(rank + 1) if 1 <= rank <= 3 else 0.0,
    }
    for name, value in expected.items():
        if not isinstance(row[name], int | float) or abs(row[name] - value) > 1e-6:
            raise InputError(
                f"{where}: {name} {row[name]!r} is not that of rank {rank} ({value:.6f})"
            )


# --- fingerprints: what an experiment's numbers depend on, as hashes

# Executing, batching and rendering do not enter a number.
_OUTSIDE = ("__main__.py", "cli", "book", "batch", "project.py", "starter", "shipped")


def digest(value):
    """Hash a JSON-serialisable value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def tree_digest(folder, pattern="**/*", skip=()):
    """Hash the names and bytes of the files below a folder."""
    folder = Path(folder)
    if folder.is_file():
        return sha256_file(folder)
    names = {}
    for path in folder.glob(pattern):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in parts)
        if path.is_file() and not hidden and parts[0] not in skip:
            names["/".join(parts)] = sha256_file(path)
    return digest(names)


def library_digest():
    """Hash the library's modules and tables that can change a number."""
    return tree_digest(Path(__file__).parents[1], skip=_OUTSIDE)


def lock_digest():
    """Hash the lock file, which pins every package and packaged model weight."""
    for folder in (ROOT, SHIPPED):
        lock = folder / "requirements.lock"
        if lock.is_file():
            return sha256_file(lock)
    return None


def dataset_digest(name):
    """Hash what a dataset name stands for, without reading the data."""
    name_and_folder = data_folder(name)
    if name_and_folder:
        folder = name_and_folder[1]
        if not folder.is_dir():
            raise InputError(f"dataset {str(name)!r}: no such folder")
        return tree_digest(folder)
    # The longest card key that starts the name: "<key>_<split>" is an alias.
    cards = card_files()
    for key in sorted(cards, key=len, reverse=True):
        if name == key or name.startswith(f"{key}_"):
            folder = collection_folder(key)
            tree = tree_digest(folder) if folder.is_dir() else None
            return digest([sha256_file(cards[key]), tree])
    raise InputError(
        f"dataset {name!r}: no card of that name{did_you_mean(name, cards)}; "
        f"'casebook data list' shows the cards; a folder is written ./{name}"
    )


def model_digest(name):
    """Hash what a model name stands for: a folder in it counts by its files, wherever it lies."""
    if isinstance(name, list):
        return digest([model_digest(each) for each in name])
    parts = re.split("([:=,])", str(name))
    is_folder = [part != "" and Path(part).is_dir() for part in parts]
    if not any(is_folder):
        return str(name)
    pairs = zip(parts, is_folder, strict=True)
    return digest([tree_digest(part) if folder else part for part, folder in pairs])


def environment():
    """Describe the interpreter and machine of a run."""
    return {
        "python": platform.python_version(),
        "platform": platform.system(),
        "machine": platform.machine(),
    }


def comparability_key(labels):
    """Give what two runs must share to compete: data, judgements, queries, metric version."""
    labels = {str(name).lower(): value for name, value in labels.items()}
    if labels.get("comparabilitykey"):
        return str(labels["comparabilitykey"])
    parts = {}
    for name in ("datasethash", "splithash", "qrelshash", "queryidshash"):
        if labels.get(name):
            parts[name] = labels[name]
    inputs = labels.get("inputs")
    if isinstance(inputs, dict) and inputs.get("data"):
        parts["data"] = inputs["data"]
    if not parts:
        return None
    return digest([parts, labels.get("metricversion", METRIC_VERSION)])
