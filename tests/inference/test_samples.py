import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.stats.samples import paired_differences, paired_scores, score_matrix, stream, system_pairs


def test_units_without_a_score_are_counted_and_named_not_dropped():
    scores = pd.DataFrame(
        {"bm25": [0.1, None, 0.3, np.inf], "dense": [0.2, 0.4, np.nan, 0.1]}, index=["q1", "q2", "q3", "q4"]
    )
    with pytest.raises(InputError, match=r"3 of 4 units .*first: q2"):
        score_matrix(scores)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "more than once: a"),
        (pd.DataFrame({"a": ["high", "low"]}), "must be numbers"),
        (np.zeros((2, 2, 2)), "not 3"),
        (3.0, "not 0"),
    ],
)
def test_tables_that_are_not_scores_are_refused(scores, message):
    with pytest.raises(InputError, match=message):
        score_matrix(scores)


def test_nullable_and_boolean_columns_are_scores():
    frame = pd.DataFrame({"a": pd.array([1, 0], dtype="Int64"), "b": [True, False]})
    matrix, systems = score_matrix(frame)
    assert matrix.tolist() == [[1, 1], [0, 0]]
    assert systems == ["a", "b"]


def test_series_pair_by_label_and_arrays_by_position():
    a = pd.Series([1.0, 2.0], index=["q1", "q2"])
    b = pd.Series([20.0, 10.0], index=["q2", "q1"])
    assert paired_scores(a, b).tolist() == [[1, 10], [2, 20]]
    assert paired_scores(a.to_numpy(), b.to_numpy()).tolist() == [[1, 20], [2, 10]]


def test_unpaired_samples_are_refused():
    a = pd.Series([1.0, 2.0], index=["q1", "q2"])
    with pytest.raises(InputError, match=r"2 units .*first: q2"):
        paired_scores(a, pd.Series([1.0, 2.0], index=["q1", "q3"]))
    with pytest.raises(InputError, match="more than once"):
        paired_scores(a, pd.Series([1.0, 2.0], index=["q1", "q1"]))
    with pytest.raises(InputError, match="one length"):
        paired_scores([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="no units"):
        paired_differences([])


def test_differences_within_rounding_are_zero():
    differences, _ = paired_differences([0.1 + 0.2, 1.0], [0.3, 0.5])
    assert differences.tolist() == [0.0, 0.5]


def test_streams_depend_on_seed_purpose_and_block_only():
    draws = {key: stream(*key).random_raw() for key in itertools.product((0, 1), ("signs", "bootstrap"), (0, 1))}
    assert len(set(draws.values())) == len(draws)
    assert stream(1, "signs", 1).random_raw() == draws[1, "signs", 1]
    for seed in (-1, 0.5, None):
        with pytest.raises(InputError, match="seed must be an integer"):
            stream(seed, "signs")


def test_pairs_of_a_baseline_put_it_second():
    assert system_pairs(["a", "b", "c"]).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert system_pairs(["a", "b", "c"], "b").tolist() == [[0, 1], [2, 1]]
    assert system_pairs(["a"]).shape == (0, 2)
    with pytest.raises(InputError, match="unknown baseline 'd': choose from a, b, c"):
        system_pairs(["a", "b", "c"], "d")


def test_import_leaves_scipy_stats_out():
    code = "import sys, casebook.estimates; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "casebook.estimates" in run.stdout.split()
    assert "scipy.stats" not in run.stdout.split()
