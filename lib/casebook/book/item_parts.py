"""What pages of single items are made of: a lead, facts, a marked change, tables.

An item gives only the content of its parts, in the order of the page's layout. A cell
is text; a number, which is a place in the page's documents; or None, which is
undefined; `cell` adds marks and notes.
"""

FACTS, CHANGE, TABLE = "facts", "change", "table"


def facts():
    """Describe a part of named values: content is a list of name and cell."""
    return {"part": FACTS}


def change(caption):
    """Describe a part of a text before and after, see `casebook.runs.outputs.changed`."""
    return {"part": CHANGE, "caption": caption}


def table(caption, heads, missing="undefined", cards=False):
    """Describe a table: content is a list of rows of cells."""
    return {"part": TABLE, "caption": caption, "heads": list(heads), "missing": missing, "cards": cards}


def cell(value, mark=None, note=None):
    """Give a cell with a mark before it or a note below it."""
    if note:
        return [value, mark, note]
    return [value, mark] if mark else value


def item(name, text, parts, *, tags=(), keys=(), wrong=False):
    """Give one item of a page."""
    return {
        "id": name,
        "text": text,
        "parts": list(parts),
        "tags": list(tags),
        "keys": [round(key, 3) for key in keys],
        "wrong": wrong,
    }


def page(found, noun, layout, items, *, orders=(), wrong=None):
    """Put a page together."""
    tags = sorted({tag for one in items for tag in one["tags"]})
    number = {tag: place for place, tag in enumerate(tags)}
    return {
        "cell": found["cell"],
        "noun": noun,
        "layout": list(layout),
        "documents": found["documents"],
        "tags": tags,
        "orders": list(orders),
        "wrong": wrong,
        "items": [one | {"tags": [number[tag] for tag in one["tags"]]} for one in items],
    }


def decimal(value):
    """Write a number of three decimals, None as it is."""
    return None if value is None else f"{value:.3f}"


def whole(value):
    """Write a whole number, None as it is."""
    return None if value is None else str(value)
