"""Cases to edit and documents to search: annotated, extracted or planted; and annotated texts."""

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import ConfigDict, Field, create_model

from casebook import paths
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.data.tables import ROLES, read_roles, read_table, records_of
from casebook.errors import InputError
from casebook.parameters import needs
from casebook.readers import parse_json, read_jsonl, read_yaml
from casebook.sensitivity.citations import neighbours, neighbours_or_next
from casebook.sensitivity.domain import (
    FACT_TYPES,
    SHIPPED_DOMAIN,
    Domain,
    read_domain,
    validate_record,
)
from casebook.sensitivity.edits import COUNSEL, DOCKETS, LEAST_TERMS, MONTHS, Vocabulary
from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import FactSheet, contradictions, from_dict, present_types

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
    title: str = ""  # readers' name
    real: bool = False  # annotated as they are, so that edited cases say nothing

    def account_table(self):
        """What was read, for readers: the domain's own facts among it."""
        counts = {"documents": len(self.documents), "cases": len(self.sheets)}
        counts["annotated pairs of case and fact type"] = len(self.annotations)
        counts |= self.account
        own = self.domain.account() or {}
        counts |= {f"your own {name}": value for name, value in own.items()}
        if self.domain.notes:
            counts["replaced"] = "; ".join(self.domain.notes)
        texts = {name: str(value) for name, value in counts.items()}
        return pd.DataFrame(texts.items(), columns=["what", "value"])


def open_cases(dataset, planted=None, cases=None, corpus=None, facts=None, **said):
    """Cases of a file with a folder of documents, or else those of a data set.

    `planted` are sizes of the planted collection, `facts` is a file of further fact types, `said`
    are the columns and rows of the file.
    """
    needs("cases", cases, corpus=corpus, columns=said.get("columns"))
    domain = read_domain(facts)
    if cases:
        return user_collection(cases, corpus, domain, **said)
    return case_collection(dataset, **planted or {}, domain=domain)


def annotated_sets(dataset, planted=None, cases=None, corpus=None, facts=None, **said):
    """Cases of which somebody says what decides them: a list of `CaseCollection`.

    They are those of a file, or our annotated cases over the documents of a data set, after the
    planted ones where it is these.
    """
    if cases or facts or corpus:
        return [open_cases(dataset, planted, cases, corpus, facts, **said)]
    if dataset != PLANTED:
        return [annotated_collection(load(dataset).documents, dataset)]
    ours = case_collection(PLANTED, **planted or {})
    return [ours, annotated_collection(ours.documents, PLANTED)]


def case_collection(name, *, cases=6, values=4, per_line=12, seed=0, domain=SHIPPED_DOMAIN):
    """The planted collection, of some sizes, or a data set whose questions are cases."""
    if name == PLANTED:
        if domain is not SHIPPED_DOMAIN:
            raise InputError(
                "facts has no effect on the planted cases: give cases=FILE and corpus=FOLDER too, "
                "or a dataset whose questions are judgments"
            )
        return plant_cases(cases=cases, values=values, per_line=per_line, seed=seed)
    return extracted_collection(load(name), domain)


def annotated_collection(documents, name):
    """The project's own annotated cases against some collection."""
    cases, _ = read_cases()
    return CaseCollection(
        name=f"annotated_cases_on_{name}",
        sheets=[case.sheet for case in cases],
        documents=documents,
        annotations=annotation_frame(cases),
        neighbours=neighbours,
        account=account(cases) | {"annotated by": "the project, not validated by experts"},
        title="our annotated cases",
        real=True,
    )


def user_collection(path, corpus, domain=SHIPPED_DOMAIN, **said):
    """Cases of a file, annotated or not, against the documents of a folder."""
    if corpus is None:
        raise InputError(
            f"{path}: the cases need documents to search: name their folder too (corpus)"
        )
    cases, reading = read_cases(path, domain, **said)
    documents = read_collection(corpus)
    vocabulary = Vocabulary(documents["text"])
    if not any(len(vocabulary.terms(case.sheet)) >= LEAST_TERMS for case in cases):
        raise InputError(
            f"{path}: no case has {LEAST_TERMS} words that distinguish the documents of {corpus}, "
            "so none can be scored: add facts, or documents about such cases"
        )
    cases.sort(key=lambda case: not case.annotated)
    counts = account(cases)
    if reading.unread:
        counts["columns not read"] = ", ".join(reading.unread)
    return CaseCollection(
        name=Path(path).stem,
        sheets=[case.sheet for case in cases],
        documents=documents,
        annotations=annotation_frame(cases, domain.fact_types),
        neighbours=partial(neighbours_or_next, domain=domain),
        account=counts,
        domain=domain,
        title=f"the cases of {Path(path).name}",
    )


def extracted_collection(dataset, domain=SHIPPED_DOMAIN):
    """The questions of a dataset, whole judgments, as cases; the others are counted."""
    counts = dict.fromkeys(_WHY_NO_CASE, 0)
    no_fact, contradictory, poor = counts
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
    precedents = {}
    for case, grades in dataset.qrels.items():
        precedents[case] = [document for document, grade in grades.items() if grade > 0]
    return CaseCollection(
        name=dataset.name,
        sheets=sheets,
        documents=dataset.documents,
        annotations=annotation_frame([]),
        neighbours=partial(neighbours_or_next, domain=domain),
        account=counts | {"fingerprint": dataset.fingerprint[:16]},
        title=dataset.card.title if dataset.card else dataset.name,
        precedents=precedents,
        domain=domain,
    )


_WHY_NO_CASE = (
    "judgments without an extracted fact, left out",
    "sheets that contradict themselves, left out",
    f"sheets of fewer than {LEAST_TERMS} informative terms, left out",
)


# ---- annotated cases: what decides them

CASE_KEYS = tuple(ROLES["cases"])
"""What a row of a file of cases may hold; the first it must."""


class Case(NamedTuple):
    """The sheet of a case; which fact types decide it, or do not, and their ranks (1 is most)."""

    sheet: FactSheet
    decides: dict
    importance: dict

    @property
    def annotated(self):
        """Whether somebody said what decides it."""
        return bool(self.decides or self.importance)


def read_cases(path=ANNOTATED_CASES, domain=SHIPPED_DOMAIN, columns=None, rows=None):
    """Cases of a table, a row a case, or of a .json of one case; and what was read of it.

    A case is a fact sheet with its annotations, or the sheet alone; its fact types and acts are
    those of the domain.
    """
    table = read_table(path, rows, parse=parse_json, alone=True)
    # Without a column of sheets, the columns without a role are the facts.
    known = {*CASE_KEYS, *(columns or {}).values()}
    is_flat = "fact_sheet" not in [*table, *(columns or {})]
    facts = [name for name in table if is_flat and name not in known]
    reading = read_roles(table, "cases", ["case_id"], columns, further=facts)
    reading.texts("case_id")
    reading.refuse_repeats("case_id")
    model = _record_model(domain.fact_types)
    cases = []
    for row, cells in records_of(reading.table):
        filled = {name: cell for name, cell in cells.items() if cell != ""}
        if is_flat:
            filled["fact_sheet"] = {name: filled[name] for name in facts if name in filled}
        where = f"{path}:{row}"
        record = validate_record(where, filled, model)
        decides = dict.fromkeys(record.dispositive_facts, True)
        decides |= dict.fromkeys(record.non_dispositive_facts, False)
        if len(decides) < len([*record.dispositive_facts, *record.non_dispositive_facts]):
            reading.refuse(row, "a fact type is named twice under the facts that decide or do not")
        facts_of_case = {"case_id": filled["case_id"], **record.fact_sheet}
        sheet = from_dict(facts_of_case, where, domain=domain)
        cases.append(Case(sheet, decides, record.expert_importance_ranking))
    return cases, reading


def _record_model(fact_types):
    """The facts of a case, and what somebody says decides it."""
    name = Literal[fact_types]
    rank = Annotated[float, Field(ge=1, le=len(fact_types))]
    return create_model(
        "CaseRecord",
        __config__=ConfigDict(strict=True),
        fact_sheet=dict,
        dispositive_facts=(list[name], []),
        non_dispositive_facts=(list[name], []),
        expert_importance_ranking=(dict[name, rank], {}),
    )


def account(cases):
    """Numbers of cases, annotations, and annotated types of which a sheet has nothing to change."""
    n_untestable = 0
    for case in cases:
        types = {*case.decides, *case.importance}
        n_untestable += len(types - {*present_types(case.sheet), "Evidence"})  # it can be added
    n_annotated = sum(case.annotated for case in cases)
    return {
        "read": len(cases),
        "annotated": n_annotated,
        "without annotations": len(cases) - n_annotated,
        "pairs": sum(len(case.decides) for case in cases),
        "untestable_types": n_untestable,
    }


ANNOTATION_COLUMNS = ["case_id", "fact_type", "dispositive", "importance"]


def annotation_frame(cases, fact_types=FACT_TYPES):
    """Annotations as rows of case_id, fact_type, dispositive and importance (1 is most)."""
    rows = []
    for case in cases:
        for name in fact_types:
            if name in case.decides or name in case.importance:
                rank = case.importance.get(name, np.nan)
                rows.append((case.sheet.case_id, name, case.decides.get(name), rank))
    return pd.DataFrame(rows, columns=ANNOTATION_COLUMNS)


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
    """A generated corpus, cases, and which facts decide each."""
    documents = _planted_documents(values, per_line, np.random.default_rng([seed, 41]))
    rng = np.random.default_rng([seed, 42])
    sheets = []
    annotations = []
    precedents = {}
    for area in AREA_WEIGHTS:
        weights = pd.Series(AREA_WEIGHTS[area])[list(FACT_TYPES)]
        ranks = weights.rank(ascending=False)
        line = ["area", *weights.index[weights > 0]]
        for number in range(1, cases + 1):
            name = f"{area}-{number:02d}"
            facts = _facts(area, rng.integers(values, size=2), rng)
            sheets.append(_sheet(name, facts))
            of_line = (documents[line] == pd.Series(facts)[line]).all(axis=1)
            precedents[name] = documents.loc[of_line, "doc_id"].tolist()
            for kind, weight in weights.items():
                annotations.append((name, kind, weight > 0, ranks[kind]))
    return CaseCollection(
        name=PLANTED,
        sheets=sheets,
        documents=documents,
        annotations=pd.DataFrame(annotations, columns=ANNOTATION_COLUMNS),
        neighbours=_next_value,
        account={"areas of law": len(AREA_WEIGHTS), "seed": seed},
        title="the planted collection",
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
    """Facts of one document: those of its line, and noise."""
    facts = {"area": area}
    for name in FACT_TYPES:
        choices = PLANTED_VALUES[name]
        facts[name] = choices[rng.integers(len(choices))]
    decisive = [name for name, weight in AREA_WEIGHTS[area].items() if weight]
    for name, position in zip(decisive, line, strict=True):
        facts[name] = PLANTED_VALUES[name][position]
    return facts


def _text(row, rng):
    """A document: each fact as often as its weight says, and inert words."""
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
    """The fact sheet of a case; the other side is left out."""
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
    pairs = [*pairwise(sections), *pairwise(reversed(sections))]
    return sorted(second for first, second in pairs if first == section)


# ---- texts: the facts that they tell


class GoldText(NamedTuple):
    """One text, its split, and the sheet that somebody wrote of it."""

    id: str
    split: str
    text: str
    sheet: FactSheet


def read_gold():
    """Our annotated texts."""
    texts = []
    for _, record in read_jsonl(ANNOTATED_TEXTS / "texts.jsonl", {"id": str, "text": str}):
        name = record["id"]
        sheet = from_dict({"case_id": name, **record["sheet"]}, name, empty=True)
        texts.append(GoldText(name, record["split"], record["text"], sheet))
    return texts
