"""Cases to edit and documents to search: annotated, extracted or planted; and annotated texts."""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from casebook import paths
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.readers import read_json, read_jsonl, read_yaml
from casebook.sensitivity.citations import neighbours, neighbours_or_next
from casebook.sensitivity.domain import FACT_TYPES, SHIPPED_DOMAIN, Domain, validate_record
from casebook.sensitivity.edits import COUNSEL, DOCKETS, LEAST_TERMS, MONTHS, Vocabulary
from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import (
    FactSheet,
    contradictions,
    from_dict,
    present_types,
)

ANNOTATED_CASES = paths.DATA / "counterfactual" / "cases.jsonl"
ANNOTATED_TEXTS = paths.DATA / "counterfactual" / "extraction"
PLANTED = "planted"


@dataclass(frozen=True, eq=False)
class CaseCollection:
    """Cases and documents, with annotations, neighbours of sections, and precedents by case."""

    name: str
    sheets: list = field(repr=False)
    documents: pd.DataFrame = field(repr=False)
    annotations: pd.DataFrame = field(repr=False)
    neighbours: object = field(repr=False)
    account: dict
    precedents: dict = field(default_factory=dict, repr=False)
    domain: Domain = field(default=SHIPPED_DOMAIN, repr=False)


def case_collection(name, *, cases=6, values=4, per_line=12, seed=0, domain=SHIPPED_DOMAIN):
    """Give the planted collection, of some sizes, or a data set whose questions are cases."""
    if name == PLANTED:
        if domain is not SHIPPED_DOMAIN:
            raise InputError(
                "facts has no effect on the planted cases: give cases=FILE and corpus=FOLDER too, "
                "or a dataset whose questions are judgments"
            )
        return plant_cases(cases=cases, values=values, per_line=per_line, seed=seed)
    return extracted_collection(load(name), domain)


def annotated_collection(documents, name):
    """Take the project's own annotated cases against some collection."""
    cases = read_cases()
    counts = account(cases) | {"annotated by": "the project, not validated by experts"}
    sheets = [case.sheet for case in cases]
    annotations = annotation_frame(case.record for case in cases)
    return CaseCollection(
        name=f"annotated_cases_on_{name}",
        sheets=sheets,
        documents=documents,
        annotations=annotations,
        neighbours=neighbours,
        account=counts,
    )


def user_collection(path, corpus, domain=SHIPPED_DOMAIN):
    """Take cases from a file, annotated or not, against the documents of a folder."""
    if corpus is None:
        raise InputError(
            f"{path}: the cases need documents to search: name their folder too (corpus)"
        )
    cases = read_cases(path, domain)
    documents = read_collection(corpus)
    vocabulary = Vocabulary(documents["text"])
    if not any(len(vocabulary.terms(case.sheet)) >= LEAST_TERMS for case in cases):
        raise InputError(
            f"{path}: no case has {LEAST_TERMS} words that tell the documents of {corpus} apart, "
            "so none can be scored: add facts, or documents about such cases"
        )
    annotated = [case for case in cases if case.annotated]
    others = [case for case in cases if not case.annotated]
    return CaseCollection(
        name=Path(path).stem,
        sheets=[case.sheet for case in annotated + others],
        documents=documents,
        annotations=annotation_frame((case.record for case in annotated), domain.fact_types),
        neighbours=partial(neighbours_or_next, domain=domain),
        account=account(cases),
        domain=domain,
    )


def extracted_collection(dataset, domain=SHIPPED_DOMAIN):
    """Take the questions of a dataset, whole judgments, as cases.

    Those that cannot be edited are left out and counted.
    """
    no_fact = "judgments without an extracted fact, left out"
    contradictory = "sheets that contradict themselves, left out"
    poor = f"sheets of fewer than {LEAST_TERMS} informative terms, left out"
    counts = {no_fact: 0, contradictory: 0, poor: 0}
    sheets = []
    vocabulary = Vocabulary(dataset.documents["text"])
    for name, text in zip(dataset.queries["query_id"], dataset.queries["text"], strict=True):
        sheet = extract_sheet(text, name, domain=domain).sheet
        if not present_types(sheet):
            counts[no_fact] += 1
        elif contradictions(sheet):
            counts[contradictory] += 1
        elif len(vocabulary.terms(sheet)) < LEAST_TERMS:
            counts[poor] += 1
        else:
            sheets.append(sheet)
    if not sheets:
        counted = ", ".join(f"{n} {why}" for why, n in counts.items() if n)
        raise InputError(f"{dataset.name}: no question is a case to edit: {counted}")
    precedents = {
        case: [document for document, grade in grades.items() if grade > 0]
        for case, grades in dataset.qrels.items()
    }
    return CaseCollection(
        name=dataset.name,
        sheets=sheets,
        documents=dataset.documents,
        annotations=annotation_frame([]),
        neighbours=partial(neighbours_or_next, domain=domain),
        account=counts | {"fingerprint": dataset.fingerprint[:16]},
        precedents=precedents,
        domain=domain,
    )


# ---- annotated cases: what decides them

DECISIVE = "dispositive_facts"
NOT_DECISIVE = "non_dispositive_facts"
IMPORTANCE = "expert_importance_ranking"


def _fact_type(name, info):
    """Refuse a name that is no fact type of the domain."""
    fact_types = (info.context or SHIPPED_DOMAIN).fact_types
    if name not in fact_types:
        raise ValueError(
            f"{name!r} is no fact type: choose from {', '.join(map(repr, fact_types))}"
        )
    return name


def _rank(rank, info):
    """Refuse a rank beyond the number of fact types."""
    n_types = len((info.context or SHIPPED_DOMAIN).fact_types)
    if rank > n_types:
        raise ValueError(f"a rank must be less than or equal to {n_types}")
    return rank


_Type = Annotated[str, AfterValidator(_fact_type)]
_Importance = Annotated[float, Field(ge=1), AfterValidator(_rank)]


class CaseRecord(BaseModel):
    """A line of a file of cases: the facts of a case, and what somebody says decides it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    case_id: str
    fact_sheet: dict
    dispositive_facts: list[_Type] | None = None
    non_dispositive_facts: list[_Type] | None = None
    expert_importance_ranking: dict[_Type, _Importance] | None = None
    title: Any = None
    citation: Any = None
    court: Any = None
    jurisdiction: Any = None
    facts: Any = None
    rationale: Any = None
    annotation: Any = None
    split: Any = None

    @model_validator(mode="after")
    def _once(self):
        """Refuse a fact type that is named twice."""
        types = Counter((self.dispositive_facts or []) + (self.non_dispositive_facts or []))
        for name, count in types.items():
            if count > 1:
                raise ValueError(f"{name} is named twice under {DECISIVE} and {NOT_DECISIVE}")
        return self


CASE_KEYS = tuple(CaseRecord.model_fields)
"""What a line of a file of cases may hold; the first two it must."""


class Case(NamedTuple):
    """The sheet of one case, and its line of the file."""

    sheet: FactSheet
    record: dict

    @property
    def annotated(self):
        """Whether somebody said what decides it."""
        return any(self.record.get(key) for key in (DECISIVE, NOT_DECISIVE, IMPORTANCE))


def read_cases(path=ANNOTATED_CASES, domain=SHIPPED_DOMAIN):
    """Read cases from JSON lines, or from a .json file of one case or of a list.

    A case is a fact sheet with its annotations, or the sheet alone; its fact types and acts are
    those of the domain.
    """
    cases = {}
    for where, record in _records(Path(path)):
        case = _case(where, record, domain)
        name = case.sheet.case_id
        if name in cases:
            raise InputError(f"{where}: case {name!r} comes twice")
        cases[name] = case
    if not cases:
        raise InputError(f"{path}: holds no cases")
    return list(cases.values())


def _records(path):
    """Give each record of a file with its place for errors."""
    if path.suffix.lower() != ".json":
        return ((f"{path}:{number}", record) for number, record in read_jsonl(path, {}))
    content = read_json(path)
    if not isinstance(content, list):
        return [(str(path), content)]
    return [(f"{path}: case {number}", record) for number, record in enumerate(content, 1)]


def _case(where, record, domain):
    """Take one case from a record; the facts of a sheet alone stand beside its name."""
    if isinstance(record, dict) and "fact_sheet" not in record:
        sheet = {key: value for key, value in record.items() if key not in CASE_KEYS}
        record = {key: value for key, value in record.items() if key in CASE_KEYS} | {
            "fact_sheet": sheet
        }
    validate_record(where, record, CaseRecord, domain)
    sheet = from_dict({"case_id": record["case_id"], **record["fact_sheet"]}, where, domain=domain)
    return Case(sheet, record | {"case_id": sheet.case_id})


def account(cases):
    """Count cases, annotations, and annotated types of which a sheet has nothing to change."""
    annotated = [case for case in cases if case.annotated]
    n_pairs = 0
    n_untestable = 0
    for case in annotated:
        decided = {*(case.record.get(DECISIVE) or ()), *(case.record.get(NOT_DECISIVE) or ())}
        ranked = decided | set(case.record.get(IMPORTANCE) or ())
        n_pairs += len(decided)
        n_untestable += len(ranked - {*present_types(case.sheet), "Evidence"})  # it can be added
    return {
        "read": len(cases),
        "annotated": len(annotated),
        "without annotations": len(cases) - len(annotated),
        "pairs": n_pairs,
        "untestable_types": n_untestable,
    }


def annotation_frame(records, fact_types=FACT_TYPES):
    """Bring annotations into rows of case_id, fact_type, dispositive and importance (1 is most)."""
    rows = []
    for record in records:
        case = record["case_id"]
        ranks = record.get(IMPORTANCE) or {}
        sides = {True: record.get(DECISIVE) or (), False: record.get(NOT_DECISIVE) or ()}
        for name in fact_types:
            decides = next((side for side, types in sides.items() if name in types), None)
            if decides is not None or name in ranks:
                rows.append((case, name, decides, ranks.get(name, np.nan)))
    return pd.DataFrame(rows, columns=["case_id", "fact_type", "dispositive", "importance"])


def annotations_of_weights(weights):
    """Turn planted weights (cases x fact types) into annotations: above 0, a fact decides."""
    ranks = weights.rank(axis=1, ascending=False)
    rows = [
        (c, n, bool(weights.loc[c, n] > 0), float(ranks.loc[c, n]))
        for c in weights.index
        for n in weights
    ]
    return pd.DataFrame(rows, columns=["case_id", "fact_type", "dispositive", "importance"])


# ---- planted cases: in each area of law two fact types decide, unequally, and two are noise
#
# Documents come in lines of precedent: those of one line share the values of the deciding types
# and state them several times, the heavier more often; the values of noise types are drawn at
# random and stated once, exactly as filing month and counsel are. So an edit of a deciding fact
# leads to another line of precedent, and an edit of a noise fact moves results as a placebo does.

_PLANTED = read_yaml(Path(__file__).with_name("planted.yml"))
AREA_WEIGHTS = _PLANTED["weights"]
PLANTED_VALUES = _PLANTED["values"]
SENTENCES_PER_WEIGHT = 3  # sentences about a fact for each unit of its weight, above the first
# A document names one of each: as rare as a value of a noise type.
_INERT = tuple(words[:6] for words in (MONTHS, DOCKETS, COUNSEL))


def plant_cases(cases=6, values=4, per_line=12, seed=0):
    """Generate a corpus, cases, and which facts decide each."""
    documents = _planted_documents(values, per_line, np.random.default_rng([seed, 41]))
    rng = np.random.default_rng([seed, 42])
    sheets = []
    weights_by_case = {}
    precedents = {}
    for area, weights in AREA_WEIGHTS.items():
        decisive = [name for name, weight in weights.items() if weight]
        for number in range(1, cases + 1):
            name = f"{area}-{number:02d}"
            facts = _facts(area, rng.integers(values, size=2), rng)
            sheets.append(_sheet(name, facts))
            weights_by_case[name] = {kind: weights[kind] for kind in FACT_TYPES}
            same_line = documents["area"] == area
            for kind in decisive:
                same_line &= documents[kind] == facts[kind]
            precedents[name] = documents.loc[same_line, "doc_id"].tolist()
    weight_table = pd.DataFrame.from_dict(weights_by_case, orient="index")
    return CaseCollection(
        name=PLANTED,
        sheets=sheets,
        documents=documents,
        annotations=annotations_of_weights(weight_table),
        neighbours=_next_value,
        account={"areas of law": len(AREA_WEIGHTS), "seed": seed},
        precedents=precedents,
    )


def _planted_documents(values, per_line, rng):
    rows = [
        _facts(area, line, rng)
        for area in AREA_WEIGHTS
        for line in np.ndindex(values, values)
        for _ in range(per_line)
    ]
    # Position breaks ties of retrieval, so it must not follow the lines.
    rows = [rows[at] for at in rng.permutation(len(rows))]
    documents = pd.DataFrame(rows)
    documents.insert(0, "doc_id", [f"p{number:05d}" for number in range(len(rows))])
    documents.insert(1, "title", "")
    documents.insert(2, "text", [_text(row, rng) for row in rows])
    return documents


def _facts(area, line, rng):
    """Draw the facts of one document: those of its line, and noise."""
    facts = {"area": area}
    for name in FACT_TYPES:
        choices = PLANTED_VALUES[name]
        facts[name] = choices[rng.integers(len(choices))]
    decisive = [name for name, weight in AREA_WEIGHTS[area].items() if weight]
    for name, position in zip(decisive, line, strict=True):
        facts[name] = PLANTED_VALUES[name][position]
    return facts


def _text(row, rng):
    """Write a document: each fact as often as its weight says, and inert words."""
    sentences = []
    for name, weight in AREA_WEIGHTS[row["area"]].items():
        sentences += [_PLANTED["sentences"][name].format(row[name])] * (
            1 + SENTENCES_PER_WEIGHT * weight
        )
    order = rng.permutation(len(sentences))
    month, docket, counsel = (kind[rng.integers(len(kind))] for kind in _INERT)
    inert = f"Filed in {month}, docket {docket}. Counsel: {counsel}."
    about = f"The matter: {_PLANTED['subjects'][row['area']]}."
    return " ".join([*[about] * SENTENCES_PER_WEIGHT, *(sentences[at] for at in order), inert])


def _sheet(name, facts):
    """Make the fact sheet of a case; the other side is left out."""
    ages = [{"value": facts["Numerical"], "descriptor": _PLANTED["subjects"][facts["area"]]}]
    record = {
        "case_id": name,
        "parties": {"petitioner_type": facts["PartyType"]},
        "sections_cited": [facts["Section"]],
        "evidence_items": [{"evidence_type": facts["Evidence"]}],
        "numerical_facts": {"ages": ages},
    }
    return from_dict(record, name)


def _next_value(section):
    """The sections next to one in the planted list."""
    sections = PLANTED_VALUES["Section"]
    if section not in sections:
        return []
    at = sections.index(section)
    return [sections[i] for i in (at - 1, at + 1) if 0 <= i < len(sections)]


# ---- texts: the facts that they tell


@dataclass(frozen=True)
class GoldText:
    """One text, its split, and the sheet that somebody wrote of it."""

    id: str
    split: str
    text: str
    sheet: FactSheet


def read_gold():
    """Read our annotated texts."""
    texts = []
    for _, record in read_jsonl(ANNOTATED_TEXTS / "texts.jsonl", {"id": str, "text": str}):
        name = record["id"]
        sheet = from_dict({"case_id": name, **record["sheet"]}, name, empty=True)
        texts.append(GoldText(name, record["split"], record["text"], sheet))
    return texts
