import shutil
from collections import Counter

import pandas as pd
import pytest
from forms_as_documented import with_stored
from openpyxl.worksheet.formula import ArrayFormula

from casebook.errors import InputError
from casebook.raters.read import defect_table, read_form, read_forms, unblind


def kinds(form):
    return Counter(defect.kind for defect in form.defects)


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
        assert form.defects == ()
        assert len(form.rows) == 12
        assert form.rows["preferred"].isin(["S1", "S2", "Tie"]).all()
        assert form.rows["factuality_s1"].between(1, 5).all()


@pytest.mark.parametrize(
    "cell, value, defect, used",
    [
        ("E4", None, ("preferred", "blank", "", "lost"), None),
        ("E4", "   ", ("preferred", "blank", "", "lost"), None),
        ("E4", "tie ", ("preferred", "spelling", "'tie '", "repaired"), "Tie"),
        ("E4", "s2", ("preferred", "spelling", "'s2'", "repaired"), "S2"),
        ("E4", "both", ("preferred", "not_a_choice", "'both'", "lost"), None),
        ("E4", 1, ("preferred", "not_a_choice", "1", "lost"), None),
        ("F4", None, ("factuality_s1", "blank", "", "lost"), None),
        ("F4", 6, ("factuality_s1", "out_of_range", "6", "lost"), None),
        ("F4", 0, ("factuality_s1", "out_of_range", "0", "lost"), None),
        ("F4", 3.5, ("factuality_s1", "not_whole", "3.5", "lost"), None),
        ("F4", "3,5", ("factuality_s1", "not_whole", "'3,5'", "lost"), None),
        ("F4", "n/a", ("factuality_s1", "not_a_number", "'n/a'", "lost"), None),
        ("F4", True, ("factuality_s1", "not_a_number", "True", "lost"), None),
        ("F4", " 4", ("factuality_s1", "spelling", "' 4'", "repaired"), 4),
        ("F4", "4", None, 4),
        ("F4", 4.0, None, 4),
        ("F4", 1, None, 1),
        ("F4", 5, None, 5),
        ("J4", "=1", ("comment", "formula", "'=1'", "note"), "=1"),
        ("J4", "é 契約", None, "é 契約"),
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
    text = getattr(formula, "text", formula)
    with pytest.raises(InputError, match=rf"row 4, column '{column}': the formula"):
        read_form(path)
    form = read_form(with_stored(path, tmp_path / "stored.xlsx", cell, value))
    assert form.rows[column][form.rows["row"] == 4].tolist() == [value]
    assert only(form) == ("ratings", 4, column, "formula", repr(text), "note")


def test_columns_of_other_names_are_mapped(edited):
    path = edited(setting("E1", "choice"))
    with pytest.raises(InputError, match=r"'preferred'.*'ratings' has prompt_id"):
        read_form(path)
    with pytest.raises(InputError, match=r"column 'chosen', .* choice, factuality_s1"):
        read_form(path, {"preferred": "chosen"})
    form = read_form(path, {"preferred": "choice"})
    assert form.defects == () and form.rows["preferred"].notna().all()


def copy_row(book, source, target):
    for cell in book["ratings"][source]:
        book["ratings"].cell(target, cell.column).value = cell.value


def test_duplicates_are_named_and_used_only_if_they_agree(edited):
    same = read_form(edited(lambda book: copy_row(book, 3, 14)))
    assert only(same)[1:4] == (14, "prompt_id", "duplicate")
    assert only(same)[5] == "note" and len(same.rows) == 12

    def contradict(book):
        copy_row(book, 3, 14)
        old = book["ratings"]["F3"].value
        book["ratings"]["F14"] = 1 + old % 5

    other = read_form(edited(contradict))
    assert only(other)[3] == "duplicate" and only(other)[5] == "lost"
    assert len(other.rows) == 11


def swap_rows(book):
    sheet = book["ratings"]
    for column in range(1, 11):
        one, two = sheet.cell(3, column), sheet.cell(5, column)
        one.value, two.value = two.value, one.value


def unblinded(returned, key, edited, change, **options):
    paths = [edited(change), *returned[1:]]
    return unblind(read_forms(paths), key, **options)


@pytest.mark.parametrize(
    "change, expected",
    [
        (setting("C5", "edited answer"), (5, "system1_output", "edited_text", "note")),
        (setting("B5", "edited prompt"), (5, "prompt_text", "edited_text", "note")),
        (swap_rows, (None, "prompt_id", "reordered", "note")),
    ],
)
def test_edits_and_order_are_named_and_cost_nothing(returned, key, edited, change, expected):
    votes = unblinded(returned, key, edited, change)
    clean = unblind(read_forms(returned), key)
    (defect,) = votes.defects
    assert (defect.row, defect.column, defect.kind, defect.effect) == expected
    columns = ["rater", "item_id", "choice", "factuality_left"]
    by = ["rater", "item_id"]
    frames = [v.frame[columns].sort_values(by) for v in (votes, clean)]
    assert frames[0].to_numpy().tolist() == frames[1].to_numpy().tolist()


def test_missing_and_unknown_rows_are_named(returned, key, edited):
    votes = unblinded(returned, key, edited, lambda b: b["ratings"].delete_rows(7))
    assert [(d.kind, d.effect) for d in votes.defects] == [("missing_row", "lost")]
    assert len(votes.frame) == 47
    votes = unblinded(returned, key, edited, setting("A7", "ffffffffffff"))
    assert Counter(d.kind for d in votes.defects) == {"unknown_id": 1, "missing_row": 1}


def test_a_row_without_an_id_is_named(edited):
    form = read_form(edited(setting("A7", None)))
    assert only(form)[1:4] == (7, "prompt_id", "no_id")
    assert len(form.rows) == 11


def test_missing_and_extra_sheets_are_named(edited):
    def rename(book):
        book["ratings"].title = "Sheet1"

    form = read_form(edited(rename))
    assert only(form)[:4] == ("ratings", None, None, "missing_sheet")
    assert "Sheet1 read instead" in only(form)[4] and len(form.rows) == 12

    def remove(book):
        del book["ratings"]

    with pytest.raises(InputError, match=r"no column 'preferred'.* no other sheet"):
        read_form(edited(remove))

    def add(book):
        book.create_sheet("preview_mapping").append(["x"])

    form = read_form(edited(add))
    assert only(form)[:4] == ("preview_mapping", None, None, "extra_sheet")


def test_missing_and_extra_columns_are_named(edited):
    form = read_form(edited(setting("F1", "fact")))
    found = {(d.column, d.kind) for d in form.defects}
    assert found == {("factuality_s1", "missing_column"), ("fact", "extra_column")}
    assert form.rows["factuality_s1"].isna().all()


def test_a_formula_outside_the_form_is_named(edited):
    form = read_form(edited(setting("M3", "=SUM(F2:F5)")))
    assert only(form) == (*("ratings", 3, "number 13", "formula", "'=SUM(F2:F5)'", "note"),)


def test_several_defects_are_all_reported(edited):
    def spoil(book):
        for cell, value in {"E2": "tie ", "F3": 6, "G4": 3.5, "H5": None}.items():
            book["ratings"][cell] = value

    form = read_form(edited(spoil))
    table = defect_table(form.defects)
    assert table["row"].tolist() == [2, 3, 4, 5]
    kinds = ["spelling", "out_of_range", "not_whole", "blank"]
    assert table["kind"].tolist() == kinds


def test_two_files_of_one_base_name_stay_apart(returned, tmp_path):
    paths = []
    for number, folder in enumerate(("one", "two")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "rater.xlsx")
        shutil.copy(returned[number], paths[-1])
    forms = read_forms(paths)
    assert [form.rater for form in forms] == ["one/rater", "two/rater"]
    assert all(kinds(form) == {"same_name": 1} for form in forms)
    with pytest.raises(InputError, match="given twice"):
        read_forms([paths[0], paths[0]])


def test_unblinding_waits_for_all_forms_unless_forced(returned, key):
    forms = read_forms(returned[:3])
    with pytest.raises(InputError, match=r"1 of 4 forms are not in \(r4\)"):
        unblind(forms, key)
    votes = unblind(forms, key, force=True)
    assert votes.absent == ("r4",) and len(votes.frame) == 36


def test_one_raters_form_is_refused_twice(returned, key, tmp_path):
    copy = tmp_path / "again.xlsx"
    shutil.copy(returned[0], copy)
    with pytest.raises(InputError, match="form of r1 is in already"):
        unblind(read_forms([*returned, copy]), key)


def test_forms_of_another_study_are_refused(returned, key, edited):
    def new_ids(book):
        for row in range(2, 14):
            book["ratings"].cell(row, 1).value = f"other{row}"

    with pytest.raises(InputError, match="none of its ids is in the key"):
        unblinded(returned, key, edited, new_ids)


def test_the_key_gives_back_the_systems(returned, key):
    votes = unblind(read_forms(returned), key)
    assert votes.systems == ("grounded", "plain") and votes.focus == "grounded"
    for row in votes.frame.to_dict("records"):
        item = row["item_id"][1:]
        for side in ("left", "right"):
            letter = "ab"[votes.systems.index(row[side])]
            assert row[f"text_{side}"].startswith(f"Answer {item}{letter}")
        meant = {"S1": row["left"], "S2": row["right"], "Tie": "Tie"}
        assert row["choice"] == meant[row["preferred"]]


def test_csv_forms_read_like_workbooks(study, returned, key, tmp_path):
    paths = []
    for path in returned:
        filled = read_form(path).rows.drop(columns="row")
        target = tmp_path / f"{path.stem}.csv"
        source = (study / "for_raters" / target.name).read_text(encoding="utf-8-sig")
        assert source.splitlines()[0] == ",".join(filled.columns)
        filled.to_csv(target, index=False, sep=";", encoding="utf-8-sig")
        paths.append(target)
    from_csv = unblind(read_forms(paths), key)
    columns = ["rater", "item_id", "choice", "usefulness_right"]
    expected = unblind(read_forms(returned), key).frame[columns]
    assert from_csv.frame[columns].equals(expected)
    assert {d.kind for d in from_csv.defects} == {"spelling"}  # pandas wrote 4.0
