"""A project of one's own: what `casebook init` writes into an empty folder."""

import json
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from string import Template

import yaml

from casebook import __version__
from casebook.credentials import without_secrets
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
    "conftest.py": "conftest.py",
    "nbval.cfg": "nbval.cfg",
    "pytest.ini": "pytest.ini",
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
        "licence": f"license: {_quoted(licence)}\n" if licence else "",
        "requirement": _requirement(),
    }
    in_yaml = values | {name: _quoted(values[name]) for name in ("title", "author")}
    for source, place in PLACES.items():
        template = Template((STARTER / source).read_text(encoding="utf-8"))
        text = template.safe_substitute(in_yaml if place.endswith(_YAML) else values)
        write_text(folder / place, text)
    for path in sorted((SHIPPED / "notebooks").glob("[0-9]*_*.ipynb")):
        shutil.copyfile(path, folder / "notebooks" / path.name)
    shutil.copytree(DATA / "smoke", folder / "data" / "example")
    shutil.copyfile(DATA / "assistant" / "answers.jsonl", folder / "data/example/answers.jsonl")
    (folder / "data" / "cards").mkdir()
    write_text(folder / "data" / "cards" / "README.md", CARDS_README)
    return folder


UNKNOWN_ORIGIN = (
    "# The public index has another package called casebook. "
    "Name ours by its repository or wheel:\n"
    f"# casebook @ git+https://ADDRESS  (made with version {__version__})"
)
CARDS_README = (
    "# Data cards\n\nA file `KEY.yml` says where the data set `data/KEY` comes from, under which "
    "licence, and what it cannot show.\nCasebook's own cards are examples: "
    "`casebook data card smoke`.\n"
)


def _requirement():
    """Name the package by where pip had it from; the public index has another one of this name."""
    try:
        origin = json.loads(distribution("casebook").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # run from its sources
        origin = {}
    address = without_secrets(origin.get("url", ""))
    if not address.startswith(("https://", "http://", "ssh://")):
        return UNKNOWN_ORIGIN
    version_control = origin.get("vcs_info")
    if version_control:
        address = f"{version_control['vcs']}+{address}@{version_control['commit_id']}"
    return f"casebook @ {address}"


def _quoted(text):
    """Write a text as a value of YAML, whatever it holds."""
    return yaml.safe_dump(text, allow_unicode=True, width=10_000).removesuffix("...\n").strip()
