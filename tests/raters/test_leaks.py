import shutil

import pytest
from forms_as_documented import write_forms
from openpyxl import load_workbook

from casebook.raters.blinding import scan_forms

WORDS = ("grounded", "plain")


def test_our_forms_are_clean(study):
    forms = [*study.glob("for_raters/*.xlsx"), *study.glob("for_raters/*.csv")]
    assert len(forms) == 8
    assert scan_forms(forms, WORDS).empty


def test_documented_forms_leak_in_every_known_way(tmp_path):
    found = scan_forms(write_forms(tmp_path), ["rag", "base"])
    kinds = found.groupby("kind")["file"].nunique().to_dict()
    assert kinds["key_column"] == 4  # the key is in the form
    assert kinds["suspect_name"] == 4
    assert kinds["extra_sheet"] == 2  # the mapping sheet of two raters
    assert kinds["word_in_text"] == 4


def spoil_property(book):
    book.properties.creator = "Grounded team"


def spoil_sheet(book):
    book.create_sheet("answer_key").sheet_state = "hidden"


def spoil_id(book):
    book["ratings"]["A2"] = "grounded_017"


def spoil_text(book):
    book["ratings"]["C2"] = "As the grounded system I say"


@pytest.mark.parametrize(
    "change, kinds",
    [
        (spoil_property, {"word"}),
        (spoil_sheet, {"hidden_sheet", "extra_sheet", "suspect_name"}),
        (spoil_id, {"word"}),
        (spoil_text, {"word_in_text"}),
    ],
)
def test_each_leak_is_found(study, tmp_path, change, kinds):
    book = load_workbook(study / "for_raters" / "pilot_r1.xlsx")
    change(book)
    path = tmp_path / "pilot_r1.xlsx"
    book.save(path)
    assert set(scan_forms([path], WORDS)["kind"]) == kinds


def test_a_file_name_can_leak(study, tmp_path):
    path = tmp_path / "grounded_left.xlsx"
    shutil.copy(study / "for_raters" / "pilot_r1.xlsx", path)
    found = scan_forms([path], WORDS)
    assert found[["where", "kind"]].to_numpy().tolist() == [["file name", "word"]]


def test_innocent_words_that_contain_a_name_are_left_alone(tmp_path):
    paths = write_forms(tmp_path)[:1]
    book = load_workbook(paths[0])
    book["ratings"]["C2"] = "paragraph of a complaint"
    book.save(paths[0])
    found = scan_forms(paths, ["plain"])
    assert not (found["kind"] == "word_in_text").any()
