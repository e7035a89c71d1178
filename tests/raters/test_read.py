"""Returned forms: every cell read or named; damaged, foreign and hostile files refused; the key put back."""

import shutil
import zipfile
from collections import Counter

import pandas as pd
import pytest
from forms_as_documented import repacked, with_stored, write_forms
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.formula import ArrayFormula
from toy_study import make_study

from casebook import sheets
from casebook.errors import InputError
from casebook.raters.documented import example_votes
from casebook.raters.read import read_form, read_forms, read_key, read_votes, unblind


def only(form):
    (defect,) = form.defects
    return (defect.sheet, defect.row, defect.column, defect.kind, defect.found, defect.effect)


def setting(cell, value):
    def change(book):
        book["ratings"][cell] = value

    return change


def test_a_filled_form_has_no_defect(returned):
    forms = read_forms(returned)
    assert len(forms) == len(returned) == 4
    for form in forms:
        assert form.defects == () and len(form.rows) == 12
        assert form.rows["preferred"].isin(["S1", "S2", "Tie"]).all()
        assert form.rows["factuality_s1"].between(1, 5).all()
    sheet = load_workbook(returned[0])["ratings"]
    assert sheet.protection.sheet and not sheet["E2"].protection.locked


@pytest.mark.parametrize(
    "cell, value, defect, used",
    [
        ("E4", None, ("preferred", "blank", "", "lost"), None),
        ("E4", "tie ", ("preferred", "spelling", "'tie '", "repaired"), "Tie"),
        ("E4", "both", ("preferred", "not_a_choice", "'both'", "lost"), None),
        ("F4", 6, ("factuality_s1", "not_a_choice", "6", "lost"), None),
        ("F4", 0, ("factuality_s1", "not_a_choice", "0", "lost"), None),
        ("F4", 3.5, ("factuality_s1", "not_a_choice", "3.5", "lost"), None),
        ("F4", "n/a", ("factuality_s1", "not_a_choice", "'n/a'", "lost"), None),
        ("F4", True, ("factuality_s1", "not_a_choice", "True", "lost"), None),
        ("F4", " 4", ("factuality_s1", "spelling", "' 4'", "repaired"), 4),
        ("F4", 4.0, None, 4),
        ("F4", 1, None, 1),
        ("F4", 5, None, 5),
        ("J4", "=1", ("comment", "formula", "'=1'", "note"), "=1"),
    ],
)
def test_every_cell_is_read_or_named(edited, cell, value, defect, used):
    form = read_form(edited(setting(cell, value)))
    if defect:
        assert only(form) == ("ratings", 4, *defect)
    else:
        assert form.defects == ()
    column = {"E": "preferred", "F": "factuality_s1", "J": "comment"}[cell[0]]
    row = form.rows[form.rows["row"] == 4].iloc[0]
    assert row[column] == used if used is not None else pd.isna(row[column])
    assert len(form.rows) == 12


@pytest.mark.parametrize(
    "cell, formula, value, column",
    [
        ("E4", '=IF(F4>H4,"S1","S2")', "S2", "preferred"),
        ("F4", "=2+2", 4, "factuality_s1"),
        ("G4", ArrayFormula("G4", "=MAX(F4:F5)"), 3, "usefulness_s1"),
        ("A4", '="q"&3', "q3", "prompt_id"),
    ],
)
def test_of_a_formula_the_stored_value_is_read(edited, tmp_path, cell, formula, value, column):
    path = edited(setting(cell, formula))
    with pytest.raises(InputError, match=rf"row 4, column '{column}': the formula"):
        read_form(path)
    form = read_form(with_stored(path, tmp_path / "stored.xlsx", cell, value))
    assert form.rows[column][form.rows["row"] == 4].tolist() == [value]
    assert only(form) == ("ratings", 4, column, "formula", repr(getattr(formula, "text", formula)), "note")


def copy_row(book, change=0):
    for cell in book["ratings"][3]:
        book["ratings"].cell(14, cell.column).value = cell.value
    book["ratings"]["F14"] = 1 + (book["ratings"]["F3"].value + change - 1) % 5


@pytest.mark.parametrize("change, effect, rows", [(0, "note", 12), (1, "lost", 11)])
def test_duplicates_are_named_and_used_only_if_they_agree(edited, change, effect, rows):
    form = read_form(edited(lambda book: copy_row(book, change)))
    assert only(form)[1:4] == (14, "prompt_id", "duplicate") and only(form)[5] == effect
    assert len(form.rows) == rows


def rename(book):
    book["ratings"].title = "Sheet1"


def add_sheet(book):
    book.create_sheet("preview_mapping").append(["x"])


def hide(book):
    book.active = 1
    book["ratings"].sheet_state = "hidden"


@pytest.mark.parametrize(
    "change, where, kind, rows",
    [
        (setting("A7", None), ("ratings", 7, "prompt_id"), "no_id", 11),
        (setting("M3", "=SUM(F2:F5)"), ("ratings", 3, "number 13"), "formula", 12),
        (rename, ("ratings", None, None), "missing_sheet", 12),
        (add_sheet, ("preview_mapping", None, None), "extra_sheet", 12),
        (hide, ("ratings", None, None), "hidden_sheet", 12),
    ],
)
def test_what_is_not_as_sent_out_is_named(edited, change, where, kind, rows):
    form = read_form(edited(change))
    assert only(form)[:4] == (*where, kind) and len(form.rows) == rows


def test_missing_and_extra_columns_and_sheets_are_named(edited):
    form = read_form(edited(setting("F1", "fact")))
    assert {(d.column, d.kind) for d in form.defects} == {("factuality_s1", "missing_column"), ("fact", "extra_column")}
    assert form.rows["factuality_s1"].isna().all()

    def remove(book):
        del book["ratings"]

    with pytest.raises(InputError, match=r"no column 'preferred'.* no other sheet"):
        read_form(edited(remove))


def test_two_files_of_one_base_name_stay_apart(returned, tmp_path):
    paths = [tmp_path / folder / "rater.xlsx" for folder in ("one", "two")]
    for source, path in zip(returned, paths, strict=False):
        path.parent.mkdir()
        shutil.copy(source, path)
    forms = read_forms(paths)
    assert [form.rater for form in forms] == ["one/rater", "two/rater"]
    assert all(only(form)[3] == "same_name" for form in forms)
    with pytest.raises(InputError, match="given twice"):
        read_forms([paths[0], paths[0]])


# --- damaged, foreign and hostile files -------------------------------------------------


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("e.xlsx", b"", "is empty"),
        ("n.xlsx", b"not a zip", "no workbook, or is damaged"),
        ("o.xls", b"\xd0\xcf\x11\xe0rest", "old workbook: save it as .xlsx"),
        ("c.csv", b'prompt_id,preferred\na,"open', "damaged or cut"),
        ("l.csv", "prompt_id\né".encode("latin-1"), "not UTF-8"),
    ],
)
def test_damaged_and_foreign_files_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_form(path)
    with pytest.raises(InputError, match=r"no forms .* to read"):
        read_forms([])


def test_a_claimed_size_is_not_believed(returned, tmp_path):
    sheet = "xl/worksheets/sheet1.xml"
    claim = (b'ref="A1:J13"', b'ref="A1:XFD1000000"', 1)
    path = repacked(returned[0], tmp_path / "claim.xlsx", sheet, lambda content: content.replace(*claim))
    assert b"XFD1000000" in zipfile.ZipFile(path).read(sheet)
    assert len(read_form(path).rows) == 12


def test_bombs_entities_and_links_are_not_followed(returned, tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "MOST_UNPACKED", 2 << 20)
    monkeypatch.setattr(sheets, "MOST_ROWS", 50)
    bomb, links = tmp_path / "bomb.xlsx", tmp_path / "links.xlsx"
    for path, name, content in ((bomb, "xl/media/big.bin", bytes(3 << 20)), (links, "xl/externalLinks/a.xml", "<x/>")):
        shutil.copy(returned[0], path)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
    with pytest.raises(InputError, match="too much for a form"):
        read_form(bomb)
    assert only(read_form(links))[3] == "external_link"
    entities = b'<!DOCTYPE x [<!ENTITY a "b">]>'
    path = repacked(returned[0], tmp_path / "xxe.xlsx", "xl/workbook.xml", lambda c: entities + c)
    with pytest.raises(InputError, match="declares entities"):
        read_form(path)
    long = Workbook()
    for _ in range(52):
        long.active.append(["x"])
    long.save(tmp_path / "long.xlsx")
    with pytest.raises(InputError, match="more than 50 rows"):
        read_form(tmp_path / "long.xlsx")


# --- the key ------------------------------------------------------------------


def swap_rows(book):
    sheet = book["ratings"]
    for column in range(1, 11):
        one, two = sheet.cell(3, column), sheet.cell(5, column)
        one.value, two.value = two.value, one.value


@pytest.mark.parametrize(
    "change, expected",
    [
        (setting("C5", "edited answer"), (5, "system1_output", "edited_text", "note")),
        (setting("B5", "edited prompt"), (5, "prompt_text", "edited_text", "note")),
        (swap_rows, (None, "prompt_id", "reordered", "note")),
    ],
)
def test_edits_and_order_are_named_and_cost_nothing(returned, key, edited, change, expected):
    votes = unblind(read_forms([edited(change), *returned[1:]]), key)
    clean = unblind(read_forms(returned), key)
    (defect,) = votes.defects
    assert (defect.row, defect.column, defect.kind, defect.effect) == expected
    columns = ["rater", "item_id", "choice", "factuality_left"]
    frames = [v.frame[columns].sort_values(columns[:2], ignore_index=True) for v in (votes, clean)]
    assert frames[0].equals(frames[1])


@pytest.mark.parametrize(
    "change, kinds",
    [
        (lambda book: book["ratings"].delete_rows(7), {"missing_row": 1}),
        (setting("A7", "ffffffffffff"), {"unknown_id": 1, "missing_row": 1}),
    ],
)
def test_missing_and_unknown_rows_are_named(returned, key, edited, change, kinds):
    votes = unblind(read_forms([edited(change), *returned[1:]]), key)
    assert Counter(d.kind for d in votes.defects) == kinds and len(votes.frame) == 47
    assert {d.effect for d in votes.defects} == {"lost"}


def test_unblinding_waits_for_all_forms_unless_forced(returned, key):
    forms = read_forms(returned[:3])
    with pytest.raises(InputError, match=r"1 of 4 forms are not in \(r4\)"):
        unblind(forms, key)
    votes = unblind(forms, key, force=True)
    assert votes.absent == ("r4",) and len(votes.frame) == 36


def test_forms_of_others_and_second_forms_are_refused(returned, key, edited, tmp_path):
    copy = tmp_path / "again.xlsx"
    shutil.copy(returned[0], copy)
    with pytest.raises(InputError, match="form of r1 is in already"):
        unblind(read_forms([*returned, copy]), key)

    def new_ids(book):
        for row in range(2, 14):
            book["ratings"].cell(row, 1).value = f"other{row}"

    with pytest.raises(InputError, match="none of its ids is in the key"):
        unblind(read_forms([edited(new_ids), *returned[1:]]), key)


def test_another_key_than_the_registered_one_is_refused(tmp_path):
    folder = make_study(tmp_path / "study", count=4, margin=0.1)
    assert read_key(folder)["no_difference"] == [0.4, 0.6] and read_key(folder)["study"] == "pilot"
    path = folder / "sealed" / "key.json"
    path.write_text(path.read_text().replace("grounded", "other"))
    with pytest.raises(InputError, match="not the key that was registered"):
        read_key(folder)
    path.write_text("{}")
    (folder / "preregistration.json").unlink()
    with pytest.raises(InputError, match="is no key of a rater study"):
        read_key(folder)


def test_the_key_gives_back_the_systems(returned, key):
    votes = unblind(read_forms(returned), key)
    assert votes.systems == ("grounded", "plain") and votes.focus == "grounded"
    for row in votes.frame.to_dict("records"):
        for side in ("left", "right"):
            letter = "ab"[votes.systems.index(row[side])]
            assert row[f"text_{side}"].startswith(f"Answer {row['item_id'][1:]}{letter}")
        assert row["choice"] == {"S1": row["left"], "S2": row["right"], "Tie": "Tie"}[row["preferred"]]


def test_csv_forms_read_like_workbooks(returned, key, tmp_path):
    paths = [tmp_path / f"{path.stem}.csv" for path in returned]
    for source, target in zip(returned, paths, strict=True):
        read_form(source).rows.drop(columns="row").to_csv(target, index=False, sep=";", encoding="utf-8-sig")
    from_csv = unblind(read_forms(paths), key)
    columns = ["rater", "item_id", "choice", "usefulness_right"]
    assert from_csv.frame[columns].equals(unblind(read_forms(returned), key).frame[columns])
    assert {d.kind for d in from_csv.defects} == {"spelling"}  # pandas wrote 4.0


# --- the documented layout ------------------------------------------------------------------


def test_workbooks_and_table_of_the_documented_study_give_the_same_votes(tmp_path):
    votes = read_votes(read_forms(write_forms(tmp_path)))
    columns = ["place", "left", "choice", "factuality_left", "usefulness_right"]
    assert votes.frame[columns].equals(example_votes().frame[columns])
    assert {defect.kind for defect in votes.defects} == {"extra_column", "extra_sheet", "formula"}


def test_the_key_column_is_not_guessed_and_its_defects_are_named(tmp_path):
    path = write_forms(tmp_path)[0]
    book = load_workbook(path)
    book["ratings"]["K1"], book["ratings"]["K4"], book["ratings"]["K5"] = "which", "left", None
    book.save(path)
    form = read_form(path)
    with pytest.raises(InputError, match="no key column"):
        read_votes([form])
    assert read_votes([form], last_column=True).frame.equals(read_votes([form], "which").frame)
    votes = read_votes([form], "which")
    assert [(d.kind, d.row) for d in votes.defects if d.kind == "no_key"] == [("no_key", 4), ("no_key", 5)]
    assert len(votes.frame) == 50 and votes.frame["choice"].isna().sum() == 2
