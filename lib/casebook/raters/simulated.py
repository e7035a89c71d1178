"""A panel whose truth is known: it fills forms, to rehearse a study before it runs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from openpyxl import load_workbook
from scipy import special

from casebook.errors import InputError
from casebook.formats.grids import read_book
from casebook.inference.vote_simulation import marginal_probability
from casebook.raters.layouts import SHEET
from casebook.raters.packing import FORMS, KEY, SEALED
from casebook.raters.sealing import read_key
from casebook.stats.samples import stream

RATED = ("factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2")


@dataclass(frozen=True)
class Truth:
    """How the simulated panel judges."""

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
    """Fill all workbooks of a study as the simulated panel would."""
    study, folder, truth = Path(study), Path(folder), truth or Truth()
    key = read_key(study / SEALED / KEY)
    rng = np.random.Generator(stream(seed, "simulated panel"))
    items = [row["item_id"] for row in key["draw"]]
    liking = dict(zip(items, rng.normal(0, truth.item_sd, len(items)), strict=True))
    paths = sorted((study / FORMS).glob("*.xlsx"))
    if not paths:
        raise InputError(f"{study / FORMS}: holds no workbook to fill")
    there = [folder / path.name for path in paths if (folder / path.name).exists()]
    if there:
        raise InputError(f"{there[0]}: exists: a simulated form replaces no other, name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    owners = {form["rows"][0]["id"]: form["rows"] for form in key["forms"].values()}
    for path in paths:
        rows = owners[next(iter(_ids(path)))]
        own = rng.normal(0, truth.rater_sd)
        answers = [_judge(row, key["focus"], liking, own, truth, rng) for row in rows]
        _fill(path, folder / path.name, answers)
    return [folder / path.name for path in paths]


def _ids(path):
    grid = read_book(path).grids[0]
    return [row[0] for number, row in grid.rows.items() if number > 1]


def _judge(row, focus, liking, own, truth, rng):
    """Judge one comparison: a preference and four ratings."""
    sign = {row["left"]: 1, row["right"]: -1}.get(focus, 0)
    odds = sign * (truth.effect + liking[row["item"]] + own) + truth.left
    wins_left = rng.random() < special.expit(odds)
    preferred = "S1" if wins_left else "S2"
    if rng.random() < truth.ties:
        preferred = "Tie"
    better = {"S1": (1, 0), "S2": (0, 1), "Tie": (0, 0)}[preferred]
    level = [3.6 + 0.6 * better[0]] * 2 + [3.6 + 0.6 * better[1]] * 2
    drawn = np.clip(np.rint(rng.normal(level, 0.8)), 1, 5).astype(int).tolist()
    kept = [None if rng.random() < truth.blank else value for value in drawn]
    return {"preferred": preferred, **dict(zip(RATED, kept, strict=True))}


def _fill(source, target, answers):
    book = load_workbook(source)
    sheet = book[SHEET]
    places = {cell.value: cell.column for cell in sheet[1]}
    for line, answer in enumerate(answers, start=2):
        for name, value in answer.items():
            sheet.cell(line, places[name]).value = value
    book.save(target)
