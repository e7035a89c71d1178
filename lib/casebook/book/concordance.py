"""A page for each of the four documents.

Every term in its order, where it is here, and what the run measures of it.
"""

import json
import re
from pathlib import Path

from casebook.book.chapters import code
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
    """The table of one document; a test holds its fields."""
    return read_yaml(CONCORDANCES / f"{document}.yml")


def documents():
    """Name the documents that have a table."""
    return sorted(path.stem for path in CONCORDANCES.glob("*.yml"))


def measured_sentences(chapters, row):
    """What the run measures of a term, every number read from its chapters."""
    if "measured" not in row:
        return []
    measured = row["measured"]
    numbers = numbers_of(chapters, measured["experiment"], measured["datasets"], measured["values"])
    return filled(measured["says"], numbers)


def example_sentences(document, row):
    """What the example of a document gives for a term; a script of ``data/make`` made it."""
    path = CONCORDANCES / f"{document}_example.json"
    if "example" not in row:
        return []
    return filled(row["example"], json.loads(path.read_text(encoding="utf-8")))


def concordance_page(document, chapters=()):
    """Write the page of one document, with the numbers of a run."""
    table = read_concordance(document)
    lines = [
        f"# {table['title']}: terms and metrics",
        "",
        table["about"],
        "",
        "Terms follow the order of the document. *Original* is what the document's text states, "
        "*in its code* what its code computes where that differs, *standard* the usual definition, "
        "and *measured in this run* what this report finds.",
        "",
    ]
    for row in table["rows"]:
        lines += [f"## {_name(str(row['term']))}", "", _place_of(row), "", str(row["means"]), ""]
        for key, label in _LABELS.items():
            if row.get(key):
                lines += _definition(label, str(row[key]).split())
        lines += _definition("In the example", example_sentences(document, row))
        lines += _definition("Measured in this run", measured_sentences(chapters, row))
    return "\n".join(lines)


def _place_of(row):
    """Give the section of a term, and its other names."""
    section = str(row["section"])
    if section[:1].isdigit():
        section = f"Section {section}"
    if row["aliases"]:
        section += f"; also: {', '.join(_name(str(alias)) for alias in row['aliases'])}"
    return section


def _definition(label, words):
    return [f"{label}\n: {' '.join(words)}", ""] if words else []


def _name(text):
    """Write a term: words as they are, names of files, keys and commands as code."""
    return text if _PLAIN.fullmatch(text) and "_" not in text else code(text)
