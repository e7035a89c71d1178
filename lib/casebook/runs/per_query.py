"""Per-query artefacts, ``eval.perQuery.<name>.json``: one record per query.

The documented fields are QueryId, RelevantDocId, Rank (from 1; 0 if the document was
not ranked), Ap1 (``1 / Rank``), Ndcg3, TopDocId, TopScore and the same for the second
and third document. Further measures may stand beside them, such as ``Ndcg10``, and a
``Group``: the queries that belong together (a policy, a case, a question in other
words), since they are not independent.
"""

import math
from pathlib import Path

from casebook.errors import InputError
from casebook.files import write_json
from casebook.paths import valid_name
from casebook.readers import parse_json

PREFIX = "eval.perQuery"
REQUIRED = ("QueryId", "RelevantDocId", "Rank", "Ap1", "Ndcg3", "TopDocId", "TopScore")
FIELDS = (*REQUIRED, "Top2DocId", "Top2Score", "Top3DocId", "Top3Score")


def per_query_name(name=None):
    """Give the file name of a per-query artefact."""
    middle = f".{valid_name(name, 'variant')}" if name else ""
    return f"{PREFIX}{middle}.json"


def write_per_query(path, frame):
    """Write a per-query artefact."""
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    _check(path, records)
    return write_json(path, records)


def read_per_query(path):
    """Read a per-query artefact; keys in any letter case, a byte order mark is taken."""
    import pandas as pd

    names = {name.lower(): name for name in FIELDS}
    try:
        records = parse_json(Path(path).read_text(encoding="utf-8-sig"))
        rows = [{names.get(k.lower(), k): v for k, v in r.items()} for r in records]
    except FileNotFoundError:
        raise InputError(f"{path}: no such per-query file") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: not a list of per-query records: {error}") from None
    _check(path, rows)
    frame = pd.DataFrame(rows)
    others = [column for column in frame if column not in FIELDS]
    return frame.reindex(columns=[*FIELDS, *others])


def query_groups(frame):
    """Give the group of each query; one without a group is a group of its own."""
    own = frame["QueryId"].map("query {}".format)
    column = next((name for name in frame if name.lower() == "group"), None)
    if column is None:
        return own
    return frame[column].where(frame[column].notna(), own).astype(str)


def _check(path, rows):
    if not rows:
        raise InputError(f"{path}: holds no query")
    seen = set()
    for number, row in enumerate(rows, 1):
        where = f"{path}: record {number}"
        missing = [name for name in REQUIRED if row.get(name) is None]
        if missing:
            raise InputError(f"{where}: lacks {', '.join(missing)}")
        _check_scores(where, row)
        query = str(row["QueryId"]).lower()
        if query in seen:
            raise InputError(f"{where}: query {row['QueryId']!r} occurs twice")
        seen.add(query)


def _check_scores(where, row):
    rank = row["Rank"]
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 0:
        raise InputError(f"{where}: Rank {rank!r} is not a whole number from 0")
    expected = {"Ap1": 1 / rank if rank else 0.0, "Ndcg3": 1 / math.log2(rank + 1) if 1 <= rank <= 3 else 0.0}
    for name, value in expected.items():
        found = row[name]
        if not isinstance(found, int | float) or abs(found - value) > 1e-6:
            raise InputError(f"{where}: {name} {found!r} is not that of rank {rank} ({value:.6f})")
