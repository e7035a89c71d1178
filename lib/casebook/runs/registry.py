"""Where runs are, which there are, in what order, and the rows behind their metrics.

Results of a tenant are below ``results/<domain>/tenants/<tenant>/``, without a tenant below
``results/<domain>/``. The registry is the folder of ``--runs-root`` if it is given; else ``runs/``
below the results of the domain, if a domain or a tenant is given by option or by environment; else
the whole of ``results/``, without the tenants' folders. The root is ``CASEBOOK_ROOT``, else
``EMBEDDINGSHIFT_ROOT``, else the project's folder, else, for an installed package without a
project, the current one.

Every ``run.json`` below a registry is a run, except below folders whose name starts with ``_`` or
``.`` (the registry's own and unfinished ones) and below ``tenants``.
"""

import fnmatch
import itertools
import os
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.errors import Incomparable, InputError
from casebook.files import new_folder, sha256_file
from casebook.models.device import REFERENCE
from casebook.readers import read_json
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
from casebook.sheets import table_from_csv
from casebook.stats.intervals import bootstrap_mean

DEFAULT_DOMAIN = "insurance"
TENANTS = "tenants"

# --- where

RegistryFolders = namedtuple("RegistryFolders", "root home results tenant domain")


def locate(domain=None, tenant=None, runs_root=None, default=DEFAULT_DOMAIN):
    """Folders of a domain, by default `default`, and of a tenant; creates nothing."""
    if domain and runs_root:
        raise InputError("--domain has no effect with --runs-root: leave one of them out")
    domain = domain or _setting("RESULTS_DOMAIN")
    tenant = tenant or current_tenant()
    results = child_folder(results_root(), domain or default, "domain")
    if tenant:
        results = child_folder(results / TENANTS, tenant, "tenant")
    root = home = results / "runs"
    if runs_root is not None:
        root = home = Path(runs_root).resolve()
    elif not (domain or tenant):
        root = results_root()
    check_tenant(root, tenant)
    return RegistryFolders(root, home, results, tenant, domain or default)


def evaluations_folder(tenant=None):
    root = results_root()
    return child_folder(root / TENANTS, tenant, "tenant") if tenant else root


def current_tenant():
    return _setting("TENANT")


def results_root():
    return paths.RESULTS.resolve()


def check_tenant(path, tenant):
    """Refuse a folder that belongs to another tenant."""
    folders = itertools.pairwise(Path(path).resolve().parts)
    others = {name for parent, name in folders if parent == TENANTS} - {tenant}
    if others:
        raise InputError(f"{path}: belongs to tenant {', '.join(sorted(others))}")


def child_folder(parent, name, kind):
    return parent / paths.valid_name(name, kind)


def _setting(name):
    for prefix in ("CASEBOOK", "EMBEDDINGSHIFT"):
        value = os.environ.get(f"{prefix}_{name}", "").strip()
        if value:
            return paths.valid_name(value, f"{prefix}_{name}")
    return None


# --- which

RUN_COLUMNS = ["path", "run", "workflow", "completed", "success", "key", "parameters"]
METRIC = r"^(?:(?P<dataset>[^.]+)\.(?P<system>[^.]+)\.)?(?P<measure>.*)$"


@dataclass(frozen=True)
class Listing:
    """All runs below one root.

    ``frame`` has a row a run and metric, newest first: `RUN_COLUMNS`, metric, data set, system,
    measure, value. A run without metrics has one row.
    """

    root: Path
    frame: pd.DataFrame
    unreadable: dict

    @property
    def runs(self):
        """A row a run."""
        return self.frame.drop_duplicates("path", ignore_index=True)[RUN_COLUMNS]

    def folder(self, run):
        return self.root / run["path"]

    def score(self, run, metric):
        """The score with which a run competes, or None; a failed run has none."""
        of_run = self.frame[(self.frame["path"] == run["path"]) & self.frame["success"]]
        values = of_run.loc[of_run["metric"] == metric_key(metric), "value"].dropna()
        return float(values.iloc[0]) if len(values) else None


def discover(folders):
    """Every run below the registry's root, newest first."""
    root = folders.root
    if not root.is_dir():
        raise InputError(f"{root}: no such registry: run an experiment, or name --runs-root")
    rows = []
    unreadable = {}
    for path in _records_below(root):
        name = str(path.relative_to(root))
        try:
            record = read_record(path)
        except InputError as error:
            unreadable[name] = str(error).removeprefix(f"{path}: ")
            continue
        if record.tenant and record.tenant != folders.tenant:
            unreadable[name] = f"belongs to tenant {record.tenant}"
            continue
        run = {
            "path": name.rpartition("/")[0],
            "run": record.run_id,
            "workflow": record.workflow,
            "completed": utc(record.completed or record.started),
            "success": record.success,
            "key": comparability_key(record.labels) or "",
            "parameters": _parameters(record.labels),
        }
        for metric, value in (record.metrics or {"": None}).items():
            rows.append(run | {"metric": metric, "value": value})
    frame = pd.DataFrame(rows, columns=[*RUN_COLUMNS, "metric", "value"])
    frame = frame.astype({"value": float, "success": bool, "metric": str})
    frame = frame.join(frame["metric"].str.extract(METRIC))
    order = ["completed", "run", "path"]
    frame = frame.sort_values(order, ascending=False, kind="stable", ignore_index=True)
    return Listing(root, frame, unreadable)


def _records_below(root):
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name[0] not in "_." and name != TENANTS]
        if RECORD in files:
            yield Path(folder, RECORD)


# Parameters of a chapter or of a shift run, device and precision among them.
def _parameters(labels):
    named = ("Dataset", "Encoder", "SplitBy", "Seed", "Scale", "Device", "Precision")
    parameters = {name.lower(): labels[name] for name in named if name in labels}
    inputs = _mapping(labels.get("Inputs"))
    parameters |= _mapping(labels.get("Parameters")) | _mapping(inputs.get("parameters"))
    parameters = model_settings_of(inputs) | parameters
    return {name: value for name, value in parameters.items() if name not in ("run", "cell")}


def _mapping(value):
    return value if isinstance(value, dict) else {}


def model_settings_of(inputs):
    return {name: inputs.get(name, default) for name, default in REFERENCE.items()}


def short_key(key):
    return key[:8] or "unknown"


def find_run(listing, name):
    """One run by its folder, its id, or the beginning of its id."""
    wanted = str(name).strip().strip("/").lower()
    runs = listing.runs
    ids = runs["run"].str.lower()
    begins = ids.str.startswith(wanted or " ")
    for fits in (runs["path"].str.lower() == wanted, ids == wanted, begins):
        if fits.sum() > 1:
            folders = ", ".join(runs.loc[fits, "path"][:3])
            raise InputError(f"run {name!r} is not unique: name its folder ({folders})")
        if fits.any():
            return runs[fits].iloc[0]
    raise InputError(f"no run {name!r} below {listing.root}: see casebook runs list")


def record_run(folders, record, per_query=None):
    """Write the folder ``<home>/<workflow>/<run id>/`` of a run at once, or nothing."""
    parent = child_folder(folders.home, record.workflow, "workflow")
    final = child_folder(parent, record.run_id, "run id")
    with new_folder(final, "a run is never overwritten") as part:
        labels = dict(record.labels)
        if per_query is not None:
            path = write_per_query(part / per_query_name(), per_query)
            labels["PerQuery"] = {"Path": path.name, "Sha256": sha256_file(path)}
        outputs = file_hashes(part, sorted(part.iterdir()))
        update = {"labels": labels, "tenant": folders.tenant, "outputs": outputs}
        write_record(part / RECORD, record.model_copy(update=update))
    return final


# --- in what order


def ranked(
    listing,
    metric,
    *,
    workflow=None,
    key=None,
    keep_others=False,
):
    """Runs that hold a metric, best first: by score, time, id, folder.

    A ``*`` in the metric is any text; ``workflow`` and the beginning of a comparability ``key``
    choose among the runs. Runs that lack the metric or failed come last, if they are kept; they
    have no ``score``.
    """
    pattern = metric_key(metric)
    frame = listing.frame
    rows = frame[frame["metric"].str.fullmatch(fnmatch.translate(pattern))]
    if keep_others and "*" not in pattern:
        others = listing.runs[~listing.runs["path"].isin(rows["path"])]
        rows = pd.concat([rows, others.assign(metric=pattern)])
    rows = rows.assign(score=rows["value"].where(rows["success"]), id=rows["run"].str.lower())
    if not keep_others:
        rows = rows.dropna(subset="score")
    if workflow:
        rows = rows[rows["workflow"].str.lower() == workflow.lower()]
    rows = rows[rows["key"].str.startswith(key or "")]
    order = ["score", "completed", "id", "path"]
    ascending = [not higher_is_better(pattern), False, False, False]
    return rows.sort_values(order, ascending=ascending, ignore_index=True).drop(columns="id")


def best_run(rows, metric, force=False):
    """The run that wins, of rows that `ranked` gave."""
    if rows.empty:
        raise InputError(f"no successful run holds the metric {metric_key(metric)!r}")
    keys = sorted({short_key(key) for key in rows["key"]})
    if len(keys) > 1 and not force:
        problem = f"runs were measured on different data ({', '.join(keys)})"
        raise Incomparable(f"{problem}: choose one with --key, or --force")
    return rows.iloc[0]


# --- the rows behind a metric

TOLERANCE = 2e-6  # stored numbers are rounded to six digits; a mean of such rows differs by less


class NoRows(Exception):
    """The run keeps no rows that belong to the metric; the text says why."""


def query_scores(folder, metric):
    """Score and group of every query behind a metric of a run.

    The rows are in the one ``eval.perQuery*.json`` of the folder, or in the rows of the report.
    They count only if their mean is the metric: a table may hold other queries, such as a held-out
    half. A run of which any output is gone or was altered is refused.
    """
    metric = metric_key(metric)
    value = require(folder).metrics.get(metric)
    if value is None:
        raise NoRows(f"{folder.name} holds no value of {metric!r}")
    files = sorted(folder.glob(f"{PER_QUERY_PREFIX}*.json"))
    if len(files) > 1:
        raise NoRows(f"several {PER_QUERY_PREFIX} files")
    frame, scores = _rows_of_command(files[0], metric) if files else _rows_of_report(folder, metric)
    scores = pd.to_numeric(scores, errors="coerce")
    rows = pd.DataFrame({"score": scores, "group": query_groups(frame)})
    # What is undefined did not enter the metric either.
    rows = rows.set_axis(frame["QueryId"].astype(str)).dropna().sort_index()
    mean = rows["score"].mean()
    if not abs(mean - value) <= TOLERANCE:
        raise NoRows(f"the rows' mean is {mean:.6f}, the metric {value}")
    return rows


def _rows_of_command(path, metric):
    frame = read_per_query(path)
    documented = {"map@1": "Ap1", "rr": "Ap1", "mrr": "Ap1", "ndcg@3": "Ndcg3"}
    wanted = documented.get(metric, metric.replace("@", "")).lower()
    column = next((name for name in frame if name.lower() == wanted), None)
    if column is None:
        raise NoRows(f"{path.name} has no field for {metric!r}")
    return frame.assign(QueryId=frame["QueryId"].astype(str).str.lower()), frame[column]


# Rows of a chapter's system: ``<dataset>.<system>.<measure>`` names it and their scores.
def _rows_of_report(folder, metric):
    path = folder.parents[1] / "rows" / f"{folder.name}.csv.gz"
    if folder.parent.name != "runs" or not path.is_file():
        raise NoRows("the run keeps no rows per query")
    # Ids and names stay text, of which one may be "NA".
    texts = dict.fromkeys(("query_id", "system", "group"), str)
    table = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    table = table_from_csv(table).rename(columns={"query_id": "QueryId"})
    parts = table.groupby("system") if {"QueryId", "system"} <= set(table) else ()
    for system, rows in parts:
        for column in rows:
            if metric.endswith(f".{system}.{column}".lower()) and rows["QueryId"].is_unique:
                return rows, rows[column]
    raise NoRows(f"{path.name} has no row a query for {metric!r}")


def reported_number(folder, metric):
    """n, interval and control of a run's metric: as its chapter reported them, or by rows."""
    metric = metric_key(metric)
    value = require(folder).metrics.get(metric)
    path = folder.parents[1] / "numbers" / f"{folder.name}.json"
    numbers = each_number(read_json(path)) if path.is_file() else ()
    for names, number in numbers:
        if ".".join(names[1:]).lower() == metric and abs(number["value"] - value) <= TOLERANCE:
            low, high = number["ci"]
            return number | {"low": low, "high": high}
    try:
        rows = query_scores(folder, metric)
    except NoRows as reason:
        return {"reason": str(reason)}
    interval = bootstrap_mean(rows["score"].to_numpy(), clusters=rows["group"])
    return interval.row() | {"reason": interval.reason}
