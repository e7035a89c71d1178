"""Claims with gold verdicts and evidence, and the words, numbers, names and sentences of their texts."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import nupunkt
import pandas as pd
import Stemmer

from casebook import paths
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.readers import read_jsonl, read_lines, read_records, read_yaml

FOLDER = paths.DATA / "factcheck"
SHIPPED = ("smoke", "insurance")


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
    label: str
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
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    found = []
    for _, row in read_jsonl(FOLDER / "claims.jsonl", {}):
        atoms = []
        for atom in row["atoms"]:
            doc_id, quote = atom["evidence"]["doc_id"], atom["evidence"]["quote"]
            start = texts[doc_id].index(quote)
            atoms.append(Atom(atom["text"], atom["label"], doc_id, quote, start, start + len(quote)))
        known = {name: row[name] for name in ("id", "label", "category", "group", "split")}
        found.append(Claim(text=row["claim"], hops=row.get("hops", len(atoms)), atoms=tuple(atoms), **known))
    return [claim for claim in found if split in ("all", claim.split)]


def read_plain(path):
    """Claims of any origin: records with ``claim``, or a text a line."""
    path = Path(path)
    if {".csv", ".json", ".jsonl"} & set(path.suffixes):
        rows = read_records(path)[0]
    else:
        rows = [(number, {"claim": text}) for number, text in read_lines(path) if text.strip()]
    if not rows:
        raise InputError(f"{path}: holds no claims")
    lines, found = {}, []
    for number, row in rows:
        if not isinstance(row.get("claim"), str):
            raise InputError.at(path, number, "has no text in field 'claim'")
        name = str(row.get("id", number))
        if name in lines:
            raise InputError.at(path, number, f"id {name!r} stood already in line {lines[name]}")
        lines[name] = number
        found.append(Claim(name, row["claim"], str(row.get("label") or "")))
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
