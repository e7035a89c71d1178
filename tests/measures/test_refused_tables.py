"""What is no table of judgements or scores is refused in words that say what is wrong."""

import numpy as np
import pandas as pd
import pytest
from cases import misnamed

from casebook import evaluate, reciprocal_rank_fusion
from casebook.errors import InputError

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 0}}
RUN = {"q1": {"a": 2.0, "b": 1.0}}


def test_judgements_and_runs():
    def evaluated(qrels, run, options):
        evaluate(qrels, run, **({"measures": ["RR"]} | options))

    cases = [
        ((QRELS, RUN, {"measures": []}), "no measure"),
        (([("q1", "a", 1)], RUN, {}), "qrels: expected a path, a DataFrame"),
        ((QRELS, {"q1": ["a"]}, {}), "run: expected a path, a DataFrame"),
        ((QRELS, {"q1": {"a": "high"}}, {}), "run: could not convert string to float: 'high'"),
        ((QRELS, {"q1": {"a": np.inf}}, {}), "inf of query 'q1', document 'a' is not a finite"),
        (({"q1": {"a": "yes"}}, RUN, {}), "qrels: could not convert string to float: 'yes'"),
        (({"q1": {"a": 0.5}}, RUN, {}), "0.5 of query 'q1', document 'a' is not an integer"),
    ]
    for score in ("high", np.nan, np.inf):
        frame = {"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [1.0, score]}
        said = "of query 'q1', document 'b' is not a finite number"
        cases.append(((QRELS, pd.DataFrame(frame), {}), said))
    assert misnamed(evaluated, cases, InputError) == []


def test_a_number_and_its_text_are_one_id_in_a_frame():
    run = pd.DataFrame({"query_id": [1, "1"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    assert evaluate({"1": {"a": 1}}, run, ["RR"]).mean == {"RR": 0.5}


def test_no_score_is_no_rank():
    with pytest.raises(InputError, match="NaN: it has no rank"):
        reciprocal_rank_fusion([{"q1": {"a": np.nan}}, {"q1": {"a": 1.0}}])
