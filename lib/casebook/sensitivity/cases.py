"""Cases to edit and documents to search: annotated, planted or of one's own."""

from collections import namedtuple
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import ConfigDict, Field, create_model

from casebook import paths
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.data.tables import (
    ENDINGS,
    ROLES,
    read_roles,
    read_table,
    reading_text,
)
from casebook.errors import InputError
from casebook.models.language import load_language_model
from casebook.parameters import needs
from casebook.readers import parse_json, read_text, suffix_of
from casebook.sensitivity.domain import (
    SHIPPED_DOMAIN,
    adjacent_sections,
    neighbours,
    neighbours_or_next,
    read_domain,
    validate_record,
)
from casebook.sensitivity.extract import extract_sheet, extract_with_model
from casebook.sensitivity.facts import from_dict, present_types

ANNOTATED_CASES = paths.DATA / "counterfactual" / "cases.jsonl"
PLANTED = "planted"
ANNOTATION_COLUMNS = ["case_id", "fact_type", "dispositive", "importance"]


# Of cases: key and readers' name, what was read, the neighbours of a section, and whether they are
# annotated as they are, so that edited cases say nothing.
_FIELDS = "name title sheets annotations account documents neighbours domain real"


class CaseCollection(
    namedtuple("CaseCollection", _FIELDS, defaults=[SHIPPED_DOMAIN, False])
):
    """Cases, what somebody says decides them (importance 1 is most), and documents to search."""

    def account_table(self):
        counts = {
            "documents": len(self.documents),
            "cases": len(self.sheets),
            **self.account,
        }
        counts["your own facts"] = "; ".join(self.domain.notes) or "none"
        return (
            pd.Series(counts).astype(str).rename_axis("what").reset_index(name="value")
        )


def case_sets(dataset, cases=None, corpus=None, facts=None, **said):
    """Cases and what decides them: a list of `CaseCollection`.

    They are those of a file, or our annotated cases over the documents of a data set, after the
    planted ones where it is these. `facts` is a file of further fact types, `said` are the columns
    and rows of the file of cases.
    """
    needs("cases", cases, corpus=corpus, facts=facts, columns=said.get("columns"))
    if cases:
        return [user_collection(cases, corpus, read_domain(facts), **said)]
    sets = [planted_cases(dataset)] if dataset.startswith(PLANTED) else []
    documents = (sets[0] if sets else load(dataset)).documents
    name = f"annotated_cases_on_{PLANTED if sets else dataset}"
    ours = name, "our annotated cases", *read_cases()
    return [*sets, CaseCollection(*ours, documents, neighbours, real=True)]


near_planted = adjacent_sections(
    {"IPC-": {"": ["302", "303", "304", "305", "306", "307"]}}, 1
).get


def planted_cases(name=PLANTED):
    """Generated cases of which it is known what decides them: `data/make/planted_cases.py`."""
    folder = paths.DATA / "counterfactual" / name
    cases = read_cases(folder / "cases.jsonl")
    documents = read_collection(folder)
    return CaseCollection(
        PLANTED, "the planted collection", *cases, documents, near_planted
    )


def user_collection(path, corpus, domain=SHIPPED_DOMAIN, **said):
    """Cases of a file, annotated or not, against the documents of a folder."""
    if corpus is None:
        raise InputError(
            f"{path}: the cases need documents to search: name their folder (corpus)"
        )
    path = Path(path)
    cases = path.stem, f"the cases of {path.name}", *read_cases(path, domain, **said)
    return CaseCollection(*cases, read_collection(corpus), neighbours_or_next, domain)


# ---- cases of a file, with what decides them


def read_cases(path=ANNOTATED_CASES, domain=SHIPPED_DOMAIN, columns=None, rows=None):
    """Cases of a table, a row a case, or of a .json of one case: sheets, annotations, account.

    A case is a fact sheet with its annotations, or the sheet alone; its fact types and acts are
    those of the domain.
    """
    table = read_table(path, rows, parse=parse_json, alone=True)
    # Without a column of sheets, the columns without a role are the facts.
    known = {*ROLES["cases"], *(columns or {}).values()}
    is_flat = "fact_sheet" not in [*table, *(columns or {})]
    facts = [name for name in table if is_flat and name not in known]
    reading = read_roles(table, "cases", ["case_id"], columns, further=facts)
    reading.texts("case_id")
    reading.refuse_repeats("case_id")
    model = _record_model(domain.fact_types)
    sheets = []
    annotations = []
    for row, cells in reading.table.to_dict("index").items():
        filled = {name: cell for name, cell in cells.items() if cell != ""}
        if is_flat:
            filled["fact_sheet"] = {
                name: filled[name] for name in facts if name in filled
            }
        where = f"{path}:{row}"
        record = validate_record(where, filled, model)
        case = {"case_id": filled["case_id"], **record.fact_sheet}
        sheet = from_dict(case, where, domain=domain)
        sheets.append(sheet)
        decides = dict.fromkeys(record.dispositive_facts, True)
        decides |= dict.fromkeys(record.non_dispositive_facts, False)
        n_named = len(record.dispositive_facts) + len(record.non_dispositive_facts)
        if n_named > len(decides):
            reading.refuse(
                row, "a fact type is named twice under the facts that decide or do not"
            )
        ranks = record.expert_importance_ranking
        for name in domain.fact_types:
            if name in decides or name in ranks:
                said = decides.get(name), ranks.get(name, np.nan)
                annotations.append((sheet.case_id, name, *said))
    annotations = pd.DataFrame(annotations, columns=ANNOTATION_COLUMNS)
    counts = {"annotated": annotations["case_id"].nunique()}
    counts["pairs"] = int(annotations["dispositive"].notna().sum())
    return sheets, annotations, reading.record() | counts


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
    if suffix_of(path) in ENDINGS:
        cases, _, account = read_cases(path, domain, **said)
        sheets = {sheet.case_id: sheet for sheet in cases}
        chosen = name or next(iter(sheets))
        if chosen not in sheets or (name is None and len(sheets) > 1):
            some = ", ".join([*sheets][:5])
            raise InputError(
                f"{path}: name one of {len(sheets)} cases by --case, such as {some}"
            )
        return sheets[chosen], (reading_text(account),)
    text = read_text(path)
    extraction = extract_sheet(text, path.stem, domain)
    if extractor:
        extraction = extract_with_model(
            text, load_language_model(extractor), path.stem, domain
        )
    if not present_types(extraction.sheet):
        raise InputError(
            f"{path}: no fact was found in the text: write a fact sheet in JSON"
        )
    return extraction.sheet, extraction.notes
