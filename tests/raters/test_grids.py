"""Workbooks and tables that are old, damaged, foreign or hostile."""

import shutil
import zipfile

import pytest
from forms_as_documented import repacked
from openpyxl import Workbook, load_workbook

from casebook.errors import InputError
from casebook.formats import grids
from casebook.raters.read import read_form, read_forms


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
        (written("o.xls", b"\xd0\xcf\x11\xe0rest"), "old workbook: save it as .xlsx"),
        (written("c.csv", b'prompt_id,preferred\na,"open'), "damaged or cut"),
        (written("l.csv", "prompt_id\né".encode("latin-1")), "not UTF-8"),
        (written("d.docx", b"x"), "is no form"),
        (tmp_path / "absent.xlsx", "cannot be read"),
    ]:
        with pytest.raises(InputError, match=message):
            read_form(path)
    with pytest.raises(InputError, match=r"no forms .* to read"):
        read_forms([])


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
    path = repacked(returned[0], tmp_path / "xxe.xlsx", "xl/workbook.xml", lambda c: entities + c)
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
    assert [d.kind for d in read_form(path).defects] == ["external_link"]


def test_returned_workbooks_open_in_openpyxl_with_their_locks(returned):
    sheet = load_workbook(returned[0])["ratings"]
    assert sheet.protection.sheet and not sheet["E2"].protection.locked
