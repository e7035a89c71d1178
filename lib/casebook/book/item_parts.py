"""What pages of single items are made of: a lead, facts, a marked change, tables.

An item gives only the content of its parts, in the order of the page's layout. A cell
is text; a number, which is a place in the page's documents; or None, which is
undefined; `cell` adds marks and notes.
"""

FACTS, CHANGE, TABLE = "facts", "change", "table"


def facts():
    """Describe a part of named values: content is a list of name and cell.

    Returns
    -------
    dict
        One entry of the layout.
    """
    return {"part": FACTS}


def change(caption):
    """Describe a part of a text before and after, see `casebook.runs.items.changed`.

    Parameters
    ----------
    caption : str
        Says what was changed.

    Returns
    -------
    dict
        One entry of the layout.
    """
    return {"part": CHANGE, "caption": caption}


def table(caption, heads, missing="undefined", cards=False):
    """Describe a table: content is a list of rows of cells.

    Parameters
    ----------
    caption : str
        Says what it shows.
    heads : sequence of str
        Columns.
    missing : str
        What a dash means, for readers who hear the page.
    cards : bool
        Whether rows stand as cards where the screen is narrow.

    Returns
    -------
    dict
        One entry of the layout.
    """
    return {
        "part": TABLE,
        "caption": caption,
        "heads": list(heads),
        "missing": missing,
        "cards": cards,
    }


def cell(value, mark=None, note=None):
    """Give a cell with a mark before it or a note below it.

    Parameters
    ----------
    value : str, int or None
        Text, place in the documents, or None.
    mark : str, optional
        A key of ``SIGNS`` in ``book/assets/items.js``.
    note : str, optional
        Stands small below.

    Returns
    -------
    str, int, None or list
        The value itself without mark and note.
    """
    if note:
        return [value, mark, note]
    return [value, mark] if mark else value


def item(name, text, parts, *, tags=(), keys=(), wrong=False):
    """Give one item of a page.

    Parameters
    ----------
    name : str
        Id.
    text : str or None
        What it says; None where that may not be shown.
    parts : sequence
        Content of each entry of the layout; None for a part that it lacks.
    tags : sequence of str
        What readers can choose items by.
    keys : sequence of float
        What it is ordered by, the least first; one for each of the page's orders.
    wrong : bool
        Whether it is among the wrong ones.

    Returns
    -------
    dict
        For the script of the page.
    """
    return {
        "id": name,
        "text": text,
        "parts": list(parts),
        "tags": list(tags),
        "keys": [round(key, 3) for key in keys],
        "wrong": wrong,
    }


def page(found, noun, layout, items, *, orders=(), wrong=None):
    """Put a page together.

    Parameters
    ----------
    found : dict
        What the chapter kept: ``cell``, ``documents``.
    noun : str
        What one item is called.
    layout : sequence of dict
        From `facts`, `change` and `table`.
    items : sequence of dict
        From `item`.
    orders : sequence of str
        Names of the orders besides that of the data.
    wrong : str, optional
        Names the choice of wrong items only.

    Returns
    -------
    dict
        For the script of the page; tags are numbered.
    """
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
        "items": [
            one | {"tags": [number[tag] for tag in one["tags"]]} for one in items
        ],
    }


def decimal(value):
    """Write a number of three decimals, None as it is."""
    return None if value is None else f"{value:.3f}"


def whole(value):
    """Write a whole number, None as it is."""
    return None if value is None else str(value)
