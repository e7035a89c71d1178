"""The pages of single items: whole, linked, and of any chapter."""

import base64
import gzip
import json
import shutil
from urllib.parse import parse_qs

import pandas as pd
import pytest

from casebook import paths
from casebook.book.items import item_pages, worse_items
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
    files = item_pages(keep(note="Simulated."))
    assert f'<a href="items.html#of={CELL}">Question by question</a>' in files[PAGE]
    assert "alert" not in files[PAGE]  # texts are data, never part of a page
    script = files[f"items/{CELL}.js"]
    packed = script.removeprefix('window.casebookItems = "').removesuffix('";\n')
    kept = json.loads(gzip.decompress(base64.b64decode(packed)))
    about = kept.pop("about")
    assert kept == ChapterResults("mine", CELL).items
    assert [item["text"] for item in kept["items"]] == [HOSTILE, HOSTILE]
    assert about["opening"] == "All 2 questions are here. Simulated."
    assert about["title"].endswith(", question by question")
    assert about["data"].endswith("#smoke-contract-and-insurance-clauses")
    assert any(", MIT" in note for note in about["notes"])
    assert "Documents are shown by their beginning." in about["notes"]


def test_the_last_list_of_items_that_a_system_makes_worse_is_offered(keep):
    results = pd.DataFrame(
        {
            "id": ["sq01", "a&b #2"] * 2,
            "system": ["full"] * 2 + ["bm25"] * 2,
            "score": [0.5, 0.5, 0.7, 0.2],
        }
    )
    assert worse_items(keep(results)[0]) == {}
    ready = [
        ("held-out questions where reranking makes it worse", "full", "bm25"),
        ("questions that nothing makes worse", "full", "full"),
        ("a tag", None, None),
    ]
    found = worse_items(keep(results, ready=ready)[0])
    assert (found["text"], found["count"], found["asked"]) == (ready[0][0], 1, 2)
    page, _, choice = found["address"].partition("#")
    assert page == "items.html"
    pair = {"of": [CELL], "system": ["full"], "against": ["bm25"], "order": ["lower first"]}
    assert parse_qs(choice) == pair | {"only": [ready[0][0]]}
