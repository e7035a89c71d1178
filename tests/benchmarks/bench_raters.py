"""Speed of blind forms and of the analysis of a panel."""

import tempfile
from pathlib import Path

import pandas as pd
from measuring import cpu_seconds, limit_row, own_seconds

from casebook.raters.analysis import analyse
from casebook.raters.documented import example_votes
from casebook.raters.forms import Plan, make_forms
from casebook.raters.read import read_forms
from casebook.raters.simulate import fill_forms
from casebook.raters.unblinding import read_key, unblind

ITEMS, RATERS, WORDS = 500, 20, 120
SIZE = f"{ITEMS} items x {RATERS} raters"


def rows():
    text = " ".join(["personal data of an individual"] * (WORDS // 5))
    number = pd.Series(range(ITEMS)).astype(str)
    answers = pd.DataFrame({"item_id": "q" + number, "prompt": "Question " + number + "?"})
    answers = answers.assign(stratum="all", one=number + " " + text, two=text + " " + number)
    plan = Plan("speed", {f"r{n}": "lay" for n in range(RATERS)})
    with tempfile.TemporaryDirectory() as place:
        study = Path(place, "study")
        made = own_seconds(lambda: make_forms(answers, study, plan, secret="s" * 64), 1)
        note = f"workbooks, key and pre-registration; answers of {WORDS} words"
        yield limit_row(f"blind forms, {SIZE}", made, 20, note)
        paths = fill_forms(study, Path(place, "back"))
        key = study / "sealed" / "key.json"
        (read,), (votes,) = cpu_seconds(
            lambda: unblind(read_forms(paths), read_key(key)), repeats=1
        )
        assert len(votes.frame) == ITEMS * RATERS
        note = "every cell checked, every text against the key"
        yield limit_row(f"forms read and unblinded, {SIZE}", read, 20, note)
    analyse(example_votes(), n_resamples=100)  # imports
    seconds = own_seconds(lambda: analyse(example_votes()), 1)
    note = "10,000 resamples and sign patterns"
    yield limit_row("whole analysis, 50 items x 4 raters", seconds, 10, note)
