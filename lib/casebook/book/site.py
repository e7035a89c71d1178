"""The rendered site, made small: downloads beside it, nothing that no page loads."""

import json
import re
import shutil

from PIL import Image

from casebook.files import copy_file, copy_folder, naming, write_text
from casebook.paths import run_dir

_DOWNLOADS = ("rows", "tables", "figures", "runs")
# The theme draws every icon twice: by this script of 1.5 MB, and by a font that its
# style sheet names. The font does.
_ICON_SCRIPT = re.compile(r'\s*<script[^>]* src="[^"]*/fontawesome\.js[^"]*"></script>')
_MATH_SCRIPT = re.compile(r'\s*<script[^>]* src="[^"]*/tex-chtml\.js[^"]*"></script>')
# What opens the pages below a chapter in the sidebar has no name for a screen reader.
_TOGGLE = '<summary><span class="toctree-toggle"'
_NAMED_TOGGLE = _TOGGLE.replace("<summary", '<summary aria-label="Pages below"')
_FORMULA = re.compile(r'class="[^"]*\bmath\b')
# Below _static: the icons' other faces, the README's picture, what MathJax holds in one
# file anyway, old font formats, and what only developers of the theme read.
_UNUSED = (
    "scripts/fontawesome.js*",
    "vendor/fontawesome/webfonts/fa-[!s]*",
    "report.png",
    "locales",
    "mathjax/[!to]*",
    "mathjax/tex-[!c]*",
    "mathjax/tex-chtml-*",
    "mathjax/output/*.js",
    "mathjax/output/svg",
    "mathjax/output/chtml/fonts/*.js",
    "**/*.map",
    "**/*.ttf",
)
_COLOURS = 256


def finish(run, site):
    """Add the downloads to a rendered site and drop what no page needs."""
    for name in _DOWNLOADS:
        if (run_dir(run) / name).is_dir():
            copy_folder(run_dir(run) / name, site / name)
    copy_file(run_dir(run) / "numbers.json", site)
    for pattern in _UNUSED:
        for path in list((site / "_static").glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in site.rglob("*.html"):
        page = _lean(path.read_text(encoding="utf-8"))
        write_text(path, page.replace(_TOGGLE, _NAMED_TOGGLE))
    for path in (site / "_sources" / "run" / "notebooks").glob("*.ipynb"):
        # A page has another order than the notebook, in which it can be executed.
        copy_file(run_dir(run) / "notebooks" / path.name, path.parent)
        _without_pictures(path)
    for path in (site / "_images").glob("*.png"):
        _few_colours(path)


def _lean(page):
    """Take the icons' script off a page, and MathJax where there is no formula."""
    page = _ICON_SCRIPT.sub("", page)
    return page if _FORMULA.search(page) else _MATH_SCRIPT.sub("", page)


def _without_pictures(path):
    """Take the pictures out of a notebook for download: the page has them as files."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    write_text(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def _few_colours(path):
    """Write a figure with a palette: a third of the bytes, the same to the eye."""
    with Image.open(path) as picture:
        if picture.mode not in {"RGB", "RGBA"} or _see_through(picture):
            return
        flat = picture.convert("RGB")
    method, undithered = Image.Quantize.MEDIANCUT, Image.Dither.NONE
    small = flat.quantize(_COLOURS, method=method, dither=undithered)
    with naming(path):
        small.save(path, optimize=True)


def _see_through(picture):
    return picture.mode == "RGBA" and picture.getextrema()[3][0] < 255
