"""Claims of any origin, what decides them, and the documents that they are checked against."""

import re
from collections import namedtuple
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.data.cards import cards
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.data.tables import read_roles, read_table, refusal, short, to_type
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, NOT_SUPPORTED, SUPPORTED
from casebook.measures.classification import CONFLICTING, INSUFFICIENT
from casebook.readers import read_jsonl, read_lines, suffix_of
from casebook.stats.intervals import FEWEST

CLAIMS = paths.DATA / "factcheck" / "claims.jsonl"
SHIPPED = ("smoke", "insurance")
#: Labels that a file of claims may have, and the verdict that each asks for.
CLAIM_LABELS = {
    SUPPORTED: SUPPORTED,
    NOT_SUPPORTED: NOT_SUPPORTED,
    CONFLICTING: CONFLICTING,
    INSUFFICIENT: INSUFFICIENT_EVIDENCE,
    INSUFFICIENT_EVIDENCE: INSUFFICIENT_EVIDENCE,
}


#: One gold atomic claim with the span of a document that decides it.
Atom = namedtuple("Atom", "text label doc_id quote start end")


#: A claim with its gold verdict; the claims of a group depend on each other.
Claim = namedtuple(
    "Claim",
    "id text label category hops group split atoms",
    defaults=["", "", 0, "", "test", ()],
)


def load_documents(names=()):
    """Data sets and folders, or else our own, as one collection; titles are no part of texts."""
    if not names:
        return load_documents(SHIPPED).assign(kind="primary")
    frames = []
    for name in names:
        folder = paths.home_path(name)
        if name in cards():
            documents = load(name, titles=False).documents
        else:
            documents = read_collection(folder, titles=False)
        if len(names) > 1:
            documents = documents.assign(doc_id=f"{folder.name}:" + documents["doc_id"])
        frames.append(documents)
    return pd.concat(frames, ignore_index=True)


def read_claims(documents, split="all"):
    """Our own claims, with the span of every quote that decides them."""
    texts = documents.set_index("doc_id")["text"].to_dict()
    claims = []
    for number, row in read_jsonl(CLAIMS):
        atoms = tuple(
            _atom(CLAIMS, number, **atom, texts=texts) for atom in row["atoms"]
        )
        row |= {"text": row["claim"], "atoms": atoms}
        if split in ("all", row["split"]):
            claims.append(Claim(*[row[name] for name in Claim._fields]))
    return claims


def read_plain(path, documents=None, columns=None, values=None, rows=None):
    """Claims of any origin and their reading: a text a line, or a table with ``claim``.

    With documents, each quote of ``evidence`` is looked up in its own.
    """
    path = Path(path)
    if suffix_of(path) == ".txt":
        lines = {number: line for number, line in read_lines(path) if line.strip()}
        if not lines:
            raise refusal(path, "holds no claims")
        if "claim" in re.split("[,;\t]", next(iter(lines.values()))):
            raise refusal(path, "has a column claim: rename it to .csv or .tsv")
        table = pd.DataFrame({"claim": pd.Series(lines, dtype=object)})
        table.attrs["path"] = path
    else:
        table = read_table(path, rows)
    reading = read_roles(table, "claims", ["claim"], columns, values)
    if "id" not in reading:
        reading.table["id"] = table.index.astype(str)
    reading.refuse_repeats("id")
    ids = reading.texts("id")
    labels = reading.labels("label", tuple(CLAIM_LABELS))
    groups = reading.texts("group", may_be_empty=True)
    columns = {
        "id": ids,
        "text": reading.texts("claim"),
        "label": labels.replace(CLAIM_LABELS),
        "category": reading.texts("category", may_be_empty=True),
        "group": groups.where(groups != "", ids),
    }
    texts = (
        None if documents is None else documents.set_index("doc_id")["text"].to_dict()
    )
    claims = []
    for row, fields in pd.DataFrame(columns).to_dict("index").items():
        atoms = []
        for quote in _quotes(reading, row):
            atoms.append(
                _atom(path, row, fields["text"], fields["label"], quote, texts)
            )
        claims.append(Claim(**fields, atoms=tuple(atoms)))
    counts = labels.replace("", "none").value_counts()
    reading.notes.append(
        "labels " + ", ".join(f"{label} {n}" for label, n in counts.items())
    )
    return claims, reading


def _quotes(reading, row):
    quotes = reading.cells("evidence")[row] or []
    listed = quotes if isinstance(quotes, list) else [None]
    for quote in listed:
        if not isinstance(quote, dict) or not (
            quote.get("doc_id") and quote.get("quote")
        ):
            problem = (
                f"evidence {short(quotes)} is no list of objects with doc_id and quote"
            )
            way = to_type("columns", {"evidence": "-"})
            reading.refuse(row, f"{problem}: write some, or type {way}")
    return listed


def read_labelled(path, documents=None, **said):
    """Claims for an evaluation: all have a label, and their groups suffice for an interval."""
    claims, reading = read_plain(path, documents, **said)
    n_groups = len({claim.group for claim in claims})
    unlabelled = [claim.id for claim in claims if not claim.label]
    if n_groups < FEWEST:
        needed = f"intervals need {FEWEST} groups or more"
        raise refusal(path, f"{len(claims)} claims in {n_groups} groups: {needed}")
    if unlabelled:
        problem = f"{len(unlabelled)} of {len(claims)} claims have no label"
        ways = f"an evaluation needs {', '.join(CLAIM_LABELS)}; 'casebook factcheck run' needs none"
        raise refusal(path, f"{problem} (first: {unlabelled[0]!r}): {ways}")
    return claims, reading


def _atom(path, number, text, label, evidence, texts):
    doc_id = evidence["doc_id"]
    quote = evidence["quote"]
    start = 0 if texts is None else texts.get(doc_id, "").find(quote)
    if start < 0:
        problem = (
            "does not hold"
            if doc_id in texts
            else "is not in the collection: it should hold"
        )
        raise refusal(
            path, f"document {doc_id!r} {problem} the quote {quote[:60]!r}", number
        )
    return Atom(text, label, doc_id, quote, start, start + len(quote))
