import shutil
import struct
import zipfile
from collections import Counter

import pandas as pd
import pytest
from openpyxl import Workbook, load_workbook

from casebook.errors import InputError
from casebook.raters import grids
from casebook.raters.defects import defect_table
from casebook.raters.responses import read_form, read_forms
from casebook.raters.unblinding import unblind


def kinds(form):
    return Counter(defect.kind for defect in form.defects)


def only(form):
    (defect,) = form.defects
    return (
        defect.sheet,
        defect.row,
        defect.column,
        defect.kind,
        defect.found,
        defect.effect,
    )


def setting(cell, value):
    def change(book):
        book["ratings"][cell] = value

    return change


def test_a_filled_form_has_no_defect(returned):
    for form in read_forms(returned):
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
        ("E4", "=A1", ("preferred", "formula", "'=A1'", "lost"), None),
        ("E4", 1, ("preferred", "not_a_choice", "1", "lost"), None),
        ("F4", None, ("factuality_s1", "blank", "", "lost"), None),
        ("F4", 6, ("factuality_s1", "out_of_range", "6", "lost"), None),
        ("F4", 0, ("factuality_s1", "out_of_range", "0", "lost"), None),
        ("F4", 3.5, ("factuality_s1", "not_whole", "3.5", "lost"), None),
        ("F4", "3,5", ("factuality_s1", "not_whole", "'3,5'", "lost"), None),
        ("F4", "n/a", ("factuality_s1", "not_a_number", "'n/a'", "lost"), None),
        ("F4", True, ("factuality_s1", "not_a_number", "True", "lost"), None),
        ("F4", "=2+2", ("factuality_s1", "formula", "'=2+2'", "lost"), None),
        ("F4", " 4", ("factuality_s1", "spelling", "' 4'", "repaired"), 4),
        ("F4", "4", None, 4),
        ("F4", 4.0, None, 4),
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
def test_edits_and_order_are_named_and_cost_nothing(
    returned, key, edited, change, expected
):
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

    form = read_form(edited(remove))
    assert only(form)[3:] == ("missing_sheet", "there are: rubric, about", "lost")

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
    assert only(form) == (
        *("ratings", 3, "number 13", "formula", "'=SUM(F2:F5)'", "note"),
    )


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


def biff2(rows):
    """Write the oldest workbook format, of which records are simple."""
    parts = [struct.pack("<HHHH", 0x0009, 4, 2, 0x10)]
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            head = struct.pack("<HH3x", r, c)
            if isinstance(value, str):
                body = head + bytes([len(value)]) + value.encode("latin-1")
                parts.append(struct.pack("<HH", 0x0004, len(body)) + body)
            elif value is not None:
                body = head + struct.pack("<d", value)
                parts.append(struct.pack("<HH", 0x0003, len(body)) + body)
    return b"".join([*parts, struct.pack("<HH", 0x000A, 0)])


def test_old_workbooks_are_read(tmp_path):
    names = ["prompt_id", "prompt_text", "system1_output", "system2_output"]
    names += ["preferred", "factuality_s1", "usefulness_s1"]
    names += ["factuality_s2", "usefulness_s2", "comment"]
    path = tmp_path / "rater.xls"
    row = ["a1", "p", "x", "y", "S1", 4.0, 5.0, 3.5, None, "ok"]
    path.write_bytes(biff2([names, row]))
    form = read_form(path)
    assert form.rows["usefulness_s1"].tolist() == [5]
    found = [(d.kind, d.row, d.column) for d in form.defects if d.row]
    assert found == [("not_whole", 2, "factuality_s2"), ("blank", 2, "usefulness_s2")]


def test_damaged_and_foreign_files_are_named(returned, tmp_path):
    def written(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    whole = returned[0].read_bytes()
    for path, message in [
        (written("e.xlsx", b""), "is empty"),
        (written("t.xlsx", whole[: len(whole) // 2]), "no workbook, or is damaged"),
        (written("n.xlsx", b"not a zip"), "no workbook, or is damaged"),
        (written("o.xls", b"\xd0\xcf\x11\xe0rest"), "no workbook, or is damaged"),
        (written("c.csv", b'prompt_id,preferred\na,"open'), "damaged or cut"),
        (written("l.csv", "prompt_id\né".encode("latin-1")), "not UTF-8"),
        (written("d.docx", b"x"), "is no form"),
        (tmp_path / "absent.xlsx", "cannot be read"),
    ]:
        with pytest.raises(InputError, match=message):
            read_form(path)
    with pytest.raises(InputError, match="no forms to read"):
        read_forms([])


def repacked(source, target, name, change):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", 8) as new:
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, change(content) if member == name else content)
    return target


def test_a_claimed_size_is_not_believed(returned, tmp_path):
    sheet = "xl/worksheets/sheet1.xml"

    def claim(content):
        return content.replace(b'ref="A1:J13"', b'ref="A1:XFD1000000"', 1)

    path = repacked(returned[0], tmp_path / "claim.xlsx", sheet, claim)
    assert b"XFD1000000" in zipfile.ZipFile(path).read(sheet)
    assert len(read_form(path).rows) == 12


def test_bombs_and_entities_are_refused(returned, tmp_path, monkeypatch):
    monkeypatch.setattr(grids, "MOST_UNPACKED", 2 << 20)
    monkeypatch.setattr(grids, "MOST_ROWS", 50)
    bomb = tmp_path / "bomb.xlsx"
    shutil.copy(returned[0], bomb)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/big.bin", bytes(3 << 20))
    with pytest.raises(InputError, match="too much for a form"):
        read_form(bomb)
    entities = b'<!DOCTYPE x [<!ENTITY a "b">]>'
    path = repacked(
        returned[0], tmp_path / "xxe.xlsx", "xl/workbook.xml", lambda c: entities + c
    )
    with pytest.raises(InputError, match="declares entities"):
        read_form(path)
    rows = Workbook()
    for _ in range(52):
        rows.active.append(["x"])
    rows.save(tmp_path / "long.xlsx")
    with pytest.raises(InputError, match="more than 50 rows"):
        read_form(tmp_path / "long.xlsx")


def test_links_are_named_and_not_followed(returned, tmp_path):
    path = tmp_path / "links.xlsx"
    shutil.copy(returned[0], path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/externalLinks/externalLink1.xml", "<x/>")
    assert kinds(read_form(path)) == {"external_link": 1}


def test_returned_workbooks_open_in_openpyxl_with_their_locks(returned):
    sheet = load_workbook(returned[0])["ratings"]
    assert sheet.protection.sheet and not sheet["E2"].protection.locked
