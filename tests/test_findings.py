"""Verdicts on values."""

import numpy as np
import pandas as pd

from casebook import contrasts
from casebook.findings import interval_verdicts
from casebook.verdicts import BETTER, UNDECIDED, WORSE


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
