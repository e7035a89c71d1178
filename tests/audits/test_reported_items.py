"""Single rows of reported tables, for a page of their own."""

import pandas as pd

from casebook.audits.items import reported_items
from casebook.audits.tables import check_tables


def test_every_row_is_an_item_with_what_decided_and_impossible_ones_come_first():
    reported = pd.DataFrame({"table": "paper", "row": ["full", "bare", "bare"], "n": 10})
    rows = check_tables(reported.assign(positives=5, accuracy=["0.8", "0.85", "0.9"]))
    page = reported_items(rows)
    fields = {item["id"]: dict(item["fields"]) for item in page["items"]}
    assert list(fields) == ["paper: bare", "paper: full", "paper: bare (2)"] and page["asked"] == 3
    assert fields["paper: bare"]["impossible by themselves"] == "accuracy"
    assert fields["paper: bare (2)"]["reported accuracy"] == 0.9
    assert page["tags"] == {"impossible": [0], "possible": [1, 2], "table: paper": [0, 1, 2]}
    assert page["ready"] == [["impossible", None, None]]
