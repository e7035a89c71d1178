"""Single rated items: ratings and where raters differ."""

import pandas as pd

from casebook.raters.agreement import rating_items

SCORES = pd.DataFrame({"ann": [4.0, 2.0, None], "bob": [5.0, 2.0, 3.0]}, index=["q1", "q2", "q3"])
TONES = pd.DataFrame({"ann": ["warm", "cold"], "cy": ["warm", "warm"]}, index=["q1", "q2"])


def test_an_item_has_what_each_rater_gave_it_and_whether_they_are_alike():
    page = rating_items({"score": SCORES, "tone": TONES}, "Simulated.")
    assert page["systems"] == ["ann", "bob", "cy"] and page["columns"] == ["score", "tone"]
    assert page["measures"] == ["score"]  # raters can be compared by numbers
    assert page["note"] == "Simulated."
    cells = {item["id"]: item["cells"] for item in page["items"]}
    assert cells["q1"] == [[4, "warm"], [5, None], [None, "warm"]]
    assert cells["q3"] == [[None, None], [3, None], [None, None]]
    assert list(cells) == ["q1", "q2", "q3"]  # raters differ least on the last one
    assert page["tags"] == {
        "score: not all alike": [0],
        "tone: not all alike": [1],
    }
