"""Cases to edit and documents to search: annotated, extracted or planted."""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import ConfigDict, Field, create_model

from casebook import paths
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.data.tables import ENDINGS, ROLES, Reading, read_roles, read_table, records_of
from casebook.errors import InputError
from casebook.models.language import load_language_model
from casebook.parameters import needs
from casebook.readers import parse_json, read_text, read_yaml, suffix_of
from casebook.sensitivity.citations import adjacent_sections, neighbours, neighbours_or_next
from casebook.sensitivity.domain import (
    FACT_TYPES,
    SHIPPED_DOMAIN,
    Domain,
    read_domain,
    validate_record,
)
from casebook.sensitivity.edits import ALL_WORDS
from casebook.sensitivity.extract import extract_sheet, extract_with_model
from casebook.sensitivity.facts import contradictions, from_dict, present_types

ANNOTATED_CASES = paths.DATA / "counterfactual" / "cases.jsonl"
PLANTED = "planted"
ANNOTATION_COLUMNS = ["case_id", "fact_type", "dispositive", "importance"]


@dataclass(frozen=True, eq=False)
class CaseCollection:
    """Cases and documents, with annotations, neighbours of sections, and precedents by case."""

    name: str
    title: str  # readers' name
    sheets: list = field(repr=False)
    documents: pd.DataFrame = field(repr=False)
    neighbours: object = field(repr=False)
    account: dict
    annotations: pd.DataFrame = field(repr=False)
    precedents: dict = field(default_factory=dict, repr=False)
    domain: Domain = field(default=SHIPPED_DOMAIN, repr=False)
    real: bool = False  # annotated as they are, so that edited cases say nothing

    def account_table(self):
        counts = {"documents": len(self.documents), "cases": len(self.sheets)}
        counts["annotated pairs of case and fact type"] = len(self.annotations)
        counts |= self.account
        if self.domain.notes:
            counts["your own facts"] = "; ".join(self.domain.notes)
        return pd.Series(counts).astype(str).rename_axis("what").reset_index(name="value")


def open_cases(dataset, planted=None, cases=None, corpus=None, facts=None, **said):
    """Cases of a file with a folder of documents, or else those of a data set.

    `planted` are sizes of the planted collection, `facts` is a file of further fact types, `said`
    are the columns and rows of the file.
    """
    needs("cases", cases, corpus=corpus, columns=said.get("columns"))
    if cases:
        return user_collection(cases, corpus, read_domain(facts), **said)
    if dataset != PLANTED:
        return extracted_collection(load(dataset), read_domain(facts))
    needs("cases", cases, facts=facts)
    return plant_cases(**planted or {})


def annotated_sets(dataset, planted=None, cases=None, corpus=None, facts=None, **said):
    """Cases of which somebody says what decides them: a list of `CaseCollection`.

    They are those of a file, or our annotated cases over the documents of a data set, after the
    planted ones where it is these.
    """
    if cases or facts or corpus:
        return [open_cases(dataset, planted, cases, corpus, facts, **said)]
    sets = [plant_cases(**planted or {})] if dataset == PLANTED else []
    documents = (sets[0] if sets else load(dataset)).documents
    ours = read_cases()
    annotated = CaseCollection(
        f"annotated_cases_on_{dataset}",
        "our annotated cases",
        ours.sheets,
        documents,
        neighbours,
        ours.account() | {"annotated by": "the project, not validated by experts"},
        ours.annotations,
        real=True,
    )
    return [*sets, annotated]


def user_collection(path, corpus, domain=SHIPPED_DOMAIN, **said):
    """Cases of a file, annotated or not, against the documents of a folder."""
    if corpus is None:
        raise InputError(f"{path}: the cases need documents to search: name their folder (corpus)")
    cases = read_cases(path, domain, **said)
    annotated = set(cases.annotations["case_id"])
    return CaseCollection(
        Path(path).stem,
        f"the cases of {Path(path).name}",
        sorted(cases.sheets, key=lambda sheet: sheet.case_id not in annotated),
        read_collection(corpus),
        partial(neighbours_or_next, domain=domain),
        cases.account(),
        cases.annotations,
        domain=domain,
    )


def extracted_collection(dataset, domain=SHIPPED_DOMAIN):
    """The questions of a dataset, whole judgments, as cases; the others are counted."""
    sheets = []
    counts = Counter()
    for name, text in zip(dataset.queries["query_id"], dataset.queries["text"], strict=True):
        sheet = extract_sheet(text, name, domain).sheet
        if present_types(sheet) and not contradictions(sheet):
            sheets.append(sheet)
        else:
            counts["judgments without facts, or with facts that contradict, left out"] += 1
    if not sheets:
        raise InputError(f"{dataset.name}: no question is a case to edit")
    precedents = {}
    for case, grades in dataset.qrels.items():
        precedents[case] = [document for document, grade in grades.items() if grade > 0]
    return CaseCollection(
        dataset.name,
        dataset.card.title if dataset.card else dataset.name,
        sheets,
        dataset.documents,
        partial(neighbours_or_next, domain=domain),
        dict(counts),
        pd.DataFrame(columns=ANNOTATION_COLUMNS),
        precedents,
        domain,
    )


# ---- cases of a file, with what decides them

CASE_KEYS = tuple(ROLES["cases"])
"""What a row of a file of cases may hold; the first it must."""


class Cases(NamedTuple):
    """Sheets, what somebody says decides the cases (importance 1 is most), and what was read."""

    sheets: list
    annotations: pd.DataFrame
    reading: Reading

    def account(self):
        n_annotated = self.annotations["case_id"].nunique()
        counts = {"annotated": n_annotated}
        counts["without annotations"] = len(self.sheets) - n_annotated
        counts["pairs"] = int(self.annotations["dispositive"].notna().sum())
        counts["columns not read"] = ", ".join(self.reading.unread) or "none"
        return counts


def read_cases(path=ANNOTATED_CASES, domain=SHIPPED_DOMAIN, columns=None, rows=None):
    """Cases of a table, a row a case, or of a .json of one case: `Cases`.

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
    sheets = []
    annotations = []
    for row, cells in records_of(reading.table):
        filled = {name: cell for name, cell in cells.items() if cell != ""}
        if is_flat:
            filled["fact_sheet"] = {name: filled[name] for name in facts if name in filled}
        where = f"{path}:{row}"
        record = validate_record(where, filled, model)
        sheet = from_dict({"case_id": filled["case_id"], **record.fact_sheet}, where, domain=domain)
        sheets.append(sheet)
        named = Counter([*record.dispositive_facts, *record.non_dispositive_facts])
        if max(named.values(), default=1) > 1:
            reading.refuse(row, "a fact type is named twice under the facts that decide or do not")
        ranks = record.expert_importance_ranking
        for name in domain.fact_types:
            decides = name in record.dispositive_facts if name in named else None
            if name in named or name in ranks:
                annotations.append((sheet.case_id, name, decides, ranks.get(name, np.nan)))
    return Cases(sheets, pd.DataFrame(annotations, columns=ANNOTATION_COLUMNS), reading)


def _record_model(fact_types):
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


def read_case(path, extractor=None, name=None, domain=SHIPPED_DOMAIN, **said):
    """A case, and the notes on it.

    It is a case of a table, chosen by name if there are several, or a judgment in text.
    """
    path = Path(path)
    is_table = suffix_of(path) in ENDINGS
    needs("the text of a judgment", not is_table, extractor=extractor)
    needs("a table of cases", is_table, case=name, **said)
    if is_table:
        cases = read_cases(path, domain, **said)
        sheets = {sheet.case_id: sheet for sheet in cases.sheets}
        if name is None and len(sheets) == 1:
            name = next(iter(sheets))
        if name not in sheets:
            some = ", ".join([*sheets][:5])
            raise InputError(f"{path}: name one of {len(sheets)} cases by --case, such as {some}")
        return sheets[name], (str(cases.reading),)
    text = read_text(path)
    extraction = extract_sheet(text, path.stem, domain)
    if extractor:
        extraction = extract_with_model(text, load_language_model(extractor), path.stem, domain)
    if not present_types(extraction.sheet):
        raise InputError(f"{path}: no fact was found in the text: write a fact sheet in JSON")
    return extraction.sheet, extraction.notes


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


def plant_cases(cases=6, values=4, per_line=12, seed=0):
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
    numbers = [section.removeprefix("IPC-") for section in PLANTED_VALUES["Section"]]
    return CaseCollection(
        PLANTED,
        "the planted collection",
        sheets,
        documents,
        adjacent_sections({"IPC-": {"": numbers}}, 1).get,
        {"areas of law": len(AREA_WEIGHTS), "seed": seed},
        pd.DataFrame(annotations, columns=ANNOTATION_COLUMNS),
        precedents,
    )


def _planted_documents(values, per_line, rng):
    rows = []
    for area in AREA_WEIGHTS:
        for line in np.ndindex(values, values):
            rows += [_facts(area, line, rng) for _ in range(per_line)]
    # Position breaks ties of retrieval, so it must not follow the lines.
    rows = [rows[at] for at in rng.permutation(len(rows))]
    texts = [_text(row, rng) for row in rows]
    names = [f"p{number:05d}" for number in range(len(rows))]
    documents = pd.DataFrame({"doc_id": names, "title": "", "text": texts})
    return documents.join(pd.DataFrame(rows))


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
        sentence = _PLANTED["sentences"][name].format(row[name])
        sentences += [sentence] * (1 + SENTENCES_PER_WEIGHT * weight)
    order = rng.permutation(len(sentences))
    # A document names one of each kind: as rare as a value of a noise type.
    month, docket, counsel = (kind[rng.integers(6)] for kind in ALL_WORDS[:3])
    about = [f"The matter: {_PLANTED['subjects'][row['area']]}."] * SENTENCES_PER_WEIGHT
    inert = f"Filed in {month}, docket {docket}. Counsel: {counsel}."
    return " ".join([*about, *(sentences[at] for at in order), inert])


def _sheet(name, facts):
    ages = [{"value": facts["Numerical"], "descriptor": _PLANTED["subjects"][facts["area"]]}]
    record = {
        "case_id": name,
        "parties": {"petitioner_type": facts["PartyType"]},
        "sections_cited": [facts["Section"]],
        "evidence_items": [{"evidence_type": facts["Evidence"]}],
        "numerical_facts": {"ages": ages},
    }
    return from_dict(record, name)
