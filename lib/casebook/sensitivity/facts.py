"""Fact sheets: read and checked, hashed, compared fact by fact, and written as a query."""

import hashlib
import json
import math
import re
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import pydantic
from pydantic import BeforeValidator, ConfigDict, StringConstraints

from casebook.errors import InputError
from casebook.sensitivity.citations import normalise_section, word_lists
from casebook.sensitivity.domain import FACT_TYPES, SHIPPED_DOMAIN

PARTY_TYPES = tuple(word_lists()["party_types"])
EVIDENCE_TYPES = tuple(word_lists()["evidence"])
CASE_OUTCOMES = ("Allowed", "Dismissed", "Disposed", "Partly Allowed", "Unknown")
NUMBERS = ("amounts", "ages", "durations")
PARTY_SIDES = ("petitioner", "respondent")
LARGEST_NUMBER = 1e15  # beyond it a float no longer tells two amounts apart
ADULT = 18  # age of majority in India; Singapore's tests of minority lie at or above
OLDEST_PERSON = 130


def _number(value):
    """Accept a finite number that is not negative; whole ones become integers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if math.isnan(value) or not 0 <= value <= LARGEST_NUMBER:
        raise ValueError(f"must lie between 0 and {LARGEST_NUMBER:g}")
    return as_integer(value)


def as_integer(value):
    """Give a number with a whole value as an integer, so that 3 and 3.0 are the same."""
    return int(value) if value == int(value) else float(value)


def _number_or_text(value):
    """Accept what `_number` does, or text of up to 200 characters."""
    if not isinstance(value, str):
        return _number(value)
    if not 0 < len(value.strip()) <= 200:
        raise ValueError("must be a number, or text of 1 to 200 characters")
    return value.strip()


Number = Annotated[int | float, BeforeValidator(_number)]
FactText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)]
FactName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _Strict:
    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Parties(_Strict):
    """Kind of each side, out of ``PARTY_TYPES``."""

    petitioner_type: Literal[PARTY_TYPES] = "Unknown"
    respondent_type: Literal[PARTY_TYPES] = "Unknown"


@dataclass(frozen=True)
class EvidenceItem(_Strict):
    """One item of evidence, its type out of ``EVIDENCE_TYPES``."""

    evidence_type: Literal[EVIDENCE_TYPES]
    description: FactText = ""


@dataclass(frozen=True)
class Amount(_Strict):
    """A sum of money: ``500000``, ``rupees``, ``compensation``."""

    value: Number
    unit: FactText = "rupees"
    context: FactText = ""


@dataclass(frozen=True)
class Age(_Strict):
    """An age in years and whose it is."""

    value: Number
    descriptor: FactText = ""


@dataclass(frozen=True)
class Duration(_Strict):
    """A length of time: ``2.5``, ``years``, ``imprisonment``."""

    value: Number
    unit: FactText = "years"
    context: FactText = ""


@dataclass(frozen=True)
class NumericalFacts(_Strict):
    """All numbers of a case that are facts."""

    amounts: tuple[Amount, ...] = ()
    ages: tuple[Age, ...] = ()
    durations: tuple[Duration, ...] = ()


@dataclass(frozen=True)
class FurtherFact(_Strict):
    """A fact of a type of the user's own: ``vessel flag``, ``Liberia``."""

    fact_type: FactName
    value: Annotated[int | float | str, BeforeValidator(_number_or_text)]
    unit: FactText = ""


@dataclass(frozen=True)
class FactSheet(_Strict):
    """The facts of one case."""

    case_id: FactName
    parties: Parties = field(default_factory=Parties)
    evidence_items: tuple[EvidenceItem, ...] = ()
    sections_cited: tuple[FactName, ...] = ()
    numerical_facts: NumericalFacts = field(default_factory=NumericalFacts)
    outcome: Literal[CASE_OUTCOMES] | None = None
    further_facts: tuple[FurtherFact, ...] = ()


# ---- reading, checking, writing

_SHEET = pydantic.TypeAdapter(FactSheet)


def from_dict(record, where="fact sheet", empty=False, domain=SHIPPED_DOMAIN):
    """Build a fact sheet from plain data; errors name the field.

    `empty` allows a sheet without a fact; `domain` has the acts and further fact types.
    """
    try:
        sheet = _SHEET.validate_python(record)
    except pydantic.ValidationError as error:
        raise InputError(f"{where}: {_problem(error.errors()[0])}") from error
    sections = [
        normalise_section(section, domain=domain) or section for section in sheet.sections_cited
    ]
    units = {name: kind.unit for name, kind in domain.types.items()}
    further = [
        replace(fact, unit=fact.unit or units.get(fact.fact_type, ""))
        for fact in sheet.further_facts
    ]
    sheet = replace(sheet, sections_cited=tuple(sections), further_facts=tuple(further))
    problems = [*_further_problems(sheet, domain), *contradictions(sheet)]
    if not (problems or empty or present_types(sheet)):
        problems = ["(whole): has no fact, so nothing to change"]
    if problems:
        raise InputError(f"{where}: field {problems[0]}")
    return sheet


def _further_problems(sheet, domain):
    """Say which further facts are none of the domain, and which facts it has replaced."""
    for at, fact in enumerate(sheet.further_facts):
        where = f"further_facts.{at}"
        kind = domain.types.get(fact.fact_type)
        if kind is None:
            choices = ", ".join(domain.types) or "none: name the file of your facts"
            yield f"{where}.fact_type: {fact.fact_type!r} is unknown: choose from {choices}"
        elif kind.problem(fact.value):
            yield f"{where}.value: {fact.value!r}: {kind.problem(fact.value)}"
        elif fact.unit != kind.unit:
            yield f"{where}.unit: {fact.unit!r} is not that of the type, {kind.unit!r}"
    without_further = replace(sheet, further_facts=())
    for name in present_types(without_further):
        if name in domain.types:
            yield f"{name}: {domain.file} replaces this type: write it under further_facts"


def to_dict(sheet):
    """Give a fact sheet as plain data, as `from_dict` takes it."""
    return json.loads(json.dumps(_fields(sheet), default=vars))


def _fields(sheet):
    """Give the fields of a sheet, further facts only where there are any."""
    fields = dict(vars(sheet))
    if not sheet.further_facts:
        del fields["further_facts"]
    return fields


def canonical_json(sheet):
    """Write a sheet's facts in one way only, 3.0 as 3; the case id is left out."""

    def as_plain_data(fact):
        fields = dict(vars(fact))
        if "value" in fields and not isinstance(fields["value"], str):
            fields["value"] = as_integer(fields["value"])
        return fields

    facts = {name: value for name, value in _fields(sheet).items() if name != "case_id"}
    return json.dumps(
        facts, default=as_plain_data, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def sheet_hash(sheet):
    """SHA-256 of the facts of a sheet."""
    return hashlib.sha256(canonical_json(sheet).encode()).hexdigest()


def _problem(error):
    """Say what is wrong with a field, and which keys are allowed there."""
    location = error["loc"]
    field_name = ".".join(map(str, location)) or "(whole)"
    problem = f"field {field_name}: {error['msg'].removeprefix('Value error, ')}"
    if error["type"] in ("unexpected_keyword_argument", "missing"):
        location = location[:-1]
    keys = _keys_at(location)
    return f"{problem}; the keys there are {', '.join(keys)}" if keys else problem


def _keys_at(location):
    """Look up the keys of a part of the schema; none where it is no object."""
    schema = _SHEET.json_schema()
    node = schema
    for part in location:
        is_position = isinstance(part, int)
        node = node.get("items", {}) if is_position else node.get("properties", {}).get(part, {})
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node.get("properties", ())


def present_types(sheet):
    """Name the fact types of which a sheet has at least one fact."""
    types = [fact_type for fact_type, field, _ in facts_of(sheet) if field != "outcome"]
    return tuple(dict.fromkeys([*filter(types.__contains__, FACT_TYPES), *types]))


def contradictions(sheet):
    """List what cannot be true at once: two values of one subject, impossible ages, facts twice."""
    return [*_conflicting_values(sheet), *_impossible_ages(sheet), *_repeated_facts(sheet)]


def _conflicting_values(sheet):
    for kind in ("ages", "amounts", "durations"):
        values = {}
        for at, fact in enumerate(getattr(sheet.numerical_facts, kind)):
            subject = _subject(kind, fact)
            if subject and values.setdefault(subject, fact.value) != fact.value:
                yield (
                    f"numerical_facts.{kind}.{at}: {fact.value} contradicts {values[subject]} "
                    f"for {subject!r}"
                )


def _subject(kind, fact):
    """Say what a number is about; empty where the sheet does not."""
    if kind == "ages":
        return fact.descriptor.casefold()
    return f"{fact.context} in {fact.unit}".casefold() if fact.context else ""


def _impossible_ages(sheet):
    minors = {side for side in PARTY_SIDES if getattr(sheet.parties, f"{side}_type") == "Minor"}
    for at, age in enumerate(sheet.numerical_facts.ages):
        if age.value > OLDEST_PERSON:
            yield f"numerical_facts.ages.{at}: nobody is {age.value} years old"
        elif age.descriptor.casefold() in minors and age.value >= ADULT:
            yield f"numerical_facts.ages.{at}: the {age.descriptor} is a Minor of {age.value} years"


def _repeated_facts(sheet):
    for name in ("sections_cited", "evidence_items", "further_facts"):
        facts = getattr(sheet, name)
        for at, fact in enumerate(facts):
            if fact in facts[:at]:
                repeated = getattr(fact, "evidence_type", None) or getattr(fact, "value", fact)
                yield f"{name}.{at}: {repeated!r} stands twice"


# ---- facts by field, and when two facts are the same


_LISTS = {
    "evidence_items": "Evidence",
    "sections_cited": "Section",
    **{f"numerical_facts.{kind}": "Numerical" for kind in NUMBERS},
    "further_facts": "",
}


def facts_of(sheet):
    """Yield the type, field and value of every fact of a sheet."""
    for side in PARTY_SIDES:
        field = f"parties.{side}_type"
        if fact_at(sheet, field) != "Unknown":
            yield "PartyType", field, fact_at(sheet, field)
    for name, fact_type in _LISTS.items():
        for at, fact in enumerate(fact_at(sheet, name)):
            yield getattr(fact, "fact_type", fact_type), f"{name}.{at}", fact
    if sheet.outcome not in (None, "Unknown"):
        yield "Outcome", "outcome", sheet.outcome


def fact_fields(sheet):
    """Name the facts of a sheet as errors do: ``parties.petitioner_type``, ``evidence_items.0``."""
    return (field for _, field, _ in facts_of(sheet))


def fact_at(sheet, field):
    """Give the fact that a field names."""
    fact = sheet
    for part in field.split("."):
        fact = fact[int(part)] if part.isdigit() else getattr(fact, part)
    return fact


_KEYS = {
    Duration: lambda fact: ("Duration", in_days(fact.value, fact.unit) or (fact.value, fact.unit)),
    Amount: lambda fact: ("Amount", (fact.value, fact.unit)),
    Age: lambda fact: ("Age", fact.value),
    EvidenceItem: lambda fact: ("Evidence", fact.evidence_type),
    FurtherFact: lambda fact: (fact.fact_type, fact.value),
    str: lambda fact: ("Section", fact),
}


def key_of(fact):
    """Give what makes two facts the same: contexts and descriptions do not count."""
    return _KEYS[type(fact)](fact)


def fact_key(sheet, field):
    """Give the key of the fact that a field names, see `key_of`; that of a side names it."""
    fact = fact_at(sheet, field)
    if field.startswith("parties."):
        return "PartyType", (field.removeprefix("parties."), fact)
    return ("Outcome", fact) if field == "outcome" else key_of(fact)


IN_DAYS = {"hours": 1 / 24, "days": 1, "weeks": 7, "months": 30, "years": 360}


def in_days(value, unit):
    """Bring a length of time to days, so that equal ones compare equal; None for other units."""
    return round(value * IN_DAYS[unit], 6) if unit in IN_DAYS else None


# ---- the query that a sheet stands for

TEMPLATE_LIMITS = {"sections": 8, "evidence": 6, "numbers": 2}  # limits of the documented template


def query_text(sheet, outcome=False, caps=True, words=False):
    """Write the query of a fact sheet by the documented template.

    `caps` keeps the documented limits: facts beyond them change nothing, so an edit of such a fact
    is a no-op; `outcome` also states the outcome, as the documents do; `words` writes
    ``Union Of India`` for ``UnionOfIndia``.
    """
    limits = TEMPLATE_LIMITS if caps else dict.fromkeys(TEMPLATE_LIMITS)
    label = in_words if words else str
    evidence = {item.evidence_type for item in sheet.evidence_items[: limits["evidence"]]}
    parts = {
        "Sections cited": list(sheet.sections_cited[: limits["sections"]]),
        "Evidence": [label(name) for name in sorted(evidence)],
    }
    for kind in NUMBERS:
        numbers = getattr(sheet.numerical_facts, kind)[: limits["numbers"]]
        parts[kind.capitalize()] = list(map(_number_with_subject, numbers))
    parts["Outcome"] = [sheet.outcome] if outcome and sheet.outcome else []
    for fact in sheet.further_facts:
        parts.setdefault(fact.fact_type, []).append(further_text(fact))
    parties = sheet.parties
    sentences = [f"{label(parties.petitioner_type)} versus {label(parties.respondent_type)}."]
    sentences += [f"{name}: {', '.join(facts)}." for name, facts in parts.items() if facts]
    return " ".join(sentences)


def further_text(fact):
    """Write a further fact in its unit."""
    value = fact.value if isinstance(fact.value, str) else number_text(fact.value)
    return f"{value} {fact.unit}".strip()


def in_words(name):
    """A name of several words with blanks: ``Union Of India``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _number_with_subject(fact):
    text = f"{number_text(fact.value)} {getattr(fact, 'unit', 'years')}"
    subject = fact.descriptor if isinstance(fact, Age) else fact.context
    return f"{text} ({subject})" if subject else text


def number_text(value):
    """Write a number plainly: no exponent, no trailing ``.0``."""
    return str(int(value)) if value == int(value) else f"{value:.10f}".rstrip("0").rstrip(".")
