"""Marks of figures and rows of tables lead to items that their page has."""

import json
import re
from html import unescape
from urllib.parse import parse_qs

import pandas as pd
import pytest

from casebook.batch.grid import load_grid, select
from casebook.book.items import read_items, view
from casebook.paths import run_dir

LINK = re.compile(r'generated/items/([\w.-]+)\.html#([^"]+)"')
OTHER_NOT = ", other not"  # of the pair in the address, by the script of the page
CHANGES = ("better", "equal", "worse")
CONFUSION = "gold {}, verdict {}"


def shown_links(cell):
    """Give the choices of all links of an executed chapter to its own items."""
    path = run_dir("smoke") / "notebooks" / f"{cell}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for each in cells for output in each.get("outputs", ())]
    markup = "".join(line for o in outputs for line in o.get("data", {}).get("text/html", ()))
    links = LINK.findall(markup)
    assert {name for name, _ in links} <= {cell}
    return [parse_qs(unescape(choice)) for _, choice in links]


def test_rows_and_cells_lead_to_claims_that_there_are():
    """The page of this run has only some claims, so tags are held against the rows of all."""
    rows = pd.read_csv(run_dir("smoke") / "rows" / "factcheck_confusion-smoke.csv.gz", dtype=str)
    rows = rows[rows["system"] == rows["system"].iloc[0]]
    tags = set(map(CONFUSION.format, rows["label"], rows["verdict"].fillna("none")))
    for column in ("category", "hops"):
        tags |= {f"{column}: {value}" for value in rows[column]}
    tags |= {"wrong verdict", "evidence found", "evidence not found"}
    chosen = {
        tag for choice in shown_links("factcheck_confusion-smoke") for tag in choice.get("only", ())
    }
    assert chosen and chosen <= tags


@pytest.mark.parametrize("cell", select(load_grid(), tag="smoke"), ids=lambda cell: cell.name)
def test_every_link_chooses_items_that_there_are(cell):
    collection = read_items("smoke", cell.name)
    if collection is None:
        assert not shown_links(cell.name)
        return
    page = view(collection | {"cell": cell.name})
    ids = {item["id"] for item in page["items"]}
    for choice in shown_links(cell.name):
        if len(ids) == collection["asked"]:  # else a tag may be of items that there is no room for
            for tag in choice.get("only", ()):
                assert tag.removesuffix(OTHER_NOT) in page["tags"], choice
        assert set(choice.get("q", ())) <= ids, choice
        assert set(choice.get("system", ())) <= set(collection["systems"]), choice
        assert set(choice.get("against", ())) <= set(collection["systems"]), choice
        assert set(choice.get("change", ())) <= set(CHANGES), choice
        for order in choice.get("order", ()):
            assert order in page["orders"], choice
