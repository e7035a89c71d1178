"""Where runs are, which there are, in what order, and the rows behind their metrics.

Results of a tenant are below ``results/<domain>/tenants/<tenant>/``, without a tenant below
``results/<domain>/``; data likewise below ``data/``. The registry is the folder of ``--runs-root``
if it is given; else ``runs/`` below the results of the domain, if a domain or a tenant is given by
option or by environment; else the whole of ``results/``, without the tenants' folders. The root is
``CASEBOOK_ROOT``, else ``EMBEDDINGSHIFT_ROOT``, else the project's folder, else, for an installed
package without a project, the current one.

Every ``run.json`` below a registry is a run, except below folders whose name starts with ``_`` or
``.`` (the registry's own and unfinished ones) and below ``tenants``.
"""

import datetime
import itertools
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

from casebook import paths
from casebook.errors import Incomparable, InputError
from casebook.files import new_folder, sha256_file, write_json
from casebook.models.device import REFERENCE, ModelSettings
from casebook.readers import DAMAGED, read_json
from casebook.runs.evidence import RECORD, file_hashes, require
from casebook.runs.record import (
    PER_QUERY_PREFIX,
    comparability_key,
    each_number,
    higher_is_better,
    metric_key,
    per_query_name,
    query_groups,
    read_per_query,
    read_record,
    utc,
    write_per_query,
    write_record,
)

DEFAULT_DOMAIN = "insurance"
TENANTS = "tenants"
REQUEST = "run_request.json"
# Where another program of this layout keeps runs that compete only when asked.
REPO = "_repo/MiniInsurance-PosNeg"


@dataclass(frozen=True)
class RegistryFolders:
    """The folders that one command may touch."""

    root: Path
    home: Path
    results: Path
    tenant: str | None = None
    domain: str = DEFAULT_DOMAIN


@dataclass(frozen=True)
class Run:
    """One run of the registry: the part of its record that listing needs."""

    path: str
    run_id: str
    workflow: str
    completed: str
    success: bool = True
    metrics: dict = field(default_factory=dict)
    key: str | None = None
    parameters: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Listing:
    """All runs below one root."""

    root: Path
    runs: list
    unreadable: dict

    def folder(self, run):
        """Give the folder of one run."""
        return self.root / run.path


# --- where


def locate(domain=None, tenant=None, runs_root=None, default=DEFAULT_DOMAIN):
    """Find the folders for a domain, by default `default`, and tenant; creates nothing."""
    if domain and runs_root:
        raise InputError("--domain has no effect with --runs-root: leave one of them out")
    domain = domain or _setting("RESULTS_DOMAIN")
    tenant = tenant or current_tenant()
    results = child_folder(results_root(), domain or default, "domain")
    if tenant:
        results = child_folder(results / TENANTS, tenant, "tenant")
    root = home = results / "runs"
    if runs_root is not None:
        root = home = followed(Path(runs_root))
    elif not (domain or tenant):
        root = results_root()
    check_tenant(root, tenant)
    return RegistryFolders(root, home, results, tenant, domain or default)


def evaluations_folder(tenant=None):
    """Where evaluators write, whatever the domain: ``results``, or the tenant's folder there."""
    if tenant:
        return child_folder(results_root() / TENANTS, tenant, "tenant")
    return results_root()


def current_tenant():
    """Give the tenant that the environment names, checked."""
    return _setting("TENANT")


def results_root():
    """Give the folder of all results."""
    return paths.RESULTS.resolve()


def followed(path):
    """Give a path with its links followed; one that cannot be is refused."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL character
        raise InputError(f"{str(path)!a}: no path that can be followed") from None


def check_tenant(path, tenant):
    """Refuse a folder that belongs to another tenant."""
    others = set(_owners(path)) - {tenant}
    if others:
        raise InputError(
            f"{path}: belongs to tenant {', '.join(sorted(others))}; "
            f"the tenant here is {tenant or 'not set'}"
        )


def _owners(path):
    return [name for parent, name in itertools.pairwise(followed(path).parts) if parent == TENANTS]


def child_folder(parent, name, kind):
    """Give a sub-folder by a checked name, without creating it."""
    name = paths.valid_name(name, kind)
    siblings = [path.name for path in parent.iterdir()] if parent.is_dir() else []
    for sibling in siblings:
        if sibling != name and sibling.casefold() == name.casefold():
            raise InputError(
                f"{kind} {name!r} differs from the existing {sibling!r} in letter case only; "
                "use that or another name"
            )
    return parent / name


def _setting(name):
    for prefix in ("CASEBOOK", "EMBEDDINGSHIFT"):
        value = os.environ.get(f"{prefix}_{name}", "").strip()
        if value:
            return paths.valid_name(value, f"{prefix}_{name}")
    return None


# --- which


def discover(folders, include=()):
    """Read every run below the registry's root, newest first."""
    root = folders.root
    if not root.is_dir():
        raise InputError(
            f"{root}: no such registry; runs appear there once an experiment was run, "
            "or name another with --runs-root"
        )
    runs = []
    unreadable = {}
    for path in [*_records_below(root), *_records_below(*(root / name for name in include))]:
        name = str(path.relative_to(root))
        try:
            record = read_record(path)
        except FileNotFoundError:
            continue  # removed or renamed since its folder was read
        except (InputError, OSError) as error:
            unreadable[name] = str(error).removeprefix(f"{path}: ")
            continue
        if record.tenant and record.tenant != folders.tenant:
            unreadable[name] = f"belongs to tenant {record.tenant}"
            continue
        completed = (record.completed or record.started).astimezone(datetime.UTC)
        run = Run(
            path=name.rpartition("/")[0],
            run_id=record.run_id,
            workflow=record.workflow,
            completed=completed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            success=record.success,
            metrics=record.metrics,
            key=comparability_key(record.labels),
            parameters=_parameters(record.labels),
        )
        runs.append(run)
    runs.sort(key=lambda run: (run.completed, run.run_id, run.path), reverse=True)
    return Listing(root, runs, unreadable)


def _records_below(*roots):
    for root in roots:
        for folder, names, files in os.walk(root):
            names[:] = [
                name for name in names if not name.startswith(("_", ".")) and name != TENANTS
            ]
            if RECORD in files:
                yield Path(folder, RECORD)


# Labels of a shift run that are parameters of a chapter too.
_PARAMETER_LABELS = {
    "dataset": "Dataset",
    "encoder": "Encoder",
    "by": "SplitBy",
    "seed": "Seed",
    "scale": "Scale",
    "device": "Device",
    "precision": "Precision",
}


def _parameters(labels):
    """Give the parameters of an executed notebook or of a shift run; other records have none.

    Device and precision are among them.
    """
    inputs = labels.get("Inputs")
    parameters = inputs.get("parameters") if isinstance(inputs, dict) else None
    if isinstance(parameters, dict):
        parameters = parameters | model_settings_of(inputs)
    if parameters is None and isinstance(labels.get("Parameters"), dict):
        parameters = REFERENCE | labels["Parameters"]
        for name, label in _PARAMETER_LABELS.items():
            if label in labels:
                parameters[name] = labels[label]
    return parameters if isinstance(parameters, dict) else {}


def model_settings_of(inputs):
    """Give device and precision of a record's inputs; earlier versions knew the CPU alone."""
    return {name: inputs.get(name, default) for name, default in REFERENCE.items()}


def differing_parameters(candidate, reference):
    """Give the parameters in which two runs differ: a pair of values by name, None for none."""
    names = candidate.parameters.keys() | reference.parameters.keys()
    pairs = {}
    for name in sorted(names - {"run", "cell"}):
        pair = candidate.parameters.get(name), reference.parameters.get(name)
        if pair[0] != pair[1]:
            pairs[name] = list(pair)
    return pairs


def record_run(folders, record, per_query=None, arguments=None):
    """Write the folder ``<home>/<workflow>/<run id>/`` of a run at once, or nothing."""
    parent = child_folder(folders.home, record.workflow, "workflow")
    final = child_folder(parent, record.run_id, "run id")
    with new_folder(final, "a run is never overwritten") as part:
        labels = dict(record.labels)
        if per_query is not None:
            path = write_per_query(part / per_query_name(), per_query)
            labels["PerQuery"] = {"Path": path.name, "Sha256": sha256_file(path)}
        if arguments is not None:
            device = {}  # variables with which a command runs models on the record's device
            if "Device" in labels:
                device = ModelSettings(labels["Device"], labels["Precision"]).environment()
            request = {
                "globalArgs": [],
                "commandArgs": list(arguments),
                "environmentSnapshot": device,
                "notes": None,
            }
            content = {
                "runId": record.run_id,
                "workflowName": record.workflow,
                "createdUtc": utc(record.started),
                "request": request,
            }
            write_json(part / REQUEST, content)
        outputs = file_hashes(part, sorted(part.iterdir()))
        update = {"labels": labels, "tenant": folders.tenant, "outputs": outputs}
        write_record(part / RECORD, record.model_copy(update=update))
    return final


# --- in what order


def sort_runs(runs, metric):
    """Put runs into the one order that every command uses: score, time, id, folder."""
    return [run for run, _ in sort_runs_by_metric([(run, metric) for run in runs], metric)]


def sort_runs_by_metric(pairs, metric):
    """Sort pairs of a run and one of its metrics, best first; the direction is that of `metric`."""
    sign = 1 if higher_is_better(metric) else -1

    def rank(pair):
        run, key = pair
        score = score_of(run, key)
        score = -math.inf if score is None else sign * score
        return score, run.completed, run.run_id.lower(), run.path

    return sorted(pairs, key=rank, reverse=True)


def score_of(run, metric):
    """Give the score with which a run competes; a failed run has none."""
    return run.metrics.get(metric_key(metric)) if run.success else None


def best_run(runs, metric, force=False):
    """Give the run that wins on a metric."""
    competing = [run for run in sort_runs(runs, metric) if score_of(run, metric) is not None]
    if not competing:
        raise InputError(no_run_holds(runs, metric))
    groups = sorted({short_key(run.key) for run in competing})
    if len(groups) > 1 and not force:
        raise Incomparable(
            f"runs with {metric_key(metric)!r} were measured on different data "
            f"({', '.join(groups)}); choose one with --key, or --force"
        )
    return competing[0]


def no_run_holds(runs, metric):
    """Say that no run holds a metric, and name some metrics that runs hold."""
    name = metric_key(metric)
    line = f"no successful run holds the metric {name!r}"
    metrics = {key for run in runs if run.success for key in run.metrics}
    if not metrics:
        return f"{line}: there are no such runs yet"
    measure = name.rpartition(".")[2]
    similar = {key for key in metrics if key.rpartition(".")[2] == measure}
    choices = sorted(similar or metrics)
    more = f" and {len(choices) - 3} more" if len(choices) > 3 else ""
    return f"{line}: choose with -m, such as {', '.join(choices[:3])}{more}"


def short_key(key):
    """Give the part of a comparability key that tables show."""
    return key[:8] if key else "unknown"


def find_run(listing, name):
    """Find one run by its folder, its id, or the beginning of its id."""
    wanted = str(name).strip().strip("/").lower()
    by_folder = [run for run in listing.runs if run.path.lower() == wanted]
    by_id = [run for run in listing.runs if run.run_id.lower() == wanted]
    by_prefix = [run for run in listing.runs if wanted and run.run_id.lower().startswith(wanted)]
    matches = by_folder or by_id or by_prefix
    if len(matches) > 1:
        folders = ", ".join(run.path for run in matches[:3])
        raise InputError(f"run {name!r} is not unique: name its folder ({folders})")
    if not matches:
        for record, why in listing.unreadable.items():
            folder = record.lower().removesuffix("/run.json")
            if wanted in (folder, folder.rpartition("/")[2]):
                raise InputError(f"{listing.root / record}: {why}")
        raise InputError(f"no run {name!r} below {listing.root}; 'casebook runs list'")
    return matches[0]


# --- the rows behind a metric

TOLERANCE = 2e-6  # stored numbers are rounded to six digits; a mean of such rows differs by less
UNKNOWN_NUMBER = {"n": None, "ci": [None, None], "control": None}


class NoRows(Exception):
    """The run keeps no rows that belong to the metric; the text says why."""


def query_scores(folder, metric):
    """Give score and group of every query behind a metric of a run.

    The rows are in the file that the label ``PerQuery`` names, in the one ``eval.perQuery*.json``
    of the folder, or in the rows of the report. They count only if their mean is the metric: a
    table may hold other queries, such as a held-out half. A run of which any output is gone or was
    altered is refused.
    """
    record = require(folder)
    metric = metric_key(metric)
    value = record.metric(metric)
    if value is None:
        raise NoRows(f"{folder.name} holds no value of {metric!r}")
    path = _per_query_file(folder, record)
    if path is None:
        frame, column = _rows_of_report(folder, metric)
    else:
        frame, column = _rows_of_command(path, metric)
    try:
        scores = frame[column].astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{path or folder}: {column} is not a number in every record") from None
    rows = scores.rename("score").to_frame().assign(group=query_groups(frame))
    # What is undefined did not enter the metric either.
    rows = rows.set_axis(frame["QueryId"].astype(str)).dropna().sort_index()
    mean = rows["score"].mean()
    if not abs(mean - value) <= TOLERANCE:
        raise NoRows(f"the rows' mean is {mean:.6f}, the metric {value}")
    return rows


def _per_query_file(folder, record):
    """Find the rows of a run that a command made; None for a chapter of a report."""
    labels = {str(name).lower(): value for name, value in record.labels.items()}
    label = labels.get("perquery")
    if label is None:
        files = sorted(folder.glob(f"{PER_QUERY_PREFIX}*.json"))
        if len(files) > 1:
            raise NoRows("several eval.perQuery files: name one in the label PerQuery")
        return files[0] if files else None
    if not isinstance(label, dict) or not isinstance(label.get("Path"), str):
        raise InputError(f"{folder / RECORD}: PerQuery must hold Path and Sha256")
    path = followed(folder / label["Path"])
    check_tenant(path, next(iter(_owners(folder)), None))
    if not path.is_file():
        raise InputError(
            f"{path}: is gone, and the run names it as its rows: restore it from a copy"
        )
    if label.get("Sha256") and sha256_file(path) != label["Sha256"]:
        raise InputError(f"{path}: changed since the run recorded it")
    return path


def _rows_of_command(path, metric):
    """Give documented rows, and their column for a metric."""
    frame = read_per_query(path)
    documented = {"map@1": "Ap1", "rr": "Ap1", "mrr": "Ap1", "ndcg@3": "Ndcg3"}
    wanted = documented.get(metric, metric.replace("@", "")).lower()
    column = next((name for name in frame if name.lower() == wanted), None)
    if column is None:
        raise NoRows(f"{path.name} has no field for {metric!r}")
    return frame.assign(QueryId=frame["QueryId"].astype(str).str.lower()), column


def _rows_of_report(folder, metric):
    """Give the rows of a chapter's system, and their column for a metric.

    A metric ``<dataset>.<system>.<measure>`` names both.
    """
    path = folder.parents[1] / "rows" / f"{folder.name}.csv.gz"
    if folder.parent.name != "runs" or not path.is_file():
        raise NoRows("the run keeps no rows per query")
    table = read_rows(path)
    if not {"query_id", "system"} <= set(table.columns):
        raise NoRows(f"{path.name} has no query_id and system")
    for system in table["system"].unique():
        for column in table.columns:
            if metric.endswith(f".{system}.{column}".lower()):
                rows = table[table["system"] == system]
                if not rows["query_id"].is_unique:
                    raise NoRows(f"{path.name} holds several rows per query")
                return rows.rename(columns={"query_id": "QueryId"}), column
    raise NoRows(f"{path.name} has no column and system for {metric!r}")


def read_rows(path):
    """Read rows as chapters keep them; ids and names stay text, of which one may be "NA"."""
    import pandas as pd

    from casebook.sheets import table_from_csv

    texts = dict.fromkeys(("query_id", "system", "group"), str)
    try:
        table = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    except (*DAMAGED, OSError, ValueError) as error:
        raise InputError(f"{path}: not a table of rows: {error}") from None
    return table_from_csv(table)


def reported_number(folder, metric):
    """Give n, interval and control of a run's metric: as its chapter reported them, or by rows."""
    metric = metric_key(metric)
    value = require(folder).metric(metric)
    number = _chapter_numbers(folder).get(metric, {})
    reported = None not in (value, number.get("value"))
    if reported and abs(number["value"] - value) <= TOLERANCE:
        return {name: number.get(name) for name in ("n", "ci", "control", "reason")}
    try:
        rows = query_scores(folder, metric)
    except NoRows as reason:
        return UNKNOWN_NUMBER | {"reason": str(reason)}
    from casebook.stats.intervals import bootstrap_mean

    number = bootstrap_mean(rows["score"].to_numpy(), clusters=rows["group"]).number()
    return UNKNOWN_NUMBER | {name: number[name] for name in ("n", "ci", "reason")}


def _chapter_numbers(folder):
    """Read the numbers of a report's chapter, by metric key ``<dataset>.<system>.<measure>``."""
    path = folder.parents[1] / "numbers" / f"{folder.name}.json"
    if folder.parent.name != "runs" or not path.is_file():
        return {}
    numbers = each_number(read_json(path))
    return {
        ".".join(names[1:]).lower(): number for names, number in numbers if isinstance(number, dict)
    }
