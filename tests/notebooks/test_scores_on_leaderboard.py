"""Scores of a tool and of a user's judge stand on the leaderboard, beside our measures."""

import json
import statistics

import pytest

JUDGE = "def brevity(row):\n    return 1 / len(row['answer'].split())\n"
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
    given = {"log": str(log), "scores": ["points"], "judge": "brief_judge:brevity"}
    chapter("10_assistant", n_resamples=200, **given)
    return json.loads((tmp_path / "results" / "mine" / "leaderboard" / "mine.json").read_text())


@pytest.mark.slow
def test_scores_of_a_tool_and_of_a_judge_are_measures_of_the_leaderboard(kept):
    measures = {measure["name"]: measure for measure in kept["measures"]}
    assert kept["systems"] == ["short", "long"]
    brevity = {"short": 1 / 2, "long": 1 / 7}
    expected = {
        "score in the log: points": {k: statistics.mean(v) for k, v in POINTS.items()},
        "score of the judge: brevity": brevity,
    }
    for name, means in expected.items():
        measure = measures[name]
        assert measure["levels"]["value"] == pytest.approx(list(means.values()), abs=1e-6)
        contrasts = measure["contrasts"]
        assert (contrasts["system"], contrasts["against"]) == ([0], [1])
        assert contrasts["difference"] == pytest.approx([means["short"] - means["long"]], abs=1e-6)
        assert contrasts["verdict"]["words"] == ["higher"]
        assert (contrasts["better"], contrasts["worse"]) == ([8], [0])
        assert measure["words"] == {"better": "higher", "worse": "lower"}
    points = measures["score in the log: points"]["contrasts"]
    assert points["low"][0] < points["difference"][0] < points["high"][0]
    # The judge read the same answers in other contexts; what the tool would have said is unknown.
    assert measures["score of the judge: brevity"]["levels"]["control"] == pytest.approx(
        list(brevity.values()), abs=1e-6
    )
    assert measures["score in the log: points"]["levels"]["control"] == [None, None]
    # Only what lies between 0 and 1 has a limit below which a difference does not matter.
    assert measures["score in the log: points"]["margin"] is None
    assert measures["score of the judge: brevity"]["margin"] > 0
    assert "words" not in measures["share of grounded sentences"]
