"""Single items: every judgement once, as it stands in the forms."""

from dataclasses import replace

import pytest

from casebook.book.items import view
from casebook.measures.agreement import percent_agreement
from casebook.raters.example import example_votes
from casebook.raters.panel import panel_of
from casebook.raters.single_items import RECONSTRUCTED, drill_down
from casebook.runs.outputs import as_json


@pytest.fixture(scope="module")
def panel():
    return panel_of(example_votes())


def test_votes_sides_and_ratings_are_those_of_the_rows(panel):
    found = drill_down(panel, reconstructed=True)
    assert found["remark"] == RECONSTRUCTED and found["texts"] is None
    kept = {(i["id"], v["rater"]): v for i in found["items"] for v in i["votes"]}
    assert len(kept) == len(panel.rows) == 200
    sign = {panel.focus: 1, panel.other: -1, "Tie": 0}
    for row in panel.rows.to_dict("records"):
        vote = kept[row["item_id"], row["rater"]]
        assert vote["vote"] == sign[row["choice"]]
        assert (vote["left"], vote["place"]) == (row["left"] == "RAG", row["place"])
        for scale, ratings in zip(found["scales"], vote["ratings"], strict=True):
            by_side = [row[f"{scale}_left"], row[f"{scale}_right"]]
            assert ratings == (by_side if vote["left"] else by_side[::-1])


def test_the_page_counts_votes_and_pairs_that_agree(panel):
    found = drill_down(panel) | {"cell": "cell", "tested": [0, 1]}
    page = view(found)
    facts = [dict(item["parts"][0]) for item in page["items"]]
    agreeing = [fact["Raters who agree"].split() for fact in facts]
    shares = [int(a) / int(n) for a, _, n, _ in agreeing]
    observed = percent_agreement(panel.votes.to_numpy()).estimate
    assert sum(shares) / len(shares) == pytest.approx(observed)
    more = [fact["More votes"] for fact in facts]
    net = panel.votes.sum(axis=1)
    counted = [more.count(name) for name in ("RAG", "BASE", "none")]
    assert counted == [(net > 0).sum(), (net < 0).sum(), (net == 0).sum()]


def test_a_blank_vote_stays_blank_and_a_budget_keeps_the_disputed(panel):
    votes = panel.votes.copy()
    votes.iloc[0, 0] = float("nan")
    panel = replace(panel, votes=votes)
    found = drill_down(panel)
    assert found["remark"] is None and found["items"][0]["votes"][0]["vote"] is None
    page = view(found | {"cell": "cell"})
    assert page["items"][0]["parts"][1][0][1] is None
    small = drill_down(panel, most_bytes=3000)
    assert len(as_json(small)) <= 3000
    net = panel.votes.mean(axis=1).abs()
    kept = [item["id"] for item in small["items"]]
    assert net[kept].max() <= net.drop(kept).min()
