import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.paths import RESULTS, cache_dir, data_folder, run_dir, valid_name


@pytest.mark.parametrize(
    "name",
    [
        *("", "..", ".hidden", "a/b", "a\\b", "../x", "a..b", "con", "NUL.txt", "é"),
        *("x" * 101, "a b", "a\0b", "-x", "name.", "a\n"),
    ],
)
def test_names_that_could_leave_the_folder_are_refused(name):
    with pytest.raises(InputError, match="not allowed"):
        valid_name(name)


@given(st.text(max_size=20))
def test_an_accepted_name_is_one_component_of_the_results_folder(name):
    try:
        folder = run_dir(name)
    except InputError:
        return
    assert folder.parent == RESULTS
    assert folder.resolve().parent == RESULTS.resolve()


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    monkeypatch.delenv("CASEBOOK_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # it knows no such user
    with pytest.raises(InputError, match="set CASEBOOK_CACHE"):
        cache_dir("a")


@pytest.mark.parametrize("name", ["ü", "€ 契約"])
def test_a_project_that_the_locale_cannot_name_is_refused_in_one_line(tmp_path, name):
    (tmp_path / name).mkdir()
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "casebook", "run", "--dry-run"]
    done = subprocess.run(
        command,
        env=os.environ | ascii_only | {"CASEBOOK_ROOT": str(tmp_path / name)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "set PYTHONUTF8=1, or rename the folder" in done.stderr


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("./my data", "my_data"),
        ("./Meine Fälle (2026)", "Meine_Falle_2026"),
        ("b=./my data", "b"),
        ("x/Größe.v2", "Groe.v2"),
    ],
)
def test_a_folder_of_data_may_have_any_name(written, name):
    assert data_folder(written)[0] == name


def test_a_folder_without_a_plain_letter_is_named_by_hand():
    with pytest.raises(InputError, match="or call it: NAME=事例"):
        data_folder("./事例")
