"""A project of one's own: what `casebook init` writes into an empty folder."""

import shutil
from pathlib import Path
from string import Template

import yaml

from casebook import __version__
from casebook.errors import InputError
from casebook.files import write_text
from casebook.paths import DATA, SHIPPED
from casebook.runs.record import now

STARTER = Path(__file__).with_name("starter")
# Hidden files and folders have plain names in the package.
PLACES = {
    "README.md": "README.md",
    "CITATION.cff": "CITATION.cff",
    "_config.yml": "_config.yml",
    "_toc.yml": "_toc.yml",
    "requirements.txt": "requirements.txt",
    "experiments.yml": "notebooks/experiments.yml",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "github/report.yml": ".github/workflows/report.yml",
    "book/index.md": "book/index.md",
    "book/_toc.yml": "book/_toc.yml",
}
_YAML = (".yml", ".yaml", ".cff")


def start_project(folder, title, author, licence=None):
    """Write a project with its grid, notebooks and a small collection to try everything with."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there and not empty: name a new folder")
    for name, text in (("title", title), ("author", author)):
        if not text.strip() or "\n" in text:
            raise InputError(f"--{name} {text!r}: give one line of text")
    today = now().date()
    values = {
        "title": title,
        "author": author,
        "year": today.year,
        "date": today.isoformat(),
        "version": __version__,
    }
    in_yaml = values | {name: _quoted(values[name]) for name in ("title", "author")}
    for source, place in PLACES.items():
        template = Template((STARTER / source).read_text(encoding="utf-8"))
        text = template.safe_substitute(in_yaml if place.endswith(_YAML) else values)
        write_text(folder / place, text)
    if licence:
        citation = folder / "CITATION.cff"
        write_text(citation, f"{citation.read_text(encoding='utf-8')}license: {_quoted(licence)}\n")
    for path in sorted((SHIPPED / "notebooks").glob("[0-9]*_*.ipynb")):
        shutil.copyfile(path, folder / "notebooks" / path.name)
    shutil.copytree(DATA / "smoke", folder / "data" / "example")
    shutil.copyfile(DATA / "assistant" / "answers.jsonl", folder / "data/example/answers.jsonl")
    (folder / "data" / "cards").mkdir()
    write_text(folder / "data" / "cards" / "README.md", CARDS_README)
    return folder


CARDS_README = (
    "# Data cards\n\nA file `KEY.yml` says where the data set `data/KEY` comes from, under which "
    "licence, and what it cannot show.\nCasebook's own cards are examples: "
    "`casebook data card smoke`.\n"
)


def _quoted(text):
    """Write a text as a value of YAML, whatever it holds."""
    return yaml.safe_dump(text, allow_unicode=True, width=10_000).removesuffix("...\n").strip()
