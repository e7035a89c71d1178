"""Stage a run with the prose, let Jupyter Book render it strictly, and make the site small."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import nbformat
import yaml

from casebook import __version__
from casebook.batch.grid import load_grid
from casebook.book import pages
from casebook.book.answers import about
from casebook.book.chapters import for_readers
from casebook.book.concordance import concordance_page, documents
from casebook.book.contents import contents, files_of
from casebook.book.front import citation, completed, configuration
from casebook.book.results import read_chapters
from casebook.errors import CasebookError, InputError
from casebook.files import locked, naming_file, write_text
from casebook.paths import CONFIGURATION, OUTPUT, ROOT, SHIPPED, run_dir, valid_name
from casebook.runs.outputs import require_report
from casebook.runs.record import digest, lock_digest, tree_digest

_PATIENCE = 300.0  # seconds that another builder may take


def build_book(run):
    """Render ``results/<run>`` to HTML; an unchanged run is not rendered again."""
    executed = {path.stem for path in (run_dir(run) / "notebooks").glob("[!.]*.ipynb")}
    cells = [cell.name for cell in load_grid() if cell.name in executed]
    cells += sorted(executed - set(cells))
    if not cells:
        raise InputError(f"results/{run}: nothing to render; 'casebook run --run {run}' makes it")
    evidence = require_report(run)
    target = OUTPUT / "_build" / valid_name(run, "run")
    with locked(target / ".lock", lambda owner: _busy(target, owner), _PATIENCE):
        for left in target.glob("work-*"):  # by a builder that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            prefix="work-", dir=target, ignore_cleanup_errors=True
        ) as work:
            chapters = read_chapters(run, cells)
            _build(run, chapters, evidence, target, Path(work))
    return target / "html" / "index.html"


def _busy(target, owner):
    return f"{target}: another process is at work there ({owner}): wait for it"


def _build(run, chapters, evidence, target, work):
    """Render beside the site that is there, then put the new one in its place."""
    stage = work / "stage"
    html = target / "html"
    key = _stage(run, stage, chapters)
    built_from = target / "key"
    if html.exists() and built_from.is_file() and built_from.read_bytes() == key.encode():
        return
    site = rendered(stage, work)
    for path in (stage / "book" / "generated").rglob("*.js"):
        folder = site / path.parent.relative_to(stage / "book")
        folder.mkdir(parents=True, exist_ok=True)
        _copy_file(path, folder)
    finish(run, chapters, evidence, site)
    stamp = write_text(work / "key", key)  # while a full disk still does no harm
    if html.exists():
        html.rename(work / "replaced")
    site.rename(html)
    # Killed before this, a build leaves a key that is not that of the new site, which is then
    # rendered again.
    stamp.replace(built_from)


# --- what is staged


def _stage(run, stage, chapters):
    """Copy prose and results side by side, add the generated pages, hash it all."""
    book = stage / "book"
    # The pages of a project come over those that are shipped: it has a front of its own.
    for folder in dict.fromkeys((SHIPPED, ROOT)):
        if (folder / "book").is_dir():
            _copy_folder(folder / "book", book)
    write_text(stage / CONFIGURATION, yaml.safe_dump(configuration(), sort_keys=False))
    _copy_folder(run_dir(run), book / "run")
    for chapter in chapters:
        for_readers(book / "run" / "notebooks" / f"{chapter.cell}.ipynb", chapter)
    for name in documents():
        write_text(book / "documents" / f"{name}.md", concordance_page(name, chapters))
    generated = pages.generated(run, chapters)
    for name, text in generated.items():
        write_text(book / "generated" / name, text)
    toc = contents(chapters, generated)
    _unlink_absent_pages(book, toc)
    write_text(book / "_toc.yml", yaml.safe_dump(toc, sort_keys=False))
    made_from = [
        tree_digest(stage),
        citation(),
        lock_digest(),
        tree_digest(Path(__file__).parent),
    ]
    return digest(made_from)


_PAGE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#\s]+\.md)(?:#[^)\s]*)?\)")


def _unlink_absent_pages(book, toc):
    """Make links to absent pages plain text: a run may be older than the pages of its book."""
    in_book = {toc["root"], *files_of(toc)}

    def unlinked(text, folder):
        def link_or_text(match):
            target = os.path.relpath(folder / match[2], book).removesuffix(".md")
            return match[0] if target in in_book else match[1]

        return _PAGE_LINK.sub(link_or_text, text)

    for pattern in ("methods/*.md", "words.md", "generated/*.md"):
        for path in book.glob(pattern):
            # What lies in generated/ itself is included by pages of the folder above.
            folder = book if path.parent.name == "generated" else path.parent
            write_text(path, unlinked(path.read_text(encoding="utf-8"), folder))
    for path in (book / "run" / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, 4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = unlinked(cell.source, path.parent)
        nbformat.write(notebook, path)


def _copy_folder(source, target):
    """Copy the files of a folder that are not hidden."""

    def stop(error):
        raise error

    for folder, subfolders, names in os.walk(source, onerror=stop, followlinks=True):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        copy = target / os.path.relpath(folder, source)
        copy.mkdir(parents=True, exist_ok=True)
        for name in sorted(name for name in names if not name.startswith(".")):
            _copy_file(Path(folder, name), copy)


def _copy_file(source, folder):
    with naming_file(folder / source.name):  # an error, of a full disk perhaps, names the copy
        shutil.copyfile(source, folder / source.name)


# --- Jupyter Book, in a process of its own

# It ends with the process that started it, which holds the other end of its input.
_START = """
import gc, os, threading
from jupyter_book.cli.main import main
def end():
    os.read(0, 1)
    os._exit(1)
threading.Thread(target=end, daemon=True).start()
gc.set_threshold(1_000_000)  # of its time, Sphinx spends a quarter on looking for garbage
main()
"""


def rendered(stage, target):
    """Render staged pages, with warnings as errors."""
    command = [
        sys.executable,
        "-c",
        _START,
        "build",
        str(stage / "book"),
        "--config",
        str(stage / "_config.yml"),
        "--path-output",
        str(target),
        "-W",
        "--keep-going",
        "-n",
        "-q",
    ]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Sphinx leaves its account of a crash in the folder for temporary files.
        env=os.environ | {"PYTHONWARNINGS": "ignore", "TMPDIR": str(target)},
    ) as process:
        output = process.stdout.read().decode(errors="replace")
        failed = process.wait()
    if failed:
        problems = CasebookError(f"the book does not build:\n{_problems(output)}")
        raise _disk_full(output, target) or problems
    return target / "_build" / "html"


def _disk_full(output, target):
    """Give the error of a full disk if that is what stopped it."""
    for number in (errno.ENOSPC, errno.EDQUOT):
        message = os.strerror(number)
        if message in output:
            # Of a copy both names are printed: the second one is the new file.
            file = re.search(rf"{message}: (?:'.*' -> )?'(.+)'", output)
            return OSError(number, message, file[1] if file else str(target))
    return None


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The last line of a traceback. That of Jupyter Book, which only says that there was one, has none.
_EXCEPTION = re.compile(r"(?:[\w.]+\.)?\w*(?:Error|Exception): \S")


def _problems(output):
    """Give Sphinx's warnings, else the exceptions that ended it, the cause first."""
    lines = _COLOUR.sub("", output).splitlines()
    problems = [line for line in lines if "WARNING" in line or "ERROR" in line]
    exceptions = dict.fromkeys(line for line in lines if _EXCEPTION.match(line))
    return "\n".join((problems or list(exceptions) or lines)[-20:])


# --- the rendered site: downloads beside it, nothing that no page loads

# The theme draws every icon twice: by a script of 1.5 MB, and by a font that its style sheet names.
# The font does.
_ICON_SCRIPT = re.compile(r'\s*<script[^>]* src="[^"]*/fontawesome\.js[^"]*"></script>')
_HTML_TITLE = re.compile(r"<title>(.*?)(?: &#8212; [^<]*)?</title>")
# Code in the colour of the page needs no element; the styles give these names no other colour.
_PLAIN_CODE = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
# The text behind a page is a step of its build; notebooks are evidence, and stay.
_PAGE_TEXT = re.compile(
    r'<li><a href="[^"]*/?_sources/[^"]*\.md"[^>]*btn-download-source-button.*?</a>\s*</li>',
    re.DOTALL,
)
_INDENTATION = re.compile(r"\n[ \t]+(?=<)")
# Also scripts, which are let run by their hashes.
_PREFORMATTED = re.compile(
    r"(<pre\b.*?</pre>|<textarea\b.*?</textarea>|<script\b.*?</script>)", re.DOTALL
)
# What opens the pages below a chapter in the sidebar has no name for a screen reader.
_TOGGLE = '<summary><span class="toctree-toggle"'
# Below _static: the icons' other faces, the README's picture, old font formats, and what only
# developers of the theme read.
_UNUSED = (
    "*webpack-macros.html",
    "scripts/fontawesome.js*",
    "vendor/fontawesome/webfonts/fa-[!s]*",
    "report.png",
    "locales",
    "**/*.map",
    "**/*.ttf",
)


def finish(run, chapters, evidence, site):
    """Complete a rendered site: downloads are added, what no page needs is dropped."""
    _add_downloads(run, evidence, site)
    _drop_unused(site)
    _finish_pages(run, chapters, site)
    _restore_notebooks(run, site)


def _add_downloads(run, evidence, site):
    for name in ("timings", "runs"):
        if (run_dir(run) / name).is_dir():
            _copy_folder(run_dir(run) / name, site / name)
    for path in sorted(evidence):  # and nothing that an interrupted cell left
        kind = path.parent.name
        if kind in ("rows", "tables", "figures"):
            (site / kind).mkdir(exist_ok=True)
            _copy_file(path, site / kind)
        elif path.parent == run_dir(run).resolve():
            _copy_file(path, site)


def _drop_unused(site):
    for pattern in _UNUSED:
        for path in list((site / "_static").glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    for path in list((site / "_sources").rglob("*.md")):
        path.unlink()
    (site / ".buildinfo").unlink(missing_ok=True)  # of Sphinx, for rendering in place


def _finish_pages(run, chapters, site):
    """Drop scripts that a page does not need; add the line that is printed below it."""
    day = completed(chapters)
    described = f'<meta name="description" content="{escape(about(chapters))}">'
    labelled_toggle = _TOGGLE.replace("<summary", '<summary aria-label="Pages below"')
    for path in site.rglob("*.html"):
        page = _ICON_SCRIPT.sub("", path.read_text(encoding="utf-8"))
        page = _compact(page.replace(_TOGGLE, labelled_toggle))
        match = _HTML_TITLE.search(page)
        title = match[1] if match else None
        parts = [title, f"Run {run}", day, f"Casebook {__version__}"]
        footer = f'<p class="print-footer">{" · ".join(filter(None, parts))}</p>'
        page = page.replace("</article>", f"{footer}</article>", 1)
        if path == site / "index.html":
            page = page.replace("</head>", f"{described}</head>", 1)
        write_text(path, page)


def _compact(page):
    """Leave out elements and spaces that change nothing that a reader sees."""
    parts = _PREFORMATTED.split(_PAGE_TEXT.sub("", page))
    parts[::2] = [_INDENTATION.sub("\n", text) for text in parts[::2]]
    return _PLAIN_CODE.sub(r"\1", "".join(parts))


def _restore_notebooks(run, site):
    """Offer the executed notebooks: a page has another order, in which they cannot be executed."""
    for path in (site / "_sources" / "run" / "notebooks").glob("*.ipynb"):
        notebook = json.loads((run_dir(run) / "notebooks" / path.name).read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            for output in cell.get("outputs", []):
                _drop_figures(output)
        write_text(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def _drop_figures(output):
    """Leave out figures: the page has them, and executing draws them again."""
    data = output.get("data", {})
    data.pop("image/png", None)
    if any('<figure class="drawn">' in line for line in data.get("text/html", [])):
        del data["text/html"]
