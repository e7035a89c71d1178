"""Leaks in forms, texts that give their system away, and what raters guessed."""

import numpy as np
import pytest
from forms_as_documented import write_forms
from openpyxl import load_workbook

from casebook.raters.blinding import guess_arms, scan_forms
from casebook.raters.read import read_forms

NAMES = ("grounded", "plain")
WORDS = [
    "data",
    "consent",
    "notify",
    "breach",
    "purpose",
    "person",
    "organisation",
    "request",
    "access",
    "duty",
]


def answers(count, tell, seed=0):
    rng = np.random.default_rng(seed)
    one, two = ([" ".join(rng.choice(WORDS, 30)) for _ in range(count)] for _ in range(2))
    return [text + tell for text in one], two


def test_a_stock_phrase_is_found():
    guess = guess_arms(*answers(40, " as stated above"), n_permutations=19)
    assert guess.loc[0, ["value", "n", "control"]].tolist() == [1.0, 40, 0.5]
    assert guess.loc[0, "p"] == pytest.approx(0.05)


def test_answers_of_one_source_are_not_told_apart():
    found = [
        guess_arms(*answers(24, "", seed), folds=6, n_permutations=19, seed=seed).iloc[0]
        for seed in range(8)
    ]
    assert abs(np.mean([guess["value"] for guess in found]) - 0.5) < 0.08
    assert np.mean([guess["p"] <= 0.05 for guess in found]) <= 0.25


# --- leaks ------------------------------------------------------------------


def test_documented_forms_leak_in_every_known_way(tmp_path):
    found = scan_forms(read_forms(write_forms(tmp_path)), ["rag", "base"])
    kinds = found.groupby("kind")["file"].nunique().to_dict()
    assert kinds == {
        "extra_column": 4,
        "word": 4,
        "extra_sheet": 2,
        "word_in_text": 4,
    }


@pytest.mark.parametrize(
    "change, kinds",
    [
        (lambda book: setattr(book.properties, "creator", "Grounded team"), {"word"}),
        (lambda book: book.create_sheet("answer_key"), {"extra_sheet"}),
        (lambda book: setattr(book["ratings"]["A2"], "value", "grounded_017"), {"word"}),
        (
            lambda book: setattr(book["ratings"]["C2"], "value", "As grounded I say"),
            {"word_in_text"},
        ),
        (lambda book: setattr(book["ratings"]["C2"], "value", "groundedness of it"), set()),
    ],
)
def test_each_leak_is_found(study, tmp_path, change, kinds):
    book = load_workbook(study / "for_raters" / "pilot_r1.xlsx")
    change(book)
    path = tmp_path / "pilot_r1.xlsx"
    book.save(path)
    assert set(scan_forms(read_forms(path), NAMES)["kind"]) == kinds
