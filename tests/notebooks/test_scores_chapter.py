"""The chapter of scores, run whole on a table of another tool."""

import json

import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.frames import contrasts


def test_a_table_of_another_tool_gives_the_answer_and_every_output(chapter, tmp_path):
    draws = np.random.default_rng(1)
    old = draws.uniform(0, 0.5, 30)
    values = pd.DataFrame({"old": old, "new": old + 0.2 + draws.normal(0, 0.05, 30), "blind": 0.0})
    table = values.assign(sample=[f"s{k}" for k in range(30)], contract=[k // 3 for k in range(30)])
    table.to_csv(tmp_path / "table.csv", index=False)
    options = {
        "table": str(tmp_path / "table.csv"),
        "columns": {"unit": "sample", "cluster": "contract"},
        "systems": ["old", "new", "blind"],
        "controls": ["blind"],
        "measure": "faithfulness",
        "unit": "answers",
        "cluster": "contracts",
        "n_resamples": 200,
    }
    variables, shown = chapter("14_scores", against="old", **options)
    expected = contrasts(values, [("new", "old")], table["contract"], n_resamples=200).iloc[0]
    row = variables["planned"].iloc[0]
    assert row[["difference", "p_adjusted", "groups"]].tolist() == pytest.approx(
        expected[["difference", "p_adjusted", "groups"]].tolist()
    )
    assert "Does new score higher in faithfulness than old? Yes." in shown["answer"]
    assert "30 answers in 10 contracts" in shown["answer"]
    for kind in ("contrasts", "numbers", "leaderboard", "items", "headlines"):
        (path,) = tmp_path.glob(f"**/{kind}/*.json")
        assert json.loads(path.read_text())
    with pytest.raises(InputError, match="against: name the system that others are compared with"):
        chapter("14_scores", **options)
    with pytest.raises(InputError, match="-p table=FILE"):
        chapter("14_scores", against="old")
