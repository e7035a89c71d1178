"""A project of one light notebook and a book of a page and its chapter."""

import os
import shutil
import subprocess
import sys

import yaml
from made_notebooks import write_notebook

from casebook.files import sha256_file
from casebook.paths import ROOT

WORK = (
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "_ = RunOutputs(run, cell).numbers('made', {'planted': {cell: {'m@1': number}}})"
)


def write_project(folder):
    """Write the project, and give its folder."""
    names = 'run = "a"\ncell = "b"\nn = 2'
    write_notebook(folder / "notebooks" / "01_made.ipynb", names, WORK, title="Made")
    (folder / "book").mkdir()
    row = {"name": "made", "notebook": "01_made.ipynb", "tags": ["default"]}
    (folder / "notebooks" / "experiments.yml").write_text(yaml.safe_dump([row]))
    shutil.copytree(ROOT / "book" / "assets", folder / "book" / "assets")
    for name in ("book/references.bib", "_config.yml", "requirements.lock"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "data", folder / "data", ignore=shutil.ignore_patterns("cards", "smoke"))
    (folder / "data" / "cards").mkdir()
    shutil.copy(ROOT / "data" / "cards" / "smoke.yml", folder / "data" / "cards")
    (folder / "book" / "index.md").write_text("# Front\n\nThe first text.\n")
    (folder / "book" / "provenance.md").write_text(
        "# Provenance\n\n:::{include} generated/provenance.md\n:::\n"
    )
    toc = {"format": "jb-book", "root": "index"}
    sources = {"caption": "Sources", "chapters": [{"file": "provenance"}]}
    toc["parts"] = [{"caption": "Evidence", "executed_notebooks": {}}, sources]
    (folder / "book" / "_toc.yml").write_text(yaml.safe_dump(toc))
    return folder


def started(project, *words):
    """Start a command in the project, which is the place of sources and of outputs."""
    command = [sys.executable, "-m", "casebook", *words]
    places = dict.fromkeys(("CASEBOOK_PROJECT", "CASEBOOK_ROOT"), str(project))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=os.environ | places, cwd=project, **pipes)


def ended(process):
    """Wait for a command; give its exit code and what it said."""
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def content(folder):
    """Give the hash of each file that is not hidden."""
    return {
        str(path.relative_to(folder)): sha256_file(path)
        for path in folder.rglob("[!.]*")
        if path.is_file()
    }
