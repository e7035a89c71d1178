"""Fact sheets: read, check, write, hash, turn into a query, change by one fact."""

import hashlib
import json
from dataclasses import asdict, replace
from functools import cache

import pydantic

from casebook.counterfactual.fact_checks import contradictions, present_types, unknown_evidence
from casebook.counterfactual.fact_query import is_noop, number_text, query_text
from casebook.counterfactual.fact_replace import (
    add_evidence,
    remove_evidence,
    replace_number,
    replace_party,
    replace_section,
)
from casebook.counterfactual.fact_types import (
    EVIDENCE_TYPES,
    FACT_TYPES,
    OUTCOMES,
    PARTY_TYPES,
    Age,
    Amount,
    Duration,
    EvidenceItem,
    FactSheet,
    NumericalFacts,
    Parties,
)
from casebook.counterfactual.sections import documented_section, normalise_section
from casebook.errors import InputError
from casebook.readers import read_json

__all__ = [
    "EVIDENCE_TYPES",
    "FACT_TYPES",
    "OUTCOMES",
    "PARTY_TYPES",
    "Age",
    "Amount",
    "Duration",
    "EvidenceItem",
    "FactSheet",
    "NumericalFacts",
    "Parties",
    "add_evidence",
    "canonical_json",
    "contradictions",
    "from_dict",
    "is_noop",
    "number_text",
    "present_types",
    "query_text",
    "read_sheet",
    "remove_evidence",
    "replace_number",
    "replace_party",
    "replace_section",
    "sheet_hash",
    "sheet_schema",
    "to_dict",
]


def from_dict(record, where="fact sheet", documented=False, empty=False):
    """Build a fact sheet from plain data, checked."""
    if documented:
        record = _known_parties(record)
    try:
        sheet = _adapter().validate_python(record)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(whole)"
        problem = first["msg"].removeprefix("Value error, ")
        beside = first["type"] in ("unexpected_keyword_argument", "missing")
        keys = _keys(first["loc"][:-1] if beside else first["loc"])
        raise InputError(f"{where}: field {field}: {problem}{keys}") from error
    normal = documented_section if documented else _normal
    sheet = replace(sheet, sections_cited=tuple(map(normal, sheet.sections_cited)))
    if not documented:
        _check(sheet, where, empty)
    return sheet


def to_dict(sheet):
    """Give a fact sheet as plain data, as `from_dict` takes it."""
    return json.loads(json.dumps(asdict(sheet)))


def read_sheet(path, documented=False):
    """Read a fact sheet from a JSON file."""
    return from_dict(read_json(path), str(path), documented)


def canonical_json(sheet):
    """Write a sheet's facts in one way only, whatever way they were read."""
    facts = to_dict(replace(sheet, numerical_facts=_whole(sheet.numerical_facts)))
    del facts["case_id"]
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sheet_hash(sheet):
    """Hash the facts of a sheet."""
    return hashlib.sha256(canonical_json(sheet).encode()).hexdigest()


def sheet_schema():
    """Give the JSON Schema of a fact sheet."""
    return _adapter().json_schema()


def _keys(place):
    """Name the keys of the object at a place of a sheet; empty where none is."""
    schema = node = sheet_schema()
    for part in place:
        inner = node.get("properties", {})
        node = node.get("items", {}) if isinstance(part, int) else inner.get(part, {})
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    names = node.get("properties", ())
    return f"; the keys there are {', '.join(names)}" if names else ""


@cache
def _adapter():
    return pydantic.TypeAdapter(FactSheet)


def _known_parties(record):
    """Turn parties of unknown type into ``Unknown``, and null outcomes stay."""
    parties = record.get("parties") if isinstance(record, dict) else None
    if not isinstance(parties, dict):
        return record
    known = {name: value if value in PARTY_TYPES else "Unknown" for name, value in parties.items()}
    return record | {"parties": known}


def _normal(section):
    return normalise_section(section) or section


def _check(sheet, where, empty):
    for at, name in unknown_evidence(sheet):
        known = ", ".join(EVIDENCE_TYPES)
        raise InputError(f"{where}: field evidence_items.{at}.evidence_type: {name!r} is unknown: choose from {known}")
    for problem in contradictions(sheet):
        raise InputError(f"{where}: field {problem}")
    if not (empty or present_types(sheet)):
        raise InputError(f"{where}: field (whole): has no fact, so nothing to change")


def _whole(numbers):
    """Give numbers with whole values as integers, so that 3 and 3.0 are the same."""
    kinds = {
        kind: tuple(
            replace(one, value=int(one.value)) if one.value == int(one.value) else one for one in getattr(numbers, kind)
        )
        for kind in ("amounts", "ages", "durations")
    }
    return replace(numbers, **kinds)
