"""Claims of any origin, and what decides them."""

import warnings
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import (
    BaseModel,
    BeforeValidator,
    StrictInt,
    StringConstraints,
    ValidationError,
)

from casebook import paths
from casebook.data.cards import first_problem
from casebook.data.records import read_table
from casebook.data.registry import load
from casebook.errors import InputError, MeasureNote
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE, NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.words import content
from casebook.measures.classification import CONFLICTING, INSUFFICIENT
from casebook.readers import read_jsonl, read_lines
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


def _empty_if_missing(value):
    return "" if value is None or value != value else value


FilledText = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]
_OptionalText = Annotated[str, BeforeValidator(_empty_if_missing)]


class EvidenceQuote(BaseModel):
    """Words of a document that decide a claim or a part of it."""

    doc_id: str
    quote: FilledText


class ClaimRecord(BaseModel, coerce_numbers_to_str=True):
    """A claim of a file; other fields of the file are not read."""

    claim: FilledText
    id: StrictInt | FilledText | None = None
    label: _OptionalText = ""
    group: _OptionalText = ""
    category: _OptionalText = ""
    evidence: Annotated[list[EvidenceQuote], BeforeValidator(lambda value: value or [])] = []


def validated_record(path, number, record, model):
    """Give a record of a file as a pydantic model; one that does not fit is refused by its row."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise InputError.at(
            path, number, f"{first_problem(error)}; its fields: {', '.join(map(str, record))}"
        ) from error


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
            quote = EvidenceQuote(**atom["evidence"])
            atoms.append(_atom(path, number, atom["text"], atom["label"], quote, texts))
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


def read_plain(path, documents=None, spellings=None):
    """Read claims of any origin: a text a line, or records with ``claim`` (see `ClaimRecord`).

    With documents, each quote of ``evidence`` is looked up in the document that it names.
    """
    path = Path(path)
    spellings = CLAIM_LABELS | (spellings or {})
    unknown = sorted(set(spellings.values()) - set(CLAIM_LABELS))
    if unknown:
        raise InputError(f"--label: {unknown[0]!r} is none of {', '.join(CLAIM_LABELS)}")
    if {".csv", ".json", ".jsonl"} & set(path.suffixes):
        rows = list(read_table(path))
    else:
        rows = [(number, {"claim": text}) for number, text in read_lines(path) if text.strip()]
    texts = None if documents is None else documents.set_index("doc_id")["text"].to_dict()
    claims = {}
    for number, row in rows:
        record = validated_record(path, number, row, ClaimRecord)
        claim_id = str(number if record.id is None else record.id)
        if claim_id in claims:
            raise InputError.at(path, number, f"id {claim_id!r} stands twice")
        label = _label(path, number, record.label, spellings)
        atoms = [
            _atom(path, number, record.claim, label, quote, texts) for quote in record.evidence
        ]
        claims[claim_id] = Claim(
            id=claim_id,
            text=record.claim,
            label=label,
            category=record.category,
            group=record.group or claim_id,
            atoms=tuple(atoms),
        )
    if not claims:
        raise InputError(f"{path}: holds no claims")
    _note_unread_fields(path, rows)
    return list(claims.values())


def _note_unread_fields(path, rows):
    fields = ClaimRecord.model_fields
    unread = sorted({str(name) for _, row in rows for name in row} - set(fields))
    if unread:
        message = f"{path}: not read: {', '.join(unread)}; fields: {', '.join(fields)}"
        warnings.warn(message, MeasureNote, stacklevel=3)


def _label(path, number, text, spellings):
    """Verdict that a label asks for, ``""`` if there is no label."""
    if not text.strip():
        return ""
    if text not in spellings:
        raise InputError.at(
            path,
            number,
            f"label {text!r} is none of {', '.join(CLAIM_LABELS)}: rename it, or say "
            f"--label {text}=NOT_SUPPORTED",
        )
    return CLAIM_LABELS[spellings[text]]


def read_labelled(path, documents=None):
    """Read claims for an evaluation: all have a label, and their groups suffice for an interval."""
    claims = read_plain(path, documents)
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
    doc_id = evidence.doc_id
    quote = evidence.quote
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
