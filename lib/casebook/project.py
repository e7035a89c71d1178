"""A project of one's own: what `casebook init` writes."""

import contextlib
import json
import shutil
from pathlib import Path
from string import Template

from casebook import __version__
from casebook.files import new_folder, write_text
from casebook.paths import DATA, SHIPPED
from casebook.readers import read_yaml
from casebook.runs.record import now
from casebook.tables import escape_markdown

STARTER = Path(__file__).with_name("starter")
# Where each file of the package goes.
PLACES = read_yaml(Path(__file__).with_suffix(".yml"))


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
    with new_folder(folder, "name a new folder") as made:
        for source, place in PLACES.items():
            template = Template((STARTER / source).read_text(encoding="utf-8"))
            write_text(made / place, template.safe_substitute(values))
        for path in (SHIPPED / "notebooks").glob("[0-9]*_*.ipynb"):
            shutil.copyfile(path, made / "notebooks" / path.name)
        shutil.copytree(DATA / "smoke", made / "data" / "example")
        shutil.copyfile(
            DATA / "assistant" / "answers.jsonl", made / "data/example/answers.jsonl"
        )
    return folder


def _quoted(text):
    """A text as a value of YAML, whatever it holds."""
    return json.dumps(text, ensure_ascii=False)
