"""The pages of single items: whole, linked, and of any chapter."""

import base64
import gzip
import json

import pandas as pd
import pytest

from casebook.book.items import item_pages
from casebook.book.results import ChapterResults, read_chapters
from casebook.data.cards import card_of
from casebook.runs.items import item_page
from casebook.runs.outputs import RunOutputs

CELL = "retrieval_ablation-smoke"
PAGE = "items.md"
HOSTILE = "</script><script>alert(1)</script>"
ITEMS = pd.DataFrame({"id": ["sq01", "a&b #2"], "text": HOSTILE, "evidence": [["d1"], []]})


@pytest.mark.usefixtures("mine")
def test_the_page_lists_chapters_and_their_data_say_how_many_items_there_are_and_whose():
    page = item_page(ITEMS, card=card_of("smoke"), documents={"d1": "Escape of water."})
    RunOutputs("mine", CELL).items(page)
    files = item_pages(read_chapters("mine", [CELL]))
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
