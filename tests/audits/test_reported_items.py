"""Single rows of reported tables, and the page that shows them."""

import pandas as pd

from casebook.audits.items import reported_items
from casebook.audits.tables import check_tables
from casebook.book.items import view
from casebook.runs.outputs import items_json


def checked_rows():
    reported = pd.DataFrame({"table": "paper", "row": ["full", "bare", "bare"], "n": 10})
    return check_tables(reported.assign(positives=5, accuracy=["0.8", "0.85", "0.9"]))


def test_every_row_is_an_item_with_what_decided():
    collection = reported_items(checked_rows())
    items = {item["id"]: item for item in collection["items"]}
    assert len(items) == collection["asked"] == 3
    assert dict(items["paper: bare"]["facts"])["Impossible by themselves"] == "accuracy"
    assert items["paper: bare (2)"]["reported"][0] == ["Accuracy", "0.900"]
    assert [items[f"paper: {row}"]["tags"][0] for row in ("full", "bare", "bare (2)")] == [
        "possible",
        "impossible",
        "possible",
    ]


def test_the_page_filters_by_verdict_and_offers_what_is_wrong():
    page = view(reported_items(checked_rows()) | {"cell": "audits"})
    position = page["tags"].index("impossible")
    assert [item["id"] for item in page["items"] if position in item["tags"]] == ["paper: bare"]
    assert [choice for _, choice in page["questions"]] == [{"only": "impossible"}]


def test_where_room_is_short_what_is_impossible_stays(monkeypatch):
    whole = reported_items(checked_rows())
    monkeypatch.setattr("casebook.runs.outputs.MOST_BYTES", len(items_json(whole)) // 2)
    kept = {item["id"] for item in reported_items(checked_rows())["items"]}
    assert "paper: bare" in kept < {item["id"] for item in whole["items"]}
