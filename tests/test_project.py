"""A project and another version of the library: what `casebook init --update` does, and says."""

import json
import shlex
import shutil
import subprocess

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


def texts(folder):
    return {path.name: path.read_text() for path in folder.glob("*.ipynb")}


def test_notebooks_that_nobody_changed_are_replaced_and_no_change_is_lost(casebook, shipped, mine):
    for name in NAMES:
        edit(shipped / name, "of the new version")
    shutil.copy(shipped / NAMES[1], shipped / "11_new.ipynb")
    edit(mine / NAMES[0], "of the user")
    notebook = nbformat.read(mine / NAMES[2], 4)  # opened, run and saved: no change of the text
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.outputs = [nbformat.v4.new_output("stream", text="1")]
    notebook.metadata["widgets"] = {}
    nbformat.write(notebook, mine / NAMES[2])
    before = texts(mine)
    code, out, err = casebook("init", mine.parent, "--update")
    assert (code, err) == (0, "")
    after = texts(mine)
    assert after[NAMES[0]] == before[NAMES[0]]
    for name in (*NAMES[1:], "11_new.ipynb"):
        assert after[name] == (shipped / name).read_text()
    kept, *replaced, total = out.splitlines()
    assert [line.split()[0] for line in replaced] == ["replaced", "replaced", "added"]
    assert total == f"{mine.parent}: 3 notebooks brought up to date, 1 kept"
    command = shlex.split(kept.partition(", which you changed: ")[2])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "of the user" in done.stdout and "of the new version" in done.stdout
    # Nothing is done twice, and what is kept is told again.
    assert casebook("init", mine.parent, "--update")[1].splitlines()[0] == kept
    assert texts(mine) == after


def test_what_the_user_removed_or_only_she_changed_is_left_alone(casebook, shipped, mine):
    (mine / NAMES[1]).unlink()
    edit(mine / NAMES[0], "of the user")
    before = texts(mine)
    code, out, _ = casebook("init", mine.parent, "--update")
    assert code == 0 and out == f"{mine.parent}: 0 notebooks brought up to date, 0 kept\n"
    assert texts(mine) == before


def test_damaged_files_are_refused(casebook, mine):
    for path in (mine / NAMES[0], mine.parent / project.MADE_WITH):
        path.write_text("[")
        code, out, err = casebook("init", mine.parent, "--update")
        assert (code, out, err.count("\n")) == (1, "", 1) and path.name in err
        assert path.read_text() == "["


def test_a_folder_that_is_a_project_names_the_way_and_no_other_is_updated(casebook, mine, tmp_path):
    code, _, err = casebook("init", mine.parent)
    assert code == 1 and f"casebook init '{mine.parent}' --update" in err
    code, _, err = casebook("init", tmp_path)
    assert code == 1 and "exists: name a new folder" in err
    code, _, err = casebook("init", tmp_path / "none", "--update")
    assert code == 1 and "is no project" in err and not (tmp_path / "none").exists()
    code, _, err = casebook("init", mine.parent, "--update", "--title", "x")
    assert code == 1 and "--title has no effect with --update" in err


def test_a_project_is_whole_or_not_there(shipped, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(project.shutil, "copytree", full)
        project.start_project(tmp_path / "book", "A", "B")
    assert list(tmp_path.iterdir()) == [shipped.parent]
    (tmp_path / "book").mkdir()
    assert project.start_project(tmp_path / "book", "A", "B") == tmp_path / "book"
    assert (tmp_path / "book" / "data" / "cards" / "README.md").is_file()


def test_run_says_that_the_notebooks_are_of_another_version(casebook, mine, monkeypatch):
    monkeypatch.setattr(project, "ROOT", mine.parent)
    assert project.version_note() == ""
    path = mine.parent / project.MADE_WITH
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": "0.1.0"}))
    code, _, err = casebook("run", "query_length-smoke", "--run", "t", "--dry-run")
    assert code == 0 and err.count("\n") == 1
    assert err.startswith("note: the notebooks of this project are of Casebook 0.1.0, which is now")
