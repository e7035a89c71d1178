"""Single items of a chapter, such as questions or claims, for the page that shows each of them.

A chapter gives two frames, of its items and of what each system did with each item. The page needs
nothing else, and is the same for all chapters.
"""

import bisect
import json

import numpy as np
import pandas as pd

from casebook.data.cards import may_show
from casebook.stats.samples import number_or_none

STORED_DIGITS = 6  # of every stored number: far below any interval, above float noise
# May be shown of a user's own data, or in words of ours.
ALL_TEXTS = frozenset({"items", "documents"})
OPENING = 120  # characters of a document
NOT_FIELDS = ("id", "text", "marked", "cells")
# Of the questions of a study of rankings.
DEPTH = 10
FIRST = f"first {DEPTH} documents"
NOTHING = f"nothing relevant in the first {DEPTH}"


def item_page(
    items,
    results=None,
    *,
    noun="question",
    by="system",
    against=None,
    ready=(),
    card=None,
    shown=None,
    documents=None,
    item_texts=(),
    document_texts=(),
    most_bytes=250_000,  # so that a report stays small
):
    """Single items for a page of their own, as many as there is room for.

    Columns of either frame are fields, and those of truth values are tags, by which readers choose
    items. A field is a text, a number, None, or a list of texts, of ids of documents, or of pairs
    of one of these and a note.

    Parameters
    ----------
    items : pandas.DataFrame
        A row an item, the most important first: ``id``, ``text``, perhaps ``marked`` (ids of
        documents that get a tick), fields and tags.
    results : pandas.DataFrame, optional
        A row a system and item: ``id``, ``system``, fields and tags. Readers compare any two
        systems by fields of numbers. The first system, and the first numbers, are what they see at
        first.
    noun, by : str
        What an item is, and what the systems are, such as raters.
    against : str, optional
        System that the first one is compared with at first, by default the second.
    ready : sequence of (str, str or None, str or None)
        Tags that are offered first: of items; of a system; or with two systems made here, of items
        on which the first one scores less.
    card : DatasetCard, optional
        Card of the data, which decides what is ``shown`` unless that is given: see `may_show`.
    documents : dict, optional
        Texts of the documents that fields name; the page has their beginning.
    item_texts, document_texts : sequence of str
        Columns that repeat texts of the items or of the documents.
    most_bytes : int
        Room, as JSON.
    """
    shown = may_show(card) if shown is None else shown
    texts = {}
    withheld = []
    if "items" not in shown:
        withheld += ["text", *item_texts]
    if "documents" in shown:
        texts = documents or {}
    else:
        withheld += document_texts
    results = pd.DataFrame(columns=["id", "system"]) if results is None else results
    items = items.drop(columns=withheld, errors="ignore").astype({"id": str})
    results = results.drop(columns=withheld, errors="ignore").astype({"id": str})
    systems = results["system"].unique().tolist()
    index = pd.MultiIndex.from_product([items["id"], systems], names=["id", "system"])
    results = results.set_index(["id", "system"])
    flags = results.select_dtypes(bool).reindex(index, fill_value=False)
    fields = results.select_dtypes(exclude=bool).reindex(index)
    measures = results.select_dtypes("number").columns
    tags = items.set_index("id").select_dtypes(bool)
    for tag, system, other in ready:
        if other is not None:
            scores = fields[measures[0]].astype(float).round(STORED_DIGITS)
            tags[tag] = scores.xs(system, level=1) < scores.xs(other, level=1)
    places = {name: place for place, name in enumerate(systems)}
    head = {
        "noun": noun,
        "by": by,
        "card": card and card.key,
        "withheld": sorted(ALL_TEXTS - shown),
        "asked": len(items),
        "systems": systems,
        "against": places.get(against, int(len(systems) > 1)),
        "columns": fields.columns.tolist(),
        "measures": measures.tolist(),
        "ready": [[tag, *map(places.get, pair)] for tag, *pair in ready],
    }
    shape = len(items), len(systems), len(fields.columns)
    cells = fields.to_numpy(object).reshape(shape)
    rows = (
        items.select_dtypes(exclude=bool)
        .assign(cells=cells.tolist())
        .to_dict("records")
    )

    def collect(count):
        positions = {}  # of the documents that are named, in the list of these
        kept = [_item(row, texts, positions) for row in rows[:count]]
        openings = [[name, one_line(texts[name], OPENING)] for name in positions]
        by_system = [flags.xs(name, level=1).head(count) for name in systems]
        return head | {
            "items": kept,
            "documents": openings,
            "tags": _places(tags.head(count)),
            "system_tags": [_places(of_system) for of_system in by_system],
        }

    def size(count):
        return len(items_json(collect(count)))

    fits = bisect.bisect_right(range(2, len(items) + 1), most_bytes, key=size)
    return collect(1 + fits)


def ranking_items(
    study,
    focus=None,
    against=None,
    tags=None,
    part_of=(),
    ready=(),
    most_bytes=900_000,  # every system is kept
):
    """Questions of a study of rankings, those first on which its systems differ most.

    Parameters
    ----------
    study : Ablation or ShiftStudy
        Its data set, ``scores``, ``runs()`` and readers' names; all its systems are kept.
    focus, against : str, optional
        The system under study, and what a reader compares it with at first.
    tags : dict of str to list of str, optional
        Ids of the questions of each tag.
    part_of : mapping, optional
        Part of a question by its id, which is a tag too.
    ready : sequence of (str, str, str)
        What a reader may want to see beside where ``focus`` is worse: text, system, and the system
        that is better there; left out if one was not run.
    """
    measures = list(study.scores)[:5]  # that fit on a page
    runs = study.runs()
    systems = sorted(runs, key=lambda name: name != focus)
    compared = study.scores[measures[0]].drop(
        columns=list(study.controls), errors="ignore"
    )
    spread = compared.max(axis=1) - compared.min(axis=1)
    ids = spread.sort_values(ascending=False, kind="stable").index
    relevant = {}
    for id in ids:
        grades = study.dataset.qrels[id]
        relevant[id] = [name for name, grade in grades.items() if grade > 0]
    results = []
    for system in systems:
        rows = pd.DataFrame({"id": ids, "system": system}, ids)
        for name in measures:
            rows[name] = study.scores[name][system]
        rows[FIRST] = [list(runs[system][id])[:DEPTH] for id in ids]
        rows[NOTHING] = [set(relevant[id]).isdisjoint(rows[FIRST][id]) for id in ids]
        results.append(rows)
    questions = (
        study.dataset.queries.set_index("query_id").loc[ids, ["text"]].rename_axis("id")
    )
    for tag, members in (tags or {}).items():
        questions[tag] = questions.index.isin(members)
    parts = questions.index.map(dict(part_of))
    for part in parts.dropna().unique():
        questions[f"part: {part}"] = parts == part
    questions["marked"] = questions["relevant documents"] = list(relevant.values())
    if against:
        phrase = [study.phrases.get(system, system) for system in (focus, against)]
        worse = (
            f"questions where {phrase[0]} is worse than {phrase[1]}",
            focus,
            against,
        )
        ready = [row for row in (worse, *ready) if set(row[1:]) <= set(systems)]
    page = item_page(
        questions.reset_index(),
        pd.concat(results),
        against=against,
        ready=[*ready, (NOTHING, systems[0], None)],
        card=study.dataset.card,
        documents=study.dataset.documents.set_index("doc_id")["text"].to_dict(),
        most_bytes=most_bytes,
    )
    # Under readers' names, by which marks of figures find them.
    return page | {
        "systems": [study.names.get(system, system) for system in page["systems"]]
    }


def _places(flags):
    places = {tag: np.flatnonzero(flags[tag]).tolist() for tag in sorted(flags)}
    return {tag: listed for tag, listed in places.items() if listed}


def _item(row, texts, positions):
    def written(value):
        if isinstance(value, list):
            return [named(entry) for entry in value]
        if isinstance(value, str):
            return value
        number = number_or_none(value)
        return None if number is None else round(number, STORED_DIGITS)

    def named(entry):
        if isinstance(entry, tuple):
            return [named(entry[0]), entry[1]]
        return positions.setdefault(entry, len(positions)) if entry in texts else entry

    fields = {
        name: written(value) for name, value in row.items() if name not in NOT_FIELDS
    }
    return {
        "id": row["id"],
        "text": written(row.get("text")),
        "fields": [
            [name, value]
            for name, value in fields.items()
            if value not in (None, [], "")
        ],
        "marked": written(row.get("marked")) or [],
        "cells": [
            [written(value) for value in of_system] for of_system in row["cells"]
        ],
    }


def items_json(content):
    return json.dumps(content, separators=(",", ":"), sort_keys=True, allow_nan=False)


def one_line(text, most=400):
    text = " ".join(str(text).split())
    if len(text) <= most:
        return text
    return text[: most - 1].rstrip() + "…"
