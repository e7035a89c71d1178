"""Scoring files needs no extra; a command that needs one says what to install."""

import json
import re
import subprocess
import sys
import tomllib

import pytest
from package_commands import base_commands

from casebook.cli import _run
from casebook.cli.extras import EXTRAS, what_is_missing
from casebook.paths import ROOT

BLOCKED = sorted({name for packages in EXTRAS.values() for name in packages})
WITHOUT = f"""
import json, sys
BLOCKED = {BLOCKED}
class Blocker:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker)
from casebook.cli import _run
for words in json.loads(sys.argv[1]):
    print(_run(words), "of", *words, flush=True)
from casebook import contrasts
"""


def test_the_commands_that_score_files_import_no_extra(tmp_path, monkeypatch):
    """The wheel alone is installed by ``tests/package``; here imports are blocked instead."""
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path))
    commands = base_commands(tmp_path)
    words = [sys.executable, "-c", WITHOUT, json.dumps(commands)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    codes = re.findall(r"^(\d+) of (.*)$", done.stdout, re.M)
    assert [line for code, line in codes if code != "0"] == [], done.stderr
    assert (len(codes), done.returncode) == (len(commands), 0), done.stderr


def test_the_extras_are_those_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    models, book, llm, parquet = (set(extras[name]) for name in EXTRAS)
    assert book - models == book and "casebook-evidence[models]" in book
    wanted = {"models": models, "book": models | book - {"casebook-evidence[models]"}}
    wanted |= {"llm": llm, "parquet": parquet}
    assert {name: set(packages.values()) for name, packages in EXTRAS.items()} == wanted


def test_a_missing_package_is_one_line_with_what_to_install(monkeypatch, capsys):
    absent = ("faiss", "bm25s")
    monkeypatch.setattr("casebook.cli.extras.find_spec", lambda name: name not in absent)

    def lacking(words):
        raise ModuleNotFoundError("No module named 'faiss.contrib'", name="faiss.contrib")

    monkeypatch.setattr("casebook.cli._our_words", lacking)
    assert _run(["run"]) == 1
    assert capsys.readouterr().err == (
        "casebook: this needs faiss-cpu, of the extra 'models': pip install bm25s faiss-cpu\n"
    )
    assert what_is_missing(ModuleNotFoundError(name="my_module")) is None
    monkeypatch.setattr("casebook.cli.what_is_missing", lambda error: None)
    with pytest.raises(ModuleNotFoundError):  # a fault of ours, or of the user's own code
        _run(["run"])
