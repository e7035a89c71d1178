"""A disk that fills while the book is built: the site before stays, nothing else."""

import os
import shutil
import subprocess
import sys

import nbformat
import pytest
import yaml

from casebook.files import sha256_file
from casebook.paths import ROOT

WORK = (
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "_ = RunOutputs(run, cell).numbers('made', {'planted': {cell: {'m@1': number}}})"
)


@pytest.fixture
def project(tmp_path):
    """Give a project of one light notebook and a book of a page and its chapter."""
    code = nbformat.v4.new_code_cell
    names = code('run = "a"\ncell = "b"\nn = 2', metadata={"tags": ["parameters"]})
    title = nbformat.v4.new_markdown_cell("# Made")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(
        cells=[title, names, code(WORK)], metadata={"kernelspec": kernel}
    )
    for folder in ("notebooks", "book", "data/cards"):
        (tmp_path / folder).mkdir(parents=True)
    nbformat.write(notebook, tmp_path / "notebooks" / "01_made.ipynb")
    row = {"name": "made", "notebook": "01_made.ipynb", "tags": ["default"]}
    (tmp_path / "notebooks" / "experiments.yml").write_text(yaml.safe_dump([row]))
    for name in ("assets", "_ext", "claims.yml", "references.bib"):
        copy = shutil.copytree if (ROOT / "book" / name).is_dir() else shutil.copy
        copy(ROOT / "book" / name, tmp_path / "book" / name)
    shutil.copy(ROOT / "_config.yml", tmp_path)
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    shutil.copy(ROOT / "data" / "cards" / "smoke.yml", tmp_path / "data" / "cards")
    (tmp_path / "book" / "index.md").write_text("# Front\n\nThe first text.\n")
    shutil.copy(ROOT / "book" / "provenance.md", tmp_path / "book")
    toc = {"format": "jb-book", "root": "index"}
    sources = {"caption": "Sources", "chapters": [{"file": "provenance"}]}
    toc["parts"] = [{"caption": "Evidence", "executed_notebooks": True}, sources]
    (tmp_path / "book" / "_toc.yml").write_text(yaml.safe_dump(toc))
    return tmp_path


def casebook(project, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "casebook", *arguments, "--run", "mine"],
        env=os.environ | {"CASEBOOK_ROOT": str(project)},
        capture_output=True,
        text=True,
    )


def content(folder):
    return {
        str(path.relative_to(folder)): sha256_file(path)
        for path in folder.rglob("[!.]*")
        if path.is_file()
    }


def stopped_by_the_disk(done, place):
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert last.startswith(f"casebook: {place}/"), done.stderr
    assert "No space left on device: make room; the same command again" in last
    assert "Traceback" not in done.stderr


def test_a_build(project, disk, count):
    small = disk(project / "_build")
    small.grow(100_000)
    done = casebook(project, "report")
    assert done.returncode == 0, done.stderr
    place = project / "_build" / "mine"
    before, front = content(place), project / "book" / "index.md"
    assert "html/run/notebooks/made.html" in before
    front.write_text(front.read_text() + "\nThe second text.\n")
    for kilobytes in (0, 1000, 4000, 6000, 7500):
        small.leave(kilobytes)
        stopped_by_the_disk(casebook(project, "build"), place)
        assert content(place) == before
        assert {path.name for path in place.iterdir()} == {".lock", "html", "key"}
        count("full disk: build")
    small.grow(100_000)
    done = casebook(project, "build")
    assert done.returncode == 0, done.stderr
    after = content(place)
    assert "The second text." in (place / "html" / "index.html").read_text()
    assert {*after} == {*before} and after["key"] != before["key"]


def test_the_build_of_a_report(project, disk, count):
    small = disk(project / "_build")
    for kilobytes in (4, 3000):
        small.grow(kilobytes)
        stopped_by_the_disk(casebook(project, "report"), project / "_build" / "mine")
        assert not (project / "_build" / "mine" / "html").exists()
        count("full disk: build")
    small.grow(100_000)
    done = casebook(project, "report")
    assert done.returncode == 0, done.stderr
    assert "cached  made" in done.stderr
    html = project / "_build" / "mine" / "html"
    assert (html / "run" / "notebooks" / "made.html").is_file()
