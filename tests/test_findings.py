"""Sentences that are made from verdicts."""

import numpy as np
import pandas as pd
import pytest

from casebook import contrasts
from casebook.findings import clauses, interval_verdicts
from casebook.verdicts import BETTER, NO_DIFFERENCE, NOT_MEASURED, UNDECIDED, WORSE

WORDS = {
    BETTER: "above on {names}",
    UNDECIDED: "not shown on {either}",
    NOT_MEASURED: "{count} not measured",
}


def test_intervals_have_the_verdicts_of_their_contrasts():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.normal(size=(40, 6)), columns=list("abcdef"))
    scores += [0.0, 0.9, -0.9, 0.1, 0.0, -0.4]
    pairs = [(system, "a") for system in "bcdef"]
    table = contrasts(scores, pairs, n_resamples=500)
    assert set(table["verdict"]) == {BETTER, WORSE, UNDECIDED}
    assert interval_verdicts(table).tolist() == table["verdict"].tolist()
    around_a_half = table.assign(low=table["low"] + 0.5, high=table["high"] + 0.5)
    assert interval_verdicts(around_a_half, 0.5).tolist() == table["verdict"].tolist()


def test_without_an_interval_nothing_was_measured():
    frame = pd.DataFrame({"x low": [0.2, None], "x high": None}, index=["p", "q"])
    frame["reason"] = ["no_unit_differs", "fewer_than_six_units"]
    verdicts = interval_verdicts(frame, low="x low", high="x high")
    assert verdicts.to_dict() == {"p": NO_DIFFERENCE, "q": NOT_MEASURED}
    assert interval_verdicts(frame.iloc[:0], low="x low", high="x high").empty


def test_every_name_stands_in_the_clause_of_its_verdict_in_the_order_of_the_words():
    names = ["A", "B", "C", "D"]
    verdicts = [UNDECIDED, BETTER, UNDECIDED, UNDECIDED]
    assert clauses(names, verdicts, WORDS) == ["above on B", "not shown on A, C or D"]
    assert clauses(["A"], [NO_DIFFERENCE], WORDS) == ["no row differs for A"]
    with pytest.raises(KeyError):  # a name is never left out in silence
        clauses(["A"], [WORSE], WORDS)
    with pytest.raises(ValueError, match="shorter"):
        clauses(["A", "B"], [BETTER], WORDS)
