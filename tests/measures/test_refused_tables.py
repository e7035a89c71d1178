"""What is no table of ratings, judgements or scores is refused in words that say what is wrong."""

import numpy as np
import pandas as pd
import pytest
from cases import misnamed

from casebook import evaluate, reciprocal_rank_fusion
from casebook.errors import InputError
from casebook.measures.agreement import from_counts
from casebook.stats.samples import paired_differences, score_matrix

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 0}}
RUN = {"q1": {"a": 2.0, "b": 1.0}}


def test_counts_of_ratings():
    cases = [
        (([3, 0],), "items x categories"),
        (([[3, -1]],), "items x categories"),
        (([[3, np.nan]],), "items x categories"),
        (([[2e9, 0]],), "at most"),
        (([[3, 0], [1, 2]], ["a", "b", "c"]), "3 categories for 2 columns"),
        (([[3, 0], [1, 2]], ["a", "a"]), "distinct"),
        (([[3, 0], [1, 2]], [2, 1]), "ascending"),
    ]
    assert misnamed(from_counts, cases, InputError) == []


def test_judgements_and_runs():
    def evaluated(qrels, run, options):
        evaluate(qrels, run, **({"measures": ["RR"]} | options))

    cases = [
        ((QRELS, RUN, {"measures": []}), "no measure"),
        ((QRELS, RUN, {"missing": "drop"}), "unknown missing policy .drop."),
        ((QRELS, RUN, {"no_relevant": "drop"}), "unknown no_relevant policy 'drop'"),
        (({"q2": {"c": 0}}, {"q2": {"c": 1.0}}, {"no_relevant": "skip"}), "no query is left"),
        (([("q1", "a", 1)], RUN, {}), "qrels: expected a path, a DataFrame or a dict of dicts"),
        ((QRELS, {"q1": ["a"]}, {}), "run: each query must map document ids to numbers"),
        ((QRELS, {"q1": {"a": "high"}}, {}), "'high' of query 'q1', document 'a' is not a finite"),
        ((QRELS, {"q1": {"a": np.inf}}, {}), "inf of query 'q1', document 'a' is not a finite"),
        (({"q1": {"a": "yes"}}, RUN, {}), "'yes' of query 'q1', document 'a' is not an integer"),
        (({"q1": {"a": 0.5}}, RUN, {}), "0.5 of query 'q1', document 'a' is not an integer"),
    ]
    for score in ("high", np.nan, np.inf):
        frame = {"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [1.0, score]}
        said = "of query 'q1', document 'b' is not a finite number"
        cases.append(((QRELS, pd.DataFrame(frame), {}), said))
    assert misnamed(evaluated, cases, InputError) == []


def test_a_number_and_its_text_are_one_id_in_a_frame():
    run = pd.DataFrame({"query_id": [1, "1"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    evaluation = evaluate({"1": {"a": 1}}, run, ["RR"])
    assert evaluation.values("RR").tolist() == [0.5]
    with pytest.raises(InputError, match="'AP' was not evaluated: RR"):
        evaluation.values("AP")


def test_no_score_is_no_rank():
    with pytest.raises(InputError, match="NaN: it has no rank"):
        reciprocal_rank_fusion([{"q1": {"a": np.nan}}, {"q1": {"a": 1.0}}])


def test_tables_of_scores():
    cases = [
        (([["high"], ["low"]],), "scores must be numbers"),
        ((np.zeros((2, 2, 2)),), "scores must be numbers: Must pass 2-d input"),
        (([1.0, np.inf],), r"1 of 2 units have a missing or infinite score \(first: 1\)"),
        ((pd.DataFrame([[1, 2]], columns=["a", "a"]),), "named more than once: a"),
    ]
    assert misnamed(score_matrix, cases, InputError) == []


def test_paired_samples():
    cases = [
        (([], None), "no units"),
        (([1, 2], [1, 2, 3]), "of one length"),
        (([[1], [2]], [[1], [2]]), "1-D"),
        ((pd.Series([1, 2], ["x", "x"]), pd.Series([1, 2], ["x", "y"])), "more than once"),
        ((pd.Series([1, 2], ["x", "y"]), pd.Series([1, 2], ["x", "z"])), "2 units .*first: y"),
    ]
    assert misnamed(paired_differences, cases, InputError) == []
