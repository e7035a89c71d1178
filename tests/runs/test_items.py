"""Single items: what is kept of two frames, within a budget and a licence."""

import pandas as pd

from casebook.data.cards import card_of
from casebook.runs.items import ALL_TEXTS, item_page, items_json, one_line

ITEMS = pd.DataFrame(
    {
        "id": [1, 2, 3],
        "text": ["Is water covered?", "Is theft?", None],
        "part: test": [True, False, False],
        "part: dev": [False, True, False],
        "marked": [["d1"], [], []],
        "label": ["yes", None, "no"],
        "evidence": [[("d1", "rank 7"), "of no document"], [], []],
    }
)
RESULTS = pd.DataFrame(
    {
        "id": [1, 2, 1, 2],
        "system": ["full", "full", "bm25", "bm25"],
        "score": [0.25, 0.5, 0.7500001, 0.75],
        "answer": ["It is.", "It is not.", None, "Yes."],
        "found": [["d1", "d2"], [], ["d2"], ["d3"]],
        "wrong": [True, True, False, True],
    }
)
DOCUMENTS = {"d1": "Escape of water.", "d2": "Theft.  \n" + "x" * 200, "unused": "Nothing."}


def test_a_text_is_cut_where_it_is_too_long():
    assert one_line("a " * 200, most=399) == ("a " * 200).strip()
    assert one_line("b" * 400, most=399) == "b" * 398 + "…"


def kept(**choice):
    return item_page(ITEMS, RESULTS, documents=DOCUMENTS, **{"shown": ALL_TEXTS} | choice)


def test_two_frames_become_items_cells_documents_and_tags():
    page = kept(against="bm25", ready=[("wrong", "full", None)])
    assert page["systems"] == ["full", "bm25"] and page["against"] == 1 and page["asked"] == 3
    assert page["columns"] == ["score", "answer", "found"] and page["measures"] == ["score"]
    first, second, third = page["items"]
    assert (first["id"], first["text"], first["marked"]) == ("1", "Is water covered?", [0])
    evidence = [[0, "rank 7"], "of no document"]
    assert first["fields"] == [["label", "yes"], ["evidence", evidence]]
    assert first["cells"] == [[0.25, "It is.", [0, 1]], [0.75, None, [1]]]
    assert second["fields"] == [] and second["cells"][1] == [0.75, "Yes.", ["d3"]]
    assert third["text"] is None and third["cells"] == [[None, None, None]] * 2
    assert page["documents"][0] == ["d1", "Escape of water."]
    assert [name for name, _ in page["documents"]] == ["d1", "d2"]
    assert len(page["documents"][1][1]) == 120 and page["documents"][1][1].endswith("…")
    assert page["tags"] == {"part: dev": [1], "part: test": [0]}
    assert page["system_tags"] == [{"wrong": [0, 1]}, {"wrong": [1]}]
    assert page["ready"] == [["wrong", 0, None]]


def test_what_the_licence_does_not_allow_is_left_out():
    quoted = {"item_texts": ["label"], "document_texts": ["answer"]}
    secret = ["water", "theft", "yes", "It is"]
    left = {}
    for card in (card_of("smoke"), card_of("consumer_contracts_qa"), None):
        page = kept(card=card, shown=None, **quoted)
        text = items_json(page)
        left[card and card.key] = (page["withheld"], [word for word in secret if word in text])
    assert left == {
        "smoke": ([], secret),
        "consumer_contracts_qa": (["documents"], ["water", "theft", "yes"]),
        None: (["documents", "items"], []),
    }


def test_a_budget_keeps_the_first_items_and_what_belongs_to_them():
    whole = kept()
    assert kept(most_bytes=len(items_json(whole))) == whole
    short = kept(most_bytes=len(items_json(whole)) - 1)
    assert [item["id"] for item in short["items"]] == ["1", "2"] and short["asked"] == 3
    least = kept(most_bytes=1)
    assert [item["id"] for item in least["items"]] == ["1"]
    assert least["tags"] == {"part: test": [0]} and least["system_tags"] == [{"wrong": [0]}, {}]
    empty = item_page(ITEMS.head(0))
    assert empty["items"] == empty["systems"] == [] and empty["asked"] == 0
