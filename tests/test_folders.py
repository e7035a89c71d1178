"""Folders appear whole, and temporary ones go with the process that they serve."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from casebook import folders
from casebook.folders import SCRATCH, copy_folder, put_in_place, scratch, working


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Give a folder for temporary files that is ours alone."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv(SCRATCH, raising=False)
    return tmp_path / "temporary"


KILLED = (
    "import os, signal\n"
    "from casebook.folders import scratch\n"
    "with scratch() as outer, scratch() as inner:\n"
    "    (inner / 'file').write_text('x')\n"
    "    print(outer, flush=True)\n"
    "    signal.pause()"
)


def test_a_block_within_a_block_shares_its_folder(place):
    with scratch() as outer, scratch() as inner:
        assert inner.parent == outer and outer.parent == place
        assert os.environ[SCRATCH] == str(outer)
    assert SCRATCH not in os.environ and not [*place.iterdir()]


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(place):
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        theirs = process.stdout.readline().strip()
        with scratch() as ours:
            assert {str(path) for path in place.iterdir()} == {theirs, str(ours)}
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert [str(path) for path in place.iterdir()] == [theirs]
    with scratch() as ours:
        assert [*place.iterdir()] == [ours]


def test_folders_of_others_stay(place, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / ".owner").write_text("pid 1")
    (place / "casebook-link").symlink_to(tmp_path / "mine")
    (place / "casebook-unlocked").mkdir()
    (place / "casebook-unlocked" / ".owner").touch()
    (place / "casebook-of-something-else").mkdir()
    with scratch():
        pass
    assert len([*place.iterdir()]) == 3 and (tmp_path / "mine").is_dir()


def test_an_outer_folder_that_is_gone_is_not_asked_for(place, monkeypatch):
    monkeypatch.setenv(SCRATCH, str(place / "gone"))
    with scratch() as folder:
        assert folder.parent == place


def test_a_reader_always_finds_one_of_two_folders(tmp_path):
    path, missed, done = tmp_path / "site", [], threading.Event()
    for name in ("site", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index").write_text(name)

    def read():
        while not done.is_set():
            if not path.exists():
                missed.append(path)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(300):
        put_in_place(tmp_path / "new", path)
        assert not (tmp_path / "new").exists()
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "index").write_text(str(number))
    done.set()
    reader.join()
    assert (path / "index").read_text() == "298" and not missed


@pytest.mark.parametrize("there", [True, False])
def test_without_an_exchange_a_folder_takes_its_place_too(tmp_path, monkeypatch, there):
    monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    for name in ("new", *["site"] * there):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    put_in_place(tmp_path / "new", tmp_path / "site")
    assert [p.name for p in tmp_path.rglob("*")] == ["site", "new"]


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
