"""How much made disorder of labels the audit finds."""

import random

import numpy as np
import pandas as pd

from casebook.audits.findings import FLAGGED
from casebook.audits.label_set import Labels
from casebook.audits.labels import round_robin
from casebook.stats.intervals import wilson

QUESTIONS, DOCUMENTS, RELEVANT = 120, 60, 4
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
DRAWS = 199


def made_labels(dealt, seed=0):
    """Make labels of which a known share is dealt out document after document."""
    rng = random.Random(f"made labels {seed}")
    names = [f"d{i:02d}" for i in range(DOCUMENTS)]
    place, questions = 0, {}
    for i in range(QUESTIONS):
        found = []
        while len(found) < RELEVANT:
            place = place + 1 if rng.random() < dealt else rng.randrange(DOCUMENTS)
            name = names[place % DOCUMENTS]
            if name not in found:
                found.append(name)
        questions[f"q{i:03d}"] = found
    return Labels(f"{dealt:.0%} dealt", {"all": questions}, names)


def detection_curve(shares=SHARES, repeats=20):
    """Measure how often dealt labels are flagged, by how many of them are dealt."""
    rows = []
    for share in shares:
        sets = [made_labels(share, seed) for seed in range(repeats)]
        found = [round_robin(s, seed, DRAWS) for seed, s in enumerate(sets)]
        interval = wilson(sum(f.verdict == FLAGGED for f in found), repeats)
        row = {"dealt": share, "flagged": interval.estimate, "n": repeats}
        row |= {"flagged low": interval.low, "flagged high": interval.high}
        rows.append(row | {"value": float(np.mean([f.value for f in found]))})
    return pd.DataFrame(rows)
