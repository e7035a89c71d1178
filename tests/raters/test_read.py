"""Returned forms: every cell read or named; damaged, foreign and hostile files refused; the key put
back."""

import json
import shutil
import zipfile

import pandas as pd
import pytest
from cases import not_refused
from forms_as_documented import repacked, with_stored, write_forms
from openpyxl import load_workbook
from openpyxl.worksheet.formula import ArrayFormula
from toy_study import make_study, read_form

from casebook import sheets
from casebook.errors import InputError
from casebook.raters.analysis import analyse, answer_lines
from casebook.raters.read import read_forms
from casebook.raters.simulate import fill_forms
from casebook.raters.unblinding import open_forms, read_key, read_votes, unblind

COLUMNS = ["rater", "item_id", "choice", "factuality_left", "usefulness_right"]


def named(defects):
    return [(defect.row, defect.column, defect.kind, defect.effect) for defect in defects]


def setting(cell, value):
    def change(book):
        book["ratings"][cell] = value

    return change


@pytest.mark.parametrize(
    ("cell", "value", "defect", "used"),
    [
        ("E4", None, ("blank", "lost"), None),
        ("E4", "tie ", ("spelling", "repaired"), "Tie"),
        ("E4", "both", ("not_a_choice", "lost"), None),
        ("F4", 6, ("not_a_choice", "lost"), None),
        ("F4", 0, ("not_a_choice", "lost"), None),
        ("F4", 3.5, ("not_a_choice", "lost"), None),
        ("F4", "n/a", ("not_a_choice", "lost"), None),
        ("F4", True, ("not_a_choice", "lost"), None),
        ("F4", " 4", ("spelling", "repaired"), 4),
        ("F4", "4.0", ("spelling", "repaired"), 4),
        ("F4", 4.0, None, 4),
        ("F4", 1, None, 1),
        ("F4", 5, None, 5),
        ("J4", "=1", ("formula", "note"), "=1"),
        ("J4", None, None, ""),
    ],
)
def test_every_cell_is_read_or_named(edited, cell, value, defect, used):
    form = read_form(edited(setting(cell, value)))
    column = {"E": "preferred", "F": "factuality_s1", "J": "comment"}[cell[0]]
    assert (
        named(form.defects) == ([(4, column, *defect)] if defect else []) and len(form.rows) == 12
    )
    (cell,) = form.rows.loc[form.rows["row"] == 4, column]
    assert cell == used if used is not None else pd.isna(cell)


@pytest.mark.parametrize(
    ("cell", "formula", "value", "column"),
    [
        ("E4", '=IF(F4>H4,"S1","S2")', "S2", "preferred"),
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
    assert named(form.defects) == [(4, column, "formula", "note")]


def copying(change):
    def copy_row(book):
        for cell in book["ratings"][3]:
            book["ratings"].cell(14, cell.column).value = cell.value
        book["ratings"]["F14"] = 1 + (book["ratings"]["F3"].value + change - 1) % 5

    return copy_row


@pytest.mark.parametrize(
    ("change", "defect", "rows"),
    [
        (copying(0), (14, "prompt_id", "duplicate", "note"), 12),
        (copying(1), (14, "prompt_id", "duplicate", "lost"), 11),
        (setting("M3", "=SUM(F2:F5)"), (3, "column 13", "formula", "note"), 12),
        (
            lambda book: book.create_sheet("preview").append(["x"]),
            (None, None, "extra_sheet", "note"),
            12,
        ),
    ],
)
def test_what_is_not_as_sent_out_is_named(edited, change, defect, rows):
    form = read_form(edited(change))
    assert named(form.defects) == [defect] and len(form.rows) == rows


def test_missing_and_extra_columns_are_named(edited):
    form = read_form(edited(setting("F1", "fact")))
    assert {("factuality_s1", "missing_column"), ("fact", "extra_column")} == {
        d[1:3] for d in named(form.defects)
    }
    assert form.rows["factuality_s1"].isna().all()
    with pytest.raises(InputError, match=r"no column 'preferred'.* it has nothing"):
        read_form(edited(lambda book: book.remove(book["ratings"])))


# --- damaged, foreign and hostile files -------------------------------------------------


def test_declared_sizes_and_bombs_are_not_believed(returned, tmp_path, monkeypatch):
    claim = (b'ref="A1:J13"', b'ref="A1:XFD1000000"', 1)
    part = "xl/worksheets/sheet1.xml"
    path = repacked(
        returned[0], tmp_path / "claim.xlsx", part, lambda content: content.replace(*claim)
    )
    assert b"XFD1000000" in zipfile.ZipFile(path).read(part) and len(read_form(path).rows) == 12
    monkeypatch.setattr(sheets, "MOST_UNPACKED", 2 << 20)
    bomb = tmp_path / "bomb.xlsx"
    shutil.copy(returned[0], bomb)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/big.bin", bytes(3 << 20))
    with pytest.raises(InputError, match="too much for a form"):
        read_form(bomb)


def test_one_error_names_every_file_and_row_that_is_refused(returned, key, tmp_path):
    texts = {"a.csv": "prompt_id,comment\n1,x\n", "b.csv": ""}
    paths = [tmp_path / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_forms([*paths, returned[0]])
    named_in_error = [part.split(":")[0] for part in str(caught.value).split(f"{tmp_path}/")]
    assert named_in_error == ["", "a.csv", "b.csv"]
    assert "\n" not in str(caught.value)
    copies = [shutil.copy(returned[0], tmp_path / name) for name in ("one.xlsx", "two.xlsx")]
    with pytest.raises(InputError, match=r"one.xlsx: form of r1 is in .*two.xlsx: form of r1"):
        unblind(read_forms([*returned, *copies]), key)


# --- the key ------------------------------------------------------------------


def changed_in_many_ways(book):
    sheet = book["ratings"]
    sheet["C5"] = "edited answer"
    sheet["A7"] = "ffffffffffff"


def with_ids_of_nobody(book):
    for cell in book["ratings"]["A"][1:]:
        cell.value = f"{cell.row:012x}"


def test_what_does_not_fit_the_key_is_named_and_the_rest_is_used(returned, key, edited):
    path = edited(changed_in_many_ways)
    votes, clean = (unblind(read_forms([p, *returned[1:]]), key) for p in (path, returned[0]))
    assert sorted(named(votes.defects), key=str) == [
        (5, "system1_output", "edited_text", "note"),
        (7, "prompt_id", "unknown_id", "lost"),
        (None, "prompt_id", "missing_row", "lost"),
    ]
    assert len(votes.frame[COLUMNS].merge(clean.frame[COLUMNS])) == len(votes.frame) == 47
    strange = edited(with_ids_of_nobody)
    refused = [
        (returned[:3], r"1 of 4 forms are not in \(r4\)"),
        ([strange, *returned[1:]], f"{strange.name}: none of its ids is in the key"),
    ]
    assert not_refused(lambda forms: unblind(read_forms(forms), key), refused) == []
    votes = unblind(read_forms(returned[:3]), key, force=True)
    assert votes.absent == ("r4",) and len(votes.frame) == 36


def test_a_key_and_its_pre_registration_are_used_together_or_not_at_all(tmp_path):
    folder = make_study(tmp_path / "study", count=4, margin=0.1)
    key, public = folder / "sealed" / "key.json", folder / "preregistration.json"
    assert read_key(key) == read_key(folder)
    for path, fields, message in (
        (key, {"focus": "plain"}, r"key\.json: is not the key whose SHA-256"),
        (public, {"forms_sha256": {}}, r"preregistration\.json: was altered"),
        (public, {"schema": "other"}, r"preregistration\.json: is no pre-registration"),
    ):
        whole = path.read_text()
        path.write_text(json.dumps(json.loads(whole) | fields))
        with pytest.raises(InputError, match=message):
            read_key(folder)
        path.write_text(whole)
    public.unlink()
    with pytest.raises(InputError, match=r"preregistration\.json: cannot be read"):
        read_key(folder)


def test_the_registered_level_and_margin_are_those_of_the_analysis(tmp_path):
    folder = make_study(tmp_path / "study", count=16, margin=0.1, alpha=0.01)
    votes = open_forms(read_forms(fill_forms(folder, tmp_path / "back")), folder)
    as_registered, at_another_level = (
        analyse(votes._replace(alpha=alpha), n_resamples=100, permutations=19)
        for alpha in (votes.alpha, 0.05)
    )
    assert votes.margin == pytest.approx(0.1)
    wide, narrow = (
        found.tables["win_rates"].iloc[-2] for found in (as_registered, at_another_level)
    )
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]
    assert not any("Nothing was registered" in line for line in answer_lines(as_registered))


def test_the_key_gives_back_the_systems_from_workbooks_and_csv(returned, key, tmp_path):
    votes = unblind(read_forms(returned), key)
    assert (
        votes.systems == ("grounded", "plain") and votes.focus == "grounded" and votes.defects == ()
    )
    for row in votes.frame.to_dict("records"):
        for side in ("left", "right"):
            letter = "ab"[votes.systems.index(row[side])]
            assert row[f"text_{side}"].startswith(f"Answer {row['item_id'][1:]}{letter}")
        assert (
            row["choice"] == {"S1": row["left"], "S2": row["right"], "Tie": "Tie"}[row["preferred"]]
        )
    for source in returned:
        rows = read_form(source).rows.drop(columns="row")
        # In another order, which ids undo.
        rows[::-1].to_csv(tmp_path / f"{source.stem}.csv", index=False, sep=";")
    again = unblind(read_forms(tmp_path), key)
    assert len(again.frame[COLUMNS].merge(votes.frame[COLUMNS])) == len(votes.frame)
    assert {defect.kind for defect in again.defects} == {"spelling"}  # pandas wrote 4.0


# --- the documented layout ------------------------------------------------------------------


def test_a_prompt_of_one_form_alone_is_named(tmp_path):
    """As an edited one, which else would be a 51st question without a word."""
    first, *_ = paths = write_forms(tmp_path)
    book = load_workbook(first)
    sheet = book.worksheets[0]
    sheet["B5"].value = "An edited prompt"
    sheet["A6"].value = "an edited id"
    book.save(first)
    votes = open_forms(read_forms(paths))
    other = [d for d in votes.defects if d.kind == "other_prompt"]
    assert named(other) == [(5, "prompt_text", "other_prompt", "note")]
    assert votes.frame["item_id"].nunique() == 51


def test_the_key_column_is_not_guessed_and_its_defects_are_named(tmp_path):
    (tmp_path / "documented").mkdir()
    sheet = pd.read_excel(write_forms(tmp_path / "documented")[0])
    sheet = sheet.rename(columns={"_rag_side_for_analysis": "which"})
    sheet.loc[[2, 3], "which"] = ["left", None]
    sheet.loc[6, "prompt_text"] = sheet.loc[5, "prompt_text"]
    sheet.to_csv(tmp_path / "r.csv", index=False)
    forms = read_forms(tmp_path / "r.csv")
    with pytest.raises(InputError, match="no key column"):
        read_votes(forms)
    votes = read_votes(forms, "which")
    assert read_votes(forms, last_column=True).frame.equals(votes.frame)
    expected = [
        (4, "prompt_text", "no_key", "lost"),
        (5, "prompt_text", "no_key", "lost"),
        (8, "prompt_text", "duplicate", "lost"),
    ]
    assert sorted(d for d in named(votes.defects) if d[3] == "lost") == expected
    assert len(votes.frame) == 49 and votes.frame["choice"].isna().sum() == 2
