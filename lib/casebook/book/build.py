"""Stage a run beside the prose and let Jupyter Book render it, strictly."""

import yaml

from casebook.book import pages
from casebook.book.footers import for_readers
from casebook.book.items import items_title
from casebook.book.rendering import rendered, sole_builder
from casebook.book.site import finish
from casebook.datasets.cards import cards
from casebook.errors import InputError
from casebook.files import write_text
from casebook.folders import copy_file, copy_folder, put_in_place, working
from casebook.grid import load_grid
from casebook.paths import OUTPUT, ROOT, run_dir, valid_name
from casebook.runs.record import digest, lock_digest, tree_digest


def build_book(run, compare=None):
    """Render ``results/<run>`` to HTML; an unchanged run is not rendered again."""
    cells = _cells_of(run)
    if not cells:
        raise InputError(f"results/{run}: nothing to render; 'casebook run --run {run}' makes it")
    target = OUTPUT / "_build" / valid_name(run, "run")
    with sole_builder(target), working(target) as work:
        _build(run, cells, compare, target, work)
    return target / "html" / "index.html"


def _build(run, cells, compare, target, work):
    """Render beside the site that is there, then put the new one in its place."""
    stage, stamp = work / "stage", target / "key"
    key = _stage(run, stage, cells, compare)
    whole = (target / "html" / "index.html").is_file() and stamp.is_file()
    if whole and key == stamp.read_text(encoding="utf-8"):
        return
    site = rendered(stage, work)
    finish(run, site)
    for path in (stage / "book" / "generated" / "items").glob("*.js"):
        copy_file(path, site / "generated" / "items")
    new_stamp = write_text(work / "key", key)  # while a full disk still does no harm
    stamp.unlink(missing_ok=True)
    put_in_place(site, target / "html")
    new_stamp.replace(stamp)


def _cells_of(run):
    """List the executed notebooks in the order of the grid, others after them."""
    found = {p.stem for p in (run_dir(run) / "notebooks").glob("[!.]*.ipynb")}
    order = [cell.name for cell in load_grid() if cell.name in found]
    return order + sorted(found - set(order))


def _stage(run, stage, cells, compare):
    """Copy prose and results side by side, add the generated pages, hash it all."""
    copy_folder(ROOT / "book", stage / "book")
    copy_file(ROOT / "_config.yml", stage)
    copy_folder(run_dir(run), stage / "book" / "run")
    for cell in cells:
        path = stage / "book" / "run" / "notebooks" / f"{cell}.ipynb"
        for_readers(path, run, cell)
    made = pages.generated(run, cells, compare)
    for name, text in made.items():
        write_text(stage / "book" / "generated" / name, text)
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
    toc = _with_pages(run, toc, pages.chapters(run, cells), made)
    write_text(stage / "book" / "_toc.yml", yaml.safe_dump(toc, sort_keys=False))
    code = tree_digest(ROOT / "lib" / "casebook" / "book", "**/*.py")
    return digest([tree_digest(stage), lock_digest(), code])


def _with_pages(run, toc, chapters, made):
    """Put executed notebooks and data cards where the table of contents says so."""
    for part in toc["parts"]:
        if part.pop("executed_notebooks", False):
            part["chapters"] = [_entry(run, cell, t) for cell, t in chapters.items()]
            if "comparison.md" in made:
                part["chapters"].append({"file": "generated/comparison"})
        if part.pop("data_cards", False):
            part["chapters"] += [{"file": f"generated/cards/{key}"} for key in cards()]
    return toc


def _entry(run, cell, title):
    """Give a chapter, and below it the page of its items if there is one."""
    entry = {"file": f"run/notebooks/{cell}", "title": title}
    if below := items_title(run, cell):
        entry["sections"] = [{"file": f"generated/items/{cell}", "title": below}]
    return entry
