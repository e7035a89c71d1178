"""One documented record per query: how it was answered."""

import math

import pandas as pd

from casebook.measures.ranking import evaluate
from casebook.runs.record import FIELDS
from casebook.shift.vectors import best_first

KEYS = ("original:map@1", "original:ndcg@3")  # Ap1 and Ndcg3


def per_query(data, vectors, rows=None):
    """Record how each query is answered."""
    rows = list(range(len(data)) if rows is None else rows)
    run, judged = data.run(vectors, rows), data.qrels(rows)
    scores = evaluate(judged, run, list(KEYS)).frame()
    names, records = data.doc_ids, []
    for row, cosines in zip(rows, data.scores(vectors, rows), strict=True):
        order = best_first(cosines)
        ranked = names[data.pools[row][order]]
        rank = int(data.relevant[row][order].argmax()) + 1
        query = data.query_ids[row]
        measured = scores.loc[query]
        head = [query, ranked[rank - 1], rank, *(measured[key] for key in KEYS)]
        records.append([*head, *_top(ranked, cosines[order])])
    return pd.DataFrame(records, columns=list(FIELDS))


def _top(ranked, scores):
    pairs = list(zip(ranked[:3], scores[:3].tolist(), strict=True))
    pairs += [(None, math.nan)] * (3 - len(pairs))
    return [value for pair in pairs for value in pair]
