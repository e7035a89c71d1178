"""Single rated items, and the page that shows them."""

import pandas as pd

from casebook.book.items import view
from casebook.raters.items import different_items, rating_items

SCORES = pd.DataFrame({"ann": [4.0, 2.0, None], "bob": [5.0, 2.0, 3.0]}, index=["q1", "q2", "q3"])
TONES = pd.DataFrame({"ann": ["warm", "cold"], "cy": ["warm", "warm"]}, index=["q1", "q2"])
FRAMES = {"score": SCORES, "tone": TONES}


def test_an_item_has_what_each_rater_gave_it_and_whether_they_are_alike():
    items = {item["id"]: item for item in rating_items(FRAMES)["items"]}
    assert items["q1"]["ratings"] == [
        ["ann", "4", "warm"],
        ["bob", "5", None],
        ["cy", None, "warm"],
    ]
    assert items["q1"]["tags"] == ["score: not all alike", "tone: all alike"]
    assert items["q2"]["tags"] == ["score: all alike", "tone: not all alike"]
    assert items["q3"] == {"id": "q3", "ratings": [["bob", "3", None]], "tags": []}  # one rater
    assert different_items(FRAMES) == {
        "score": "score: not all alike",
        "tone": "tone: not all alike",
    }
    assert different_items({"score": SCORES.iloc[1:]}) == {}


def test_the_page_of_ratings_orders_by_disagreement():
    page = view(rating_items(FRAMES) | {"cell": "ratings"})
    assert page["orders"] == ("raters differ most",)
    assert [item["keys"] for item in page["items"]] == [[-1], [-1], [0]]
    assert page["items"][0]["text"] == "score 4, 5; tone warm, warm"
    assert {choice["only"] for _, choice in page["questions"]} <= set(page["tags"])
