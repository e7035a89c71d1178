"""What an evaluation prints for people has the numbers of the one that programs read."""

import pandas as pd
import pytest

from casebook.sensitivity.report import evaluation_parts


@pytest.fixture
def report():
    return {
        "cases": "planted cases",
        "mode": "bm25",
        "threshold": 1.5,
        "counts": {"read": 3, "no_quote": 1},
        "notes": ["one case was written by hand"],
        "poor queries": 2,
        "original": {"accuracy": 0.5},
        "original in its code": {"accuracy": 0.75},
        "standard": {
            "auroc": {"value": 0.7, "ci": [0.6, 0.8], "n": 18, "p": 0.02},
            "spearman": {"value": None, "ci": [None, None], "n": 0, "reason": "one_case"},
        },
        "against": [
            {"against": "words", "baseline": 0.6, "difference": 0.1, "low": -0.1, "high": 0.3}
            | {"n": 18, "groups": 3, "verdict": "undecided"}
        ],
        "fact types": [
            {"fact type": "Age", "edges": 6, "cases": 3, "excess": 0.2, "excess low": 0.1}
            | {"excess high": 0.3, "reason": None}
        ],
    }


def printed(report):
    parts = list(evaluation_parts(report))
    lines = [line for part in parts if isinstance(part, list) for line in part]
    return lines, [part for part in parts if isinstance(part, pd.DataFrame)]


def test_every_number_of_an_evaluation_is_printed(report):
    lines, (original, standard, against, types) = printed(report)
    assert lines[0] == "planted cases, bm25: 3 read, 1 no_quote"
    assert lines[1] == "note: one case was written by hand"
    assert lines[2].startswith("note: 2 cases have too few words")
    assert lines[3] == "COUNTERCASE's evaluation at a mean displacement of 1.5:"
    assert original.to_numpy().tolist() == [["accuracy", 0.5, 0.75]]
    auroc, spearman = standard.to_dict("records")
    assert auroc["measure"] == "auroc"
    assert [auroc[name] for name in ("value", "low", "high", "n", "p")] == [0.7, 0.6, 0.8, 18, 0.02]
    assert (spearman["measure"], spearman["reason"]) == ("spearman", "one_case")
    assert pd.isna(spearman["low"])
    assert against.to_numpy().tolist() == [["words", 0.6, 0.1, -0.1, 0.3, 18, 3]]
    assert types.to_numpy().tolist() == [["Age", 6, 3, 0.2, 0.1, 0.3, None]]


def test_what_is_not_annotated_is_said(report):
    del report["against"]
    lines, tables = printed(report | {"original": None, "poor queries": 0, "notes": []})
    assert not any(line.startswith("note") for line in lines)
    assert "no case is annotated: accuracies, AUROC and Spearman are not defined" in lines
    assert len(tables) == 2
