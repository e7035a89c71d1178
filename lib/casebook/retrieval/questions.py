"""Single questions: what is relevant to each, and what some systems returned for it."""

import math

import numpy as np

from casebook.datasets.shown import may_show
from casebook.runs.outputs import MOST_BYTES, fitting, shortened

SHOWN = ("full", "bm25", "dense", "random")
MEASURES = ("nDCG@10", "RR@10", "AP", "R@10")
DEPTH = 10  # ranks kept of each system
OPENINGS = (160, 80)  # characters of a document; the second where room is short


def drill_down(study, systems=SHOWN, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single questions."""
    systems = [name for name in systems if name in study.results]

    def collect(chosen, opening):
        return _collect(study, systems, chosen, opening)

    return fitting(collect, _most_different(study, systems), OPENINGS, most_bytes)


def _collect(study, systems, chosen, opening):
    """Give the drill-down of some questions, by their places."""
    data, shown = study.dataset, may_show(study.dataset.card)
    asked = data.queries[["query_id", "text"]]
    tops = {name: _top(study.results[name]) for name in systems}
    scores = _scores(study, systems)
    places, questions, opened = {}, [], set()
    for row in chosen:
        query, text = asked.iloc[row]
        judged = data.qrels.get(query, {})
        relevant = [document for document, grade in judged.items() if grade > 0]
        returned = {name: tops[name][row] for name in systems}
        opened.update(relevant, *(returned[name] for name in _tested(study, systems)))
        questions.append(
            {
                "id": query,
                "text": shortened(text) if "items" in shown else None,
                "relevant": _numbered(relevant, places),
                "scores": scores[row],
                "top": [_numbered(documents, places) for documents in returned.values()],
            }
        )
    if "documents" not in shown:
        opened = set()
    return {
        "kind": "questions",
        "dataset": data.name,
        "card": data.card.key if data.card else None,
        "texts": sorted(shown),
        "systems": systems,
        "controls": [name for name in systems if name in study.controls],
        "measures": [name for name in MEASURES if name in study.scores],
        "depth": DEPTH,
        "asked": len(data.queries),
        "documents": _documents(data.documents, places, opened, opening),
        "items": questions,
    }


def _tested(study, systems):
    return [name for name in systems if name not in study.controls]


def _top(result):
    """Give the ids of the first documents of every question."""
    ids = result.index.doc_ids
    return [[ids[d] for d in row if d >= 0] for row in result.final.ids[:, :DEPTH]]


def _numbered(documents, places):
    """Give each document a place on first sight."""
    return [places.setdefault(document, len(places)) for document in documents]


def _documents(documents, places, opened, most):
    rows = documents.set_index("doc_id")
    # A judged document that the collection lacks has an id and no opening.
    shown = opened.intersection(rows.index)
    return [[name, shortened(rows.loc[name, "text"], most) if name in shown else None] for name in places]


def _scores(study, systems):
    """Give for each question the scores, system by measure, None where undefined."""
    queries = study.dataset.queries["query_id"]
    frames = [study.scores[name] for name in MEASURES if name in study.scores]
    values = np.stack([f.reindex(queries)[systems].to_numpy(float) for f in frames], 2)
    return [
        [[round(v, 3) if math.isfinite(v) else None for v in row] for row in question] for question in values.tolist()
    ]


def _most_different(study, systems):
    """Order the questions by the spread of nDCG@10, ties as they stand in the data."""
    frame = study.scores["nDCG@10"].reindex(study.dataset.queries["query_id"])
    frame = frame[_tested(study, systems)]
    spread = (frame.max(axis=1) - frame.min(axis=1)).fillna(0).to_numpy()
    return sorted(range(len(spread)), key=lambda row: (-spread[row], row))
