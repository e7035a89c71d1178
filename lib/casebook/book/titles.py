"""Readers' names of data sets, and the HTML of generated pages that links to chapters."""

import html
import re

from casebook.data.cards import card_of
from casebook.paths import run_dir
from casebook.tables import Markup


def dataset_name(dataset):
    card = card_of(dataset)
    if card is None:
        return dataset
    title = card.title.partition(",")[0]
    suffix = dataset.removeprefix(card.key)
    if not suffix:
        return title
    part = (
        suffix[1:]
        .replace("_", " ")
        .replace("corrected", "standard")
        .removeprefix("all ")
    )
    if suffix.startswith("_") and not part.endswith(" half"):
        part += " part"
    return f"{title}, {part}"


# --- HTML within the Markdown of a generated page


def raw(markup):
    """Wrap HTML so that MyST passes it through, whatever colons a text of it begins with."""
    longest = max(map(len, re.findall(":+", markup)), default=0)
    fence = ":" * max(6, longest + 1)
    return f"{fence}{{raw}} html\n{markup}\n{fence}\n"


def card_anchor(card):
    """Anchor of a data card, as MyST makes it of its title."""
    return re.sub(r"[^\w -]", "", card.title.lower()).replace(" ", "-")


def card_link(card):
    return f"[{card.title}](../../data_cards.md#{card_anchor(card)})"


def page_link(cell):
    return Markup(f'<a href="run/notebooks/{cell}.html">{html.escape(cell)}</a>')


def file_links(chapter):
    """Link to the rows and the run record of a chapter, as far as they exist."""
    cell = chapter.cell
    files = {"rows": f"rows/{cell}.csv.gz", "run.json": f"runs/{cell}/run.json"}
    links = [
        f'<a href="{name}">{label}</a>'
        for label, name in files.items()
        if (run_dir(chapter.run) / name).is_file()
    ]
    return Markup(" ".join(links))
