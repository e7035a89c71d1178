"""Fact sheets: read and checked, hashed, listed fact by fact, and written as a query."""

import hashlib
import json
import re
from operator import attrgetter
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StringConstraints,
)

from casebook.errors import InputError
from casebook.sensitivity.citations import normalise_section, word_lists
from casebook.sensitivity.domain import FACT_TYPES, SHIPPED_DOMAIN, validate_record

PARTY_TYPES = tuple(word_lists()["party_types"])
EVIDENCE_TYPES = tuple(word_lists()["evidence"])
CASE_OUTCOMES = ("Allowed", "Dismissed", "Disposed", "Partly Allowed", "Unknown")
NUMBERS = ("amounts", "ages", "durations")
PARTY_SIDES = ("petitioner", "respondent")
LARGEST_NUMBER = 1e15  # beyond it a float no longer distinguishes two amounts
ADULT = 18  # age of majority in India; Singapore's tests of minority lie at or above
OLDEST_PERSON = 130


def as_integer(value):
    """A number with a whole value as an integer, so that 3 and 3.0 are the same."""
    return int(value) if value == int(value) else float(value)


def number_text(value):
    return str(int(value)) if value == int(value) else f"{value:.10f}".rstrip("0").rstrip(".")


Number = Annotated[
    float,
    Field(strict=True, ge=0, le=LARGEST_NUMBER, allow_inf_nan=False),
    AfterValidator(as_integer),
]
FactText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)]
FactName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    form: ClassVar = "{value} {unit}"

    def __str__(self):
        """The fact in words; contexts and descriptions are left out."""
        value = getattr(self, "value", "")
        text = value if isinstance(value, str) else number_text(value)
        return self.form.format_map(vars(self) | {"value": text}).strip()


class Parties(_Part):
    """Kind of each side, out of ``PARTY_TYPES``."""

    petitioner_type: Literal[PARTY_TYPES] = "Unknown"
    respondent_type: Literal[PARTY_TYPES] = "Unknown"


class EvidenceItem(_Part):
    """One item of evidence, its type out of ``EVIDENCE_TYPES``."""

    form: ClassVar = "{evidence_type}"
    evidence_type: Literal[EVIDENCE_TYPES]
    description: FactText = ""


class Amount(_Part):
    """A sum of money: ``500000``, ``rupees``, ``compensation``."""

    value: Number
    unit: FactText = "rupees"
    context: FactText = ""


class Age(_Part):
    form: ClassVar = "age {value}"
    value: Number
    descriptor: FactText = ""


class Duration(Amount):
    """A length of time: ``2.5``, ``years``, ``imprisonment``."""

    unit: FactText = "years"


class NumericalFacts(_Part):
    amounts: tuple[Amount, ...] = ()
    ages: tuple[Age, ...] = ()
    durations: tuple[Duration, ...] = ()


class FurtherFact(_Part):
    """A fact of a type of one's own: ``vessel flag``, ``Liberia``."""

    fact_type: FactName
    value: StrictInt | StrictFloat | FactName
    unit: FactText = ""


class FactSheet(_Part):
    case_id: FactName
    parties: Parties = Parties()
    evidence_items: tuple[EvidenceItem, ...] = ()
    sections_cited: tuple[FactName, ...] = ()
    numerical_facts: NumericalFacts = NumericalFacts()
    outcome: Literal[CASE_OUTCOMES] | None = None
    further_facts: tuple[FurtherFact, ...] = ()


# ---- reading, checking, writing


def from_dict(record, where="fact sheet", empty=False, domain=SHIPPED_DOMAIN):
    """Build a fact sheet from plain data; errors name the field.

    `empty` allows a sheet without a fact; `domain` has the acts and further fact types.
    """
    sheet = validate_record(where, record, FactSheet)
    sections = [normalise_section(name, domain) or name for name in sheet.sections_cited]
    units = {name: kind.unit for name, kind in domain.types.items()}
    further = []
    for fact in sheet.further_facts:
        unit = fact.unit or units.get(fact.fact_type, "")
        further.append(fact.model_copy(update={"unit": unit}))
    checked = {"sections_cited": tuple(sections), "further_facts": tuple(further)}
    sheet = sheet.model_copy(update=checked)
    problems = [*_foreign_facts(sheet, domain), *contradictions(sheet)]
    if not (problems or empty or present_types(sheet)):
        problems = ["(whole): has no fact, so nothing to change"]
    if problems:
        raise InputError(f"{where}: field {problems[0]}")
    return sheet


def _foreign_facts(sheet, domain):
    """Further facts that are none of the domain, and facts of a type that it has replaced."""
    for fact in facts_of(sheet):
        kind = domain.types.get(fact.type)
        if fact.field.startswith("further_facts"):
            known = ", ".join(domain.types) or "none: name the file of your facts"
            problem = f"unknown type {fact.type!r}: choose from {known}"
            if kind:
                problem = kind.problem(fact.value.value)
            if problem:
                yield f"{fact.field}: {fact.text!r}: {problem}"
        elif kind:
            yield f"{fact.field}: your {fact.type} replaces ours: write it under further_facts"


def to_dict(sheet):
    """A fact sheet as plain data, as `from_dict` takes it; further facts only where there are."""
    record = sheet.model_dump()
    if not sheet.further_facts:
        del record["further_facts"]
    return record


def canonical_json(sheet):
    """A sheet's facts in one way only, 3.0 as 3; the case id is left out."""
    facts = to_dict(sheet)
    del facts["case_id"]
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sheet_hash(sheet):
    return hashlib.sha256(canonical_json(sheet).encode()).hexdigest()


def contradictions(sheet):
    """What cannot be true at once: two values of one subject, impossible ages, facts twice."""
    problems = []
    sides = {side: getattr(sheet.parties, f"{side}_type") for side in PARTY_SIDES}
    first = {}
    for fact in facts_of(sheet):
        if fact.field.startswith("numerical_facts"):
            subject = number_subject(fact.value).casefold()
            if not subject:
                continue
            unit = getattr(fact.value, "unit", "").casefold()
            earlier = first.setdefault((fact.kind, subject, unit), fact)
            if earlier.text != fact.text:
                problem = f"{fact.text} contradicts {earlier.text} for {subject!r}"
                problems.append(f"{fact.field}: {problem}")
        elif first.setdefault((fact.kind, fact.value), fact).field != fact.field:
            problems.append(f"{fact.field}: {fact.text!r} stands twice")
    for at, age in enumerate(sheet.numerical_facts.ages):
        is_minor = sides.get(age.descriptor.casefold()) == "Minor"
        if age.value > OLDEST_PERSON:
            problems.append(f"numerical_facts.ages.{at}: nobody is {age.value} years old")
        elif is_minor and age.value >= ADULT:
            problems.append(f"numerical_facts.ages.{at}: a Minor of {age.value} years")
    return problems


# ---- facts one by one


class Fact(NamedTuple):
    """A fact: its type, its kind (``ages``), the field that holds it, and what is there."""

    type: str
    kind: str
    field: str
    value: object

    @property
    def text(self):
        return str(self.value)

    @property
    def key(self):
        """What makes two facts the same: contexts and descriptions do not count."""
        return self.kind, self.text


LISTS = {
    "evidence_items": ("Evidence", "evidence_items"),
    "sections_cited": ("Section", "sections_cited"),
    "amounts": ("Numerical", "numerical_facts.amounts"),
    "ages": ("Numerical", "numerical_facts.ages"),
    "durations": ("Numerical", "numerical_facts.durations"),
    "further_facts": ("", "further_facts"),
}


def facts_of(sheet):
    """Every fact of a sheet but its outcome, as `Fact`."""
    for side in PARTY_SIDES:
        value = getattr(sheet.parties, f"{side}_type")
        if value != "Unknown":
            yield Fact("PartyType", side, f"parties.{side}_type", value)
    for kind, (fact_type, field) in LISTS.items():
        for at, value in enumerate(attrgetter(field)(sheet)):
            own = getattr(value, "fact_type", "")
            yield Fact(own or fact_type, own or kind, f"{field}.{at}", value)


def present_types(sheet):
    types = dict.fromkeys(fact.type for fact in facts_of(sheet))
    return tuple(dict.fromkeys([*filter(types.__contains__, FACT_TYPES), *types]))


def number_subject(fact):
    """What a number is about; empty where the sheet does not say."""
    return fact.descriptor if isinstance(fact, Age) else fact.context


# ---- the query that a sheet is searched by

TEMPLATE_LIMITS = {"sections": 8, "evidence": 6, "numbers": 2}  # limits of the documented template


def query_text(sheet, outcome=False, caps=True, words=False):
    """The query of a fact sheet by the documented template.

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
        parts.setdefault(fact.fact_type, []).append(str(fact))
    sides = [label(getattr(sheet.parties, f"{side}_type")) for side in PARTY_SIDES]
    sentences = [f"{' versus '.join(sides)}."]
    sentences += [f"{name}: {', '.join(facts)}." for name, facts in parts.items() if facts]
    return " ".join(sentences)


def in_words(name):
    """A name of several words with blanks: ``Union Of India``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _number_with_subject(fact):
    text = f"{number_text(fact.value)} {getattr(fact, 'unit', 'years')}"
    subject = number_subject(fact)
    return f"{text} ({subject})" if subject else text
