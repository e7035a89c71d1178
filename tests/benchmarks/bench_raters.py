"""Speed of blind forms and of the analysis of a panel.

Run with one thread: ``OMP_NUM_THREADS=1 python tests/benchmarks/run.py raters``.
"""

import tempfile
from pathlib import Path

import pandas as pd
from measuring import cpu_seconds, limit_row

from casebook.raters.analysis import analyse
from casebook.raters.documented import example_votes
from casebook.raters.forms import Plan, make_forms
from casebook.raters.read import read_forms
from casebook.raters.simulate import fill_forms
from casebook.raters.unblinding import read_key, unblind

ITEMS, RATERS, WORDS = 500, 20, 120
LIMIT = {"forms": 20.0, "read": 20.0, "analysis": 10.0}


def rows():
    size = f"{ITEMS} items x {RATERS} raters"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = Plan("speed", {f"r{n}": "lay" for n in range(RATERS)})
        answers = _answers()
        made, _ = cpu_seconds(
            lambda: make_forms(answers, folder / "study", plan, secret="s" * 64), repeats=1
        )
        note = f"workbooks, key and pre-registration; answers of {WORDS} words"
        yield limit_row(f"blind forms, {size}", made, LIMIT["forms"], note)
        paths = fill_forms(folder / "study", folder / "back")
        key = folder / "study" / "sealed" / "key.json"
        seconds, votes = cpu_seconds(lambda: unblind(read_forms(paths), read_key(key)), repeats=1)
        assert len(votes.frame) == ITEMS * RATERS
        note = "every cell checked, every text against the key"
        name = f"forms read and unblinded, {size}"
        yield limit_row(name, seconds, LIMIT["read"], note)
    analyse(example_votes(), n_resamples=100)  # imports
    seconds, _ = cpu_seconds(lambda: analyse(example_votes()), repeats=1)
    note = "10,000 resamples, all sign patterns"
    name = "whole analysis, 50 items x 4 raters"
    yield limit_row(name, seconds, LIMIT["analysis"], note)


def _answers():
    text = " ".join(["personal data of an individual"] * (WORDS // 5))
    rows = [
        {"item_id": f"q{n}", "prompt": f"Question {n}?", "stratum": "all"}
        | {"one": f"{n} {text}", "two": f"{text} {n}"}
        for n in range(ITEMS)
    ]
    return pd.DataFrame(rows)
