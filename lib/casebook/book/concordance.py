"""A page for each of the four documents: every term in its order, where it is here, and what the run measures of it."""

import json
import re

from casebook.book.chapters import code
from casebook.book.stated import filled, numbers_of
from casebook.errors import InputError
from casebook.paths import DATA
from casebook.readers import read_yaml

CONCORDANCES = DATA / "concordance"
TERM_FIELDS = ("section", "term", "aliases", "means", "here", "documented", "corrected", "trap")
OPTIONAL_FIELDS = {"in_code", "measured", "example"}
MEASURED_FIELDS = {"experiment", "datasets", "values", "says"}
_LABELS = {
    "here": "In Casebook",
    "documented": "Original",
    "in_code": "In its code",
    "corrected": "Standard",
    "trap": "Pitfall",
}
_PLAIN = re.compile(r"[^\W\d_][\w ,'’()–-]*")  # words; all else is written as code


def read_concordance(document):
    """Read the table of one document; an error names the first wrong row."""
    path = CONCORDANCES / f"{document}.yml"
    table = read_yaml(path, "concordance")
    for place, row in enumerate(table["rows"], 1):
        fields = set(row) - OPTIONAL_FIELDS
        if fields != set(TERM_FIELDS) or not isinstance(row["aliases"], list):
            raise InputError(
                f"{path}: row {place}: give {', '.join(TERM_FIELDS)}, perhaps {', '.join(sorted(OPTIONAL_FIELDS))}; "
                "aliases is a list"
            )
        if "measured" in row and set(row["measured"]) != MEASURED_FIELDS:
            raise InputError(
                f"{path}: row {place}: measured holds {', '.join(sorted(MEASURED_FIELDS))}"
            )
    return table


def documents():
    """Name the documents that have a table."""
    return sorted(path.stem for path in CONCORDANCES.glob("*.yml"))


def measured_sentences(run, row):
    """What the run measures of a term, every number read from the run; nothing where it holds none."""
    if run is None or "measured" not in row:
        return []
    measured = row["measured"]
    numbers = numbers_of(run, measured["experiment"], measured["datasets"], measured["values"])
    return filled(measured["says"], numbers)


def example_sentences(document, row):
    """What the example of a document gives for a term; ``data/make`` has the script that made its numbers."""
    path = CONCORDANCES / f"{document}_example.json"
    if "example" not in row:
        return []
    return filled(row["example"], json.loads(path.read_text(encoding="utf-8")))


def concordance_page(document, run=None):
    """Write the page of one document, with the numbers of a run."""
    table = read_concordance(document)
    lines = [
        f"# {table['title']}: terms and metrics",
        "",
        table["about"],
        "",
        "Terms follow the order of the document. *Original* is what the document's text states, *in its code* what its "
        "code computes where that differs, *standard* the usual definition, and *measured in this run* what this "
        "report finds. See also the [glossary](../methods/glossary.md).",
        "",
    ]
    for row in table["rows"]:
        lines += [f"## {_name(str(row['term']))}", ""]
        section = str(row["section"])
        also = (
            f"; also: {', '.join(_name(str(alias)) for alias in row['aliases'])}"
            if row["aliases"]
            else ""
        )
        lines += [
            f"{'Section ' if section[:1].isdigit() else ''}{section}{also}",
            "",
            str(row["means"]),
            "",
        ]
        for key, label in _LABELS.items():
            if row.get(key):
                lines += [f"{label}\n: {' '.join(str(row[key]).split())}", ""]
        for label, sentences in (
            ("In the example", example_sentences(document, row)),
            ("Measured in this run", measured_sentences(run, row)),
        ):
            if sentences:
                lines += [f"{label}\n: {' '.join(sentences)}", ""]
    return "\n".join(lines)


def _name(text):
    """Write a term: words as they are, names of files, keys and commands as code."""
    return text if _PLAIN.fullmatch(text) and "_" not in text else code(text)
