"""The pages of single items: whole, linked, and of any chapter."""

import base64
import gzip
import json
import shutil

import pandas as pd
import pytest

from casebook import paths
from casebook.book.items import item_pages
from casebook.book.results import ChapterResults, read_chapters
from casebook.data.cards import card_of
from casebook.paths import run_dir
from casebook.runs.items import item_page
from casebook.runs.outputs import RunOutputs

CELL = "retrieval_ablation-smoke"
PAGE = "items.md"
HOSTILE = "</script><script>alert(1)</script>"
ITEMS = pd.DataFrame({"id": ["sq01", "a&b #2"], "text": HOSTILE, "evidence": [["d1"], []]})


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Give a function that keeps items in a copy of a run, and gives the chapter."""
    shutil.copytree(run_dir("smoke"), tmp_path / "mine")
    monkeypatch.setattr(paths, "RESULTS", tmp_path)

    def keep(*results, **choice):
        choice = {"card": card_of("smoke"), "documents": {"d1": "Escape of water."}} | choice
        page = item_page(ITEMS, *results, **choice)
        RunOutputs("mine", CELL).items(page)
        return read_chapters("mine", [CELL])

    return keep


def test_the_page_lists_chapters_and_their_data_say_how_many_items_there_are_and_whose(keep):
    files = item_pages(keep())
    assert f'<a href="items.html#of={CELL}">Question by question</a>' in files[PAGE]
    assert "alert" not in files[PAGE]  # texts are data, never part of a page
    script = files[f"items/{CELL}.js"]
    packed = script.removeprefix('window.casebookItems = "').removesuffix('";\n')
    kept = json.loads(gzip.decompress(base64.b64decode(packed)))
    about = kept.pop("about")
    assert kept == ChapterResults("mine", CELL).items
    assert [item["text"] for item in kept["items"]] == [HOSTILE, HOSTILE]
    assert about["opening"] == "All 2 questions are here."
    assert about["title"].endswith(", question by question")
    assert about["data"].endswith("#smoke-contract-and-insurance-clauses")
    assert any(", MIT" in note for note in about["notes"])
    assert "Documents are shown by their beginning." in about["notes"]
