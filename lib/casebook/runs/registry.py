"""Where runs lie, which there are, in what order, and the rows behind their metrics.

Results of a tenant lie below ``results/<domain>/tenants/<tenant>/``, without a tenant below ``results/<domain>/``; data
likewise below ``data/``. The registry is the folder of ``--runs-root`` if it is given; else ``runs/`` below the results
of the domain, if a domain or a tenant is given by option or by environment; else the whole of ``results/``, without the
tenants' folders. The root is ``CASEBOOK_ROOT``, else ``EMBEDDINGSHIFT_ROOT``, else the project's folder, else, for an
installed package without a project, the current one.

Every ``run.json`` below a registry is a run, except below folders whose name starts with ``_`` or ``.`` (the
registry's own and unfinished ones) and below ``tenants``.
"""

import datetime
import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path

from casebook import paths
from casebook.errors import Incomparable, InputError
from casebook.files import new_folder, sha256_file, write_json
from casebook.readers import DAMAGED, read_json
from casebook.runs.evidence import file_hashes, require
from casebook.runs.record import (
    PREFIX,
    canonical,
    comparability_key,
    higher_is_better,
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
REPO = "_repo/MiniInsurance-PosNeg"  # where another program of this layout keeps runs that compete only when asked


@dataclass(frozen=True)
class Layout:
    """The folders that one command may touch."""

    root: Path
    home: Path
    results: Path
    tenant: str | None = None


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


def locate(domain=None, tenant=None, runs_root=None):
    """Find the folders for a domain and tenant; creates nothing."""
    if domain and runs_root:
        raise InputError("--domain has no effect with --runs-root: leave one of them out")
    domain = domain or _setting("RESULTS_DOMAIN")
    tenant = tenant or current_tenant()
    results = child_folder(results_root(), domain or DEFAULT_DOMAIN, "domain")
    if tenant:
        results = child_folder(results / TENANTS, tenant, "tenant")
    root = home = results / "runs"
    if runs_root is not None:
        root = home = followed(Path(runs_root))
        paths.refuse_whole_disk(root)
    elif not (domain or tenant):
        root = results_root()
    check_tenant(root, tenant)
    return Layout(root, home, results, tenant)


def current_tenant():
    """Give the tenant that the environment names, checked."""
    return _setting("TENANT")


def results_root():
    """Give the folder of all results; the current folder's when the package is not inside a project."""
    folder = paths.RESULTS
    chosen = {"CASEBOOK_ROOT", "EMBEDDINGSHIFT_ROOT"} & set(os.environ)
    if chosen or folder.is_dir() or (folder.parent / "pyproject.toml").is_file():
        return folder.resolve()
    return Path.cwd() / folder.name


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
            f"{path}: belongs to tenant {', '.join(sorted(others))}; the tenant here is {tenant or 'not set'}"
        )


def _owners(path):
    return [name for parent, name in itertools.pairwise(followed(path).parts) if parent == TENANTS]


def child_folder(parent, name, kind):
    """Give a sub-folder by a checked name, without creating it."""
    name = paths.valid_name(name, kind)
    siblings = [p.name for p in parent.iterdir()] if parent.is_dir() else []
    twins = [s for s in siblings if s != name and s.casefold() == name.casefold()]
    if twins:
        raise InputError(
            f"{kind} {name!r} differs from the existing {twins[0]!r} in letter case only; use that or another name"
        )
    return parent / name


def _setting(name):
    for prefix in ("CASEBOOK", "EMBEDDINGSHIFT"):
        value = os.environ.get(f"{prefix}_{name}", "").strip()
        if value:
            return paths.valid_name(value, f"{prefix}_{name}")
    return None


# --- which


def discover(layout, include=()):
    """Read every run below the registry's root, newest first."""
    root = layout.root
    if not root.is_dir():
        raise InputError(
            f"{root}: no such registry; runs appear there once an experiment was run, or name another with --runs-root"
        )
    runs, unreadable = [], {}
    for path in itertools.chain(
        _records_below(root), *(_records_below(root / name) for name in include)
    ):
        place = str(path.relative_to(root))
        try:
            record = read_record(path)
        except FileNotFoundError:
            continue  # removed or renamed since its folder was read
        except (InputError, OSError) as error:
            unreadable[place] = str(error).removeprefix(f"{path}: ")
            continue
        if record.tenant and record.tenant != layout.tenant:
            unreadable[place] = f"belongs to tenant {record.tenant}"
            continue
        moment = (record.completed or record.started).astimezone(datetime.UTC)
        run = Run(
            path=place.rpartition("/")[0],
            run_id=record.run_id,
            workflow=record.workflow,
            completed=moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            success=record.success,
            metrics=record.metrics,
            key=comparability_key(record.labels),
            parameters=_parameters(record.labels),
        )
        runs.append(run)
    runs.sort(key=lambda run: (run.completed, run.run_id, run.path), reverse=True)
    return Listing(root, runs, unreadable)


def _parameters(labels):
    """Give the parameters of an executed notebook or of a shift run; a record of another program has none."""
    inputs = labels.get("Inputs")
    found = inputs.get("parameters") if isinstance(inputs, dict) else None
    if found is None and isinstance(labels.get("Parameters"), dict):
        named = {
            "dataset": "Dataset",
            "encoder": "Encoder",
            "by": "SplitBy",
            "seed": "Seed",
            "scale": "Scale",
        }
        found = labels["Parameters"] | {
            name: labels[key] for name, key in named.items() if key in labels
        }
    return found if isinstance(found, dict) else {}


def _records_below(root):
    for place, folders, files in os.walk(root):
        folders[:] = [
            name for name in folders if not name.startswith(("_", ".")) and name != TENANTS
        ]
        if "run.json" in files:
            yield Path(place, "run.json")


def record_run(layout, record, per_query=None, arguments=None):
    """Write ``<home>/<workflow>/<run id>/`` with all that belongs to a run: the whole folder at once, or nothing."""
    parent = child_folder(layout.home, record.workflow, "workflow")
    final = child_folder(parent, record.run_id, "run id")
    with new_folder(final, "a run is never overwritten") as part:
        labels = dict(record.labels)
        if per_query is not None:
            path = write_per_query(part / per_query_name(), per_query)
            labels["PerQuery"] = {"Path": path.name, "Sha256": sha256_file(path)}
        if arguments is not None:
            request = {
                "globalArgs": [],
                "commandArgs": list(arguments),
                "environmentSnapshot": {},
                "notes": None,
            }
            named = {
                "runId": record.run_id,
                "workflowName": record.workflow,
                "createdUtc": utc(record.started),
            }
            write_json(part / REQUEST, named | {"request": request})
        outputs = file_hashes(part, sorted(part.iterdir()))
        update = {"labels": labels, "tenant": layout.tenant, "outputs": outputs}
        write_record(part / "run.json", record.model_copy(update=update))
    return final


# --- in what order


def order(runs, metric):
    """Put runs into the one order that every command uses: score, time, id, place."""
    return [run for run, _ in ordered([(run, metric) for run in runs], metric)]


def ordered(pairs, metric):
    """Put pairs of a run and one of its metrics into that order; the direction is that of `metric`."""
    sign = 1 if higher_is_better(metric) else -1

    def place(pair):
        run, key = pair
        score = score_of(run, key)
        beaten = (0, 0.0) if score is None else (1, sign * score)
        return *beaten, run.completed, run.run_id.lower(), run.path

    return sorted(pairs, key=place, reverse=True)


def score_of(run, metric):
    """Give the score with which a run competes; a failed run has none."""
    return run.metrics.get(canonical(metric)) if run.success else None


def best(runs, metric, force=False):
    """Give the run that wins on a metric."""
    competing = [run for run in order(runs, metric) if score_of(run, metric) is not None]
    if not competing:
        raise InputError(no_run_holds(runs, metric))
    groups = ", ".join(sorted({short_key(run.key) for run in competing}))
    if "," in groups and not force:
        raise Incomparable(
            f"runs with {canonical(metric)!r} were measured on different data "
            f"({groups}); choose one with --key, or --force"
        )
    return competing[0]


def no_run_holds(runs, metric):
    """Say that nothing holds a metric, and name some that are held."""
    name = canonical(metric)
    held = {key for run in runs if run.success for key in run.metrics}
    shown = sorted(
        {key for key in held if key.rpartition(".")[2] == name.rpartition(".")[2]} or held
    )
    line = f"no successful run holds the metric {name!r}"
    if not shown:
        return f"{line}: there are no such runs yet"
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{line}: choose with -m, such as {', '.join(shown[:3])}{more}"


def short_key(key):
    """Give the part of a comparability key that is shown."""
    return key[:8] if key else "unknown"


def find(listing, name):
    """Find one run by its folder, its id, or the beginning of its id."""
    wanted = str(name).strip().strip("/").lower()
    found = (
        [run for run in listing.runs if run.path.lower() == wanted]
        or [run for run in listing.runs if run.run_id.lower() == wanted]
        or [run for run in listing.runs if wanted and run.run_id.lower().startswith(wanted)]
    )
    if len(found) > 1:
        places = ", ".join(run.path for run in found[:3])
        raise InputError(f"run {name!r} is not unique: name its folder ({places})")
    if not found:
        for place, why in listing.unreadable.items():
            folder = place.lower().removesuffix("/run.json")
            if wanted in (folder, folder.rpartition("/")[2]):
                raise InputError(f"{listing.root / place}: {why}")
        raise InputError(f"no run {name!r} below {listing.root}; 'casebook runs list'")
    return found[0]


# --- the rows behind a metric

TOLERANCE = 2e-6  # stored numbers are rounded to six digits; a mean of such rows differs by less
UNKNOWN = {"n": None, "ci": [None, None], "control": None}


class NoRows(Exception):
    """The run keeps no rows that belong to the metric; the text says why."""


def query_scores(folder, metric):
    """Give score and group of every query behind a metric of a run.

    The rows are in the file that the label ``PerQuery`` names, in the one ``eval.perQuery*.json`` of the folder, or in
    the rows of the report. They count only if their mean is the metric: a table may hold other queries, such as a
    held-out half. A run of which any output is gone or was altered is refused.
    """
    record = require(folder)
    metric = canonical(metric)
    value = record.metric(metric)
    if value is None:
        raise NoRows(f"{folder.name} holds no value of {metric!r}")
    path = _per_query_file(folder, record)
    frame, column = _of_report(folder, metric) if path is None else _of_queries(path, metric)
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
    """Find the file of a run that a command made; None for a chapter of a report."""
    place = {str(name).lower(): value for name, value in record.labels.items()}.get("perquery")
    if place is None:
        found = sorted(folder.glob(f"{PREFIX}*.json"))
        if len(found) > 1:
            raise NoRows("several eval.perQuery files: name one in the label PerQuery")
        return found[0] if found else None
    if not isinstance(place, dict) or not isinstance(place.get("Path"), str):
        raise InputError(f"{folder / 'run.json'}: PerQuery must hold Path and Sha256")
    path = followed(folder / place["Path"])
    check_tenant(path, next(iter(_owners(folder)), None))
    if not path.is_file():
        raise InputError(
            f"{path}: is gone, and the run names it as its rows: restore it from a copy"
        )
    if place.get("Sha256") and sha256_file(path) != place["Sha256"]:
        raise InputError(f"{path}: changed since the run recorded it")
    return path


def _of_queries(path, metric):
    """Give documented rows, and their column for a metric."""
    frame = read_per_query(path)
    documented = {"map@1": "Ap1", "rr": "Ap1", "mrr": "Ap1", "ndcg@3": "Ndcg3"}
    wanted = documented.get(metric, metric.replace("@", "")).lower()
    column = next((name for name in frame if name.lower() == wanted), None)
    if column is None:
        raise NoRows(f"{path.name} has no field for {metric!r}")
    return frame.assign(QueryId=frame["QueryId"].astype(str).str.lower()), column


def _of_report(folder, metric):
    """Give the rows of a report's chapter: ``<dataset>.<system>.<measure>`` names system and column."""
    path = folder.parents[1] / "rows" / f"{folder.name}.csv.gz"
    if folder.parent.name != "runs" or not path.is_file():
        raise NoRows("the run keeps no rows per query")
    table = read_rows(path)
    if not {"query_id", "system"} <= set(table.columns):
        raise NoRows(f"{path.name} has no query_id and system")
    for system in table["system"].unique():
        for column in table.columns:
            if metric.endswith(f".{system}.{column}".lower()):
                part = table[table["system"] == system]
                if not part["query_id"].is_unique:
                    raise NoRows(f"{path.name} holds several rows per query")
                return part.rename(columns={"query_id": "QueryId"}), column
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


def figure(folder, metric):
    """Find n, interval and control of a metric of a run: as its chapter reported them, else from its rows."""
    metric = canonical(metric)
    record = require(folder)
    path = folder.parents[1] / "numbers" / f"{folder.name}.json"
    if folder.parent.name == "runs" and path.is_file():
        value = record.metric(metric)
        number = dict(_leaves(read_json(path), ())).get(metric, {})
        both = None not in (value, number.get("value"))
        if both and abs(number["value"] - value) <= TOLERANCE:
            return {name: number.get(name) for name in ("n", "ci", "control", "reason")}
    try:
        rows = query_scores(folder, metric)
    except NoRows as reason:
        return UNKNOWN | {"reason": str(reason)}
    from casebook.stats.intervals import bootstrap_mean

    found = bootstrap_mean(rows["score"].to_numpy(), clusters=rows["group"])
    return UNKNOWN | {"n": found.n, "ci": [found.low, found.high], "reason": found.reason}


def _leaves(numbers, names):
    """Yield metric keys, ``<dataset>.<system>.<measure>``, with their numbers."""
    for name, inner in numbers.items():
        if isinstance(inner, dict) and "value" in inner:
            yield ".".join([*names[1:], name]).lower(), inner
        elif isinstance(inner, dict):
            yield from _leaves(inner, (*names, name))
