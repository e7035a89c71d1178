"""Marks of figures and rows of tables lead to items that their page has, as many as they count."""

import json
import re
from html import unescape
from urllib.parse import parse_qs

import pytest

from casebook.batch.grid import load_grid, select
from casebook.book.results import ChapterResults
from casebook.paths import run_dir

LINK = re.compile(r'generated/items\.html#([^"]*)"(?:><rect[^>]*><title>([^<]*))?')
COUNT = re.compile(r"\(n = ([\d,]+)\)")
CHANGES = ("better", "equal", "worse")
ORDERS = ("as listed", "lowest first", "lower first", "higher first")


def shown_links(cell):
    """Give the links of an executed chapter to items: who kept them, the choice, what is said."""
    path = run_dir("smoke") / "notebooks" / f"{cell}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for each in cells for output in each.get("outputs", ())]
    markup = "".join(line for o in outputs for line in o.get("data", {}).get("text/html", ()))
    for address, title in LINK.findall(markup):
        choice = {key: value for key, [value] in parse_qs(unescape(address)).items()}
        name = choice.pop("of")
        assert name == cell or cell.startswith("run_comparison")
        yield name, choice, title


@pytest.mark.parametrize("cell", select(load_grid(), tag="smoke"), ids=lambda cell: cell.name)
def test_every_link_chooses_items_that_there_are_as_many_as_its_mark_counts(cell):
    for name, choice, title in shown_links(cell.name):
        page = ChapterResults("smoke", name).items
        assert page is not None, name
        assert choice.get("q") in {None, *(item["id"] for item in page["items"])}, choice
        assert {choice.get("system"), choice.get("against")} <= {None, *page["systems"]}, choice
        assert choice.get("measure") in {None, *page["measures"]}, choice
        assert choice.get("change") in {None, *CHANGES}, choice
        assert choice.get("order") in {None, *ORDERS}, choice
        if "q" in choice:
            continue
        listed = listed_items(page, choice)
        is_whole = len(page["items"]) == page["asked"]
        assert listed or not is_whole, f"nothing is there: {choice}"
        counted = [int(number.replace(",", "")) for number in COUNT.findall(title)]
        # Of a page that is not whole, items may have been left out.
        wrong = [n for n in counted if len(listed) > n or (is_whole and len(listed) < n)]
        assert not wrong, f"{title} leads to {len(listed)}: {choice}"


def listed_items(page, choice):
    """Give the places of the items that the page lists for a choice, by its rules."""
    system, *others = [*page["systems"], ""]
    usual = page["systems"][page["against"]] if len(others) > 1 else system
    pair = (choice.get("system", system), choice.get("against", usual))
    if pair[0] == pair[1]:
        pair = (pair[0], system)

    def tagged(key, system):
        of_systems = dict(zip(page["systems"], page["system_tags"], strict=True))
        tag = choice[key]
        return page["tags"].get(tag) or of_systems.get(system, {}).get(tag, [])

    def change_of(item):
        column = page["columns"].index(choice.get("measure", page["measures"][0]))
        first, second = (item["cells"][page["systems"].index(name)][column] for name in pair)
        if first is None or second is None:
            return None
        return CHANGES[(first <= second) + (first < second)]

    places = set(range(len(page["items"])))
    if "only" in choice:
        places &= set(tagged("only", pair[0]))
    if "without" in choice:
        places -= set(tagged("without", pair[1]))
    if "change" in choice:
        places = {at for at in places if change_of(page["items"][at]) == choice["change"]}
    for word in choice.get("find", "").lower().split():
        texts = {at: f"{page['items'][at]['id']} {page['items'][at]['text']}" for at in places}
        places = {at for at, text in texts.items() if word in text.lower()}
    return places
