"""Single checks of an audit, and the page that shows them."""

import pandas as pd

from casebook.audits.items import check_items
from casebook.audits.labels import audit_labels
from casebook.audits.sources import Labels
from casebook.audits.tables import check_tables
from casebook.book.items import view
from casebook.runs.outputs import items_json


def findings_and_rows():
    documents = [f"d{n}" for n in range(20)]
    dealt = {f"q{n}": [documents[n % 20]] for n in range(60)}
    findings = audit_labels(Labels("dealt", {"all": dealt}, documents)).frame()
    findings = findings.rename(columns={"low": "value low", "high": "value high"})
    reported = pd.DataFrame({"table": "paper", "row": ["full", "bare", "bare"], "n": 10})
    reported = reported.assign(positives=5, accuracy=["0.8", "0.85", "0.9"])
    return findings, check_tables(reported)


def test_every_check_and_every_row_is_an_item_with_what_decided():
    findings, rows = findings_and_rows()
    collection = check_items(findings, rows, str.upper)
    items = {item["id"]: item for item in collection["items"]}
    assert len(items) == collection["asked"] == len(findings) + 3
    robin = items["DEALT: round robin"]
    assert {"flagged", "set: DEALT", "check: round robin"} == set(robin["tags"])
    assert robin["evidence"][0] == "59 of 59 successive labels advance by +1 modulo 20"
    assert dict(robin["facts"])["Value"].startswith("1.000")
    assert dict(items["paper: bare"]["facts"])["Impossible by themselves"] == "accuracy"
    assert items["paper: bare (2)"]["reported"][0] == ["Accuracy", "0.900"]
    assert [items[f"paper: {row}"]["tags"][0] for row in ("full", "bare", "bare (2)")] == [
        "possible",
        "impossible",
        "possible",
    ]


def test_the_page_of_checks_filters_by_set_and_verdict_and_offers_what_is_wrong():
    collection = check_items(*findings_and_rows(), str)
    page = view(collection | {"cell": "audits"})
    flagged = [item for item in collection["items"] if "flagged" in item["tags"]]
    position = page["tags"].index("flagged")
    assert [item["id"] for item in page["items"] if position in item["tags"]] == [
        item["id"] for item in flagged
    ]
    assert [choice for _, choice in page["questions"]] == [
        {"only": "flagged"},
        {"only": "impossible"},
    ]


def test_where_room_is_short_what_speaks_against_labels_or_rows_stays(monkeypatch):
    findings, rows = findings_and_rows()
    whole = check_items(findings, rows, str)
    wrong = {item["id"] for item in whole["items"] if {"flagged", "impossible"} & set(item["tags"])}
    monkeypatch.setattr("casebook.runs.outputs.MOST_BYTES", len(items_json(whole)) // 2)
    kept = {item["id"] for item in check_items(findings, rows, str)["items"]}
    assert wrong <= kept < {item["id"] for item in whole["items"]}
