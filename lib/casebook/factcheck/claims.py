"""Claims of any origin, and what decides them."""

import re
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.data.registry import load
from casebook.data.tables import listed, read_roles, read_table, refusal, short, to_type
from casebook.errors import InputError
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.words import content
from casebook.measures.classification import CONFLICTING, INSUFFICIENT
from casebook.readers import read_jsonl, read_lines, suffix_of
from casebook.stats.intervals import FEWEST
from casebook.text import sentence_texts

CLAIMS = paths.DATA / "factcheck" / "claims.jsonl"
SHIPPED = ("smoke", "insurance")
DOCUMENT_COLUMNS = ["doc_id", "title", "text", "agreement", "insurer", "kind", "collection"]
#: Labels that a file of claims may have, and the verdict that each asks for.
CLAIM_LABELS = {
    SUPPORTED: SUPPORTED,
    NOT_SUPPORTED: NOT_SUPPORTED,
    INSUFFICIENT_EVIDENCE: INSUFFICIENT_EVIDENCE,
    CONFLICTING: CONFLICTING,
    INSUFFICIENT: INSUFFICIENT_EVIDENCE,
}


#: One gold atomic claim with the span of a document that decides it.
Atom = namedtuple("Atom", "text label doc_id quote start end")


@dataclass(frozen=True)
class Claim:
    """A claim with its gold verdict; the claims of a group depend on each other."""

    id: str
    text: str
    label: str = ""
    category: str = ""
    hops: int = 0
    group: str = ""
    split: str = "test"
    atoms: tuple = ()


def shipped_documents():
    """Smoke and insurance collections as one; titles are headers and no part of the texts."""
    frames = [load(name, titles=False).documents.assign(collection=name) for name in SHIPPED]
    documents = pd.concat(frames, ignore_index=True).assign(kind="primary")
    documents["doc_id"] = documents["collection"] + ":" + documents["doc_id"]
    documents = documents[DOCUMENT_COLUMNS].astype(object)
    return documents.where(documents.notna(), "")


def read_claims(documents=None, split="all"):
    """Our own claims, with the span of every quote that decides them."""
    documents = shipped_documents() if documents is None else documents
    texts = documents.set_index("doc_id")["text"].to_dict()
    claims = []
    for number, row in read_jsonl(CLAIMS, {}):
        atoms = [
            _atom(CLAIMS, number, atom["text"], atom["label"], atom["evidence"], texts)
            for atom in row["atoms"]
        ]
        fields = {name: row[name] for name in ("id", "label", "category", "group", "split")}
        hops = row.get("hops", len(atoms))
        if split in ("all", row["split"]):
            claims.append(Claim(**fields, text=row["claim"], hops=hops, atoms=tuple(atoms)))
    return claims


def read_plain(path, documents=None, columns=None, values=None, rows=None):
    """Claims of any origin and their reading: a text a line, or a table with ``claim``.

    With documents, each quote of ``evidence`` is looked up in its own.
    """
    path = Path(path)
    if suffix_of(path) != ".txt":
        table = read_table(path, rows)
    else:
        lines = {number: line for number, line in read_lines(path) if line.strip()}
        header = re.split("[,;\t]", next(iter(lines.values()), ""))
        if "claim" in header:
            raise refusal(path, f"has the columns {listed(header)}: rename it to .csv or .tsv")
        table = pd.DataFrame({"claim": pd.Series(lines, dtype=object)})
        table.attrs["path"] = path
    if not len(table):
        raise refusal(path, "holds no claims")
    reading = read_roles(table, "claims", ["claim"], columns, values)
    frame = pd.DataFrame({"text": reading.texts("claim")})
    if "id" not in reading:
        reading.table["id"] = table.index.astype(str)
    frame["id"] = reading.texts("id")
    reading.refuse_repeats("id")
    labels = reading.labels("label", tuple(CLAIM_LABELS))
    frame["label"] = labels.replace(CLAIM_LABELS)
    frame["category"] = reading.texts("category", may_be_empty=True)
    group = reading.texts("group", may_be_empty=True)
    frame["group"] = group.where(group != "", frame["id"])
    texts = None if documents is None else documents.set_index("doc_id")["text"].to_dict()
    evidence = reading.cells("evidence")
    claims = []
    for row, fields in zip(frame.index, frame.to_dict("records"), strict=True):
        quotes = evidence[row] or []
        is_list = isinstance(quotes, list) and all(isinstance(quote, dict) for quote in quotes)
        if not is_list or not all(quote.get("doc_id") and quote.get("quote") for quote in quotes):
            problem = f"evidence {short(quotes)} is no list of objects with doc_id and quote"
            way = to_type("columns", {"evidence": "-"})
            reading.refuse(row, f"{problem}: write some, or type {way}")
        part = (fields["text"], fields["label"])
        atoms = [_atom(path, row, *part, quote, texts) for quote in quotes]
        claims.append(Claim(**fields, atoms=tuple(atoms)))
    counts = labels.replace("", "none").value_counts()
    reading.notes.append("labels " + ", ".join(f"{label} {n}" for label, n in counts.items()))
    return claims, reading


def read_labelled(path, documents=None, **said):
    """Claims for an evaluation: all have a label, and their groups suffice for an interval."""
    claims, reading = read_plain(path, documents, **said)
    n_groups = len({claim.group for claim in claims})
    unlabelled = [claim.id for claim in claims if not claim.label]
    if n_groups < FEWEST:
        problem = f"{len(claims)} claims in {n_groups} groups"
        raise refusal(path, f"{problem}: intervals need {FEWEST} groups or more")
    if unlabelled:
        problem = f"{len(unlabelled)} of {len(claims)} claims have no label"
        ways = f"an evaluation needs {', '.join(CLAIM_LABELS)}; 'casebook factcheck run' needs none"
        raise refusal(path, f"{problem} (first: {unlabelled[0]!r}): {ways}")
    return claims, reading


def _atom(path, number, text, label, evidence, texts):
    """A quote that decides a claim or a part of it, with its span in the document."""
    doc_id = evidence["doc_id"]
    quote = evidence["quote"]
    start = 0 if texts is None else texts.get(doc_id, "").find(quote)
    if start < 0:
        problem = "does not hold" if doc_id in texts else "is not in the collection: it should hold"
        raise refusal(path, f"document {doc_id!r} {problem} the quote {quote[:60]!r}", number)
    return Atom(text, label, doc_id, quote, start, start + len(quote))


def claims_of_answers(log):
    """Sentences that state something of a log of answers, see `casebook.read_log`."""
    rows = log[log["abstained"].ne(True)].reset_index(drop=True)
    rows["name"] = rows["id"]
    if len(rows["system"].unique()) > 1:
        rows["name"] = rows["id"] + "/" + rows["system"]
    rows = (
        rows.assign(text=rows["answer"].map(sentence_texts)).explode("text").dropna(subset="text")
    )
    rows["name"] += "/" + (rows.groupby(level=0).cumcount() + 1).astype(str)
    states = rows["text"].map(lambda text: bool(content(text)) and not text.endswith("?"))
    claims = [
        Claim(row.name, row.text, category=row.system, group=row.group)
        for row in rows[states].itertuples()
    ]
    if not claims:
        raise InputError("the log has no answer that states anything: there is nothing to check")
    return claims
