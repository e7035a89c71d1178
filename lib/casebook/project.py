"""A project of one's own: what `casebook init` writes into an empty folder, and brings up to date.

A small file remembers which version the notebooks are from, and the hash of each: what nobody
changed can be replaced by the notebooks of another version.
"""

import contextlib
import json
import shlex
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from string import Template

import yaml

from casebook import __version__
from casebook.credentials import without_secrets
from casebook.errors import InputError
from casebook.files import write_json, write_text
from casebook.paths import DATA, GRID, ROOT, SHIPPED
from casebook.readers import read_json
from casebook.runs.record import digest, now
from casebook.tables import escape_markdown

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
MADE_WITH = ".casebook.json"
_YAML = (".yml", ".yaml", ".cff")


def start_project(folder, title, author, licence=None):
    """Write a project with its grid, notebooks and a small collection to try everything with."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        remedy = "name a new folder"
        if (folder / GRID).is_file():
            command = shlex.join(["casebook", "init", str(folder), "--update"])
            remedy = f"{command} brings its notebooks up to date; or {remedy}"
        raise InputError(f"{folder}: is there and not empty: {remedy}")
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
    in_markdown = values | {"title": escape_markdown(title)}
    for source, place in PLACES.items():
        template = Template((STARTER / source).read_text(encoding="utf-8"))
        text = template.safe_substitute(in_yaml if place.endswith(_YAML) else in_markdown)
        write_text(folder / place, text)
    digests = {}
    for path in _shipped_notebooks():
        shutil.copyfile(path, folder / "notebooks" / path.name)
        digests[path.name] = _notebook_digest(path)
    write_json(folder / MADE_WITH, {"version": __version__, "notebooks": digests})
    shutil.copytree(DATA / "smoke", folder / "data" / "example")
    shutil.copyfile(DATA / "assistant" / "answers.jsonl", folder / "data/example/answers.jsonl")
    (folder / "data" / "cards").mkdir()
    write_text(folder / "data" / "cards" / "README.md", CARDS_README)
    return folder


DISTRIBUTION = "casebook-evidence"
REQUIREMENT = f"{DISTRIBUTION}[book] @"
UNKNOWN_ORIGIN = (
    "# No package index has Casebook. Name its repository or wheel:\n"
    f"# {REQUIREMENT} git+https://ADDRESS  (made with version {__version__})"
)
CARDS_README = (
    "# Data cards\n\nA file `KEY.yml` says where the data set `data/KEY` comes from, under which "
    "licence, and what it cannot show.\nCasebook's own cards are examples: "
    "`casebook data card smoke`.\n"
)


def _requirement():
    """Name the package by where pip had it from: no index has it."""
    try:
        origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # run from its sources
        origin = {}
    address = without_secrets(origin.get("url", ""))
    if not address.startswith(("https://", "http://", "ssh://")):
        return UNKNOWN_ORIGIN
    version_control = origin.get("vcs_info")
    if version_control:
        address = f"{version_control['vcs']}+{address}@{version_control['commit_id']}"
    return f"{REQUIREMENT} {address}"


def _quoted(text):
    """Write a text as a value of YAML, whatever it holds."""
    return yaml.safe_dump(text, allow_unicode=True, width=10_000).removesuffix("...\n").strip()


# --- another version of the library


def update_project(folder):
    """Replace the notebooks that nobody changed by those of this version; changed ones stay.

    Gives what became of each notebook that is not as this version has it: "replaced", "added" or
    "kept".
    """
    folder = Path(folder)
    if not (folder / GRID).is_file():
        raise InputError(
            f"{folder}: is no project: it has no {GRID}; leave --update out to make it"
        )
    if folder.resolve() == SHIPPED.resolve():
        raise InputError(f"{folder}: is Casebook itself, whose notebooks are the present ones")
    digests = _made_with(folder).get("notebooks", {})
    outcomes = {}
    for path in _shipped_notebooks():
        copy = folder / "notebooks" / path.name
        outcome = _outcome(copy, path, digests)
        if outcome in ("replaced", "added"):
            write_text(copy, path.read_text(encoding="utf-8"))
        if outcome in ("replaced", "added", "same"):
            digests[path.name] = _notebook_digest(path)
        if outcome in ("replaced", "added", "kept"):
            outcomes[path.name] = outcome
    write_json(folder / MADE_WITH, {"version": __version__, "notebooks": digests})
    return outcomes


def _outcome(copy, path, digests):
    """Say what becomes of a project's copy of a notebook of this version."""
    before = digests.get(path.name)
    if not copy.exists():  # a project uses the shipped one then
        return "added" if digests and before is None else "left out"
    present = _notebook_digest(copy)
    shipped = _notebook_digest(path)
    if present == shipped:
        return "same"
    if before is not None and present == before:
        return "replaced"
    return "own" if shipped == before else "kept"


def comparison(folder, name):
    """Give the command that shows how a notebook of a project differs from this version's."""
    return shlex.join(["diff", str(SHIPPED / "notebooks" / name), str(folder / "notebooks" / name)])


def version_note():
    """Say that the notebooks of the project are of another version; empty if they are of this."""
    version = None
    with contextlib.suppress(InputError):  # which `casebook init --update` tells
        version = _made_with(ROOT).get("version")
    if version in (None, __version__):
        return ""
    command = shlex.join(["casebook", "init", str(ROOT), "--update"])
    return (
        f"the notebooks of this project are of Casebook {version}, which is now {__version__}: "
        f"{command} replaces those that you did not change"
    )


def _made_with(folder):
    """Read which version a project's notebooks are from; empty where nothing says so."""
    path = Path(folder) / MADE_WITH
    if not path.is_file():
        return {}
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("notebooks", {}), dict):
        raise InputError(f"{path}: is damaged: restore it from a copy, or remove it")
    return value


def _shipped_notebooks():
    return sorted((SHIPPED / "notebooks").glob("[0-9]*_*.ipynb"))


def _notebook_digest(path):
    """Hash what somebody wrote into a notebook: not its outputs, nor what Jupyter adds."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        parts = [
            [cell["cell_type"], "".join(cell["source"]), cell["metadata"].get("tags", [])]
            for cell in cells
        ]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None  # damaged: it is nobody's but the user's
    return digest(parts)
