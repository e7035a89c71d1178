"""What a record calls a user's files, and how they are found again."""

from pathlib import Path

import pytest

from casebook import paths
from casebook.runs.locations import recorded, without_folders


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    folder = tmp_path / "my book"
    for name in ("contracts", "a=b,c", "q"):
        (folder / "data" / name).mkdir(parents=True)
    monkeypatch.setattr(paths, "OUTPUT", folder)
    monkeypatch.setattr(paths, "ROOT", folder)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home" / "kathrin")
    return folder


def test_paths_are_portable_and_other_texts_stay(project, tmp_path):
    (tmp_path / "elsewhere" / "contracts").mkdir(parents=True)
    (tmp_path / "elsewhere" / "akte.jsonl").touch()
    portable = {
        f"{project}/data/contracts": "./data/contracts",
        f"other={project}/data/contracts": "other=./data/contracts",
        f"{project}/data/a=b,c": "./data/a=b,c",
        f"cross-encoder:{project}/data/q": "cross-encoder:./data/q",
        f"query={project}/data/q,context=minilm": "query=./data/q,context=minilm",
        f"{tmp_path}/elsewhere/akte.jsonl": "akte.jsonl",
        f"contracts-2={tmp_path}/elsewhere/contracts": "contracts-2=./contracts",
    }
    for text in ("BAAI/bge-small-en-v1.5", "https://host/data", "my.module:search", "", "\0"):
        portable[text] = text
    values = {"a": [*portable], "n": 3, "none": None}
    assert recorded(values) == {"a": [*portable.values()], "n": 3, "none": None}


def test_texts_lose_folders_of_the_author_and_nothing_that_looks_like_one(project, tmp_path):
    home = tmp_path / "home" / "kathrin"
    log = tmp_path / "akte.jsonl"
    log.touch()
    text = f"""{project}/lib.py:3: warning; file://{project}/a "{home}/b" {project}. {project}-2/x
    https://host{project}/c {log}: row 3 ..{home}/e"""
    assert (
        without_folders(text, [str(log), str(project / "a")], "../..")
        == f"""../../lib.py:3: warning; file://../../a "~/b" ../... {project}-2/x
    https://host{project}/c akte.jsonl: row 3 ..{home}/e"""
    )
