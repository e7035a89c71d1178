"""A panel whose truth is known: it fills forms, to rehearse a study before it runs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from openpyxl import load_workbook
from scipy import special

from casebook.errors import InputError
from casebook.raters.layouts import FORMS, LIKERT, PAIRED, PAIRED_SCALES, SHEET
from casebook.raters.power import marginal_probability
from casebook.raters.unblinding import read_key
from casebook.stats.samples import generator

RATED = [f"{scale}_{side}" for side in ("s1", "s2") for scale in PAIRED_SCALES]
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

    def __post_init__(self):
        for name, value in vars(self).items():
            if not np.isfinite(value):
                raise InputError(f"{name} must be a finite number, not {value}")

    @property
    def win_rate(self):
        """Expected share of wins without ties, over items, raters and sides."""
        spread = float(np.hypot(self.item_sd, self.rater_sd))
        sides = (self.effect + self.left, self.effect - self.left)
        return sum(marginal_probability(odds, spread) for odds in sides) / 2


def fill_forms(study, folder, truth=None, *, seed=0):
    """Fill all workbooks of a study as the simulated panel would; give the paths."""
    study = Path(study)
    folder = Path(folder)
    truth = truth or Truth()
    key = read_key(study)
    rng = generator(seed, "simulated panel")
    paired = key["layout"] == "paired"
    layout = PAIRED if paired else LIKERT
    rows = (
        key["draw"] if paired else [row for form in key["forms"].values() for row in form["rows"]]
    )
    items = list(dict.fromkeys(row["item_id" if paired else "item"] for row in rows))
    liking = dict(zip(items, rng.normal(0, truth.item_sd, len(items)), strict=True))
    paths = sorted((study / FORMS).glob("*.xlsx"))
    if not paths:
        raise InputError(f"{study / FORMS}: holds no workbook to fill")
    targets = [folder / path.name for path in paths]
    if there := [path for path in targets if path.exists()]:
        raise InputError(
            f"{there[0]}: exists: a simulated form replaces no other, name a new folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    owners = {form["rows"][0]["id"]: form["rows"] for form in key["forms"].values()}
    for path, target in zip(paths, targets, strict=True):
        book = load_workbook(path)
        sheet = book[SHEET]
        columns = {cell.value: cell.column for cell in sheet[1]}
        rows = owners[sheet.cell(2, columns[layout.key]).value]
        rater_liking = rng.normal(0, truth.rater_sd)
        for line, row in enumerate(rows, start=2):
            if paired:
                sign = {row["left"]: 1, row["right"]: -1}.get(key["focus"], 0)
                odds = sign * (truth.effect + liking[row["item"]] + rater_liking) + truth.left
                answers = _judge(odds, truth, rng)
            else:
                level = 3.6 + 0.4 * (liking[row["item"]] + rater_liking)
                ratings = _ratings(np.full(len(LIKERT_RATED), level), truth, rng)
                answers = dict(zip(LIKERT_RATED, ratings, strict=True))
            for name, value in answers.items():
                sheet.cell(line, columns[name]).value = value
        book.save(target)
    return targets


def _judge(odds, truth, rng):
    """Judge one comparison, given the log odds that the left answer wins."""
    preferred = "S1" if rng.random() < special.expit(odds) else "S2"
    if rng.random() < truth.ties:
        preferred = "Tie"
    level = 3.6 + 0.6 * np.repeat([preferred == "S1", preferred == "S2"], len(PAIRED_SCALES))
    return {"preferred": preferred, **dict(zip(RATED, _ratings(level, truth, rng), strict=True))}


def _ratings(level, truth, rng):
    """Draw a rating around each level; some are left blank."""
    ratings = np.clip(np.rint(rng.normal(level, 0.8)), 1, 5).astype(int).tolist()
    return [None if rng.random() < truth.blank else value for value in ratings]
