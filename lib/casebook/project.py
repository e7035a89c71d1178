"""A project of one's own: what `casebook init` writes, and brings up to date.

A small file remembers which version the notebooks are from, and the hash of each: what nobody
changed can be replaced by the notebooks of another version.
"""

import contextlib
import json
import shutil
from pathlib import Path
from string import Template

from casebook import __version__
from casebook.files import new_folder, write_json, write_text
from casebook.paths import DATA, ROOT, SHIPPED
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
REMEDY = "name a new folder, or bring the notebooks of a project up to date with --update"


def start_project(folder, title, author, licence=None):
    """Write a project with its grid, notebooks and a small collection to try everything with."""
    folder = Path(folder).absolute()
    with contextlib.suppress(OSError):
        folder.rmdir()  # an empty one
    values = {
        "title": escape_markdown(title),
        "title_in_yaml": _quoted(title),
        "author_in_yaml": _quoted(author),
        "licence": f"license: {_quoted(licence)}\n" if licence else "",
        "year": now().year,
        "date": now().date(),
        "version": __version__,
    }
    notebooks = shipped_notebooks()
    with new_folder(folder, REMEDY) as made:
        for source, place in PLACES.items():
            template = Template((STARTER / source).read_text(encoding="utf-8"))
            write_text(made / place, template.safe_substitute(values))
        for path in notebooks:
            shutil.copyfile(path, made / "notebooks" / path.name)
        digests = {path.name: _digest_of(path) for path in notebooks}
        write_json(made / MADE_WITH, {"version": __version__, "notebooks": digests})
        shutil.copytree(DATA / "smoke", made / "data" / "example")
        shutil.copyfile(DATA / "assistant" / "answers.jsonl", made / "data/example/answers.jsonl")
    return folder


def _quoted(text):
    """A text as a value of YAML, whatever it holds."""
    return json.dumps(text, ensure_ascii=False)


def update_project(folder):
    """Replace the notebooks that nobody changed by those of this version; changed ones stay.

    Returns what became of each notebook that this version changed: "replaced", "added" or "kept".
    """
    digests = read_json(Path(folder) / MADE_WITH)["notebooks"]
    outcomes = {}
    for path in shipped_notebooks():
        copy = Path(folder) / "notebooks" / path.name
        before = digests.get(path.name)  # None: this version has it for the first time
        present = _digest_of(copy) if copy.exists() else None
        shipped = _digest_of(path)
        if shipped in (before, present):
            continue
        if present == before:
            shutil.copyfile(path, copy)
            digests[path.name] = shipped
            outcomes[path.name] = "replaced" if before else "added"
        elif present:  # else the user removed it
            outcomes[path.name] = "kept"
    write_json(Path(folder) / MADE_WITH, {"version": __version__, "notebooks": digests})
    return outcomes


def version_note():
    """A line where the notebooks of the project are of another version, else nothing."""
    path = ROOT / MADE_WITH
    version = read_json(path)["version"] if path.is_file() else __version__
    if version == __version__:
        return ""
    return (
        f"the notebooks of this project are of Casebook {version}, which is now {__version__}: "
        f"'casebook init {ROOT} --update' replaces those that you did not change"
    )


def shipped_notebooks():
    """The numbered notebooks of this version."""
    return sorted((SHIPPED / "notebooks").glob("[0-9]*_*.ipynb"))


def _digest_of(path):
    """A hash of what somebody wrote into a notebook: not its outputs, nor what Jupyter adds."""
    cells = read_json(path)["cells"]
    parts = [
        [cell["cell_type"], "".join(cell["source"]), cell["metadata"].get("tags", [])]
        for cell in cells
    ]
    return digest(parts)
