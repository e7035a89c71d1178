"""A page per chapter that shows its single items: questions, edits, votes, claims, answers.

One page kind shows them all: an item has an id, a text, tags to filter by, scores of every system,
keys to sort by, and the content of the page's parts, in the order of its layout: facts, a marked
change, tables, what two systems returned. A cell is text; a number, which is an index of the page's
documents; None, which is undefined; or a list of one of these, a mark before it and a note below
it. ``assets/items.js`` draws them and chooses among them by the address.

Tags, which figures link to (``only=TAG``). One of a system belongs to the ``system`` of the
address; ``TAG, other not`` holds for it and not for ``against``.

============  ==================================================  ==================================
kind          tag                                                 of a system
============  ==================================================  ==================================
questions     half: development, half: held-out; lost: in no      nothing relevant in the first 10
              list, lost: by the last cut; length: short,
              length: long
edits         kind of fact, as in `FACTS`; decides, does not      above 1.5, moved more than its
              decide, not annotated; edit of the case, edit of    placebos, moved no more than its
              an edited case                                      placebos, lost every precedent,
                                                                  not expanded
votes         more votes: SYSTEM; unanimous, not unanimous;       SCALE: RATING
              A and B disagree; RATER for SYSTEM
claims        label: LABEL; SLICE: VALUE; evidence found,         gold LABEL, verdict VERDICT; wrong
              evidence not found; decided by PART; decided by     verdict
              PART in a combination, SHARE contradicted; judge
              wrong: SET
answers       copy: DEFECT; DEFECT: missed by MEASURE             answered, abstained, grounded in
                                                                  full, half right, sentence not
                                                                  grounded
explanations  DEFECT                                              DEFECT: noticed, DEFECT: missed,
                                                                  sentence not grounded
checks        set: SET; check: CHECK; table: TABLE; flagged,
              passed, noted, not applicable; possible, impossible
ratings       CRITERION: all alike, CRITERION: not all alike
============  ==================================================  ==================================
"""

import html
from functools import lru_cache
from pathlib import Path

from casebook.batch.run_folder import same_data
from casebook.book.item_kinds import VIEWS
from casebook.book.item_parts import page
from casebook.book.item_script import as_script
from casebook.book.results import ChapterResults
from casebook.book.titles import card_link, raw
from casebook.data.cards import cards
from casebook.readers import read_yaml
from casebook.runs.outputs import item_page_address


@lru_cache(maxsize=1)
def page_words():
    """Read the words of each kind of page."""
    return read_yaml(Path(__file__).with_name("items.yml"), "file of items")


def items_title(chapter):
    """Name the page of a chapter's items, such as "Claim by claim"; None without items."""
    return chapter.items and page_words()[chapter.items["kind"]]["title"]


def item_links(chapter):
    """Give the addresses of a chapter's items, from a page of ``generated``."""
    names = [item["id"] for item in chapter.items["items"]] if chapter.items else []
    return {name: item_page_address(chapter.cell, q=name) for name in names}


def item_pages(chapters, compare=None):
    """Write the pages of all chapters that kept items, and the data that they load."""
    files = {}
    for chapter in chapters:
        if not chapter.items:
            continue
        cell = chapter.cell
        collection = chapter.items | {"cell": cell}
        note = None
        joined = collection
        if compare:
            joined, note = _joined(collection, chapter.run, compare)
        files[f"items/{cell}.js"] = as_script(view(joined))
        files[f"items/{cell}.md"] = _markdown(collection, note, chapter.title)
    return files


def view(collection):
    """Turn what a chapter kept of its items into a page."""
    kind = collection["kind"]
    controls = collection.get("controls", ())
    tested = [k for k, name in enumerate(collection["systems"]) if name not in controls]
    tested.sort(key=lambda k: collection["systems"][k] != collection.get("focus"))
    pair = _usual_pair(collection, tested)
    content = VIEWS[kind](collection | {"tested": tested, "pair": pair})
    return page(
        collection["cell"],
        page_words()[kind]["noun"],
        collection["documents"],
        systems=collection["systems"],
        tested=tested,
        pair=pair,
        **content,
    )


def _usual_pair(collection, tested):
    """Give the positions of the system under study and of what it is compared with at first."""
    systems = collection["systems"]
    if len(systems) < 2:
        return None
    system = tested[0] if tested else 0
    others = [k for k in [*tested, *range(len(systems))] if k != system]
    others.sort(key=lambda k: systems[k] != collection.get("against"))
    return [system, others[0]]


def _markdown(collection, comparison_note, title):
    """Write the page around the viewer: how much is on it; below it what, and the data."""
    kind = page_words()[collection["kind"]]
    noun = kind["noun"]
    cell = collection["cell"]
    opening = [
        f"The single results behind the means of [the chapter](../../run/notebooks/{cell}.ipynb).",
        _extent(collection, kind),
        collection.get("remark"),
    ]
    notes = [
        f"The page holds {kind['about'].strip()}",
        _text_note(collection, kind),
        comparison_note,
        _data_note(collection),
    ]
    viewer = (
        f'<div class="items"><p>This page needs JavaScript to show single {noun}s. '
        "The rows of the chapter hold the same results.</p></div>\n"
        f'<script defer src="{html.escape(cell)}.js"></script>\n'
        '<script defer src="../../_static/items.js"></script>\n'
        '<link rel="stylesheet" href="../../_static/items.css">'
    )
    return (
        f"# {title}, {kind['title'].lower()}\n\n"
        f"{' '.join(filter(None, opening))}\n\n{raw(viewer)}\n\n"
        f"{' '.join(filter(None, notes))}\n"
    )


def _extent(collection, kind):
    """Say how many items there are, and which are left out."""
    n_items = len(collection["items"])
    if n_items == collection["asked"]:
        return f"The page shows all {n_items} {kind['noun']}s."
    return (
        f"The page shows the {n_items} of {collection['asked']} {kind['noun']}s "
        f"{kind['left_out']}; the others are left out to keep the page small."
    )


def _text_note(collection, kind):
    """Say what is marked in the texts, or why there are none."""
    texts = collection["texts"]
    if texts is None or "documents" in texts:
        return kind["shown"]
    subject = "Documents"
    if "items" not in texts:
        subject = f"{kind['noun']}s and documents".capitalize()
    rule = "by our rule, a report repeats no texts whose licence is non-commercial or unknown"
    return f"{subject} are shown by their ids only: {rule}."


def _data_note(collection):
    """Name the data set with licence and citation."""
    card = cards().get(collection["card"])
    if card is None:
        return None
    citation = " ".join(card.citation.split())
    return f"Data: {card_link(card)}, {card.licence.name}; {citation}"


# --- the systems of another run next to those of this one

#: What the items of a kind hold of each system, in the order of the systems.
BY_SYSTEM = {
    "questions": ("scores", "top"),
    "edits": ("results",),
    "votes": (),
    "claims": ("verdicts", "right", "stated"),
    "answers": ("given",),
    "explanations": ("scores", "copies"),
    "checks": (),
    "ratings": (),
}


def _joined(collection, run, compared_run):
    """Add the systems of the other run to a collection, and say so, or why not."""
    cell = collection["cell"]
    noun = page_words()[collection["kind"]]["noun"]
    past = ChapterResults(compared_run, cell).items
    if past is None or past["kind"] != collection["kind"]:
        return collection, f"The run {compared_run} kept no {noun}s of this chapter."
    if not same_data(run, compared_run, cell):
        return collection, f"The run {compared_run} used other data and is not shown here."
    if past.get("measures") != collection.get("measures"):
        return collection, f"The run {compared_run} kept other measures and is not shown here."
    if not BY_SYSTEM[collection["kind"]]:
        return collection, f"The {noun}s of the run {compared_run} are not shown here."
    documents = _SharedDocuments(collection["documents"], past["documents"])
    names = [*collection["systems"], *past["systems"]]
    order = sorted(range(len(names)), key=lambda k: names.index(names[k]))  # equal names together
    past_items = {item["id"]: item for item in past["items"]}
    items = [
        _with_systems(item, past_items.get(item["id"]), collection, past, order, documents)
        for item in collection["items"]
    ]
    past_names = {name: f"{name}, {compared_run}" for name in past["systems"]}
    systems = [*collection["systems"], *past_names.values()]
    joined = collection | {
        "systems": [systems[k] for k in order],
        "controls": [
            *collection.get("controls", ()),
            *(past_names[name] for name in past.get("controls", ())),
        ],
        "documents": documents.documents,
        "items": items,
    }
    n_missing = sum(item["id"] not in past_items for item in collection["items"])
    missing = f"; it did not keep {n_missing} of the {noun}s" if n_missing else ""
    return joined, f"The systems of the run {compared_run} are among those of this run{missing}."


def _with_systems(item, past_item, collection, past, order, documents):
    """Give an item with what the systems of the other run did, None where they lack it."""
    joined = {}
    fields = [field for field in BY_SYSTEM[collection["kind"]] if field in item]
    for field in fields:
        past_values = [None] * len(past["systems"])
        if past_item is not None:
            past_values = [documents.translated(field, value) for value in past_item[field]]
        values = [*item[field], *past_values]
        joined[field] = [values[k] for k in order]
    return item | joined


class _SharedDocuments:
    """Documents of a page; those of the other run's items are added when these name them."""

    def __init__(self, documents, past_documents):
        self.documents = list(documents)
        self.past_documents = past_documents
        self.positions = {name: k for k, (name, _) in enumerate(documents)}

    def translated(self, field, value):
        """Turn positions among the other run's documents into positions among this page's."""
        if field == "top":
            return [self._position(document) for document in value]
        if field == "results" and value and not value["error"]:
            sides = {}
            for side in ("left", "entered"):
                moved = value[side]
                sides[side] = moved and [[self._position(case), *rest] for case, *rest in moved]
            return value | sides
        return value

    def _position(self, past_position):
        name, opening = self.past_documents[past_position]
        if name not in self.positions:
            self.positions[name] = len(self.documents)
            self.documents.append([name, opening])
        return self.positions[name]
