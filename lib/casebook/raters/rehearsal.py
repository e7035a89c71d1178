"""A study rehearsed with a simulated panel, to see whether its truth is found."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.raters.analysis import Analysis, analyse
from casebook.raters.forms import Plan, make_forms
from casebook.raters.opening import open_forms
from casebook.raters.responses import read_forms
from casebook.raters.simulated import Truth, fill_forms
from casebook.stats.samples import stream

SECRET = "of the simulated panel, which has nothing to hide"
WORDS = [
    *("act", "consent", "data", "notice", "purpose", "access", "request", "breach"),
    *("the", "duty", "may", "must"),
]
TRUTH = Truth(effect=0.7, item_sd=1.3, rater_sd=0.5, left=0.5, ties=0.12)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A simulated study, from blind forms to the analysis, and its truth."""

    truth: Truth
    analysis: Analysis

    def recovery(self):
        """Hold what was found against the truth."""
        rows = []
        for unit in ("item", "item and rater"):
            row = self.analysis.win_rate(unit)
            name = f"win rate, {unit} drawn anew"
            bounds = (row["win_rate"], row["ci_low"], row["ci_high"], row["n"])
            rows.append((name, self.truth.win_rate, *bounds))
        guess = self.analysis.tables["arm_guess"].iloc[0]
        found = (guess["accuracy"], guess["accuracy low"], guess["accuracy high"])
        rows.append(("systems told apart by their text", 0.5, *found, guess["n"]))
        columns = ["quantity", "truth", "found", "found low", "found high", "n"]
        table = pd.DataFrame(rows, columns=columns)
        bounded = table["found low"].notna()
        inside = table["truth"].between(table["found low"], table["found high"])
        table.insert(5, "covered", inside.where(bounded, None).astype(object))
        return table


def rehearse(items=80, raters=5, *, truth=TRUTH, options=None, seed=0):
    """Run a whole study with a simulated panel: forms, answers, key, analysis."""
    with tempfile.TemporaryDirectory(prefix="casebook-raters-") as name:
        folder = Path(name)
        labels = {f"rater{n + 1}": "lay" for n in range(raters)}
        plan = Plan("rehearsal", labels, seed=seed)
        make_forms(_answers(items, seed), folder / "study", plan, secret=SECRET)
        paths = fill_forms(folder / "study", folder / "back", truth, seed=seed)
        votes = open_forms(read_forms(paths), folder / "study")
    return Rehearsal(truth, analyse(votes, options=options))


def _answers(items, seed):
    rng = np.random.Generator(stream(seed, "answers of a rehearsal"))
    texts = rng.choice(WORDS, (items, 2, 25))
    rows = [
        {
            "item_id": f"q{n}",
            "prompt": f"Question {n}?",
            "stratum": "all",
            "studied": " ".join(texts[n, 0]),
            "compared": " ".join(texts[n, 1]),
        }
        for n in range(items)
    ]
    return pd.DataFrame(rows)
