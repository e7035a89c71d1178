"""The segments file in either spelling, its comparison, the gap rule and the oracle."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import failing
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.runs.record import write_per_query
from casebook.shift.segments import (
    compare_segments,
    fit_tau,
    read_segments,
)


def records(ranks, second=0.5):
    """Give per-query records from ranks by query id."""
    rows = [
        {
            "QueryId": query,
            "RelevantDocId": "d",
            "Rank": rank,
            "Ap1": 1 / rank,
            "Ndcg3": 1 / np.log2(rank + 1) if rank <= 3 else 0.0,
            "TopDocId": "t",
            "TopScore": 0.9,
            "Top2DocId": "u",
            "Top2Score": second,
        }
        for query, rank in ranks.items()
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def write(tmp_path):
    """Give a writer of a segments file with its two per-query files."""

    def make(baseline, shifted, decisions, **others):
        for name, ranks in (("baseline", baseline), ("posneg", shifted)):
            write_per_query(tmp_path / f"eval.perQuery.{name}.json", records(ranks))
        values = {
            "Metric": "ndcg@3",
            "Eps": 0.0,
            "BaselinePath": "eval.perQuery.baseline.json",
            "PosNegPath": "eval.perQuery.posneg.json",
            "Decisions": decisions,
        }
        path = tmp_path / "segments.json"
        path.write_text(json.dumps({**values, **others}))
        return path

    return make


APPLY, SKIP = "ApplyShift", "SkipShift"
BASE = {"q1": 1, "q2": 2, "q3": 4, "q4": 1}


MOVED = {"q1": 2, "q2": 1, "q3": 1, "q5": 1}


def test_means_counts_and_gains(write):
    path = write(BASE, MOVED, {"q1": SKIP, "q2": APPLY, "q3": APPLY})
    found = compare_segments(read_segments(path))
    assert found["metric"] == "ndcg@3"
    counts = {"used": 3, "missing": 1, "extra": 1, "apply": 2, "skip": 1}
    counts["groups"] = 3
    assert found["counts"] == counts
    kpi = {name: part["map@1"]["value"] for name, part in found["kpi"].items()}
    assert kpi == pytest.approx({"Baseline": 1.75 / 3, "PosNeg": 2.5 / 3, "Segmented": 1.0})
    kpi = {name: part["ndcg@3"]["value"] for name, part in found["kpi"].items()}
    second = 1 / np.log2(3)  # ranks 1, 2, 4 without the shift, 2, 1, 1 with it
    assert kpi == pytest.approx(
        {"Baseline": (1 + second) / 3, "PosNeg": (second + 2) / 3, "Segmented": 1.0}
    )
    gain = found["delta"]["Segmented"]["map@1"]
    assert gain["value"] == pytest.approx(1.25 / 3)
    assert gain["ci"] == [None, None] and gain["reason"] == "fewer_than_six_units"
    assert gain["n"] == 3


def test_other_spelling_and_letter_case(write):
    decisions = {"Q1": "varianta", "q2": "VariantB", "q3": "applyshift"}
    path = write(BASE, MOVED, decisions, Metric="MAP@1")
    text = path.read_text().replace("BaselinePath", "variantApath")
    path.write_text(text.replace("PosNegPath", "VariantBPath"))
    found = compare_segments(read_segments(path))
    assert found["counts"]["apply"] == 2
    assert found["metric"] == "map@1"


DEFECTS = [
    ({"q1": "Maybe"}, {}, r"decisions.q1: .*ApplyShift"),
    ({"q1": SKIP}, {}, "2 of 3 queries have no decision"),
    ({"q1": SKIP}, {"Metric": "ndcg@10"}, "metric: .*ndcg@3"),
    ({"q1": SKIP}, {"BaselinePath": None}, "baselinepath: "),
    ({"q1": SKIP}, {"PosNegPath": "gone.json"}, "cannot be read: No such"),
    (None, {}, "decisions: "),
]


def test_defects_are_errors(write):
    def check(decisions, others, message):
        path = write(BASE, MOVED, decisions, **others)
        with pytest.raises(InputError, match=message):
            compare_segments(read_segments(path))

    assert failing(check, DEFECTS) == []
    with pytest.raises(InputError, match="shares no query"):
        compare_segments(read_segments(write({"q1": 1}, {"q9": 1}, {"q1": SKIP})))


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1))
def test_tau_is_the_best_threshold_of_all(pairs):
    gains, differences = np.array(pairs).T
    chosen = differences[gains >= fit_tau(gains, differences)].sum()
    every = [differences[gains >= tau].sum() for tau in [*gains, np.inf]]
    assert chosen >= max(every) - 1e-9
