"""Judgements and runs in any accepted form, checked, joined on the judged side."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.formats.trec import load
from casebook.formats.trec_columns import Columns
from casebook.formats.trec_text import QRELS, RUN
from casebook.measures.ranking_lookup import grades_of, look_up_columns, look_up_dicts


@dataclass(frozen=True)
class Accounting:
    """Which queries were judged, retrieved and counted."""

    judged: int
    retrieved: int
    evaluated: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    empty: tuple[str, ...]
    no_relevant: tuple[str, ...]

    def counts(self):
        """Give every entry as a number."""
        return {name: value if isinstance(value, int) else len(value) for name, value in vars(self).items()}


def look_up(qrels, run):
    """Find the judged documents in a run."""
    qrels = _table(qrels, QRELS, "relevance", "qrels")
    run = _table(run, RUN, "score", "run")
    judged_queries, run_queries = _query_ids(qrels), _query_ids(run)
    _check_overlap(judged_queries, run_queries)
    if isinstance(run, Columns):
        if not isinstance(qrels, Columns):
            qrels = Columns.from_dict(qrels, grades_of(qrels))
        return look_up_columns(qrels, run), run_queries, []
    if isinstance(qrels, Columns):
        qrels = qrels.to_dict()
    empty = [query for query, row in run.items() if not row]
    return look_up_dicts(qrels, run), run_queries, empty


def _table(source, layout, value, what):
    """Give columns for a regular file and a dictionary of dictionaries otherwise."""
    if isinstance(source, str | os.PathLike):
        return load(source, layout)
    if hasattr(source, "columns"):
        source = _from_frame(source, value, what)
    if not isinstance(source, Mapping):
        raise InputError(f"{what}: expected a path, a DataFrame or a dict of dicts, got {type(source).__name__}")
    for kind in set(map(type, source.values())):
        if not issubclass(kind, Mapping):
            raise InputError(f"{what}: each query must map document ids to numbers, not be a {kind.__name__}")
    if not any(map(len, source.values())):
        raise InputError(f"{what}: empty, no document for any query")
    return source


def _from_frame(frame, value, what):
    wanted = ["query_id", "doc_id", value]
    absent = [name for name in wanted if name not in frame.columns]
    if absent:
        raise InputError(f"{what}: the DataFrame lacks the columns {absent}")
    repeated = frame.duplicated(["query_id", "doc_id"])
    if repeated.any():
        place = int(np.argmax(repeated))
        pair = frame.iloc[place][["query_id", "doc_id"]].tolist()
        raise InputError(f"{what}: row {place} repeats query and document {pair}")
    table = {}
    columns = (frame[name].tolist() for name in wanted)
    for query, document, number in zip(*columns, strict=True):
        table.setdefault(str(query), {})[str(document)] = number
    return table


def _query_ids(table):
    return table.query_ids if isinstance(table, Columns) else list(table)


def _check_overlap(judged, retrieved):
    known = set(retrieved)
    if not any(query in known for query in judged):
        raise InputError(f"qrels and run share no query id: qrels hold {judged[0]!r}, the run holds {retrieved[0]!r}")
