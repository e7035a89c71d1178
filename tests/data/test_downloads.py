"""Pulling: hashes decide, wheels are only unzipped, processes do not collide."""

import hashlib
import zipfile

import pytest
from refusals import not_refused

from casebook.data import registry, sources
from casebook.errors import InputError

CONTENT = b"first line\nsecond line\n"


def make_wheel(folder, members):
    path = folder / "casebook_toy-1.0-py3-none-any.whl"
    info = "casebook_toy-1.0.dist-info"
    members = {
        **members,
        "casebook_toy/__init__.py": b"raise SystemExit('imported')",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: casebook-toy\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Let pip see only one folder, which holds a small wheel."""
    folder = tmp_path / "index"
    folder.mkdir()
    make_wheel(folder, {"casebook_toy/data/rows.jsonl": CONTENT})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


WHEEL = [{"wheel": "casebook-toy==1.0", "member": "casebook_toy/data/rows.jsonl"}]


def test_member_of_a_wheel_is_taken_once_and_then_found(cache, index, make_card):
    card = make_card({"rows.jsonl": CONTENT}, WHEEL)
    with pytest.raises(sources.Absent, match="casebook data pull toy"):
        sources.present(card)
    paths = sources.pull(card)
    assert paths == {"rows.jsonl": cache / "toy" / "rows.jsonl"}
    assert paths["rows.jsonl"].read_bytes() == CONTENT
    (index / "casebook_toy-1.0-py3-none-any.whl").unlink()
    assert sources.present(card) == sources.pull(card) == paths
    assert [path.name for path in (cache / "toy").iterdir()] == ["rows.jsonl"]


def test_no_name_is_not_every_name():
    assert registry.pull([]) == []


SOURCES = [
    ({"wheel": "casebook-toy==2.0"}, "cannot get rows.jsonl .*No matching distribution"),
    ({"wheel": "casebook-toy==1.0", "member": "a/b"}, "cannot get rows.jsonl .*a/b"),
    ({"mirror": "toy"}, "set CASEBOOK_DATA_MIRROR to a folder that has it"),
    ({"shipped": "no_such_folder"}, "is not on this machine"),
    ({"url": "https://127.0.0.1:9/{file}"}, "cannot get rows.jsonl .*ConnectionError"),
]


def test_sources_that_fail_are_named(cache, index, make_card):
    def pull(source):
        return sources.pull(make_card({"rows.jsonl": CONTENT}, [source]))

    assert not_refused(pull, SOURCES) == []
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_wrong_hash_is_refused_and_leaves_nothing(cache, index, make_card):
    card = make_card({"rows.jsonl": b"other"}, WHEEL)
    with pytest.raises(InputError, match=r"from casebook-toy==1\.0: SHA256 .* expected") as caught:
        sources.pull(card)
    for content in (b"other", CONTENT):
        assert hashlib.sha256(content).hexdigest() in str(caught.value)
    assert not list((cache / "toy").iterdir())
    assert sources.status(card)[0] == "absent"


def test_file_that_changed_in_the_cache_is_damaged_and_pulled_anew(cache, index, make_card):
    """F62: `data check` called it absent, with exit 0."""
    card = make_card({"rows.jsonl": CONTENT}, WHEEL)
    path = sources.pull(card)["rows.jsonl"]
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(
        InputError, match=r"rows\.jsonl: is damaged: expected sha256 .*casebook data pull toy"
    ):
        sources.present(card)
    assert sources.status(card)[0] == "bad"
    assert sources.pull(card)["rows.jsonl"].read_bytes() == CONTENT


def test_mirror_comes_first_and_is_never_written(cache, make_card, tmp_path, monkeypatch):
    mirrored = tmp_path / "mirror" / "toy" / "there.jsonl"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CONTENT)
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(tmp_path / "mirror"))
    rename = {"rows.jsonl": "there.jsonl"}
    card = make_card({"rows.jsonl": CONTENT}, [{"mirror": "toy", "rename": rename}])
    assert sources.pull(card) == {"rows.jsonl": mirrored}
    mirrored.write_bytes(b"changed")
    assert sources.status(card)[0] == "bad"
    assert [path.name for path in mirrored.parent.iterdir()] == ["there.jsonl"]


def test_pull_without_names_leaves_out_what_only_a_mirror_has(
    cache, make_card, monkeypatch, capsys
):
    card = make_card({"rows.jsonl": CONTENT}, [{"mirror": "toy"}])
    monkeypatch.setattr(registry, "cards", lambda: {"toy": card})
    assert registry.pull() == []
    assert "toy: left out" in capsys.readouterr().err
    with pytest.raises(sources.Absent, match="set CASEBOOK_DATA_MIRROR to a folder that has it"):
        registry.pull(["toy"])
