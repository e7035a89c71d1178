"""Claims of any origin, and what decides them."""

from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.data.registry import load
from casebook.data.tables import ENDINGS, read_roles, read_table, refusal, short, to_type
from casebook.errors import InputError
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.words import content
from casebook.measures.classification import CONFLICTING, INSUFFICIENT
from casebook.readers import read_jsonl, read_lines, suffix_of
from casebook.stats.intervals import FEWEST
from casebook.text import sentence_texts

CLAIMS = paths.DATA / "factcheck" / "claims.jsonl"
SHIPPED_COLLECTIONS = ("smoke", "insurance")
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
    frames = []
    for name in SHIPPED_COLLECTIONS:
        documents = load(name, titles=False).documents
        frames.append(documents.assign(doc_id=f"{name}:" + documents["doc_id"], collection=name))
    joined = pd.concat(frames, ignore_index=True).assign(kind="primary")
    joined = joined[DOCUMENT_COLUMNS].astype(object)
    return joined.where(joined.notna(), "")


def read_claims(documents=None, split="all"):
    """Read our own claims, with the span of every quote that decides them."""
    if documents is None:
        documents = shipped_documents()
    texts = documents.set_index("doc_id")["text"].to_dict()
    path = CLAIMS
    claims = []
    for number, row in read_jsonl(path, {}):
        atoms = []
        for atom in row["atoms"]:
            found = (atom["text"], atom["label"], atom["evidence"])
            atoms.append(_atom(path, number, *found, texts))
        claim = Claim(
            id=row["id"],
            text=row["claim"],
            label=row["label"],
            category=row["category"],
            hops=row.get("hops", len(atoms)),
            group=row["group"],
            split=row["split"],
            atoms=tuple(atoms),
        )
        if split in ("all", claim.split):
            claims.append(claim)
    return claims


def read_plain(path, documents=None, **said):
    """Read claims of any origin, see `claim_table` and `claims_of_table`."""
    return claims_of_table(claim_table(path, **said), documents)


def claim_table(path, columns=None, values=None, rows=None):
    """Reading of claims: a text a line, or a table with ``claim``, and its other roles."""
    path = Path(path)
    if suffix_of(path) in ENDINGS:
        table = read_table(path, rows)
    else:
        lines = {number: line for number, line in read_lines(path) if line.strip()}
        table = pd.DataFrame({"claim": pd.Series(lines, dtype=object)})
        table.attrs["path"] = path
    if not len(table):
        raise refusal(path, "holds no claims")
    reading = read_roles(table, "claims", ["claim"], columns, values)
    if "id" not in reading:
        reading.table["id"] = table.index.astype(str)
    reading.texts("id")
    reading.refuse_repeats("id")
    reading.texts("claim")
    reading.table["label"] = reading.labels("label", tuple(CLAIM_LABELS))
    counts = reading.table["label"].replace("", "none").value_counts()
    reading.notes.append("labels " + ", ".join(f"{label} {n}" for label, n in counts.items()))
    return reading


def claims_of_table(reading, documents=None):
    """Claims of a reading; with documents, each quote of ``evidence`` is looked up in its own."""
    texts = None if documents is None else documents.set_index("doc_id")["text"].to_dict()
    groups = reading.texts("group", may_be_empty=True)
    categories = reading.texts("category", may_be_empty=True)
    evidence = reading.cells("evidence")
    claims = []
    for row, record in reading.table.iterrows():
        label = CLAIM_LABELS.get(record["label"], "")
        atoms = []
        for quote in _quotes(reading, row, evidence[row]):
            atoms.append(_atom(reading.path, row, record["claim"], label, quote, texts))
        claim = Claim(
            id=record["id"],
            text=record["claim"],
            label=label,
            category=categories[row],
            group=groups[row] or record["id"],
            atoms=tuple(atoms),
        )
        claims.append(claim)
    return claims


def _quotes(reading, row, cell):
    """Quotes of a cell of evidence: a list of objects with doc_id and quote."""
    quotes = cell or []
    for quote in quotes if isinstance(quotes, list) else [quotes]:
        fits = isinstance(quote, dict) and {"doc_id", "quote"} <= quote.keys()
        if not fits or not str(quote["quote"]).strip():
            problem = f"evidence {short(quote)} is no object with doc_id and quote"
            none = to_type("columns", {"evidence": "-"})
            reading.refuse(row, f"{problem}: write some, or type {none}")
    return quotes


def read_labelled(reading, documents=None):
    """Claims for an evaluation: all have a label, and their groups suffice for an interval."""
    claims = claims_of_table(reading, documents)
    path = reading.path
    n_groups = len({claim.group for claim in claims})
    unlabelled = [claim.id for claim in claims if not claim.label]
    if n_groups < FEWEST:
        raise InputError(
            f"{path}: {len(claims)} claims in {n_groups} groups: "
            f"intervals need {FEWEST} groups or more"
        )
    if unlabelled:
        raise InputError(
            f"{path}: {len(unlabelled)} of {len(claims)} claims have no label "
            f"(first: {unlabelled[0]!r}): an evaluation needs {', '.join(CLAIM_LABELS)}; "
            "'casebook factcheck run' checks claims without labels"
        )
    return claims


def _atom(path, number, text, label, evidence, texts):
    """A quote that decides a claim or a part of it, with its span in the document."""
    doc_id = evidence["doc_id"]
    quote = evidence["quote"]
    start = 0 if texts is None else texts.get(doc_id, "").find(quote)
    if start < 0:
        problem = "does not hold" if doc_id in texts else "is not in the collection: it should hold"
        raise InputError.at(path, number, f"document {doc_id!r} {problem} the quote {quote[:60]!r}")
    return Atom(text, label, doc_id, quote, start, start + len(quote))


def claims_of_answers(log):
    """Give the sentences that state something of a log of answers, see `casebook.read_log`."""
    several_systems = len(set(log["system"])) > 1
    claims = []
    for row in log.astype(object).where(log.notna(), None).itertuples():
        if row.abstained:
            continue
        prefix = f"{row.id}/{row.system}" if several_systems else row.id
        for number, text in enumerate(sentence_texts(row.answer), start=1):
            if content(text) and not text.endswith("?"):
                claims.append(
                    Claim(
                        id=f"{prefix}/{number}",
                        text=text,
                        category=str(row.system or ""),
                        group=str(row.group or row.id),
                    )
                )
    if not claims:
        raise InputError("the log has no answer that states anything: there is nothing to check")
    return claims
