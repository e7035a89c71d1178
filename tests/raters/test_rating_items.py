"""Single rated items: ratings, votes and where raters differ."""

import pandas as pd

from casebook.raters.analysis import analyse
from casebook.raters.documented import example_votes
from casebook.raters.items import different_items, rating_items, vote_items

SCORES = pd.DataFrame({"ann": [4.0, 2.0, None], "bob": [5.0, 2.0, 3.0]}, index=["q1", "q2", "q3"])
TONES = pd.DataFrame({"ann": ["warm", "cold"], "cy": ["warm", "warm"]}, index=["q1", "q2"])
FRAMES = {"score": SCORES, "tone": TONES}


def test_an_item_has_what_each_rater_gave_it_and_whether_they_are_alike():
    page = rating_items(FRAMES)
    assert page["systems"] == ["ann", "bob", "cy"] and page["columns"] == ["score", "tone"]
    assert page["measures"] == ["score"]  # raters can be compared by numbers
    cells = {item["id"]: item["cells"] for item in page["items"]}
    assert cells["q1"] == [[4, "warm"], [5, None], [None, "warm"]]
    assert cells["q3"] == [[None, None], [3, None], [None, None]]
    assert list(cells) == ["q1", "q2", "q3"]  # raters differ least on the last one
    assert page["tags"] == {
        "score: all alike": [1],
        "score: not all alike": [0],
        "tone: all alike": [0],
        "tone: not all alike": [1],
    }
    assert different_items(FRAMES) == {
        "score": "score: not all alike",
        "tone": "tone: not all alike",
    }
    assert different_items({"score": SCORES.iloc[1:]}) == {}


def test_votes_are_tagged_by_majority_raters_and_ratings():
    panel = analyse(example_votes(), n_resamples=200, permutations=19).panel
    page = vote_items(panel, "Simulated.")
    assert page["note"] == "Simulated." and page["systems"] == panel.raters
    names = [item["id"] for item in page["items"]]
    tagged = {tag: {names[place] for place in places} for tag, places in page["tags"].items()}
    total = panel.votes.sum(axis=1)
    assert tagged[f"more votes: {panel.focus}"] == set(total.index[total > 0])
    differ = panel.votes.max(axis=1) > panel.votes.min(axis=1)
    assert tagged["not unanimous"] == set(differ.index[differ])
    for rater, votes in panel.votes.items():
        assert tagged[f"{rater} for {panel.against}"] == set(votes.index[votes == -1])
    (scale, system), ratings = next(iter(panel.ratings.items()))
    assert tagged[f"{scale} of {system}: 5"] == set(ratings.index[ratings.eq(5).any(axis=1)])
    assert panel.votes.mean(axis=1).abs()[names].is_monotonic_increasing
    first = page["items"][0]
    for rater, row in zip(panel.raters, first["cells"], strict=True):
        fields = dict(zip(page["columns"], row, strict=True))
        assert fields[f"vote for {panel.focus}"] == panel.votes.loc[first["id"], rater]
        is_left = panel.left.loc[first["id"], rater]
        assert fields["on the left"] == (panel.focus if is_left else panel.against)
