"""Single questions: what is relevant to each, and what some systems returned for it."""

import json
import math

import numpy as np

SHOWN = ("full", "bm25", "dense", "random")
MEASURES = ("nDCG@10", "RR@10", "AP", "R@10")
DEPTH = 10  # ranks kept of each system
OPENINGS = (160, 80)  # characters of a document; the second where room is short
LONGEST = 400  # characters of a question
MOST_BYTES = 250_000  # of one chapter, so that a report stays small

# What may be shown of texts under a licence: those that permit passing on; of the
# non-commercial ones only what the data's authors wrote, which is the questions.
_FREE = ("MIT", "Apache-2.0", "BSD-", "CC0-", "CC-BY-3", "CC-BY-4", "CC-BY-SA-")
_NON_COMMERCIAL = "CC-BY-NC"


def may_show(card):
    """Decide by the data card which texts a report may show.

    Parameters
    ----------
    card : casebook.datasets.cards.Card or None
        None for data of the user, of which no licence is known.

    Returns
    -------
    frozenset of str
        Some of ``questions`` and ``documents``; what is not in it is shown by id only.
    """
    spdx = (card.licence.spdx if card else None) or ""
    if spdx.startswith(_NON_COMMERCIAL):
        return frozenset({"questions"})
    if spdx.startswith(_FREE) and not card.licence.non_commercial:
        return frozenset({"questions", "documents"})
    return frozenset()


def drill_down(study, systems=SHOWN, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single questions.

    Parameters
    ----------
    study : casebook.retrieval.ablation.Ablation
        The answers of all systems.
    systems : sequence of str
        Which systems to keep; those that were not run are left out.
    most_bytes : int
        Size of the result as JSON, of at least one question. Where all questions need
        more, documents open shorter; where that is not enough, those questions are kept
        on which the systems' nDCG@10 differs most, the controls left out.

    Returns
    -------
    dict
        ``dataset``, ``card``, ``texts`` (which may be shown), ``systems``, the
        ``controls`` among them, ``measures``, ``depth`` of the lists, ``asked`` (how
        many questions there are), ``documents`` (id, and opening or None: what only a
        control returned is not opened) and ``questions``: id, text or None,
        ``relevant`` (places in ``documents``), ``scores`` (system by measure; None
        where undefined) and ``top`` (for each system the places of its documents).
    """
    systems = [name for name in systems if name in study.results]
    order = _most_different(study, systems)
    for opening in OPENINGS:
        found = _collect(study, systems, order, opening)
        if len(as_json(found)) <= most_bytes:
            return found
    fits, fails = 0, len(order)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        found = _collect(study, systems, order[:middle], OPENINGS[-1])
        if len(as_json(found)) <= most_bytes:
            fits = middle
        else:
            fails = middle
    return _collect(study, systems, order[: max(fits, 1)], OPENINGS[-1])


def as_json(found):
    """Write a drill-down, the same bytes for the same content.

    Parameters
    ----------
    found : dict
        From `drill_down`.

    Returns
    -------
    str
        Compact JSON in ASCII.
    """
    return json.dumps(found, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _collect(study, systems, chosen, opening):
    """Give the drill-down of some questions, by their places."""
    data, shown = study.dataset, may_show(study.dataset.card)
    asked = data.queries[["query_id", "text"]]
    tops = {name: _top(study.results[name]) for name in systems}
    scores = _scores(study, systems)
    places, questions, opened = {}, [], set()
    for row in sorted(chosen):
        query, text = asked.iloc[row]
        judged = data.qrels.get(query, {})
        relevant = [document for document, grade in judged.items() if grade > 0]
        returned = {name: tops[name][row] for name in systems}
        opened.update(relevant, *(returned[name] for name in _tested(study, systems)))
        questions.append(
            {
                "id": query,
                "text": _cut(text, LONGEST) if "questions" in shown else None,
                "relevant": _numbered(relevant, places),
                "scores": scores[row],
                "top": [
                    _numbered(documents, places) for documents in returned.values()
                ],
            }
        )
    if "documents" not in shown:
        opened = set()
    return {
        "dataset": data.name,
        "card": data.card.key if data.card else None,
        "texts": sorted(shown),
        "systems": systems,
        "controls": [name for name in systems if name in study.controls],
        "measures": [name for name in MEASURES if name in study.scores],
        "depth": DEPTH,
        "asked": len(data.queries),
        "documents": _documents(data.documents, places, opened, opening),
        "questions": questions,
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
    return [
        [name, _opening(rows.loc[name], most) if name in opened else None]
        for name in places
    ]


def _opening(row, most):
    title = str(row.get("title") or "").strip()
    return _cut(f"{title}. {row['text']}" if title else row["text"], most)


def _cut(text, most):
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _scores(study, systems):
    """Give for each question the scores, system by measure, None where undefined."""
    queries = study.dataset.queries["query_id"]
    frames = [study.scores[name] for name in MEASURES if name in study.scores]
    values = np.stack([f.reindex(queries)[systems].to_numpy(float) for f in frames], 2)
    return [
        [[round(v, 3) if math.isfinite(v) else None for v in row] for row in question]
        for question in values.tolist()
    ]


def _most_different(study, systems):
    """Order the questions by the spread of nDCG@10, ties as they stand in the data."""
    frame = study.scores["nDCG@10"].reindex(study.dataset.queries["query_id"])
    frame = frame[_tested(study, systems)]
    spread = (frame.max(axis=1) - frame.min(axis=1)).fillna(0).to_numpy()
    return sorted(range(len(spread)), key=lambda row: (-spread[row], row))
