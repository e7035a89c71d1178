"""What any page of single items is made of: its parts, cells, items, tags and scores."""

from itertools import chain

CHANGES = ("better", "equal", "worse")
FIRST_CODE = 35  # of the characters that stand for documents: the first one after a quotation mark
OTHER_NOT = ", other not"  # ends a tag that the first system of the pair has and the other lacks
UNGROUNDED = "sentence not grounded"  # a tag of answers and of explanations


def facts():
    """Describe a part of named values: content is a list of name and cell."""
    return {"part": "facts"}


def change(caption):
    """Describe a part of a text before and after, see `casebook.runs.outputs.word_changes`."""
    return {"part": "change", "caption": caption}


def table(caption, heads, missing="undefined", cards=False, folded=False):
    """Describe a table, which a reader opens if it is folded: content is a list of rows."""
    return {
        "part": "table",
        "caption": caption,
        "heads": list(heads),
        "missing": missing,
        "cards": cards,
        "folded": folded,
    }


def score_table(caption):
    """Describe the table of an item's scores, a row a system: it has no content of its own."""
    return {"part": "scores", "caption": caption}


def rankings(ranked, lists, depth):
    """Describe what the chosen pair of systems returned: content is that of `ranked_lists`."""
    return {"part": "rankings", "ranked": ranked, "lists": lists, "depth": depth}


def ranked_lists(relevant, lists):
    """Give what systems returned for one question, each document and each list once.

    These are the documents, the relevant ones first; how many are relevant; the lists that differ,
    a character for each document, whose code is its position here and `FIRST_CODE`; and for each
    system the position of its list.
    """
    positions = {document: k for k, document in enumerate(relevant)}
    distinct = {}
    list_of_system = []
    for documents in lists:
        codes = [FIRST_CODE + positions.setdefault(name, len(positions)) for name in documents]
        ranking = "".join(map(chr, codes))
        list_of_system.append(distinct.setdefault(ranking, len(distinct)))
    return [list(positions), len(relevant), list(distinct), list_of_system]


def cell(value, mark=None, note=None):
    """Give a cell with a mark before it or a note below it."""
    if note:
        return [value, mark, note]
    return [value, mark] if mark else value


def item(name, text, parts, *, tags=(), by_system=(), scores=(), keys=()):
    """Give one item of a page; a part without content is left out.

    ``by_system`` has the tags, and ``scores`` the values of the page's measures, of each system.
    """
    return {
        "id": name,
        "text": text,
        "parts": [part or None for part in parts],
        "tags": list(tags),
        "by_system": [list(tags_of_system) for tags_of_system in by_system]
        if any(by_system)
        else [],
        "scores": [list(values) for values in scores],
        "keys": [round(key, 3) for key in keys],
    }


def page(
    cell,
    noun,
    documents,
    layout,
    items,
    *,
    systems=(),
    tested=(),
    pair=None,
    measures=(),
    words=CHANGES,
    orders=(),
    wrong=None,
    questions=(),
):
    """Put a page together.

    Tags become positions in its list of tags, and scores positions in its ascending list of values,
    so that the signs of differences are those of the scores themselves.

    Parameters
    ----------
    systems : sequence of str
        Readers' names; ``tested`` has the positions of those that are no controls, ``pair`` of the
        two that are compared at first.
    measures : sequence of (str, int)
        What the scores are, and the decimals that a reader sees; the first one leads.
    words : sequence of str
        What better, equal and worse are called.
    orders : sequence of str
        What the items' keys order by, the smallest first.
    wrong : (str, str), optional
        The tag of items on which a system is wrong, and the label of the box that asks for them.
    questions : sequence of (str, dict)
        Ready-made choices: their text, and what they put into the address.
    """
    tags = sorted({tag for item in items for tag in _tags_of(item)})
    values = sorted({value for item in items for row in item["scores"] for value in row} - {None})
    return {
        "cell": cell,
        "noun": noun,
        "layout": layout,
        "documents": documents,
        "systems": list(systems),
        "tested": list(tested),
        "pair": pair,
        "measures": [list(measure) for measure in measures],
        "values": values,
        "words": dict(zip(CHANGES, words, strict=True)),
        "tags": tags,
        "orders": orders,
        "wrong": wrong,
        "questions": [list(question) for question in questions],
        "items": _numbered(items, tags, values),
    }


def _tags_of(item):
    return {*item["tags"], *chain.from_iterable(item["by_system"])}


def _numbered(items, tags, values):
    """Write positions in the lists of tags and of values for both."""
    tag_positions = {tag: k for k, tag in enumerate(tags)}
    positions = {value: k for k, value in enumerate(values)} | {None: None}
    return [
        item
        | {
            "tags": [tag_positions[tag] for tag in item["tags"]],
            "by_system": [[tag_positions[tag] for tag in row] for row in item["by_system"]],
            "scores": [[positions[value] for value in row] for row in item["scores"]],
        }
        for item in items
    ]


def decimal(value):
    """Write a number of three decimals, None as it is."""
    return None if value is None else f"{value:.3f}"


def text_or_none(value):
    """Write a number as text, None as it is."""
    return None if value is None else str(value)
