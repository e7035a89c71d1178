"""Claims with gold verdicts and evidence: the project's own, and plain files."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.factcheck.model import VERDICTS
from casebook.inference.samples import check_choice
from casebook.readers import read_jsonl, read_lines, read_records

CLAIMS = paths.DATA / "factcheck" / "claims.jsonl"
CORPORA = ("smoke", "insurance")
SPLITS = ("train", "test", "all")


@dataclass(frozen=True)
class Atom:
    """One gold atomic claim with its place in a document."""

    text: str
    label: str
    doc_id: str
    start: int
    end: int


@dataclass(frozen=True)
class Claim:
    """A claim with its gold verdict."""

    id: str
    text: str
    label: str
    category: str = ""
    hops: int = 0
    group: str = ""
    split: str = "test"
    atoms: tuple = ()


def shipped_documents():
    """Give the smoke and insurance collections as one."""
    frames = []
    for name in CORPORA:
        documents = load(name, titles=False).documents.copy()  # titles are headers
        documents["doc_id"] = name + ":" + documents["doc_id"]
        frames.append(documents.assign(kind="primary", collection=name))
    joined = pd.concat(frames, ignore_index=True)
    wanted = ["doc_id", "title", "text", "agreement", "insurer", "kind", "collection"]
    return joined[wanted].astype(object).where(joined[wanted].notna(), "")


def read_claims(path=CLAIMS, documents=None, split="all"):
    """Read the project's own claims, with the place of every quote."""
    check_choice("split", split, SPLITS)
    documents = shipped_documents() if documents is None else documents
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    fields = dict.fromkeys(("id", "claim", "label", "category", "group", "split"), str)
    found = []
    for number, row in read_jsonl(path, fields | {"atoms": list}):
        if row["label"] not in VERDICTS:
            problem = f"label {row['label']!r} is none of {', '.join(VERDICTS)}"
            raise InputError.at(path, number, problem)
        atoms = tuple(_atom(path, number, atom, texts) for atom in row["atoms"])
        names = ("id", "claim", "label", "category")
        claim = Claim(
            *(row[name] for name in names),
            hops=row.get("hops", len(atoms)),
            group=row["group"],
            split=row["split"],
            atoms=atoms,
        )
        if split in ("all", claim.split):
            found.append(claim)
    return found


def _atom(path, number, atom, texts):
    try:
        doc_id, quote = atom["evidence"]["doc_id"], atom["evidence"]["quote"]
        text, label = atom["text"], atom["label"]
    except (KeyError, TypeError) as error:
        problem = "an atom needs text, label and evidence with doc_id and quote"
        raise InputError.at(path, number, problem) from error
    document = texts.get(doc_id, "")
    if document.count(quote) != 1:
        problem = f"the quote {quote!r} is not once in {doc_id!r}"
        raise InputError.at(path, number, problem)
    start = document.index(quote)
    return Atom(text, label, doc_id, start, start + len(quote))


def read_plain(path):
    """Read claims of any origin: records with ``claim``, or a text a line."""
    path = Path(path)
    if {".csv", ".json", ".jsonl"} & set(path.suffixes):
        rows = list(read_records(path)[0])
    else:
        rows = [(n, {"claim": text}) for n, text in read_lines(path) if text.strip()]
    if not rows:
        raise InputError(f"{path}: holds no claims")
    lines, found = {}, []
    for number, row in rows:
        if not isinstance(row.get("claim"), str):
            raise InputError.at(path, number, "has no text in field 'claim'")
        name = str(row.get("id", number))
        if name in lines:
            problem = f"id {name!r} stood already in line {lines[name]}"
            raise InputError.at(path, number, problem)
        lines[name] = number
        found.append(Claim(name, row["claim"], str(row.get("label") or "")))
    return found
