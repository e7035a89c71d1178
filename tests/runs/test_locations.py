"""What a record calls a user's files, and how they are found again."""

from pathlib import Path

import pytest

from casebook import paths
from casebook.runs.locations import (
    in_project,
    read_private,
    recorded,
    restored,
    without_folders,
    write_private,
)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    folder = tmp_path / "my book"
    (folder / "data" / "contracts").mkdir(parents=True)
    monkeypatch.setattr(paths, "OUTPUT", folder)
    monkeypatch.setattr(paths, "ROOT", folder)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home" / "kathrin")
    return folder


@pytest.mark.parametrize(
    ("value", "portable"),
    [
        ("{project}/data/contracts", "./data/contracts"),
        ("other={project}/data/contracts", "other=./data/contracts"),
        ("{project}/data/a=b,c.jsonl", "./data/a=b,c.jsonl"),
        ("cross-encoder:{project}/models/mine", "cross-encoder:./models/mine"),
        ("query={project}/q,context={project}/c", "query=./q,context=./c"),
        (["{project}/data/contracts", "smoke"], ["./data/contracts", "smoke"]),
        ({"a": ["{project}/x"]}, {"a": ["./x"]}),
        ("BAAI/bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
        ("https://host/data", "https://host/data"),
        ("my.module:search", "my.module:search"),
        ("", ""),
        (None, None),
        (3, 3),
    ],
)
def test_paths_of_the_project_are_portable(project, value, portable):
    def filled(value):
        if isinstance(value, list):
            return [filled(member) for member in value]
        if isinstance(value, dict):
            return {name: filled(member) for name, member in value.items()}
        return value.replace("{project}", str(project)) if isinstance(value, str) else value

    value = filled(value)
    assert recorded(value) == in_project(value) == portable


def test_a_notebook_of_the_project_is_found_again(project):
    (project / "mine.ipynb").write_text("{}")
    assert restored(recorded(str(project / "mine.ipynb"))) == str(project / "mine.ipynb")


def test_files_elsewhere_go_by_their_names_and_their_places_stay_private(project, tmp_path):
    log = str(tmp_path / "elsewhere" / "akte.jsonl")
    folder = f"contracts-2={tmp_path}/elsewhere/contracts"
    assert recorded(log) == "akte.jsonl"
    assert recorded(folder, folder=True) == "contracts-2=./contracts"
    places = {"contracts": f"{tmp_path}/elsewhere/contracts"}
    write_private(project, places)
    assert read_private(project) == places
    (hidden,) = project.glob(".*")
    assert hidden.stat().st_mode & 0o077 == 0
    hidden.write_text("damaged")
    assert read_private(project) == {}


def test_what_is_not_hashed_keeps_two_files_of_one_name_apart(tmp_path):
    home = tmp_path / "home" / "kathrin"
    assert in_project(str(home / "a" / "x.csv")) == "~/a/x.csv"
    assert in_project("/mnt/x.csv") == "/mnt/x.csv"


def test_texts_lose_folders_of_the_author_and_nothing_that_looks_like_one(project, tmp_path):
    home = tmp_path / "home" / "kathrin"
    text = f"""{project}/lib.py:3: warning; file://{project}/a "{home}/b" {project}. {project}-2/x
    https://host{project}/c /mnt/d/akte.jsonl: row 3 ..{home}/e"""
    assert (
        without_folders(text, ["/mnt/d/akte.jsonl", str(project / "a")], "../..")
        == f"""../../lib.py:3: warning; file://../../a "~/b" ../... {project}-2/x
    https://host{project}/c akte.jsonl: row 3 ..{home}/e"""
    )
