"""The score of every query behind a run's metric, wherever the run keeps it.

A run keeps its rows in one of three places:

* the file that the label ``PerQuery`` names, ``{"Path", "Sha256"}``, relative to the
  run's folder;
* one ``eval.perQuery*.json`` in that folder;
* ``rows/<cell>.csv.gz`` of the report that the run belongs to.

Rows count as those of a metric only if their mean is the metric's value: a table may
hold other queries (a held-out half, say) than the metric was computed on.
"""

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.formats.celltext import table_from_csv
from casebook.runs.artifact import read_record
from casebook.runs.layout import check_tenant, owner_of
from casebook.runs.metrics import canonical
from casebook.runs.per_query import PREFIX, read_per_query

TOLERANCE = 2e-6
"""Stored numbers are rounded to six digits; a mean of such rows differs by less."""

_FIELDS = {"map@1": "Ap1", "rr": "Ap1", "mrr": "Ap1", "ndcg@3": "Ndcg3"}


class NoRows(Exception):
    """The run keeps no rows that belong to the metric; the text says why."""


def query_scores(folder, metric):
    """Give the score of every query behind a metric of a run.

    Parameters
    ----------
    folder : pathlib.Path
        Folder of the run.
    metric : str
        Key in any letter case.

    Returns
    -------
    pandas.Series
        Score by query id, in the order of the ids.

    Raises
    ------
    NoRows
        If there are none, with the reason.
    InputError
        If a file of rows is damaged or is not the one that was recorded.
    """
    record = read_record(folder / "run.json")
    metric = canonical(metric)
    value = record.metric(metric)
    if value is None:
        raise NoRows(f"{folder.name} holds no value of {metric!r}")
    scores = _labelled(folder, record, metric)
    if scores is None:
        scores = _beside(folder, metric)
    if scores is None:
        scores = _of_report(folder, metric)
    mean = scores.mean()
    if not abs(mean - value) <= TOLERANCE:
        raise NoRows(f"the rows' mean is {mean:.6f}, the metric {value}")
    return scores.sort_index()


def _labelled(folder, record, metric):
    labels = {str(name).lower(): value for name, value in record.labels.items()}
    place = labels.get("perquery")
    if place is None:
        return None
    if not isinstance(place, dict) or not isinstance(place.get("Path"), str):
        raise InputError(f"{folder / 'run.json'}: PerQuery must hold Path and Sha256")
    path = (folder / place["Path"]).resolve()
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
    frame.index = frame["QueryId"].astype(str).str.lower()
    try:
        return frame[field].astype(float).dropna()
    except (TypeError, ValueError):
        raise InputError(f"{path}: {field} is not a number in every record") from None


def _of_report(folder, metric):
    """Rows of a report: ``<dataset>.<system>.<measure>`` names system and column."""
    import pandas as pd

    path = folder.parents[1] / "rows" / f"{folder.name}.csv.gz"
    if folder.parent.name != "runs" or not path.is_file():
        raise NoRows("the run keeps no rows per query")
    try:
        table = pd.read_csv(path, dtype={"query_id": str, "system": str})
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: not a table of rows: {error}") from None
    table = table_from_csv(table)
    if not {"query_id", "system"} <= set(table.columns):
        raise NoRows(f"{path.name} has no query_id and system")
    for system in table["system"].unique():
        for column in table.columns:
            if metric.endswith(f".{system}.{column}".lower()):
                part = table[table["system"] == system]
                return _one_per_query(part.set_index("query_id")[column], path)
    raise NoRows(f"{path.name} has no column and system for {metric!r}")


def _one_per_query(scores, path):
    if not scores.index.is_unique:
        raise NoRows(f"{path.name} holds several rows per query")
    # What is undefined did not enter the metric either, which the mean confirms.
    return scores.dropna().astype(float)
