"""A page per chapter that shows its single items, from what `casebook.runs.items` collected.

All pages are alike: ``assets/items.js`` draws them, and chooses among the items by the address.
"""

import html
import re

from casebook.book.titles import card_link, raw
from casebook.data.cards import cards
from casebook.runs.items import items_json
from casebook.runs.outputs import item_page_address
from casebook.tables import escape_markdown

_UNIT = re.compile(r"^(?:\S+ )?questions (?=that|where)")  # a link says the number instead
WITHHELD = (
    "{} are shown by their ids only: by our rule, a report repeats no texts whose licence is "
    "non-commercial or unknown."
)
PAGE = """# {title}, {name}

The single results behind the means of [the chapter](../../run/notebooks/{cell}.ipynb). {opening}

{viewer}

{notes}
"""
VIEWER = """<div class="items"><p>This page needs JavaScript to show single {noun}s. \
The rows of the chapter hold the same results.</p></div>
<script defer src="{cell}.js"></script>
<script defer src="../../_static/items.js"></script>
<link rel="stylesheet" href="../../_static/items.css">"""


def items_title(chapter):
    """Name the page of a chapter's items, such as "Claim by claim"; None without items."""
    if not chapter.items:
        return None
    noun = chapter.items["noun"]
    return f"{noun.capitalize()} by {noun}"


def item_pages(chapters):
    """Write the pages of all chapters that kept items, and the data that they load."""
    files = {}
    for chapter in chapters:
        if chapter.items:
            # A script, because a page from disk may not fetch JSON.
            content = items_json(chapter.items | {"cell": chapter.cell})
            files[f"items/{chapter.cell}.js"] = f"window.casebookItems = {content};\n"
            files[f"items/{chapter.cell}.md"] = _markdown(chapter)
    return files


def worse_items(chapter):
    """Give the last list of items that a system makes worse: text, address, counts; or None."""
    kept = chapter.items or {"ready": ()}
    for tag, *pair in reversed(kept["ready"]):
        if None not in pair and tag in kept["tags"]:
            system, against = (kept["systems"][place] for place in pair)
            choice = {"system": system, "against": against, "only": tag, "order": "lower first"}
            address = item_page_address(chapter.cell, **choice)
            return _UNIT.sub("", tag), address, (len(kept["tags"][tag]), len(kept["items"]))
    return None


def _markdown(chapter):
    """Write the page around the viewer: how much is on it; below it what, and the data."""
    kept = chapter.items
    noun = kept["noun"]
    opening = f"The page shows all {kept['asked']} {noun}s."
    if len(kept["items"]) < kept["asked"]:
        opening = (
            f"The page shows the first {len(kept['items'])} of {kept['asked']} {noun}s; the others "
            "are left out to keep the page small."
        )
    return PAGE.format(
        title=escape_markdown(chapter.title),
        name=items_title(chapter).lower(),
        cell=chapter.cell,
        opening=" ".join(filter(None, [opening, kept["note"]])),
        viewer=raw(VIEWER.format(noun=noun, cell=html.escape(chapter.cell))),
        notes=" ".join(filter(None, _notes(chapter, noun))),
    )


def _notes(chapter, noun):
    """Say what a single item lacks, what is withheld, and whose the data are."""
    yield f"A single {noun} has no interval; the chapter has the means with theirs."
    names = {"items": f"{noun.capitalize()}s", "documents": "Documents"}
    withheld = [names[kind] for kind in reversed(chapter.items["withheld"])]
    if withheld:
        yield WITHHELD.format(" and ".join(withheld).capitalize())
    elif chapter.items["documents"]:
        yield "Documents are shown by their beginning."
    card = cards().get(chapter.items["card"])
    if card:
        citation = " ".join(card.citation.split())
        yield f"Data: {card_link(card)}, {card.licence.name}; {citation}"
