"""Folders appear whole, and temporary ones go with the process that they serve."""

import os

import pytest

from casebook.files import SCRATCH, copy_folder, put_in_place, scratch, working


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Give a folder for temporary files that is ours alone."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv(SCRATCH, raising=False)
    return tmp_path / "temporary"


def test_a_block_within_a_block_shares_its_folder(place):
    with scratch() as outer, scratch() as inner:
        assert inner.parent == outer and outer.parent == place
        assert os.environ[SCRATCH] == str(outer)
    assert SCRATCH not in os.environ and not [*place.iterdir()]


def test_an_outer_folder_that_is_gone_is_not_asked_for(place, monkeypatch):
    monkeypatch.setenv(SCRATCH, str(place / "gone"))
    with scratch() as folder:
        assert folder.parent == place


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_takes_the_place_of_another(tmp_path, there):
    for name in ("new", *["site"] * there):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    put_in_place(tmp_path / "new", tmp_path / "site")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["new", "site"]
    assert (tmp_path / "site" / "new").exists()


def test_a_folder_is_copied_without_what_is_hidden(tmp_path):
    for name in ("a/b/ü .txt", "a/.hidden/c", "a/.d", "a/e"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    copy_folder(tmp_path / "a", tmp_path / "copy")
    found = {str(p.relative_to(tmp_path / "copy")) for p in tmp_path.glob("copy/**/*")}
    assert found == {"b", "b/ü .txt", "e"}
    with pytest.raises(FileNotFoundError, match="absent"):
        copy_folder(tmp_path / "absent", tmp_path / "copy")
    (tmp_path / "a" / "gone").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match="gone"):
        copy_folder(tmp_path / "a", tmp_path / "copy")


def test_a_place_to_work_in_starts_empty_and_is_gone_after_an_error(tmp_path):
    (tmp_path / "work-of-a-killed-process").mkdir()
    (tmp_path / "html").mkdir()
    with pytest.raises(RuntimeError), working(tmp_path) as work:
        assert {path.name for path in tmp_path.iterdir()} == {"html", work.name}
        assert not [*work.iterdir()]
        (work / "new").touch()
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["html"]
