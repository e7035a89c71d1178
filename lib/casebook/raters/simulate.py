"""A panel whose truth is known: it fills forms, to rehearse a study before it runs."""

from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
from openpyxl import load_workbook
from scipy import special

from casebook.errors import InputError
from casebook.files import new_folder
from casebook.raters.layouts import FORMS, PAIRED, SHEET
from casebook.raters.power import marginal_probability
from casebook.raters.unblinding import read_key
from casebook.stats.samples import generator

WORDS = [
    "act",
    "consent",
    "data",
    "notice",
    "purpose",
    "access",
    "request",
    "breach",
    "the",
    "duty",
    "may",
    "must",
]


_TRUTH = {"effect": 0.7, "item_sd": 1.3, "rater_sd": 0.5, "ties": 0.1}


class Truth(namedtuple("Truth", _TRUTH, defaults=_TRUTH.values())):
    """How the simulated panel judges: log odds for the focus, their spreads, share of ties."""

    @property
    def win_rate(self):
        """Expected share of wins without ties, over items and raters."""
        return marginal_probability(
            self.effect, float(np.hypot(self.item_sd, self.rater_sd))
        )


def invented_answers(items, seed=0):
    """Answers of two systems, studied and compared, in the same random words."""
    texts = generator(seed, "answers of a rehearsal").choice(WORDS, (items, 2, 25))
    rows = [
        [f"q{number}", f"q{number}?", "all", " ".join(studied), " ".join(compared)]
        for number, (studied, compared) in enumerate(texts)
    ]
    return pd.DataFrame(
        rows, columns=["item_id", "prompt", "stratum", "studied", "compared"]
    )


def fill_forms(study, folder, truth=None, *, seed=0):
    """Fill all workbooks of a study of preferences as the panel would, into a new folder."""
    truth = truth or Truth()
    key = read_key(study)
    paths = sorted(Path(study, FORMS).glob("*.xlsx"))
    if key["layout"] != "paired" or not paths:
        raise InputError(f"{study}: has no workbooks of comparisons to fill")
    rng = generator(seed, "simulated panel")
    forms = [pd.DataFrame(form["rows"]) for form in key["forms"].values()]
    sealed = pd.concat(forms).set_index("id")[["item", "left", "right"]]
    items = sorted(sealed["item"].unique(), key=str)
    liking = pd.Series(rng.normal(0, truth.item_sd, len(items)), items)
    with new_folder(folder) as temporary:
        for path in paths:
            book = load_workbook(path)
            sheet = book[SHEET]
            names = [cell.value for cell in sheet[1]]
            rater_liking = rng.normal(0, truth.rater_sd)
            for cells in sheet.iter_rows(min_row=2):
                cell_of = dict(zip(names, cells, strict=True))
                item, left, right = sealed.loc[cell_of[PAIRED.key].value]
                likes = truth.effect + liking[item] + rater_liking
                sign = {left: 1, right: -1}.get(key["focus"], 0)
                wins_left = rng.random() < special.expit(sign * likes)
                preferred = "S1" if wins_left else "S2"
                if rng.random() < truth.ties:
                    preferred = "Tie"
                cell_of["preferred"].value = preferred
                for column in PAIRED.answers[1:]:
                    won = column.name.endswith(preferred.lower())
                    rating = np.clip(np.rint(rng.normal(3.6 + 0.6 * won, 0.8)), 1, 5)
                    cell_of[column.name].value = int(rating)
            book.save(temporary / path.name)
    return [Path(folder, path.name) for path in paths]
