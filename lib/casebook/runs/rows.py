"""The score of every query behind a run's metric, wherever the run keeps it.

A run keeps its rows in one of three places:

* the file that the label ``PerQuery`` names, ``{"Path", "Sha256"}``, relative to the
  run's folder;
* one ``eval.perQuery*.json`` in that folder;
* ``rows/<cell>.csv.gz`` of the report that the run belongs to.

Rows count as those of a metric only if their mean is the metric's value: a table may
hold other queries (a held-out half, say) than the metric was computed on. The column
(or field) ``group`` says which queries belong together (a policy, a case, a question in
other words); a query without one is a group of its own.
"""

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.runs.artifact import read_record
from casebook.runs.layout import check_tenant, followed, owner_of
from casebook.runs.metrics import canonical
from casebook.runs.per_query import PREFIX, query_groups, read_per_query
from casebook.sheets import table_from_csv

TOLERANCE = 2e-6
"""Stored numbers are rounded to six digits; a mean of such rows differs by less."""

_NAMES = ("query_id", "system", "group")
_FIELDS = {"map@1": "Ap1", "rr": "Ap1", "mrr": "Ap1", "ndcg@3": "Ndcg3"}


class NoRows(Exception):
    """The run keeps no rows that belong to the metric; the text says why."""


def query_scores(folder, metric):
    """Give score and group of every query behind a metric of a run."""
    record = read_record(folder / "run.json")
    metric = canonical(metric)
    value = record.metric(metric)
    if value is None:
        raise NoRows(f"{folder.name} holds no value of {metric!r}")
    rows = _labelled(folder, record, metric)
    if rows is None:
        rows = _beside(folder, metric)
    if rows is None:
        rows = _of_report(folder, metric)
    mean = rows["score"].mean()
    if not abs(mean - value) <= TOLERANCE:
        raise NoRows(f"the rows' mean is {mean:.6f}, the metric {value}")
    return rows.sort_index()


def _labelled(folder, record, metric):
    labels = {str(name).lower(): value for name, value in record.labels.items()}
    place = labels.get("perquery")
    if place is None:
        return None
    if not isinstance(place, dict) or not isinstance(place.get("Path"), str):
        raise InputError(f"{folder / 'run.json'}: PerQuery must hold Path and Sha256")
    path = followed(folder / place["Path"])
    check_tenant(path, owner_of(folder))
    if not path.is_file():
        raise NoRows(f"{place['Path']} is gone")
    if place.get("Sha256") and sha256_file(path) != place["Sha256"]:
        raise InputError(f"{path}: changed since the run recorded it")
    return _from_evals(path, metric)


def _beside(folder, metric):
    found = sorted(folder.glob(f"{PREFIX}*.json"))
    if len(found) > 1:
        raise NoRows("several eval.perQuery files: name one in the label PerQuery")
    return _from_evals(found[0], metric) if found else None


def _from_evals(path, metric):
    frame = read_per_query(path)
    wanted = _FIELDS.get(metric, metric.replace("@", "")).lower()
    field = next((name for name in frame if name.lower() == wanted), None)
    if field is None:
        raise NoRows(f"{path.name} has no field for {metric!r}")
    try:
        return _rows(frame, field).rename(str.lower)
    except (TypeError, ValueError):
        raise InputError(f"{path}: {field} is not a number in every record") from None


def _of_report(folder, metric):
    """Rows of a report: ``<dataset>.<system>.<measure>`` names system and column."""
    import pandas as pd

    path = folder.parents[1] / "rows" / f"{folder.name}.csv.gz"
    if folder.parent.name != "runs" or not path.is_file():
        raise NoRows("the run keeps no rows per query")
    try:
        texts = dict.fromkeys(_NAMES, str)  # of which one may be "NA"
        table = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: not a table of rows: {error}") from None
    table = table_from_csv(table)
    if not {"query_id", "system"} <= set(table.columns):
        raise NoRows(f"{path.name} has no query_id and system")
    for system in table["system"].unique():
        for column in table.columns:
            if metric.endswith(f".{system}.{column}".lower()):
                part = table[table["system"] == system]
                if not part["query_id"].is_unique:
                    raise NoRows(f"{path.name} holds several rows per query")
                return _rows(part.rename(columns={"query_id": "QueryId"}), column)
    raise NoRows(f"{path.name} has no column and system for {metric!r}")


def _rows(frame, column):
    """Keep score and group; what is undefined did not enter the metric either."""
    frame = frame.set_index(frame["QueryId"].astype(str))
    scores = frame[column].astype(float).rename("score")
    return scores.to_frame().assign(group=query_groups(frame)).dropna()
