"""Claims with gold verdicts and evidence, and the words, numbers, names and sentences of their texts."""

import re
import warnings
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import nupunkt
import pandas as pd
import Stemmer

from casebook import paths
from casebook.data.registry import load
from casebook.errors import InputError, MeasureNote
from casebook.factcheck.verdict import INSUFFICIENT, NOT_SUPPORTED, SUPPORTED
from casebook.readers import read_jsonl, read_lines, read_records, read_yaml

FOLDER = paths.DATA / "factcheck"
FEWEST = 6  # groups of claims, below which nothing has an interval
SHIPPED = ("smoke", "insurance")
FIELDS = ("claim", "id", "label", "group", "category", "evidence")
LABELS = {SUPPORTED: SUPPORTED, NOT_SUPPORTED: NOT_SUPPORTED, "INSUFFICIENT": INSUFFICIENT, INSUFFICIENT: INSUFFICIENT}
LABELS["CONFLICTING"] = "CONFLICTING"


@dataclass(frozen=True)
class Atom:
    """One gold atomic claim with its place in a document."""

    text: str
    label: str
    doc_id: str
    quote: str
    start: int
    end: int


@dataclass(frozen=True)
class Claim:
    """A claim with its gold verdict; the claims of a group belong together."""

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
    for name in SHIPPED:
        documents = load(name, titles=False).documents.copy()
        frames.append(documents.assign(doc_id=name + ":" + documents["doc_id"], kind="primary", collection=name))
    columns = ["doc_id", "title", "text", "agreement", "insurer", "kind", "collection"]
    joined = pd.concat(frames, ignore_index=True)[columns].astype(object)
    return joined.where(joined.notna(), "")


def read_claims(documents=None, split="all"):
    """Our own claims, with the place of every quote that decides them."""
    documents = shipped_documents() if documents is None else documents
    texts, path = dict(zip(documents["doc_id"], documents["text"], strict=True)), FOLDER / "claims.jsonl"
    found = []
    for number, row in read_jsonl(path, {}):
        atoms = [_atom(path, number, atom["text"], atom["label"], atom["evidence"], texts) for atom in row["atoms"]]
        known = {name: row[name] for name in ("id", "label", "category", "group", "split")}
        found.append(Claim(text=row["claim"], hops=row.get("hops", len(atoms)), atoms=tuple(atoms), **known))
    return [claim for claim in found if split in ("all", claim.split)]


def read_plain(path, documents=None, spellings=None):
    """Claims of any origin: records with ``claim`` and, if known, the other ``FIELDS``; or a text a line.

    With documents, each quote of ``evidence`` is looked up in the document that it names.
    """
    path = Path(path)
    for spelling, label in (spellings or {}).items():
        if label not in LABELS:
            raise InputError(f"--label {spelling}={label}: {label!r} is none of {', '.join(LABELS)}")
    if {".csv", ".json", ".jsonl"} & set(path.suffixes):
        rows = read_records(path)[0]
    else:
        rows = [(number, {"claim": text}) for number, text in read_lines(path) if text.strip()]
    if not rows:
        raise InputError(f"{path}: holds no claims")
    texts = None if documents is None else dict(zip(documents["doc_id"], documents["text"], strict=True))
    lines, found = {}, []
    for number, row in rows:
        if not isinstance(row.get("claim"), str) or not row["claim"].strip():
            has = ", ".join(map(str, row)) or "none"
            raise InputError.at(path, number, f"has no text in field 'claim'; its fields: {has}")
        name = row.get("id", number)
        if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
            raise InputError.at(path, number, "field 'id' is neither text nor a whole number")
        if str(name) in lines:
            raise InputError.at(path, number, f"id {str(name)!r} stood already in line {lines[str(name)]}")
        lines[str(name)] = number
        label = _label(path, number, row.get("label"), spellings or {})
        quotes = row.get("evidence") or []
        if not isinstance(quotes, list):
            raise InputError.at(path, number, "field 'evidence' is no list of objects with 'doc_id' and 'quote'")
        atoms = tuple(_atom(path, number, row["claim"], label, quote, texts) for quote in quotes)
        told = {key: "" if row.get(key) is None else str(row[key]) for key in ("category", "group")}
        found.append(Claim(str(name), row["claim"], label, atoms=atoms, **told))
    unread = sorted({str(name) for _, row in rows for name in row} - set(FIELDS))
    if unread:
        warnings.warn(f"{path}: not read: {', '.join(unread)}; fields: {', '.join(FIELDS)}", MeasureNote, stacklevel=2)
    return found


def read_labelled(path, documents=None):
    """Claims that all have a label, in groups enough for an interval: what an evaluation needs."""
    found = read_plain(path, documents)
    groups = len({claim.group or claim.id for claim in found})
    if groups < FEWEST:
        raise InputError(f"{path}: {len(found)} claims in {groups} groups: intervals need {FEWEST} groups or more")
    bare = [claim.id for claim in found if not claim.label]
    if bare:
        raise InputError(
            f"{path}: {len(bare)} of {len(found)} claims have no label (first: {bare[0]!r}): an evaluation needs "
            f"{', '.join(LABELS)}; 'casebook factcheck run' checks claims without labels"
        )
    return found


def _label(path, number, label, spellings):
    """A gold label in our spelling, empty if there is none."""
    if label is None or label != label or (isinstance(label, str) and not label.strip()):
        return ""
    told = spellings.get(str(label), label)
    if not isinstance(told, str) or told not in LABELS:
        problem = f"label {label!r} is none of {', '.join(LABELS)}: rename it, or say --label {label}=NOT_SUPPORTED"
        raise InputError.at(path, number, problem)
    return LABELS[told]


def _atom(path, number, text, label, evidence, texts):
    """A quote that decides a claim or a part of it, with its place in the document."""
    if not isinstance(evidence, dict) or not all(isinstance(evidence.get(key), str) for key in ("doc_id", "quote")):
        raise InputError.at(path, number, "each element of 'evidence' needs the texts 'doc_id' and 'quote'")
    doc_id, quote = evidence["doc_id"], evidence["quote"]
    if texts is None:
        return Atom(text, label, doc_id, quote, 0, len(quote))
    if doc_id not in texts:
        raise InputError.at(path, number, f"the collection has no document {doc_id!r} that 'evidence' names")
    start = texts[doc_id].find(quote)
    if start < 0 or not quote.strip():
        raise InputError.at(path, number, f"document {doc_id!r} does not hold the quote {quote[:60]!r}")
    return Atom(text, label, doc_id, quote, start, start + len(quote))


def claims_of_answers(log):
    """Claims of a log of answers (`casebook.assistant.log.read_log`): the sentences that state something."""
    several, found = len(set(log["system"])) > 1, []
    for row in log.astype(object).where(log.notna(), None).itertuples():
        for number, (start, end) in enumerate(sentences(row.answer), start=1):
            text = row.answer[start:end]
            if not row.abstained and content(text) and not text.endswith("?"):
                name = f"{row.id}/{row.system}/{number}" if several else f"{row.id}/{number}"
                found.append(Claim(name, text, category=str(row.system or ""), group=str(row.group or row.id)))
    if not found:
        raise InputError("the log has no answer that states anything: there is nothing to check")
    return found


@cache
def yaml_table(name):
    """One of our YAML tables: words, documented."""
    return read_yaml(FOLDER / f"{name}.yml")


def listed(text):
    return frozenset(text.split())


WORDS = yaml_table("words")
STOP = listed(WORDS["stop"])
CURRENCIES = listed(WORDS["currencies"])
NUMBER_WORDS = {word: value for value, word in enumerate(WORDS["ones"].split(), start=2)}
NUMBER_WORDS |= {word: 10 * value for value, word in enumerate(WORDS["tens"].split(), start=2)}
_WORD = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]+(?:['’][^\W\d_]+)*")
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:(?:of|and|the|de)\s+)?[A-Z][\w'’-]*)*")
_STEMMER = Stemmer.Stemmer("english")


class Number(NamedTuple):
    """A number of a text and the word that says of what, ``""`` if there is none."""

    value: float
    unit: str


@lru_cache(maxsize=20_000)
def words(text):
    """Lower-case words and numbers of a text."""
    return tuple(match.group().lower() for match in _WORD.finditer(text))


@lru_cache(maxsize=20_000)
def stems(text):
    return tuple(_STEMMER.stemWords([word.removesuffix("'s") for word in words(text)]))


@lru_cache(maxsize=20_000)
def content(text):
    """Distinct stems of a text that are no function words."""
    return frozenset(stem for word, stem in zip(words(text), stems(text), strict=True) if word not in STOP)


@lru_cache(maxsize=20_000)
def numbers(text):
    """Numbers of a text with what they count."""
    found, spelled = [], words(text.replace("%", " cent "))
    for place, word in enumerate(spelled):
        value = NUMBER_WORDS.get(word)
        if word[0].isdigit():
            try:
                value = float(word.replace(",", ""))
            except ValueError:  # a date such as 1.2.2020
                continue
        if value is not None:
            found.append(Number(float(value), _unit(spelled, place)))
    return tuple(found)


def _unit(spelled, place):
    if place and spelled[place - 1] in CURRENCIES:
        return spelled[place - 1]
    after = [word for word in spelled[place + 1 : place + 3] if word != "per"]
    return _STEMMER.stemWord(after[0]) if after and after[0] not in STOP else ""


def compared_numbers(claim, evidence):
    """Shares of some numbers of a claim that the evidence has, contradicts by another of the same unit, or lacks."""
    if not claim:
        return 0.0, 0.0, 0.0
    values, units = {number.value for number in evidence}, {number.unit for number in evidence}
    found = sum(number.value in values for number in claim)
    conflict = sum(number.value not in values and number.unit in units for number in claim)
    return found / len(claim), conflict / len(claim), (len(claim) - found - conflict) / len(claim)


def names(text):
    """Runs of capitalised words; a lone word that opens a sentence is none."""
    found = {}
    for match in _NAME.finditer(text):
        name = match.group()
        first, _, rest = name.partition(" ")
        while first.lower() in STOP:
            name, (first, _, rest) = rest, rest.partition(" ")
        before = text[: match.start()].rstrip()
        opens = not before or before[-1] in ".!?;:"
        if name and (rest or not opens) and name.lower() not in CURRENCIES:
            found[name] = None
    return tuple(found)


@lru_cache(maxsize=5_000)
def sentences(text):
    """Places of the sentences of a text; a line break ends one."""
    spans = []
    for start, end in nupunkt.sent_spans(text) if text.strip() else ():
        for line in re.finditer(r"[^\n]+", text[start:end]):
            piece = line.group()
            left = start + line.start() + len(piece) - len(piece.lstrip())
            right = start + line.end() - (len(piece) - len(piece.rstrip()))
            if right > left:
                spans.append((left, right))
    return tuple(spans)
