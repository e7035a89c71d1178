"""Scores of a tool and of a user's judge are on the leaderboard, beside our measures."""

import json
import statistics

import pytest

JUDGE = """
def literal(claim, passages):
    return ["supports" if claim in passage.text else "neutral" for passage in passages]
"""
POINTS = {"short": [9, 7, 8, 6, 9, 8, 7, 9], "long": [1, 3, 2, 4, 2, 5, 3, 1]}
ANSWERS = {"short": "Money {}.", "long": "The tenant has to pay money {}."}


@pytest.fixture
def kept(tmp_path, monkeypatch, chapter):
    """Run the chapter on a log of two systems; gives what it kept for the leaderboard."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "brief_judge.py").write_text(JUDGE)
    rows = []
    for system, points in POINTS.items():
        for number, point in enumerate(points):
            row = {"id": number, "question": f"What {number}?", "system": system, "points": point}
            row["answer"] = ANSWERS[system].format(number)
            rows.append(row | {"contexts": [f"The tenant has to pay money {number}."]})
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)))
    given = {"log": str(log), "scores": ["points"], "judge": "brief_judge:literal"}
    chapter("10_assistant", n_resamples=200, **given)
    return json.loads((tmp_path / "results" / "mine" / "leaderboard" / "mine.json").read_text())


@pytest.mark.slow
def test_scores_of_a_tool_and_of_a_judge_are_measures_of_the_leaderboard(kept):
    measures = {measure["name"]: measure for measure in kept["measures"]}
    assert kept["systems"] == ["short", "long"]
    points = measures["score in the log: points"]
    means = [statistics.mean(of_system) for of_system in POINTS.values()]
    assert points["levels"]["value"] == pytest.approx(means)
    assert points["contrasts"]["verdict"]["words"] == ["higher"]
    assert points["words"] == {"better": "higher", "worse": "lower"}
    assert points["contrasts"]["difference"] == pytest.approx([means[0] - means[1]])
    # What the tool would have said in other contexts is unknown, and so is what matters of it.
    assert (points["levels"]["control"], points["margin"]) == ([None, None], None)
    support = measures["support by the contexts"]
    assert support["levels"]["value"] == [0, 1]
    assert support["levels"]["control"] == [0, 0]
    assert support["contrasts"]["verdict"]["words"] == ["worse"]
    assert support["margin"] > 0 and "words" not in support
