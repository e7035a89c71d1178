"""One page for each document of the four systems: every term in its order, and where it is here.

``data/concordance/<document>.yml`` holds the terms; `book/documents/` of the staged book gets the pages.
"""

import re

from casebook.book.chapters import code
from casebook.errors import InputError
from casebook.paths import DATA
from casebook.readers import read_yaml

TABLES = DATA / "concordance"
FIELDS = ("section", "term", "aliases", "means", "here", "documented", "corrected", "trap")
_LABELS = {"here": "In Casebook", "documented": "Original", "corrected": "Standard", "trap": "Pitfall"}
_PLAIN = re.compile(r"[^\W\d_][\w ,'’()–-]*")  # words; all else is written as code


def read_concordance(document):
    """Read the table of one document; an error names the first wrong row."""
    path = TABLES / f"{document}.yml"
    table = read_yaml(path, "concordance")
    for place, row in enumerate(table["rows"], 1):
        if set(row) != set(FIELDS) or not isinstance(row["aliases"], list):
            raise InputError(f"{path}: row {place}: give {', '.join(FIELDS)}; aliases is a list")
    return table


def documents():
    """Name the documents that have a table."""
    return sorted(path.stem for path in TABLES.glob("*.yml"))


def concordance_page(document):
    """Write the page of one document."""
    table = read_concordance(document)
    lines = [
        f"# {table['title']}: terms and metrics",
        "",
        table["about"],
        "",
        "Terms follow the order of the document. *Original* is the definition or value that the document states, "
        "*standard* the usual definition or the value that we find. See also the [glossary](../methods/glossary.md).",
        "",
    ]
    for row in table["rows"]:
        lines += [f"## {_name(str(row['term']))}", ""]
        section = str(row["section"])
        also = f"; also: {', '.join(_name(str(alias)) for alias in row['aliases'])}" if row["aliases"] else ""
        lines += [f"{'Section ' if section[:1].isdigit() else ''}{section}{also}", "", str(row["means"]), ""]
        for key, label in _LABELS.items():
            if row[key]:
                lines += [f"{label}\n: {' '.join(str(row[key]).split())}", ""]
    return "\n".join(lines)


def _name(text):
    """Write a term: words as they are, names of files, keys and commands as code."""
    return text if _PLAIN.fullmatch(text) and "_" not in text else code(text)
