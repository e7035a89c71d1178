"""A page for each of the four documents.

Every term in its order, where it is here, and what the run measures of it.
"""

import json
import re
from pathlib import Path

from casebook.book.chapters import code
from casebook.book.front import TEMPLATES
from casebook.book.stated import filled, numbers_of
from casebook.readers import read_yaml

CONCORDANCES = Path(__file__).with_name("concordances")
_LABELS = {
    "here": "In Casebook",
    "documented": "Original",
    "in_code": "In its code",
    "corrected": "Standard",
    "trap": "Pitfall",
}
_PLAIN = re.compile(r"[^\W\d_][\w ,'’()–-]*")  # words; all else is written as code


def read_concordance(document):
    return read_yaml(CONCORDANCES / f"{document}.yml")


def documents():
    return sorted(path.stem for path in CONCORDANCES.glob("*.yml"))


def measured_sentences(chapters, row):
    """What the run measures of a term, every number read from its chapters."""
    if "measured" not in row:
        return []
    measured = row["measured"]
    about = measured["experiment"], measured["datasets"], measured["values"]
    return filled(measured["says"], *numbers_of(chapters, *about))


def example_sentences(document, row):
    """What the example of a document gives for a term; a script of ``data/make`` made it."""
    path = CONCORDANCES / f"{document}_example.json"
    if "example" not in row:
        return []
    return filled(row["example"], json.loads(path.read_text(encoding="utf-8")))


def concordance_page(document, chapters=()):
    table = read_concordance(document)
    rows = []
    for row in table["rows"]:
        definitions = [(label, row.get(key)) for key, label in _LABELS.items()]
        definitions.append(
            ("In the example", " ".join(example_sentences(document, row)))
        )
        definitions.append(
            ("Measured in this run", " ".join(measured_sentences(chapters, row)))
        )
        words = [
            (label, " ".join(str(text).split())) for label, text in definitions if text
        ]
        aliases = [_name(str(alias)) for alias in row["aliases"]]
        names = {"term": _name(str(row["term"])), "aliases": aliases}
        rows.append(
            row | names | {"section": str(row["section"]), "definitions": words}
        )
    template = TEMPLATES.get_template("concordance.md")
    return template.render(title=table["title"], about=table["about"], rows=rows)


def _name(text):
    """A term: words as they are, names of files, keys and commands as code."""
    return text if _PLAIN.fullmatch(text) and "_" not in text else code(text)
