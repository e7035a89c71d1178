"""Per-query artefacts: one documented record per query, read in either spelling."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import write_json
from casebook.measures.ranking import evaluate
from casebook.shift.embedded import best_first

FILE = "eval.perQuery.{}.json"
FIELDS = ("QueryId", "RelevantDocId", "Rank", "Ap1", "Ndcg3", "TopDocId", "TopScore")
FIELDS += ("Top2DocId", "Top2Score", "Top3DocId", "Top3Score")
_REQUIRED = FIELDS[:7]


def per_query(data, vectors, rows=None):
    """Record how each query is answered.

    Parameters
    ----------
    data : EmbeddedDataset
        Documents and judgements.
    vectors : numpy.ndarray, shape [rows, D]
        Query vectors, shifted or not.
    rows : sequence of int, optional
        Which queries; all by default.

    Returns
    -------
    pandas.DataFrame
        One row per query with the documented fields. With several relevant documents
        ``RelevantDocId`` is the best ranked one. Without a second or third document
        its id is None and its score NaN: undefined is not 0.
    """
    rows = list(range(len(data)) if rows is None else rows)
    run, judged = data.run(vectors, rows), data.qrels(rows)
    scores = evaluate(judged, run, ["map@1", "ndcg@3"]).frame()
    names, records = data.doc_ids, []
    for row, cosines in zip(rows, data.scores(vectors, rows), strict=True):
        order = best_first(cosines)
        ranked = names[data.pools[row][order]]
        rank = int(data.relevant[row][order].argmax()) + 1
        query = data.query_ids[row]
        measured = scores.loc[query]
        head = [query, ranked[rank - 1], rank, measured["map@1"], measured["ndcg@3"]]
        records.append([*head, *_top(ranked, cosines[order])])
    return pd.DataFrame(records, columns=list(FIELDS))


def _top(ranked, scores):
    pairs = list(zip(ranked[:3], scores[:3].tolist(), strict=True))
    pairs += [(None, math.nan)] * (3 - len(pairs))
    return [value for pair in pairs for value in pair]


def write_per_query(path, frame):
    """Write the records of a system.

    Parameters
    ----------
    path : path-like
        Such as ``eval.perQuery.baseline.json``.
    frame : pandas.DataFrame
        From `per_query`.

    Returns
    -------
    pathlib.Path
        The file written: a list of objects, undefined values null.
    """
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return write_json(path, records)


def read_per_query(path):
    """Read a per-query artefact.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    pandas.DataFrame
        One row per query, documented names, index from 0; fields that the file
        lacks are missing values.

    Raises
    ------
    InputError
        If the file is absent or malformed, a query occurs twice (in any letter case),
        or rank and scores contradict each other.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such per-query file")
    try:
        records = json.loads(path.read_text(encoding="utf-8-sig"))
        names = {name.lower(): name for name in FIELDS}
        rows = [{names.get(k.lower(), k): v for k, v in r.items()} for r in records]
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: not a list of per-query records: {error}") from None
    if not rows:
        raise InputError(f"{path}: holds no query")
    for number, row in enumerate(rows, 1):
        _check(path, number, row)
    frame = pd.DataFrame(rows).reindex(columns=list(FIELDS))
    twice = frame.loc[frame["QueryId"].str.lower().duplicated(), "QueryId"]
    if len(twice):
        raise InputError(f"{path}: query {twice.iloc[0]!r} occurs more than once")
    return frame


def _check(path, number, row):
    where = f"{path}: record {number}"
    missing = [name for name in _REQUIRED if row.get(name) is None]
    if missing:
        raise InputError(f"{where}: lacks {', '.join(missing)}")
    rank = row["Rank"]
    if not isinstance(rank, int) or rank < 0:
        raise InputError(f"{where}: Rank {rank!r} is not a whole number")
    expected = 1 / rank if rank else 0.0
    if not np.isclose(row["Ap1"], expected, atol=1e-6):
        raise InputError(f"{where}: Ap1 {row['Ap1']} is not 1 / Rank ({expected:.6f})")
    discounted = 1 / math.log2(rank + 1) if 1 <= rank <= 3 else 0.0
    if not np.isclose(row["Ndcg3"], discounted, atol=1e-6):
        raise InputError(f"{where}: Ndcg3 {row['Ndcg3']} is not that of rank {rank}")
