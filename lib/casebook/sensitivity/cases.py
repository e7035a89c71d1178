"""Cases and texts that somebody annotated: which fact types decide a case, and which facts a text tells."""

import hashlib
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook import paths
from casebook.errors import InputError
from casebook.readers import read_jsonl
from casebook.sensitivity.citations import INDIA, SINGAPORE
from casebook.sensitivity.facts import FACT_TYPES, FactSheet, from_dict, present_types

CASES = paths.DATA / "counterfactual" / "cases.jsonl"
GOLD = paths.DATA / "counterfactual" / "extraction"
DECIDES, NOT, RANKING = "dispositive_facts", "non_dispositive_facts", "expert_importance_ranking"
KEYS = ("case_id", "fact_sheet", DECIDES, NOT, RANKING, "title", "citation", "court", "jurisdiction", "facts")
KEYS += ("rationale", "annotation", "split")
"""What a line of a file of cases may hold; the first two it must."""


# ---- cases: what decides them


@dataclass(frozen=True)
class Case:
    """One case: its sheet and what somebody said of its facts."""

    sheet: FactSheet
    dispositive: tuple
    non_dispositive: tuple
    ranking: dict
    title: str = ""
    citation: str = ""
    facts: str = ""
    rationale: str = ""
    jurisdiction: str = ""

    @property
    def record(self):
        """The annotations as `annotation_frame` takes them."""
        told = {DECIDES: self.dispositive, NOT: self.non_dispositive, RANKING: self.ranking}
        return {"case_id": self.sheet.case_id} | told

    @property
    def untestable(self):
        """The annotated types of which the sheet holds no fact to change; evidence can always be added."""
        named = {*self.dispositive, *self.non_dispositive, *self.ranking}
        return tuple(n for n in FACT_TYPES if n in named - {*present_types(self.sheet), "Evidence"})


@dataclass(frozen=True)
class CaseSet:
    """Annotated cases, and those that nobody annotated."""

    cases: tuple
    unannotated: tuple

    def annotations(self):
        """The annotations in rows."""
        return annotation_frame(case.record for case in self.cases)

    def account(self):
        """Count what was read."""
        return {
            "read": len(self.cases) + len(self.unannotated),
            "annotated": len(self.cases),
            "without annotations": len(self.unannotated),
            "pairs": sum(len(c.dispositive) + len(c.non_dispositive) for c in self.cases),
            "untestable_types": sum(len(case.untestable) for case in self.cases),
        }


def read_cases(path=CASES, documented=False):
    """Read annotated cases from JSON lines; errors name file, line and field."""
    cases, unannotated, seen = [], [], set()
    for number, record in read_jsonl(path, {"case_id": str, "fact_sheet": dict}):
        name = record["case_id"]
        if problem := _annotation_problem(record, documented):
            raise InputError.at(path, number, problem)
        sheet = from_dict({"case_id": name, **record["fact_sheet"]}, f"{path}:{number}", documented)
        if sheet.case_id in seen:
            raise InputError.at(path, number, f"case {name!r} comes twice")
        seen.add(sheet.case_id)
        told = [str(record.get(f) or "") for f in ("title", "citation", "facts", "rationale", "jurisdiction")]
        sides = [tuple(record.get(side) or ()) for side in (DECIDES, NOT)]
        case = Case(sheet, *sides, record.get(RANKING) or {}, *told)
        try:
            annotation_frame([case.record])
        except InputError as error:
            raise InputError.at(path, number, str(error)) from error
        (cases if any(sides) or case.ranking else unannotated).append(case)
    if not seen:
        raise InputError(f"{path}: holds no cases")
    return CaseSet(tuple(cases), tuple(unannotated))


def _annotation_problem(record, documented):
    unknown = [key for key in record if key not in KEYS]
    if unknown and not documented:
        return f"unknown key {unknown[0]!r}; the keys are {', '.join(KEYS)}"
    for side in (DECIDES, NOT):
        types = record.get(side) or []
        if not isinstance(types, list) or not all(isinstance(t, str) for t in types):
            return f"field {side!r} is not a list of fact types"
        if len(set(types)) < len(types):
            return f"field {side!r} names a fact type twice"
    ranking = record.get(RANKING) or {}
    if not isinstance(ranking, dict):
        return f"field {RANKING!r} is not an object"
    for name, rank in ranking.items():
        if isinstance(rank, bool) or not isinstance(rank, int | float) or not 1 <= rank <= len(FACT_TYPES):
            return f"field {RANKING!r}: rank {rank!r} of {name} is not 1 to 4"
    return None


def annotation_frame(records):
    """Bring annotations into rows of case_id, fact_type, dispositive (True, False, None) and importance (1 is most)."""
    rows, seen = [], set()
    for record in records:
        case, ranks = record["case_id"], record.get(RANKING) or {}
        if case in seen:
            raise InputError(f"annotations: case {case!r} comes twice")
        seen.add(case)
        sides = {True: record.get(DECIDES) or (), False: record.get(NOT) or ()}
        named = [*sides[True], *sides[False], *ranks]
        if unknown := [name for name in named if name not in FACT_TYPES]:
            raise InputError(f"{case}: unknown fact type {unknown[0]!r}: use {', '.join(FACT_TYPES)}")
        if both := set(sides[True]) & set(sides[False]):
            raise InputError(f"{case}: {min(both)} is dispositive and not dispositive")
        for name in filter(named.__contains__, FACT_TYPES):
            decides = next((side for side, types in sides.items() if name in types), None)
            rows.append((case, name, decides, ranks.get(name, np.nan)))
    return pd.DataFrame(rows, columns=["case_id", "fact_type", "dispositive", "importance"])


def annotations_of_weights(weights):
    """Turn planted weights (cases x fact types) into annotations: what weighs more than 0 decides."""
    ranks = weights.rank(axis=1, ascending=False)
    rows = [(c, n, bool(weights.loc[c, n] > 0), float(ranks.loc[c, n])) for c in weights.index for n in weights]
    return pd.DataFrame(rows, columns=["case_id", "fact_type", "dispositive", "importance"])


# ---- texts: the facts that they tell


@dataclass(frozen=True)
class GoldText:
    """One text, its part of the set, the country of its court, and the sheet that somebody wrote of it."""

    id: str
    split: str
    country: str
    text: str
    sheet: FactSheet


SPLITS = ("dev", "heldout", "elsewhere", "real_dev", "real_heldout")
COUNTRIES = (INDIA, SINGAPORE, "US", "GB")
_FIELDS = {"id": str, "split": str, "jurisdiction": str, "sheet": dict}


def read_gold(path=GOLD / "texts.jsonl"):
    """Read annotated texts."""
    return _gold(path, ((n, record, record["text"]) for n, record in read_jsonl(path, _FIELDS | {"text": str})))


def read_passages(texts, path=GOLD / "passages.jsonl"):
    """Read annotated passages of judgments that are not ours; `texts` gives the judgments by id."""
    rows = []
    for number, record in read_jsonl(path, _FIELDS | {"document": str, "sha256": str}):
        text = texts.get(record["document"], "")[record["start"] : record["end"]]
        _check_hash(path, number, record, text, "does not hold the annotated passage")
        rows.append((number, record, text))
    return _gold(path, rows)


def read_sides(texts, path=GOLD / "parties.jsonl"):
    """Read the sides of whole judgments that are not ours: list of record and text."""
    found = []
    for number, record in read_jsonl(path, {"document": str, "sha256": str}):
        text = texts.get(record["document"], "")
        _check_hash(path, number, record, text, "is not the annotated judgment")
        found.append((record, text))
    return found


def case_texts(cases):
    """Take annotated cases as texts with sheets."""
    told = [case for case in cases.cases if case.facts]
    return tuple(GoldText(c.sheet.case_id, "cases", c.jurisdiction, c.facts, c.sheet) for c in told)


def _check_hash(path, number, record, text, problem):
    if hashlib.sha256(text.encode()).hexdigest() != record["sha256"]:
        raise InputError.at(path, number, f"{record['document']} {problem}")


def _gold(path, rows):
    texts = {}
    for number, record, text in rows:
        name, split, country = (record[key] for key in ("id", "split", "jurisdiction"))
        problem = (
            (name in texts and f"id {name!r} comes twice")
            or (split not in SPLITS and f"split {split!r} is not one of {', '.join(SPLITS)}")
            or (country not in COUNTRIES and f"jurisdiction {country!r} is not one of {', '.join(COUNTRIES)}")
            or (not text.strip() and f"{name!r} has no text")
        )
        if problem:
            raise InputError.at(path, number, problem)
        sheet = from_dict({"case_id": name, **record["sheet"]}, f"{path}:{number}", empty=True)
        texts[name] = GoldText(name, split, country, text, sheet)
    if not texts:
        raise InputError(f"{path}: holds no records")
    return tuple(texts.values())
