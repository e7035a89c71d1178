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
from casebook.files import new_folder
from casebook.models.device import REFERENCE
from casebook.readers import read_json
from casebook.runs.record import (
    PER_QUERY_PREFIX,
    RECORD,
    comparability_key,
    each_number,
    file_hashes,
    groups_of,
    higher_is_better,
    metric_key,
    per_query_name,
    read_per_query,
    read_record,
    require,
    utc,
    write_per_query,
    write_record,
)
from casebook.sheets import table_from_csv
from casebook.stats.intervals import bootstrap_mean

TENANTS = "tenants"

# --- where

RegistryFolders = namedtuple("RegistryFolders", "root home results tenant")


def locate(domain=None, tenant=None, runs_root=None, default="insurance"):
    """Folders of a domain, by default `default`, and of a tenant; creates nothing."""
    if domain and runs_root:
        raise InputError(
            "--domain has no effect with --runs-root: leave one of them out"
        )
    domain = domain or _setting("RESULTS_DOMAIN")
    tenant = tenant or current_tenant()
    results = evaluations_folder() / paths.valid_name(domain or default, "domain")
    if tenant:
        results = results / TENANTS / paths.valid_name(tenant, "tenant")
    root = home = results / "runs"
    if runs_root is not None:
        root = home = Path(runs_root).resolve()
    elif not (domain or tenant):
        root = evaluations_folder()
    check_tenant(root, tenant)
    return RegistryFolders(root, home, results, tenant)


def evaluations_folder(tenant=None):
    root = paths.RESULTS.resolve()
    return root / TENANTS / paths.valid_name(tenant, "tenant") if tenant else root


def current_tenant():
    return _setting("TENANT")


def check_tenant(path, tenant):
    folders = itertools.pairwise(Path(path).resolve().parts)
    others = {name for parent, name in folders if parent == TENANTS} - {tenant}
    if others:
        raise InputError(f"{path}: belongs to tenant {', '.join(sorted(others))}")


def _setting(name):
    ours, theirs = (
        os.environ.get(f"{prefix}_{name}") for prefix in ("CASEBOOK", "EMBEDDINGSHIFT")
    )
    return ours or theirs


# --- which

RUN_COLUMNS = ["path", "run", "workflow", "completed", "success", "key"]
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
        return self.frame.drop_duplicates("path", ignore_index=True)[RUN_COLUMNS]

    def folder(self, run):
        return self.root / run["path"]

    def score(self, run, metric):
        """The score with which a run competes, or None; a failed run has none."""
        rows = ranked(self, metric)
        values = rows.loc[rows["path"] == run["path"], "score"]
        return None if values.empty else float(values.iloc[0])


def discover(folders):
    root = folders.root
    if not root.is_dir():
        raise InputError(
            f"{root}: no such registry: run an experiment, or name --runs-root"
        )
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
    """Paths of records; folders that are being written, and vanish meanwhile, are passed over."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name[0] not in "_." and name != TENANTS]
        if RECORD in files:
            yield Path(folder, RECORD)


def model_settings_of(inputs):
    return {name: inputs.get(name, default) for name, default in REFERENCE.items()}


def short_key(key):
    return key[:8] or "unknown"


def find_run(listing, name):
    wanted = str(name).strip().strip("/").lower()
    runs = listing.runs
    names = runs["run"].str.lower()
    in_folder = runs["path"].str.lower() == wanted
    for fits in (in_folder, names == wanted, names.str.startswith(wanted or "/")):
        found = runs[fits]
        if not found.empty:
            break
    if found.empty:
        raise InputError(
            f"no run {name!r} below {listing.root}: see casebook runs list"
        )
    if len(found) > 1:
        folders = ", ".join(found["path"][:3])
        raise InputError(f"run {name!r} is not unique: name its folder ({folders})")
    return found.iloc[0]


def record_run(folders, record, per_query=None):
    """Write the folder ``<home>/<workflow>/<run id>/`` of a run at once, or nothing."""
    workflow = paths.valid_name(record.workflow, "workflow")
    final = folders.home / workflow / paths.valid_name(record.run_id, "run id")
    with new_folder(final, "a run is never overwritten") as part:
        if per_query is not None:
            write_per_query(part / per_query_name(), per_query)
        outputs = file_hashes(part, sorted(part.iterdir()))
        update = {"tenant": folders.tenant, "outputs": outputs}
        write_record(part / RECORD, record.model_copy(update=update))
    return final


# --- in what order


def ranked(listing, metric):
    """Successful runs that hold a metric, best first: by score, time, id, folder.

    A ``*`` in the metric is any text.
    """
    pattern = metric_key(metric)
    frame = listing.frame
    fits = frame["metric"].str.fullmatch(fnmatch.translate(pattern))
    rows = (
        frame[fits & frame["success"]]
        .dropna(subset="value")
        .rename(columns={"value": "score"})
    )
    rows["id"] = rows["run"].str.lower()
    order = ["score", "completed", "id", "path"]
    ascending = [not higher_is_better(pattern), False, False, False]
    return rows.sort_values(order, ascending=ascending, ignore_index=True).drop(
        columns="id"
    )


def best_run(rows, metric):
    if rows.empty:
        raise InputError(f"no successful run holds the metric {metric_key(metric)!r}")
    keys = sorted({short_key(key) for key in rows["key"]})
    if len(keys) > 1:
        data = ", ".join(keys)
        raise Incomparable(
            f"runs were measured on different data ({data}): name one with --run"
        )
    return rows.iloc[0]


# --- the rows behind a metric

# Stored numbers are rounded to six digits; a mean of such rows differs by less.
TOLERANCE = 2e-6


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
    if files:
        rows = read_per_query(files[0])
        queries = rows["QueryId"].str.lower()
        measure = _DOCUMENTED.get(metric, metric.replace("@", ""))
    else:
        rows, measure = _rows_of_report(folder, metric)
        queries = rows["query_id"]
    by_name = rows.set_axis(rows.columns.str.lower(), axis=1)
    if measure not in by_name or queries.duplicated().any():
        raise NoRows(f"no row a query for {metric!r}")
    groups = groups_of(by_name.reindex(columns=["group"])["group"], queries)
    scores = pd.to_numeric(by_name[measure], errors="coerce")
    rows = pd.DataFrame({"score": scores, "group": groups}).set_axis(queries)
    # What is undefined did not enter the metric either.
    rows = rows.dropna().sort_index()
    mean = rows["score"].mean()
    if not abs(mean - value) <= TOLERANCE:
        raise NoRows(f"the rows' mean is {mean:.6f}, the metric {value}")
    return rows


_DOCUMENTED = {"map@1": "ap1", "rr": "ap1", "mrr": "ap1", "ndcg@3": "ndcg3"}


def _rows_of_report(folder, metric):
    """Rows of the system in ``<dataset>.<system>.<measure>``, and the measure."""
    path = folder.parents[1] / "rows" / f"{folder.name}.csv.gz"
    if folder.parent.name != "runs" or not path.is_file():
        raise NoRows("the run keeps no rows per query")
    # Ids and names stay text, of which one may be "NA".
    texts = dict.fromkeys(("query_id", "system", "group"), str)
    table = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    table = table_from_csv(table).reindex(columns=list(dict.fromkeys([*table, *texts])))
    _, system, measure = metric.split(".", 2)
    return table[table["system"].str.lower() == system], measure


def reported_number(folder, metric):
    """n, interval and control of a run's metric: as its chapter reported them, or by rows."""
    metric = metric_key(metric)
    value = require(folder).metrics.get(metric)
    path = folder.parents[1] / "numbers" / f"{folder.name}.json"
    numbers = each_number(read_json(path)) if path.is_file() else ()
    for names, number in numbers:
        if (
            ".".join(names[1:]).lower() == metric
            and abs(number["value"] - value) <= TOLERANCE
        ):
            low, high = number["ci"]
            return number | {"low": low, "high": high}
    try:
        rows = query_scores(folder, metric)
    except NoRows as reason:
        return {"reason": str(reason)}
    interval = bootstrap_mean(rows["score"].to_numpy(), clusters=rows["group"])
    return interval.row() | {"reason": interval.reason}
