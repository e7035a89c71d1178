"""A verdict needs both the interval and the test; everything else is undecided."""

import math

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from casebook.inference.comparison import compare_systems
from casebook.inference.verdicts import count_verdicts, verdict, verdicts

BOUND = st.floats(-1, 1) | st.just(math.nan) | st.none()
P = st.floats(0, 1) | st.just(math.nan) | st.none()


def test_the_words():
    assert verdict(0.1, 0.2, 0.01) == "better"
    assert verdict(-0.2, -0.1, 0.01) == "worse"
    assert verdict(0.1, 0.2, 0.05) == "better"  # the level itself suffices
    assert verdict(0.0, 0.2, 0.01) == "undecided"  # neither does a bound at 0
    assert verdict(0.0, 0.0, 1.0) == "same"
    assert verdict(None, None, 0.01) == "undecided"
    assert verdict(0.1, 0.2, None) == "not tested"


@given(BOUND, BOUND, P)
def test_turning_the_difference_round_turns_the_word(low, high, p):
    other = {"better": "worse", "worse": "better"}
    turned = [None if x is None else -x for x in (high, low)]
    word = verdict(low, high, p)
    if low is None or high is None or not low > high:
        assert verdict(*turned, p) == other.get(word, word)


def test_distant_systems_are_decided_and_few_units_decide_nothing():
    noise = np.random.default_rng(0).normal(size=(60, 2)) / 10
    scores = pd.DataFrame({"a": 0.8 + noise[:, 0], "b": 0.2 + noise[:, 1]})
    scores["c"] = scores["b"]
    pairs = compare_systems(scores, n_boot=500, n_resamples=2000).pairs
    words = verdicts(pairs, "ci_low", "ci_high", "p_holm")
    assert words.tolist() == ["better", "better", "same"]
    assert count_verdicts(words, "pairs") == (
        "Of 3 pairs: 2 decided, 1 the same throughout, 0 undecided, which is not to "
        "say equal."
    )
    few = scores[:4]
    words = verdicts(
        compare_systems(few, n_boot=500, n_resamples=2000).pairs,
        *("ci_low", "ci_high", "p_holm"),
    )
    assert words.tolist() == ["undecided", "undecided", "same"]  # p cannot be small


def test_what_was_not_tested_is_not_counted():
    text = count_verdicts(["not tested", "better", "undecided"], "gains")
    assert text == "Of 2 gains: 1 decided, 1 undecided, which is not to say equal."
