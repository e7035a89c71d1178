"""Stage a run with the prose, let Jupyter Book render it strictly, and make the site small."""

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


def build_book(run):
    """Render ``results/<run>`` to HTML; an unchanged run is not rendered again."""
    executed = {path.stem for path in (run_dir(run) / "notebooks").glob("[!.]*.ipynb")}
    cells = [cell.name for cell in load_grid() if cell.name in executed]
    cells += sorted(executed - set(cells))
    if not cells:
        raise InputError(
            f"results/{run}: nothing to render; 'casebook run --run {run}' makes it"
        )
    evidence = require_report(run)
    target = OUTPUT / "_build" / valid_name(run, "run")

    def refusal(owner):
        return f"{target}: another process is at work there ({owner}): wait for it"

    # Another builder may take so many seconds.
    with locked(target / ".lock", refusal, 300.0):
        for left in target.glob("work-*"):  # by a builder that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            prefix="work-", dir=target, ignore_cleanup_errors=True
        ) as work:
            _build(run, read_chapters(run, cells), evidence, target, Path(work))
    return target / "html" / "index.html"


def _build(run, chapters, evidence, target, work):
    """Render beside the site that is there, then put the new one in its place."""
    stage = work / "stage"
    html = target / "html"
    key = _stage(run, stage, chapters)
    built_from = target / "key"
    if (
        html.exists()
        and built_from.is_file()
        and built_from.read_bytes() == key.encode()
    ):
        return
    site = rendered(stage, work)
    for path in (stage / "book" / "generated").rglob("*.js"):
        _copy_file(path, site / path.parent.relative_to(stage / "book"))
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
    own = tree_digest(Path(__file__).parent)
    return digest([tree_digest(stage), citation(), lock_digest(), own])


_PAGE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#\s]+\.md)(?:#[^)\s]*)?\)")


def _unlink_absent_pages(book, toc):
    """Make links to absent pages plain text: a run may be older than the pages of its book."""
    in_book = {toc["root"], *files_of(toc)}

    def unlinked(text, folder):
        def link_or_text(match):
            target = os.path.relpath(folder / match[2], book).removesuffix(".md")
            return match[0] if target in in_book else match[1]

        return _PAGE_LINK.sub(link_or_text, text)

    for path in [
        *book.glob("methods/*.md"),
        book / "words.md",
        *book.glob("generated/*.md"),
    ]:
        # What lies in generated/ itself is included by pages of the folder above.
        folder = book if path.parent.name == "generated" else path.parent
        if path.is_file():
            write_text(path, unlinked(path.read_text(encoding="utf-8"), folder))
    for path in (book / "run" / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, 4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                # Links of a notebook lead to pages from the folder where it is worked on.
                cell.source = cell.source.replace("](../book/", "](../../")
                cell.source = unlinked(cell.source, path.parent)
        nbformat.write(notebook, path)


def _copy_folder(source, target):
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        is_hidden = any(part.startswith(".") for part in place.parts)
        if path.is_file() and not is_hidden:
            _copy_file(path, target / place.parent)


def _copy_file(source, folder):
    folder.mkdir(parents=True, exist_ok=True)
    # An error, of a full disk perhaps, names the copy.
    with naming_file(folder / source.name):
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
    command = [sys.executable, "-c", _START, "build", stage / "book"]
    command += ["--config", stage / CONFIGURATION, "--path-output", target]
    command += ["-W", "--keep-going", "-n", "-q"]
    # Sphinx leaves its account of a crash in the folder for temporary files.
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "TMPDIR": str(target)}
    pipes = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
    }
    with subprocess.Popen(command, env=environment, **pipes) as process:
        output = process.stdout.read().decode(errors="replace")
        failed = process.wait()
    if failed:
        raise CasebookError(f"the book does not build:\n{_problems(output)}")
    return target / "_build" / "html"


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def _problems(output):
    """Sphinx's warnings, else the last of what it printed."""
    lines = _COLOUR.sub("", output).splitlines()
    problems = [line for line in lines if "WARNING" in line or "ERROR" in line]
    return "\n".join((problems or lines)[-20:])


# --- the rendered site: downloads beside it, nothing that no page loads

_HTML_TITLE = re.compile(r"<title>(.*?)(?: &#8212; [^<]*)?</title>")
# What changes nothing that a reader sees: the theme's script of icons, which its font draws too;
# the text behind a page, a step of its build; elements for code in the colour of the page.
# A page has its drawings as SVG itself. On paper, title and contents would stand there twice.
# In the sidebar, closed lists of pages that the page above them names.
_NEEDLESS = re.compile(
    r'\s*<script[^>]* src="[^"]*/fontawesome\.js[^"]*"></script>'
    r'|<li><a href="[^"]*/?_sources/[^"]*\.md"[^>]*btn-download-source-button.*?</a>\s*</li>'
    r'|<a href="[^"]*\.svg" download>SVG</a>(?: · )?'
    r'|<details><summary><span class="toctree-toggle"(?:(?!</summary>).)*</summary><ul>\s*'
    r'<li class="toctree-l2"><a class="reference internal" href="[^"]*'
    r"(?:documents/|assistant_tutorial)(?:(?!</details>).)*</details>"
    r'|<div id="jb-print-docs-body".*?(?=<div id="searchbox">)'
    r'|<span class="(?:n|nn|p|w)">([^<]*)</span>',
    re.DOTALL,
)
_INDENTATION = re.compile(r"\s*\n\s*")
# Also scripts, which are let run by their hashes.
_PREFORMATTED = re.compile(
    r"(<pre\b.*?</pre>|<textarea\b.*?</textarea>|<script\b.*?</script>)", re.DOTALL
)
# What opens the pages below a chapter in the sidebar has no name for a screen reader.
_TOGGLE = '<summary><span class="toctree-toggle"'
# The text behind pages, and below _static: the icons' other faces, the README's picture, old font
# formats, and what only developers of the theme read.
_UNUSED = (
    "_static/images/logo_*",
    "_sources/**/*.md",
    "_static/**/*webpack-macros.html",
    "_static/scripts/fontawesome.js*",
    "_static/vendor/fontawesome/webfonts/fa-[!s]*",
    "_static/report.png",
    "_static/locales/**/*",
    "_static/**/*.map",
    "_static/**/*.ttf",
    ".buildinfo",
)


def finish(run, chapters, evidence, site):
    """Complete a rendered site: downloads are added, what no page needs is dropped."""
    for name in ("timings", "runs"):
        if (run_dir(run) / name).is_dir():
            _copy_folder(run_dir(run) / name, site / name)
    for path in sorted(evidence):  # and nothing that an interrupted cell left
        folder = path.parent.relative_to(run_dir(run).resolve())
        if folder.name == "":
            content = json.loads(path.read_text(encoding="utf-8"))
            write_text(site / path.name, json.dumps(content, separators=(",", ":")))
        elif folder.name in ("rows", "tables", "figures") and path.suffix != ".svg":
            _copy_file(path, site / folder)
    for pattern in _UNUSED:
        for path in filter(Path.is_file, site.glob(pattern)):
            path.unlink()
    _finish_pages(run, chapters, site)
    _finish_styles(site)
    _restore_notebooks(run, site)


def _finish_pages(run, chapters, site):
    """Drop what a page does not need; add the line that is printed below it."""
    described = f'<meta name="description" content="{escape(about(chapters))}">'
    labelled_toggle = _TOGGLE.replace("<summary", '<summary aria-label="Pages below"')
    parts = [f"Run {run}", completed(chapters), f"Casebook {__version__}"]
    for path in site.rglob("*.html"):
        page = _compact(path.read_text(encoding="utf-8")).replace(
            _TOGGLE, labelled_toggle
        )
        title = _HTML_TITLE.search(page)
        line = " · ".join(filter(None, [title and title[1], *parts]))
        page = page.replace(
            "</article>", f'<p class="print-footer">{line}</p></article>', 1
        )
        if path == site / "index.html":
            page = page.replace("</head>", f"{described}</head>", 1)
        write_text(path, page)


_RULE = re.compile(r"([^{}]+)\{[^{}]*\}")
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_CLASS = re.compile(r"\.([A-Za-z_][\w-]*)")


def _finish_styles(site):
    """Drop the rules for classes that no page and no script names."""
    texts = [path.read_text(encoding="utf-8") for path in site.rglob("*.[hj]*")]
    # The first name is joined by a script.
    named = {"bs-tooltip-auto", *re.findall(r"[\w-]+", " ".join(texts))}

    def if_used(rule):
        selectors = _IN_BRACKETS.sub("", _IN_BRACKETS.sub("", rule[1])).split(",")
        is_used = any(
            named.issuperset(_CLASS.findall(selector)) for selector in selectors
        )
        return rule[0] if is_used else ""

    for path in site.rglob("*.css"):
        write_text(path, _RULE.sub(if_used, path.read_text(encoding="utf-8")))


def _compact(page):
    """A page without what changes nothing that a reader sees."""
    parts = _PREFORMATTED.split(_NEEDLESS.sub(r"\1", page))
    parts[::2] = [_INDENTATION.sub("\n", text) for text in parts[::2]]
    return "".join(parts)


def _restore_notebooks(run, site):
    """Offer the executed notebooks: a page has another order, in which they cannot be executed."""
    for path in (site / "_sources" / "run" / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(run_dir(run) / "notebooks" / path.name, 4)
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                # Executing draws them again, and the page has them.
                for kind in ("text/html", "image/png"):
                    output.get("data", {}).pop(kind, None)
        nbformat.write(notebook, path)
