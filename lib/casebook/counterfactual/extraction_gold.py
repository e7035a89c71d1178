"""Texts whose fact sheets somebody wrote down, to measure extraction with."""

import hashlib
from dataclasses import dataclass

from casebook import paths
from casebook.counterfactual.acts import INDIA, SINGAPORE
from casebook.counterfactual.fact_types import FactSheet
from casebook.counterfactual.facts import from_dict
from casebook.errors import InputError
from casebook.readers import read_jsonl

FOLDER = paths.DATA / "counterfactual" / "extraction"
SHIPPED = FOLDER / "texts.jsonl"
PASSAGES = FOLDER / "passages.jsonl"
SIDES = FOLDER / "parties.jsonl"
SPLITS = ("dev", "heldout", "elsewhere", "real_dev", "real_heldout")
COUNTRIES = (INDIA, SINGAPORE, "US", "GB")
_FIELDS = {"id": str, "split": str, "jurisdiction": str, "sheet": dict}


@dataclass(frozen=True)
class GoldText:
    """One text, its part of the set, the country of its court, and its sheet."""

    id: str
    split: str
    country: str
    text: str
    sheet: FactSheet


def read_gold(path=SHIPPED):
    """Read annotated texts."""
    records = read_jsonl(path, {**_FIELDS, "text": str})
    return _unique(path, ((n, record, record["text"]) for n, record in records))


def read_passages(texts, path=PASSAGES):
    """Read annotated passages of judgments that are not ours and stand elsewhere."""
    fields = {**_FIELDS, "document": str, "sha256": str}
    rows = []
    for number, record in read_jsonl(path, fields):
        text = texts.get(record["document"], "")[record["start"] : record["end"]]
        if hashlib.sha256(text.encode()).hexdigest() != record["sha256"]:
            problem = f"{record['document']} does not hold the annotated passage"
            raise InputError.at(path, number, problem)
        rows.append((number, record, text))
    return _unique(path, rows)


def read_sides(texts, path=SIDES):
    """Read the sides of whole judgments that are not ours and stand elsewhere."""
    found = []
    for number, record in read_jsonl(path, {"document": str, "sha256": str}):
        text = texts.get(record["document"], "")
        if hashlib.sha256(text.encode()).hexdigest() != record["sha256"]:
            problem = f"{record['document']} is not the annotated judgment"
            raise InputError.at(path, number, problem)
        found.append((record, text))
    return found


def case_texts(cases):
    """Take annotated cases as texts with sheets."""
    return tuple(
        GoldText(case.sheet.case_id, "cases", case.jurisdiction, case.facts, case.sheet)
        for case in cases.cases
        if case.facts
    )


def _unique(path, rows):
    texts = {}
    for number, record, text in rows:
        name = record["id"]
        if name in texts:
            raise InputError.at(path, number, f"id {name!r} comes twice")
        texts[name] = _gold(path, number, record, text)
    if not texts:
        raise InputError(f"{path}: holds no records")
    return tuple(texts.values())


def _gold(path, number, record, text):
    name, split, country = (record[key] for key in ("id", "split", "jurisdiction"))
    if split not in SPLITS:
        known = ", ".join(SPLITS)
        raise InputError.at(path, number, f"split {split!r} is not one of {known}")
    if country not in COUNTRIES:
        known = ", ".join(COUNTRIES)
        problem = f"jurisdiction {country!r} is not one of {known}"
        raise InputError.at(path, number, problem)
    if not text.strip():
        raise InputError.at(path, number, f"{name!r} has no text")
    record = {"case_id": name, **record["sheet"]}
    sheet = from_dict(record, f"{path}:{number}", empty=True)
    return GoldText(name, split, country, text, sheet)
