"""A page per chapter on which a reader looks at single items, such as claims."""

import html
import json

from casebook.book import claim_items, edit_items, question_items, vote_items
from casebook.book.item_beside import put_beside
from casebook.book.markup import raw
from casebook.datasets.cards import cards
from casebook.paths import run_dir
from casebook.plain_json import read_json
from casebook.runs.outputs import page_address

KINDS = {"questions": question_items, "claims": claim_items, "edits": edit_items, "votes": vote_items}


def items_file(run, cell):
    """Give the file in which a cell keeps its items."""
    return run_dir(run) / "items" / f"{cell}.json"


def kept_items(run, cell):
    """Read what a cell kept of its items."""
    path = items_file(run, cell)
    return read_json(path) if path.is_file() else None


def items_title(run, cell):
    """Name the page of a cell's items, such as "Claim by claim"."""
    found = kept_items(run, cell)
    return KINDS[found["kind"]].TITLE if found else None


def item_links(run, cell):
    """Give the addresses of a cell's items, from a page of ``generated``."""
    kept = kept_items(run, cell) or {"items": []}
    ids = [item["id"] for item in kept["items"]]
    return {name: page_address(cell, q=name) for name in ids}


def item_pages(run, cells, compare=None):
    """Write the pages of all cells that kept items, and the data that they load."""
    files = {}
    for cell in cells:
        found = kept_items(run, cell)
        if found:
            kind = KINDS[found["kind"]]
            notes = [_count(found, kind), found.get("remark"), _texts(found, kind)]
            found |= {"cell": cell, "tested": _tested(found)}
            if compare:
                past = kept_items(compare, cell)
                notes.append(put_beside(found, past, run, compare, kind))
            # A script, because a page that was opened from disk may not fetch JSON.
            script = json.dumps(kind.view(found), separators=(",", ":"))
            files[f"items/{cell}.js"] = f"window.casebookItems = {script};\n"
            files[f"items/{cell}.md"] = _page(found, kind, notes)
    return files


def _tested(found):
    return [p for p, s in enumerate(found["systems"]) if s not in found["controls"]]


def _count(found, kind):
    kept, asked = len(found["items"]), found["asked"]
    if kept == asked:
        return f"All {asked} {kind.NOUN}s are here."
    return (
        f"Here are the {kept} of {asked} {kind.NOUN}s {kind.LEFT_OUT}; the others are left out to keep the page small."
    )


def _texts(found, kind):
    """Say which texts the licence lets be shown."""
    if found["texts"] is None or "documents" in found["texts"]:
        return kind.SHOWN
    who = "Documents" if "items" in found["texts"] else f"{kind.NOUN}s and documents"
    none = "" if found["card"] else ", or none is known"
    return (
        f"{who.capitalize()} are named by their ids: the licence of the data does not "
        f"let their texts be passed on{none}."
    )


def _page(found, kind, notes):
    cell, card = found["cell"], cards().get(found["card"])
    source = ""
    if card:
        citation = " ".join(card.citation.split())
        source = f" Data: [{card.title}](../cards/{card.key}.md), {card.licence.name}; {citation}"
    viewer = (
        f'<div class="items"><p>Single {kind.NOUN}s are shown by a script, which does '
        "not run here; the chapter's rows hold the same results.</p></div>\n"
        f'<script defer src="{html.escape(cell)}.js"></script>\n'
        '<script defer src="../../_static/items.js"></script>'
    )
    return (
        f"# {kind.TITLE}{f': {card.title}' if card else ''}\n\n"
        "What stands behind the means of [the chapter]"
        f"(../../run/notebooks/{cell}.ipynb): {kind.ABOUT}\n\n"
        f"{' '.join(filter(None, notes))}{source}\n\n{raw(viewer)}"
    )
