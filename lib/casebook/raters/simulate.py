"""A panel whose truth is known: it fills forms, to rehearse a study before it runs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from openpyxl import load_workbook
from scipy import special

from casebook.errors import InputError
from casebook.raters.layouts import FORMS, LIKERT, PAIRED, PAIRED_SCALES, SHEET
from casebook.raters.power import marginal_probability
from casebook.raters.unblinding import read_key
from casebook.stats.samples import generator

RATED = [f"{scale}_{side}" for side in ("s1", "s2") for scale in PAIRED_SCALES]
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
LIKERT_RATED = [column.name for column in LIKERT.answers]


@dataclass(frozen=True)
class Truth:
    """How the simulated panel judges: log odds for the focus and left, spreads, shares."""

    effect: float = 0.7
    item_sd: float = 1.3
    rater_sd: float = 0.5
    left: float = 0.0
    ties: float = 0.1
    blank: float = 0.0

    @property
    def win_rate(self):
        """Expected share of wins without ties, over items, raters and sides."""
        spread = float(np.hypot(self.item_sd, self.rater_sd))
        sides = (self.effect + self.left, self.effect - self.left)
        return sum(marginal_probability(odds, spread) for odds in sides) / 2


def invented_answers(items, seed=0):
    """Answers of two systems, studied and compared, in the same random words."""
    texts = generator(seed, "answers of a rehearsal").choice(WORDS, (items, 2, 25))
    answers = pd.DataFrame({"item_id": [f"q{number}" for number in range(items)]})
    answers["prompt"] = answers["item_id"] + "?"
    answers["stratum"] = "all"
    answers["studied"] = [" ".join(words) for words in texts[:, 0]]
    answers["compared"] = [" ".join(words) for words in texts[:, 1]]
    return answers


def fill_forms(study, folder, truth=None, *, seed=0):
    """Fill all workbooks of a study as the simulated panel would; give the paths."""
    truth = truth or Truth()
    if not np.isfinite(list(vars(truth).values())).all():
        raise InputError(f"{truth} must be of finite numbers")
    key = read_key(study)
    is_paired = key["layout"] == "paired"
    layout = PAIRED if is_paired else LIKERT
    rng = generator(seed, "simulated panel")
    rows_of = {form["rows"][0]["id"]: form["rows"] for form in key["forms"].values()}
    items = sorted({row["item"] for rows in rows_of.values() for row in rows}, key=str)
    liking = dict(zip(items, rng.normal(0, truth.item_sd, len(items)), strict=True))
    folder = Path(folder)
    targets = {path: folder / path.name for path in sorted(Path(study, FORMS).glob("*.xlsx"))}
    there = [str(path) for path in targets.values() if path.exists()]
    if there or not targets:
        problem = f"exists: {there}: name a new folder" if there else "no workbook to fill"
        raise InputError(f"{study}: {problem}")
    folder.mkdir(parents=True, exist_ok=True)
    for path, target in targets.items():
        book = load_workbook(path)
        sheet = book[SHEET]
        columns = {cell.value: cell.column for cell in sheet[1]}
        rater_liking = rng.normal(0, truth.rater_sd)
        first = sheet.cell(2, columns[layout.key]).value
        for line, row in enumerate(rows_of[first], start=2):
            likes = liking[row["item"]] + rater_liking
            names, level = LIKERT_RATED, np.full(len(LIKERT_RATED), 3.6 + 0.4 * likes)
            if is_paired:
                sign = {row["left"]: 1, row["right"]: -1}.get(key["focus"], 0)
                odds = sign * (truth.effect + likes) + truth.left
                preferred = "S1" if rng.random() < special.expit(odds) else "S2"
                preferred = "Tie" if rng.random() < truth.ties else preferred
                sheet.cell(line, columns["preferred"]).value = preferred
                won = np.repeat([preferred == "S1", preferred == "S2"], len(PAIRED_SCALES))
                names, level = RATED, 3.6 + 0.6 * won
            ratings = np.clip(np.rint(rng.normal(level, 0.8)), 1, 5).astype(int)
            for name, rating in zip(names, ratings.tolist(), strict=True):
                if rng.random() >= truth.blank:
                    sheet.cell(line, columns[name]).value = rating
        book.save(target)
    return list(targets.values())
