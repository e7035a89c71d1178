"""The documented analysis to the last character, its study's real votes, and their
reconstruction."""

import json
import runpy
from pathlib import Path

import pandas as pd
import pytest
from forms_as_documented import write_forms
from openpyxl import load_workbook

from casebook.data import load
from casebook.paths import DATA
from casebook.raters import documented
from casebook.raters.analysis import analyse
from casebook.raters.documented import (
    AGGREGATE,
    AGREEMENT,
    MEAN_RATINGS,
    PER_RATER,
    documented_analysis,
    documented_lines,
    example_votes,
    published_tables,
    votes_of,
)
from casebook.raters.read import read_forms
from casebook.raters.unblinding import open_forms

EXAMPLE = Path(__file__).with_name("documented_example.txt").read_text()
KEY = "pdpabench_votes"
SUFFIX = "_answers.xlsx"


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    return write_forms(tmp_path_factory.mktemp("documented"))


def test_the_documented_example_is_printed_to_the_last_character(forms):
    for votes, suffix in ((open_forms(read_forms(forms)), ".xlsx"), (example_votes(), SUFFIX)):
        values = documented_analysis(votes, suffix)
        assert "\n".join(documented_lines(values)) + "\n" == EXAMPLE
    stored = json.loads(json.dumps(values))
    assert stored[AGREEMENT]["fleiss_kappa"] == 0.13
    assert stored[AGGREGATE]["p_value_sign_test"] == 0.00020218969307107758


def test_blank_cells_of_a_form_are_as_documented(forms, tmp_path):
    """A blank rating makes its mean nan; a blank vote is missing, and its item has no kappa."""
    book = load_workbook(forms[0])
    for cell in ("E2", "G5"):
        book["ratings"][cell] = None
    book.save(tmp_path / forms[0].name)
    votes = open_forms(read_forms([tmp_path / forms[0].name, *forms[1:]]))
    values = documented_analysis(votes)
    assert values[AGGREGATE]["unmapped_or_missing"] == 1 and values[AGREEMENT]["n_items"] == 49
    means = [mean for row in values[MEAN_RATINGS].values() for mean in row.values()]
    assert means.count(None) == 1 and "nan" in "".join(documented_lines(values))


# --- the real votes ------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(mirror):
    """Give the data set, which the reference folder holds or not."""
    if not (mirror / KEY).is_dir():
        pytest.skip(f"{mirror} holds no {KEY}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
        yield load(KEY, kind="votes")


@pytest.fixture(scope="module")
def found(real):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documented, "load", lambda *_, **__: real)
        votes, name = votes_of(KEY)
    assert name == KEY
    return analyse(votes, n_resamples=1_000, permutations=19)


def test_without_any_source_the_reconstruction_stands_in(tmp_path, monkeypatch):
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path))
    assert votes_of(KEY)[1] == votes_of(None)[1] == "reconstruction"


def test_what_is_shown_of_the_reconstruction_does_not_depend_on_who_cast_which_vote(
    reconstruct, tmp_path, monkeypatch
):
    """Another draw of the same published figures gives the same numbers."""
    first = published_tables(analyse(example_votes(), n_resamples=200, permutations=19).tables)
    reconstruct(seed=5).to_csv(tmp_path / "other.csv", index=False)
    monkeypatch.setattr(documented, "EXAMPLE", tmp_path / "other.csv")
    second = published_tables(analyse(example_votes(), n_resamples=200, permutations=19).tables)
    options = {"check_exact": False, "rtol": 1e-9}
    columns = ["who", "wins", "ties", "losses", "value", "p_holm"]
    rates = [tables["win_rates"][columns] for tables in (first, second)]
    pd.testing.assert_frame_equal(*rates, **options)
    estimates = [tables["agreement"]["estimate"] for tables in (first, second)]
    pd.testing.assert_series_equal(*estimates, **options)


def test_the_documented_numbers_follow_from_the_real_votes(found):
    printed = documented_analysis(found.votes)
    pooled = printed[AGGREGATE]
    assert [pooled[k] for k in ("rag_wins", "rag_losses", "ties", "n_effective")] == [
        113,
        63,
        24,
        176,
    ]
    assert pooled["p_value_sign_test"] == 0.00020218969307107758
    raters = printed[PER_RATER].values()
    p_values = [0.296206368599087, 0.0659940344557981, 0.0026021714567221466, 0.0026021714567221466]
    assert [rater["p_value_sign_test"] for rater in raters] == p_values
    tallies = [(13, 20, 17), (28, 15, 7), (36, 14, 0), (36, 14, 0)]
    assert [(rater["rag_wins"], rater["rag_losses"], rater["ties"]) for rater in raters] == tallies
    means = [list(row.values()) for row in printed[MEAN_RATINGS].values()]
    assert means == [[4.5, 4.225, 200], [3.955, 3.95, 200]]


# --- the reconstruction ------------------------------------------------------------------


@pytest.fixture(scope="module")
def reconstruct():
    return runpy.run_path(str(DATA / "raters" / "reconstruct.py"))["reconstruct"]


def test_the_shipped_table_is_what_the_script_makes(example_rows, reconstruct):
    pd.testing.assert_frame_equal(example_rows, reconstruct(), check_dtype=False)
    other = reconstruct(seed=3)
    assert not other["preference"].equals(example_rows["preference"])
    assert other["preference"].value_counts().to_dict() == {"RAG": 113, "BASE": 63, "Tie": 24}


def test_forms_in_csv_are_analysed_beside_workbooks(forms, tmp_path):
    """The document lists rater3_answers.csv after two workbooks."""
    rows = pd.read_excel(forms[2], sheet_name="ratings").iloc[:, :11]
    rows.to_csv(tmp_path / "rater3_answers.csv", index=False)
    mixed = [*forms[:2], tmp_path / "rater3_answers.csv", forms[3]]
    values = documented_analysis(open_forms(read_forms(mixed)))
    assert values[AGGREGATE]["p_value_sign_test"] == 0.00020218969307107758
    counts = [(each["rag_wins"], each["ties"]) for each in values[PER_RATER].values()]
    assert counts == [(13, 17), (28, 7), (36, 0), (36, 0)]
    assert values[AGREEMENT]["fleiss_kappa"] == 0.13 and values[AGREEMENT]["n_items"] == 50
