"""A verdict needs both the interval and the test; everything else is undecided."""

import numpy as np
import pandas as pd

from casebook.estimates import compare_systems, count_verdicts


def test_distant_systems_are_decided_and_few_units_decide_nothing():
    noise = np.random.default_rng(0).normal(size=(60, 2)) / 10
    scores = pd.DataFrame({"a": 0.8 + noise[:, 0], "b": 0.2 + noise[:, 1]})
    scores["c"] = scores["b"]
    words = compare_systems(scores, n_boot=500, n_resamples=2000).pairs["verdict"]
    assert words.tolist() == ["better", "better", "same"]
    assert count_verdicts(words, "pairs") == (
        "Of 3 pairs: 2 decided, 1 the same throughout, 0 undecided, which is not to say equal."
    )
    few = scores[:4]
    words = compare_systems(few, n_boot=500, n_resamples=2000).pairs["verdict"]
    assert words.tolist() == ["undecided", "undecided", "same"]  # p cannot be small


def test_what_was_not_tested_is_not_counted():
    text = count_verdicts(["not tested", "better", "undecided"], "gains")
    assert text == "Of 2 gains: 1 decided, 1 undecided, which is not to say equal."
