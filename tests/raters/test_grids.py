"""Workbooks and tables that are old, damaged, foreign or hostile."""

import shutil
import struct
import zipfile

import pytest
from openpyxl import Workbook, load_workbook

from casebook.errors import InputError
from casebook.raters import grids
from casebook.raters.responses import read_form, read_forms


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
    with pytest.raises(InputError, match=r"no forms .* to read"):
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
    assert [d.kind for d in read_form(path).defects] == ["external_link"]


def test_returned_workbooks_open_in_openpyxl_with_their_locks(returned):
    sheet = load_workbook(returned[0])["ratings"]
    assert sheet.protection.sheet and not sheet["E2"].protection.locked
