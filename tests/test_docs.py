"""Links between the Markdown of the repository lead to a file, and to a heading of it; commands on
it exist with their options."""

import functools
import json
import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from casebook import __version__
from casebook.book.concordance import documents, read_concordance
from casebook.cli import app
from casebook.paths import NOTEBOOKS, ROOT

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)")
MADE = "generated/|documents/|run/"  # by a build, which is strict


def pages():
    """Yield each page of the repository and its text."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "book").rglob("*.md")]:
        yield path, path.read_text(encoding="utf-8")
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield path, "\n\n".join(text)


def headings(path):
    """Give the headings of a page as links name them."""
    titles = re.findall(r"(?m)^#+ (.+)$", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_no_link_of_the_repository_leads_nowhere():
    lost = []
    for path, text in pages():
        for target, heading in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)):
            if re.match(rf"(\.\./)*({MADE})", target):
                continue
            file = (path.parent / target).resolve() if target else path
            is_text = file.suffix == ".md" and heading
            if not file.exists() or (is_text and heading not in headings(file)):
                lost.append(f"{path.name}: {target}#{heading}")
    assert lost == []


SHOWN = re.compile(r"(?m)^(?:\w+=\S+ )*(casebook [^\n]+)|`(casebook [^`\n]+)`")


@functools.cache
def help_of(*names):
    """Text of the help of a command; None if there is none of this name."""
    found = CliRunner().invoke(app, [*names, "--help"])
    return None if found.exit_code else found.output


def commands():
    """Yield each command line of the pages, those on the four documents too, and its page."""
    rows = [(Path(name), row) for name in documents() for row in read_concordance(name)["rows"]]
    for path, text in [*pages(), *((path, str(row["here"])) for path, row in rows)]:
        for line, span in SHOWN.findall(text):
            for command in re.split(r"&&|\|\||;", line or span):
                if command.strip().startswith("casebook "):
                    yield path.name, command


def unknown_words(command):
    """Options of a command line that its help does not name; its first word if that is no
    command."""
    words = shlex.split(command, comments=True)[1:]
    names = [word for word in words[:2] if re.fullmatch(r"[a-z][a-z-]*", word)]
    if help_of(*names) is None:
        names = names[:1]  # the second is an argument
    text = help_of() + (help_of(*names[:1]) or "") + (help_of(*names) or "")
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    unknown = [word for word in options if word not in text]
    return unknown if names and help_of(*names) else words[:1]


def test_every_command_of_the_pages_exists_with_its_options():
    of_other_versions = ["CHANGELOG.md"]
    no_words = ["COMMAND", "--help", "--version", __version__]
    lost = [
        (page, command, word)
        for page, command in commands()
        if page not in of_other_versions
        for word in unknown_words(command)
        if word not in no_words
    ]
    assert lost == []
