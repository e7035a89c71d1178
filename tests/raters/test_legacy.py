import json
from pathlib import Path

import pandas as pd
import pytest
from forms_as_documented import write_forms
from openpyxl import load_workbook

from casebook.errors import InputError
from casebook.raters import documented as legacy
from casebook.raters.documented import SUFFIX, example_votes, read_records, records_of
from casebook.raters.read import key_column, read_form, read_forms, read_votes, unblind

EXAMPLE = Path(__file__).with_name("documented_example.txt").read_text()


@pytest.fixture(scope="module")
def documented(tmp_path_factory):
    return write_forms(tmp_path_factory.mktemp("documented"))


def analysis(paths, **options):
    return legacy.documented_analysis(read_records(paths, **options))


def test_the_documented_example_is_printed_to_the_last_character(documented):
    lines = legacy.documented_lines(analysis(documented))
    assert "\n".join(lines) + "\n" == EXAMPLE


def test_the_example_follows_from_the_table_too():
    records = records_of(example_votes(), SUFFIX)
    lines = legacy.documented_lines(legacy.documented_analysis(records))
    assert "\n".join(lines) + "\n" == EXAMPLE


def test_the_json_holds_the_printed_numbers(documented):
    values = json.loads(json.dumps(analysis(documented)))
    printed = [line for line in EXAMPLE.splitlines() if "{" in line]
    assert len(printed) == 11
    assert values[legacy.AGREEMENT]["fleiss_kappa"] == 0.13
    assert values[legacy.AGGREGATE]["p_value_sign_test"] == 0.00020218969307107758


def test_workbooks_and_table_give_the_same_votes(documented):
    votes = read_votes(read_forms(documented))
    columns = ["place", "left", "choice", "factuality_left", "usefulness_right"]
    assert votes.frame[columns].equals(example_votes().frame[columns])
    kinds = {defect.kind for defect in votes.defects}
    assert kinds == {"extra_column", "extra_sheet", "formula"}


def changed(path, folder, cells):
    book = load_workbook(path)
    for cell, value in cells.items():
        book["ratings"][cell] = value
    target = folder / path.name
    book.save(target)
    return target


def test_documented_quirks_are_kept_here_and_nowhere_else(documented, tmp_path):
    cells = {"E2": "tie", "F3": 9, "F4": "n/a", "G5": None, "E6": " S1 "}
    path = changed(documented[0], tmp_path, cells)
    row = analysis([path])
    counts = row[legacy.PER_RATER][path.name]
    assert counts["unmapped_or_missing"] == 1  # "tie" is not "Tie"
    ratings = row[legacy.RATINGS]
    means = [v for s in ratings.values() for v in s.values()]
    assert None in means  # one blank makes a mean nan
    assert {ratings["RAG"]["n"], ratings["BASE"]["n"]} != {50}  # "n/a" parts pairs
    form = read_form(path)
    assert form.rows["factuality_s1"].max() <= 5
    assert form.rows["preferred"].iloc[0] == "Tie"


def test_files_of_one_base_name_collapse_as_documented(documented, tmp_path):
    copy = changed(documented[0], tmp_path, {})
    agreement = analysis([*documented, copy])[legacy.AGREEMENT]
    assert agreement["n_raters_expected"] == 5
    assert agreement["raw_observed_agreement"] == 0.507
    assert read_forms([*documented, copy])[4].rater.endswith("/rater1_answers")


def test_without_a_key_column_nothing_is_guessed(documented, tmp_path):
    path = changed(documented[2], tmp_path, {"K1": "which"})
    form = read_form(path)
    with pytest.raises(InputError, match="no key column"):
        read_votes([form])
    with pytest.raises(InputError, match="no key column"):
        read_records([path])
    assert key_column(form, "which") == "which"
    assert len(read_votes([form], "which").frame) == 50
    assert key_column(form, last_column=True) == "which"


def test_the_last_column_is_taken_only_on_request(documented, tmp_path):
    path = changed(documented[0], tmp_path, {"K1": "which"})
    counted = analysis([path], last_column=True)[legacy.AGGREGATE]
    assert counted["rag_wins"] == 13


def test_rows_without_a_key_are_named(documented, tmp_path):
    path = changed(documented[0], tmp_path, {"K4": "left", "K5": None})
    votes = read_votes([read_form(path)])
    found = [(d.kind, d.row) for d in votes.defects if d.kind == "no_key"]
    assert found == [("no_key", 4), ("no_key", 5)]
    assert votes.frame["choice"].isna().sum() == 2


def test_sealed_forms_can_be_analysed_as_documented(returned, key):
    votes = unblind(read_forms(returned), key)
    values = legacy.documented_analysis(records_of(votes))
    counts = values[legacy.AGGREGATE]
    frame = votes.frame
    assert counts["rag_wins"] == (frame["choice"] == "grounded").sum()
    assert counts["ties"] == (frame["choice"] == "Tie").sum()
    focus_left = frame["left"] == "grounded"
    one, two = frame["factuality_left"], frame["factuality_right"]
    expected = pd.concat([one[focus_left], two[~focus_left]]).mean()
    assert values[legacy.RATINGS]["RAG"]["factuality_mean"] == round(expected, 3)


def test_an_empty_panel_has_no_kappa(documented, tmp_path):
    lines = legacy.documented_lines(analysis(documented[:1]))
    assert "'fleiss_kappa': nan" in "\n".join(lines)
