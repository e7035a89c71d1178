"""Marks of figures and rows of tables lead to items that their page has."""

import json
import re
from html import unescape
from urllib.parse import parse_qs

import pytest

from casebook.batch.grid import load_grid, select
from casebook.book.results import ChapterResults
from casebook.paths import run_dir

LINK = re.compile(r'generated/items/([\w.-]+)\.html#([^"]+)"')
CHANGES = ("better", "equal", "worse")
ORDERS = ("as listed", "lowest first", "lower first", "higher first")


def markup_of(cell):
    """Give the HTML of all outputs of an executed chapter."""
    path = run_dir("smoke") / "notebooks" / f"{cell}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for each in cells for output in each.get("outputs", ())]
    return "".join(line for o in outputs for line in o.get("data", {}).get("text/html", ()))


def shown_links(cell):
    """Give the choices of all links of an executed chapter to items, by the cell that kept them."""
    choices = {}
    for name, choice in LINK.findall(markup_of(cell)):
        choices.setdefault(name, []).append(parse_qs(unescape(choice)))
    assert set(choices) <= {cell} or cell.startswith("run_comparison")
    return choices


@pytest.mark.parametrize("cell", select(load_grid(), tag="smoke"), ids=lambda cell: cell.name)
def test_every_link_chooses_items_that_there_are(cell):
    for name, choices in shown_links(cell.name).items():
        page = ChapterResults("smoke", name).items
        assert page is not None, name
        for choice in choices:
            assert_there_are(choice, page)


def tagged(page, tag, system):
    """Give the places of the items with a tag, of their own or of a system, as the page does."""
    if tag in page["tags"] or system not in page["systems"]:
        return set(page["tags"].get(tag, ()))
    return set(page["system_tags"][page["systems"].index(system)].get(tag, ()))


def assert_there_are(choice, page):
    """Hold a choice against a page; of one that is not whole, tags may be of items left out."""
    [system, *others] = page["systems"] or [None]
    usual = page["systems"][page["against"]] if others else None
    if len(page["items"]) == page["asked"]:
        for tag in choice.get("only", ()):
            places = tagged(page, tag, choice.get("system", [system])[0])
            for other_tag in choice.get("without", ()):
                places -= tagged(page, other_tag, choice.get("against", [usual])[0])
            assert places, f"nothing is there: {choice}"
    assert set(choice.get("q", ())) <= {item["id"] for item in page["items"]}, choice
    assert set(choice.get("system", ())) <= set(page["systems"]), choice
    assert set(choice.get("against", ())) <= set(page["systems"]), choice
    assert set(choice.get("measure", ())) <= set(page["measures"]), choice
    assert set(choice.get("change", ())) <= set(CHANGES), choice
    assert set(choice.get("order", ())) <= set(ORDERS), choice
