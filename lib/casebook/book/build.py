"""Stage a run beside the prose and let Jupyter Book render it, strictly."""

import os
import shutil
import subprocess
import sys

import yaml

from casebook.book import pages
from casebook.book.footers import add_footer
from casebook.book.site import finish
from casebook.datasets.cards import cards
from casebook.errors import CasebookError, InputError
from casebook.files import write_text
from casebook.grid import load_grid
from casebook.paths import ROOT, run_dir, valid_name
from casebook.runs.fingerprint import digest, lock_digest, tree_digest


def build_book(run, compare=None):
    """Render ``results/<run>`` to HTML; an unchanged run is not rendered again.

    Parameters
    ----------
    run : str
        Name of a run with at least one executed notebook.
    compare : str, optional
        Another run; a page then shows what differs from it.

    Returns
    -------
    pathlib.Path
        The site's ``index.html``; the folder opens from disk and over http.

    Raises
    ------
    InputError
        If there is no such run.
    CasebookError
        If Jupyter Book warns or fails; its last lines are in the message.
    """
    cells = _cells_of(run)
    if not cells:
        raise InputError(
            f"results/{run}: nothing to render; 'casebook run --run {run}' makes it"
        )
    target = ROOT / "_build" / valid_name(run, "run")
    stage, site = target / "stage", target / "html"
    key = _stage(run, stage, cells, compare)
    stamp = target / "key"
    if (site / "index.html").is_file() and stamp.is_file() and key == stamp.read_text():
        return site / "index.html"
    stamp.unlink(missing_ok=True)
    _render(stage, target)
    finish(run, site)
    for path in (stage / "book" / "generated" / "questions").glob("*.js"):
        shutil.copy(path, site / "generated" / "questions")
    write_text(stamp, key)
    return site / "index.html"


def _cells_of(run):
    """List the executed notebooks in the order of the grid, others after them."""
    found = {p.stem for p in (run_dir(run) / "notebooks").glob("[!.]*.ipynb")}
    order = [cell.name for cell in load_grid() if cell.name in found]
    return order + sorted(found - set(order))


def _stage(run, stage, cells, compare):
    """Copy prose and results side by side, add the generated pages, hash it all."""
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(ROOT / "book", stage / "book")
    shutil.copy(ROOT / "_config.yml", stage)
    ignore = shutil.ignore_patterns(".*")
    shutil.copytree(run_dir(run), stage / "book" / "run", ignore=ignore)
    for cell in cells:
        path = stage / "book" / "run" / "notebooks" / f"{cell}.ipynb"
        add_footer(path, run, cell)
    made = pages.generated(run, cells, compare)
    for name, text in made.items():
        write_text(stage / "book" / "generated" / name, text)
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
    toc = _with_pages(toc, pages.chapters(run, cells), made)
    write_text(stage / "book" / "_toc.yml", yaml.safe_dump(toc, sort_keys=False))
    code = tree_digest(ROOT / "lib" / "casebook" / "book", "**/*.py")
    return digest([tree_digest(stage), lock_digest(), code])


def _with_pages(toc, chapters, made):
    """Put executed notebooks and data cards where the table of contents says so."""
    for part in toc["parts"]:
        if part.pop("executed_notebooks", False):
            part["chapters"] = [_entry(cell, t, made) for cell, t in chapters.items()]
            if "comparison.md" in made:
                part["chapters"].append({"file": "generated/comparison"})
        if part.pop("data_cards", False):
            part["chapters"] += [{"file": f"generated/cards/{key}"} for key in cards()]
    return toc


def _entry(cell, title, made):
    """Give a chapter, and below it the page of its questions if there is one."""
    entry = {"file": f"run/notebooks/{cell}", "title": title}
    if f"questions/{cell}.md" in made:
        page = f"generated/questions/{cell}"
        entry["sections"] = [{"file": page, "title": "Question by question"}]
    return entry


def _render(stage, target):
    """Run Jupyter Book with warnings as errors."""
    for name in ("_build", "html"):
        shutil.rmtree(target / name, ignore_errors=True)
    start = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build", str(stage / "book")]
    command += ["--config", str(stage / "_config.yml")]
    command += ["--path-output", str(target), "-W", "--keep-going", "-n", "-q"]
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        problems = [line for line in lines if "WARNING" in line or "ERROR" in line]
        tail = "\n".join((problems or lines)[-20:])
        raise CasebookError(f"the book does not build:\n{tail}")
    (target / "_build" / "html").rename(target / "html")
    shutil.rmtree(target / "_build")
