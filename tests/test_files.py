"""Files and folders appear whole or not at all; locks."""

import json
import os
import subprocess
import sys

import pytest

from casebook.files import (
    locked,
    naming_file,
    new_folder,
    replacing,
    write_json,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_no_trace(tmp_path):
    path = write_text(tmp_path / "a.txt", "old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_is_the_same_whatever_the_order_of_keys_and_has_no_nan(tmp_path):
    a = write_json(tmp_path / "a.json", {"b": 1, "a": "é"})
    assert a.read_bytes() == write_json(tmp_path / "b.json", {"a": "é", "b": 1}).read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(a, {"x": float("nan")})
    assert json.loads(a.read_text(encoding="utf-8")) == {"a": "é", "b": 1}


def test_files_and_folders_take_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        text = write_text(tmp_path / "new" / "a.txt", "text")
        with new_folder(tmp_path / "whole") as temporary:
            write_text(temporary / "b.txt", "text")
        secret = write_json(tmp_path / "sealed" / "key.json", {}, private=True)
    finally:
        os.umask(before)
    paths = (text, text.parent, tmp_path / "whole", tmp_path / "whole" / "b.txt")
    rights = [path.stat().st_mode & 0o777 for path in (*paths, secret, secret.parent)]
    assert rights == [0o640, 0o750, 0o750, 0o640, 0o600, 0o700]


def test_a_lock_is_held_by_one_process_and_names_it(tmp_path):
    code = (
        "import sys, pathlib; from casebook.files import locked\n"
        "with locked(pathlib.Path(sys.argv[1]), 'held by {}'.format): pass"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with locked(tmp_path / "lock", str):
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"InputError: held by pid {os.getpid()} on " in refused.stderr
    assert subprocess.run(command, check=False).returncode == 0


def test_an_error_tells_which_file_it_is_about():
    told = []
    for names in ((), ("source", None, "temporary"), ("source",)):  # a full disk, a copy, a source
        with pytest.raises(OSError, match="No space") as caught, naming_file("final"):
            raise OSError(28, "No space", *names)
        told.append(caught.value.filename)
    assert told == ["final", "final", "source"]
