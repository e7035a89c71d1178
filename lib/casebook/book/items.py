"""The page of single items: of any chapter, from what `casebook.runs.items` collected.

``assets/items.js`` draws it; the address says whose items, and which of them.
"""

import base64
import gzip
import html

from casebook.book.front import TEMPLATES
from casebook.book.titles import card_anchor, raw
from casebook.data.cards import cards
from casebook.runs.items import items_json
from casebook.runs.outputs import item_page_address

PAGE = "items"
WITHHELD = (
    "{} are shown by their ids only: by our rule, a report repeats no texts whose licence is "
    "non-commercial or unknown."
)


def items_title(chapter):
    if not chapter.items:
        return None
    noun = chapter.items["noun"]
    return f"{noun.capitalize()} by {noun}"


def items_link(chapter, folder):
    """Link to a chapter's items from a page that lies beside that folder; nothing without."""
    if not chapter.items:
        return ""
    address = html.escape(item_page_address(chapter.cell))
    return f'<a href="{folder}{address}">{items_title(chapter)}</a>'


def item_pages(chapters):
    """The page of items, and for each chapter that kept some the data that it loads."""
    kept = [chapter for chapter in chapters if chapter.items]
    if not kept:
        return {}
    files = {}
    for chapter in kept:
        content = chapter.items | {"about": _about(chapter)}
        files[f"{PAGE}/{chapter.cell}.js"] = items_script(content)
    links = [(chapter.title, items_link(chapter, "")) for chapter in kept]
    viewer = TEMPLATES.get_template("items.html").render(links=links)
    return files | {f"{PAGE}.md": f"# Single items\n\n{raw(viewer)}"}


def items_script(content):
    return packed_script("casebookItems", items_json(content))


def packed_script(name, text):
    """JSON as a script, because a page from disk may not fetch it; packed to a sixth."""
    packed = gzip.compress(text.encode(), mtime=0)
    return f'window.{name} = "{base64.b64encode(packed).decode()}";\n'


def worse_items(chapter):
    """The last list of items that a system makes worse: text, address, counts; empty without."""
    kept = chapter.items or {"ready": ()}
    for tag, *pair in reversed(kept["ready"]):
        if None not in pair and tag in kept["tags"]:
            system, against = (kept["systems"][place] for place in pair)
            choice = {
                "system": system,
                "against": against,
                "only": tag,
                "order": "lower first",
            }
            return {
                "text": tag,
                "than": against,
                "address": item_page_address(chapter.cell, **choice),
                "count": len(kept["tags"][tag]),
                "asked": len(kept["items"]),
            }
    return {}


def _about(chapter):
    """Whose a chapter's items are, how many there are, and what is left out."""
    kept = chapter.items
    noun = kept["noun"]
    count = len(kept["items"])
    opening = f"All {kept['asked']} {noun}s are here."
    if count < kept["asked"]:
        opening = f"Here are the first {count} of {kept['asked']} {noun}s, to keep the page small."
    about = {
        "title": f"{chapter.title}, {items_title(chapter).lower()}",
        "chapter": f"../run/notebooks/{chapter.cell}.html",
        "opening": opening,
        "notes": list(_notes(kept, noun)),
    }
    card = cards().get(kept["card"])
    if card:
        about["data"] = f"../data_cards.html#{card_anchor(card)}"
        citation = " ".join(card.citation.split())
        about["notes"].append(f"Data: {card.title}, {card.licence.name}; {citation}")
    return about


def _notes(kept, noun):
    """What a single item lacks, and what is withheld."""
    yield f"A single {noun} has no interval; the chapter has the means with theirs."
    names = {"items": f"{noun.capitalize()}s", "documents": "Documents"}
    withheld = [names[kind] for kind in reversed(kept["withheld"])]
    if withheld:
        yield WITHHELD.format(" and ".join(withheld).capitalize())
    elif kept["documents"]:
        yield "Documents are shown by their beginning."
