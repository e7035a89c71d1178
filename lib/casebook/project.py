"""A project of one's own: what `casebook init` writes, and brings up to date.

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

from casebook import __version__
from casebook.credentials import without_secrets
from casebook.errors import InputError
from casebook.files import new_folder, write_json, write_text
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
    "cards.md": "data/cards/README.md",
    "book/index.md": "book/index.md",
    "book/_toc.yml": "book/_toc.yml",
}
MADE_WITH = ".casebook.json"
_YAML = (".yml", ".yaml", ".cff")


def start_project(folder, title, author, licence=None):
    """Write a project with its grid, notebooks and a small collection to try everything with."""
    folder = Path(folder).absolute()
    remedy = "name a new folder"
    if (folder / GRID).is_file():
        command = shlex.join(["casebook", "init", str(folder), "--update"])
        remedy = f"{command} brings its notebooks up to date; or {remedy}"
    elif folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    today = now().date()
    values = {
        "title": escape_markdown(title),
        "author": author,
        "year": today.year,
        "date": today.isoformat(),
        "licence": f"license: {_quoted(licence)}\n" if licence else "",
        "requirement": _requirement(),
    }
    in_yaml = values | {"title": _quoted(title), "author": _quoted(author)}
    with new_folder(folder, remedy) as made:
        for source, place in PLACES.items():
            template = Template((STARTER / source).read_text(encoding="utf-8"))
            text = template.safe_substitute(in_yaml if place.endswith(_YAML) else values)
            write_text(made / place, text)
        for path in _shipped_notebooks():
            shutil.copyfile(path, made / "notebooks" / path.name)
        digests = {path.name: _digest_of(path) for path in _shipped_notebooks()}
        write_json(made / MADE_WITH, {"version": __version__, "notebooks": digests})
        shutil.copytree(DATA / "smoke", made / "data" / "example")
        shutil.copyfile(DATA / "assistant" / "answers.jsonl", made / "data/example/answers.jsonl")
    return folder


DISTRIBUTION = "casebook-evidence"
UNKNOWN_ORIGIN = (
    "# No package index has Casebook. Name its repository or wheel:\n"
    f"# {DISTRIBUTION}[book] @ git+https://ADDRESS  (made with version {__version__})"
)


def _requirement():
    """The package by where pip had it from: no index has it."""
    origin = {}
    with contextlib.suppress(PackageNotFoundError):  # run from its sources
        origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    address = without_secrets(origin.get("url", ""))
    if not address.startswith(("https://", "http://", "ssh://")):
        return UNKNOWN_ORIGIN
    if "vcs_info" in origin:
        address = f"{origin['vcs_info']['vcs']}+{address}@{origin['vcs_info']['commit_id']}"
    return f"{DISTRIBUTION}[book] @ {address}"


def _quoted(text):
    """A text as a value of YAML, whatever it holds."""
    return json.dumps(text, ensure_ascii=False)


# --- another version of the library


def update_project(folder):
    """Replace the notebooks that nobody changed by those of this version; changed ones stay.

    Returns what became of each notebook that is not as this version has it: "replaced", "added" or
    "kept".
    """
    folder = Path(folder)
    if not (folder / GRID).is_file():
        raise InputError(
            f"{folder}: is no project: it has no {GRID}; leave --update out to make it"
        )
    digests = _made_with(folder).get("notebooks", {})
    outcomes = {}
    for path in _shipped_notebooks():
        copy = folder / "notebooks" / path.name
        before = digests.get(path.name)  # None: this version has it for the first time
        present = _digest_of(copy) if copy.exists() else None
        shipped = _digest_of(path)
        if present == before != shipped:
            write_text(copy, path.read_text(encoding="utf-8"))
            outcomes[path.name] = "replaced" if before else "added"
            present = shipped
        elif present and shipped not in (present, before):
            outcomes[path.name] = "kept"
        if present == shipped:
            digests[path.name] = shipped
    write_json(folder / MADE_WITH, {"version": __version__, "notebooks": digests})
    return outcomes


def comparison(folder, name):
    """The command that shows how a notebook of a project differs from this version's."""
    return shlex.join(["diff", str(SHIPPED / "notebooks" / name), str(folder / "notebooks" / name)])


def version_note():
    """A line where the notebooks of the project are of another version, else nothing."""
    version = _made_with(ROOT).get("version", __version__)
    if version == __version__:
        return ""
    command = shlex.join(["casebook", "init", str(ROOT), "--update"])
    return (
        f"the notebooks of this project are of Casebook {version}, which is now {__version__}: "
        f"{command} replaces those that you did not change"
    )


def _made_with(folder):
    """Which version a project's notebooks are from; empty where nothing says so."""
    path = folder / MADE_WITH
    return read_json(path) if path.is_file() else {}


def _shipped_notebooks():
    return sorted((SHIPPED / "notebooks").glob("[0-9]*_*.ipynb"))


def _digest_of(path):
    """A hash of what somebody wrote into a notebook: not its outputs, nor what Jupyter adds."""
    cells = read_json(path)["cells"]
    return digest(
        [
            [cell["cell_type"], "".join(cell["source"]), cell["metadata"].get("tags", [])]
            for cell in cells
        ]
    )
