"""Source notebooks are readable, clean and runnable by parameter; marks and rows of executed ones lead
to items that their page has, as many as they count."""

import json
import re
from html import unescape
from urllib.parse import parse_qs

import pytest

from casebook.batch.grid import load_grid, select
from casebook.batch.parameters import declarations
from casebook.book.results import ChapterResults
from casebook.paths import NOTEBOOKS, ROOT, run_dir

LINK = re.compile(r'generated/items\.html#([^"]*)"(?:><rect[^>]*><title>([^<]*))?')
COUNT = re.compile(r"\(n = ([\d,]+)\)")


# Give the links of an executed chapter to items: who kept them, the choice, what is said.
def shown_links(cell):
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
        assert set(choice) <= {"q", "system", "against", "only"}
        if "q" in choice:
            continue
        listed = page["items"]
        if "only" in choice:
            tag = choice["only"]
            of_systems = dict(zip(page["systems"], page["system_tags"], strict=True))
            system = choice.get("system", next(iter(of_systems), None))
            listed = page["tags"].get(tag) or of_systems.get(system, {}).get(tag, [])
        is_whole = len(page["items"]) == page["asked"]
        assert listed or not is_whole, f"nothing is there: {choice}"
        counted = [int(number.replace(",", "")) for number in COUNT.findall(title)]
        # Of a page that is not whole, items may have been left out.
        wrong = [n for n in counted if len(listed) > n or (is_whole and len(listed) < n)]
        assert not wrong, f"{title} leads to {len(listed)}: {choice}"


SOURCES = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(params=SOURCES, ids=lambda path: path.stem)
def source(request):
    return request.param


def code_cells(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [c for c in cells if c["cell_type"] == "code"]


def test_run_and_cell_are_parameters(source):
    assert {"run", "cell"} <= set(declarations(source))


# `make smoke` makes it again after a source has changed.
def test_the_reference_run_was_made_from_the_sources():
    for cell in select(load_grid(), tag="smoke"):
        made = code_cells(ROOT / "results/smoke/notebooks" / f"{cell.name}.ipynb")
        sources = [c["source"] for c in code_cells(NOTEBOOKS / cell.notebook)]
        executed = [c["source"] for c in made if c["id"] != "injected-parameters"]
        assert executed == sources, f"{cell.notebook} has changed: run make smoke"
