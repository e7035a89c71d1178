"""A project and another version of the library: what `casebook init --update` does, and says."""

import json
import shutil

import nbformat
import pytest

from casebook import project
from casebook.paths import SHIPPED

NAMES = ("01_retrieval_ablation.ipynb", "09_query_length.ipynb", "10_assistant.ipynb")


def edit(path, text):
    """Change the first cell of a notebook."""
    notebook = nbformat.read(path, 4)
    notebook.cells[0].source += text
    nbformat.write(notebook, path)


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """Give a copy of what the library ships, which may be of another version then."""
    folder = tmp_path / "shipped"
    (folder / "notebooks").mkdir(parents=True)
    for name in NAMES:
        shutil.copy(SHIPPED / "notebooks" / name, folder / "notebooks")
    monkeypatch.setattr(project, "SHIPPED", folder)
    return folder / "notebooks"


@pytest.fixture
def mine(shipped, tmp_path):
    """Give the notebooks of a project."""
    return project.start_project(tmp_path / "my book", "A", "B") / "notebooks"


def test_notebooks_that_nobody_changed_are_replaced_and_no_change_is_lost(casebook, shipped, mine):
    for name in NAMES:
        edit(shipped / name, "of the new version")
    shutil.copy(shipped / NAMES[1], shipped / "11_new.ipynb")
    edit(mine / NAMES[0], "of the user")
    (mine / NAMES[1]).unlink()
    notebook = nbformat.read(mine / NAMES[2], 4)  # opened, run and saved: no change of the text
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.outputs = [nbformat.v4.new_output("stream", text="1")]
    nbformat.write(notebook, mine / NAMES[2])
    for replaced in (["replaced", "added"], []):  # nothing is done twice
        code, out, err = casebook("init", mine.parent, "--update")
        assert (code, err) == (0, "")
        kept, *others, total = out.splitlines()
        assert f"{NAMES[0]}, which you changed: diff {mine / NAMES[0]} " in kept
        assert [line.split()[0] for line in others] == replaced
        assert total == f"{mine.parent}: {len(replaced)} notebooks brought up to date, 1 kept"
    assert "of the user" in (mine / NAMES[0]).read_text() and not (mine / NAMES[1]).exists()
    for name in (NAMES[2], "11_new.ipynb"):
        assert (mine / name).read_text() == (shipped / name).read_text()


def test_what_is_no_place_for_a_project_or_none_is_refused(casebook, mine, tmp_path):
    (tmp_path / "empty").mkdir()
    assert casebook("init", tmp_path / "empty")[0] == 0
    assert (tmp_path / "empty" / "data" / "cards" / "README.md").is_file()
    broken = tmp_path / "empty" / project.MADE_WITH
    broken.write_text("[")
    for words, told in (
        ([mine.parent], "exists: name a new folder"),
        ([tmp_path / "none", "--update"], project.MADE_WITH),
        ([mine.parent, "--update", "--title", "x"], "--title has no effect with --update"),
        ([broken.parent, "--update"], project.MADE_WITH),
    ):
        code, out, err = casebook("init", *words)
        assert (code, out, err.count("\n")) == (1, "", 1) and told in err
    assert broken.read_text() == "["


def test_run_says_that_the_notebooks_are_of_another_version(casebook, mine, monkeypatch):
    monkeypatch.setattr(project, "ROOT", mine.parent)
    assert project.version_note() == ""
    path = mine.parent / project.MADE_WITH
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": "0.1.0"}))
    code, _, err = casebook("run", "query_length-smoke", "--run", "t", "--dry-run")
    assert code == 0 and err.count("\n") == 1
    assert err.startswith("note: the notebooks of this project are of Casebook 0.1.0, which is now")
