"""Agreement with a bootstrap interval against krippendorff; blind forms and a panel's analysis.

The peer draws few resamples, and its time per resample is scaled.
"""

import tempfile
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
from measuring import cpu_seconds, limit_row, own_seconds, row, run_python

from casebook.measures.agreement import krippendorff_alpha
from casebook.raters.analysis import analyse
from casebook.raters.documented import example_votes
from casebook.raters.forms import Plan, make_forms
from casebook.raters.read import read_forms
from casebook.raters.simulate import fill_forms
from casebook.raters.unblinding import read_key, unblind

RATED, RATERS, DRAWS = 10_000, 20, 1000
FORMS, WORDS = 500, 120
PEAK = f"""
import numpy as np
from pathlib import Path
from casebook.measures.agreement import krippendorff_alpha
ratings = np.random.default_rng(0).integers(1, 6, ({RATED}, {RATERS}))
krippendorff_alpha(ratings.astype(float), "ordinal", {DRAWS})
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024)
"""


def rated(items, raters):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(items, 1)) + 0.8 * rng.normal(size=(items, raters))
    ratings = np.digitize(latent, [-1.2, -0.4, 0.4, 1.2]) + 1.0
    ratings[rng.random(ratings.shape) < 0.1] = np.nan
    return ratings


def agreement():
    X, small = rated(RATED, RATERS), rated(50, 4)
    draws, rng = 5, np.random.default_rng(1)

    def loop():
        for _ in range(draws):
            drawn = X[rng.integers(0, RATED, RATED)]
            krippendorff.alpha(drawn.T, level_of_measurement="ordinal")

    ours = own_seconds(lambda: krippendorff_alpha(X, "ordinal", DRAWS))
    name = f"alpha, {DRAWS} resamples, {RATED} items x {RATERS} raters"
    note = f"{draws} resamples of the peer, scaled; ours has both intervals"
    yield row(name, "loop over krippendorff", ours, own_seconds(loop) * DRAWS / draws, 20, note)
    yield limit_row(name, ours, 0.5, "the limit is half a CPU second")
    note = "megabytes at the peak, the interpreter included; the limit is 500"
    yield limit_row(f"memory: {name}", run_python(PEAK), 500, note)
    ours = own_seconds(lambda: krippendorff_alpha(small, "ordinal", DRAWS), repeats=20)
    name = f"alpha, {DRAWS} resamples, 50 items x 4 raters"
    yield limit_row(name, ours, 0.01, "the limit is 10 milliseconds")


def rows():
    yield from agreement()
    text = " ".join(["personal data of an individual"] * (WORDS // 5))
    number = pd.Series(range(FORMS)).astype(str)
    answers = pd.DataFrame({"item_id": "q" + number, "prompt": "Question " + number + "?"})
    answers = answers.assign(stratum="all", one=number + " " + text, two=text + " " + number)
    plan = Plan("speed", {f"r{n}": "lay" for n in range(RATERS)})
    size = f"{FORMS} items x {RATERS} raters"
    with tempfile.TemporaryDirectory() as place:
        study = Path(place, "study")
        made = own_seconds(lambda: make_forms(answers, study, plan, secret="s" * 64), 1)
        note = f"workbooks, key and pre-registration; answers of {WORDS} words"
        yield limit_row(f"blind forms, {size}", made, 20, note)
        paths = fill_forms(study, Path(place, "back"))
        key = study / "sealed" / "key.json"
        (read,), (votes,) = cpu_seconds(
            lambda: unblind(read_forms(paths), read_key(key)), repeats=1
        )
        assert len(votes.frame) == FORMS * RATERS
        note = "every cell checked, every text against the key"
        yield limit_row(f"forms read and unblinded, {size}", read, 20, note)
    analyse(example_votes(), n_resamples=100)  # imports
    seconds = own_seconds(lambda: analyse(example_votes()), 1)
    note = "10,000 resamples and sign patterns"
    yield limit_row("whole analysis, 50 items x 4 raters", seconds, 10, note)
