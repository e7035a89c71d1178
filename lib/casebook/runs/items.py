"""Single items of a chapter, such as questions or claims, for the page that shows each of them.

A chapter gives two frames, of its items and of what each system did with each item. The page needs
nothing else, and is the same for all chapters.
"""

import bisect
import difflib
import json

import pandas as pd

from casebook.data.cards import may_show
from casebook.stats.samples import number_or_none

STORED_DIGITS = 6  # of every stored number: far below any interval, above float noise
ALL_TEXTS = frozenset({"items", "documents"})  # of a user's own data, or in words of ours
LONGEST_TEXT = 400  # characters of an item's own text
OPENING = 120  # characters of a document
MOST_BYTES = 250_000  # of one chapter's items, so that a report stays small
NOT_FIELDS = ("id", "system", "text", "tags", "marked")


def item_page(
    items,
    results=None,
    *,
    noun="question",
    by="system",
    against=None,
    ready=(),
    scope=None,
    card=None,
    shown=None,
    documents=None,
    item_texts=(),
    document_texts=(),
    note=None,
    most_bytes=MOST_BYTES,
):
    """Collect single items for a page of their own, as many as there is room for.

    A value of a field is a text, a number, None, or a list of texts, of ids of documents, or of
    pairs of one of these and a note.

    Parameters
    ----------
    items : pandas.DataFrame
        A row an item, the most important first: ``id``, ``text``, perhaps ``tags`` to choose items
        by and ``marked`` (ids of documents that get a tick); each other column is a field.
    results : pandas.DataFrame, optional
        A row a system and item: ``id``, ``system``, perhaps ``tags``; each other column is a field,
        by which readers compare any two systems if it holds numbers. The first system and the first
        numbers are what they see at first.
    noun, by : str
        What an item is, and what the systems are, such as raters.
    against : str, optional
        System that the first one is compared with at first, by default the second.
    ready : sequence of (str, str or None, str or None)
        Tags that are offered first: of items; of a system; or with two systems made here, of items
        on which the first one scores less.
    scope : str, optional
        Tag of the items that the chapter's tables are about.
    card : DatasetCard, optional
        Card of the data, which decides what is ``shown`` unless that is given: see `may_show`.
    documents : dict, optional
        Texts of the documents that fields name; the page has their beginning.
    item_texts, document_texts : sequence of str
        Columns that repeat texts of the items or of the documents.
    note : str, optional
        What a reader has to know first.
    most_bytes : int
        Room, as JSON.
    """
    shown = may_show(card) if shown is None else shown
    items = _permitted(items, shown, item_texts, document_texts)
    results = pd.DataFrame(columns=["id", "system"]) if results is None else results
    results = _permitted(results, shown, item_texts, document_texts)
    columns = [name for name in results if name not in NOT_FIELDS]
    measures = results[columns].select_dtypes("number").columns.tolist()
    results = results.round(dict.fromkeys(measures, STORED_DIGITS))
    systems = results["system"].unique().tolist()
    tags = _tags(items)
    for tag, system, other in ready:
        if other is not None:
            lower = _lower(results, measures[0], system, other, tags, scope)
            tags = pd.concat([tags, pd.Series(tag, lower, dtype=object)])
    head = {
        "noun": noun,
        "by": by,
        "card": card and card.key,
        "withheld": sorted(ALL_TEXTS - shown),
        "note": note,
        "asked": len(items),
        "systems": systems,
        "against": systems.index(against) if against in systems else int(len(systems) > 1),
        "columns": columns,
        "measures": measures,
        "scope": scope,
        "ready": [[tag, *map(_position_in(systems), pair)] for tag, *pair in ready],
    }
    texts = (documents or {}) if "documents" in shown else {}
    rows_of = {name: rows.set_index("system") for name, rows in results.groupby("id")}

    def collect(count):
        chosen = items.head(count)
        places = {name: place for place, name in enumerate(chosen["id"])}
        positions = {}  # of the documents that are named, in the list of these
        kept = []
        for row in chosen.to_dict("records"):
            cells = (
                rows_of[row["id"]][columns] if row["id"] in rows_of else results[columns].head(0)
            )
            kept.append(_item(row, cells.reindex(systems), texts, positions))
        of_systems = [_tags(results[results["system"] == system]) for system in systems]
        return head | {
            "items": kept,
            "documents": [[name, one_line(texts[name], OPENING)] for name in positions],
            "tags": _places(tags, places),
            "system_tags": [_places(of_system, places) for of_system in of_systems],
        }

    def size(count):
        return len(items_json(collect(count)))

    return collect(1 + bisect.bisect_right(range(2, len(items) + 1), most_bytes, key=size))


def _permitted(frame, shown, item_texts, document_texts):
    """Leave out the columns that repeat texts which may not be shown; ids become text."""
    withheld = []
    if "items" not in shown:
        withheld += ["text", *item_texts]
    if "documents" not in shown:
        withheld += document_texts
    return frame.drop(columns=withheld, errors="ignore").astype({"id": str})


def _position_in(systems):
    return lambda name: None if name is None else systems.index(name)


def _tags(rows):
    """Give the tags of rows one by one, by id."""
    if "tags" not in rows:
        return pd.Series(dtype=object)
    return rows.set_index("id")["tags"].explode().dropna()


def _lower(results, measure, system, other, tags, scope):
    """Give the ids of the items on which a system scores less than another."""
    scores = results.pivot_table(measure, "id", "system")
    lower = scores.index[scores[system] < scores[other]]
    return lower if scope is None else lower.intersection(tags.index[tags == scope])


def _places(tags, places):
    """Give the places of the items of each tag."""
    by_tag = {}
    for name, tag in tags.items():
        if name in places:
            by_tag.setdefault(tag, []).append(places[name])
    return dict(sorted(by_tag.items()))


def _item(row, cells, texts, positions):
    """Give one item; of the documents that it names, the positions in the list of these."""

    def named(entry):
        if isinstance(entry, tuple):
            name, note = entry
            return [named(name), note]
        return positions.setdefault(entry, len(positions)) if entry in texts else entry

    def written(value):
        if isinstance(value, list):
            return list(map(named, value))
        return value if isinstance(value, str) else stored_number(value)

    fields = {name: written(value) for name, value in row.items() if name not in NOT_FIELDS}
    return {
        "id": row["id"],
        "text": written(row.get("text")),
        "fields": [[name, value] for name, value in fields.items() if value not in (None, [], "")],
        "marked": written(row.get("marked", [])),
        "cells": [[written(value) for value in line] for line in cells.itertuples(index=False)],
    }


def items_json(content):
    """Write content of a page, the same bytes for the same content."""
    return json.dumps(content, separators=(",", ":"), sort_keys=True, allow_nan=False)


def stored_number(value, digits=STORED_DIGITS):
    """Give a number of an item as it is stored: rounded, and None if it is undefined."""
    number = number_or_none(value)
    return None if number is None else round(number, digits)


def one_line(text, most=LONGEST_TEXT):
    """Give a text in one line, with an ellipsis where it was longer."""
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def word_changes(before, after, around=None):
    """Give a text with what differs from an earlier one: ``[-words that went-] {+new ones+}``.

    Of a longer run of equal words, only some at both ends are given (``around``).
    """
    old = before.split()
    new = after.split()
    marked = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for operation, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if operation == "equal":
            marked += _ends(old[old_start:old_end], around)
            continue
        if old_end > old_start:
            marked.append(f"[-{' '.join(old[old_start:old_end])}-]")
        if new_end > new_start:
            marked.append(f"{{+{' '.join(new[new_start:new_end])}+}}")
    return " ".join(marked)


def _ends(words, around):
    if around is None or len(words) <= 2 * around:
        return words
    return [*words[:around], "…", *words[-around:]]
