"""Fact sheets: read and checked, hashed, listed fact by fact, and written as a query."""

import hashlib
import re
from collections import namedtuple
from operator import attrgetter
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
)

from casebook.errors import InputError
from casebook.sensitivity.domain import (
    SHIPPED_DOMAIN,
    normalise_section,
    validate_record,
    word_lists,
)

PARTY_TYPES = tuple(word_lists()["party_types"])
EVIDENCE_TYPES = tuple(word_lists()["evidence"])
NUMBERS = ("amounts", "ages", "durations")
PARTY_SIDES = ("petitioner", "respondent")
LARGEST_NUMBER = 1e15  # beyond it a float no longer distinguishes two amounts
ADULT = 18  # age of majority in India; Singapore's tests of minority lie at or above


def as_integer(value):
    """A whole number as an integer, so that 3 and 3.0 are the same."""
    return int(value) if value == int(value) else float(value)


def number_text(value):
    return f"{as_integer(value):.15g}"


Number = Annotated[
    float, Field(strict=True, ge=0, le=LARGEST_NUMBER), AfterValidator(as_integer)
]
FactName = Annotated[str, Field(min_length=1, max_length=200)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        str_strip_whitespace=True,
        str_max_length=2000,
    )
    form: ClassVar = "{value} {unit}"

    @property
    def subject(self):
        return getattr(self, "context", "") or getattr(self, "descriptor", "")

    def __str__(self):
        """The fact in words; contexts and descriptions are left out."""
        value = getattr(self, "value", "")
        text = value if isinstance(value, str) else number_text(value)
        return self.form.format_map(vars(self) | {"value": text}).strip()


class Parties(_Part):
    petitioner_type: Literal[PARTY_TYPES] = "Unknown"
    respondent_type: Literal[PARTY_TYPES] = "Unknown"


class EvidenceItem(_Part):
    form: ClassVar = "{evidence_type}"
    evidence_type: Literal[EVIDENCE_TYPES]
    description: str = ""


class Amount(_Part):
    value: Number
    unit: str = "rupees"
    context: str = ""  # such as compensation


class Age(_Part):
    form: ClassVar = "age {value}"
    value: Number
    descriptor: str = ""  # such as victim


class Duration(Amount):
    unit: str = "years"


class NumericalFacts(_Part):
    amounts: tuple[Amount, ...] = ()
    ages: tuple[Age, ...] = ()
    durations: tuple[Duration, ...] = ()


class FurtherFact(_Part):
    # A fact of a type of one's own: ``vessel flag``, ``Liberia``.

    fact_type: FactName
    value: StrictInt | StrictFloat | FactName
    unit: str = ""


class FactSheet(_Part):
    case_id: FactName
    parties: Parties = Parties()
    evidence_items: tuple[EvidenceItem, ...] = ()
    sections_cited: tuple[FactName, ...] = ()
    numerical_facts: NumericalFacts = NumericalFacts()
    outcome: Literal[tuple(word_lists()["outcomes"])] | None = None
    further_facts: tuple[FurtherFact, ...] = ()


# ---- reading and checking


def from_dict(record, where="fact sheet", empty=False, domain=SHIPPED_DOMAIN):
    """Build a fact sheet from plain data; errors name the field.

    `empty` allows a sheet without a fact; `domain` has the acts and further fact types.
    """
    sheet = validate_record(where, record, FactSheet)
    problems = contradictions(sheet)
    further = []
    for at, fact in enumerate(sheet.further_facts):
        kind = domain.types.get(fact.fact_type)
        problem = (
            kind.problem(fact.value)
            if kind
            else f"choose from {', '.join(domain.types)}"
        )
        if problem:
            problems.insert(
                0, f"further_facts.{at}: {fact.fact_type} {str(fact)!r}: {problem}"
            )
        unit = fact.unit or getattr(kind, "unit", "")
        further.append(fact.model_copy(update={"unit": unit}))
    sections = [
        normalise_section(name, domain) or name for name in sheet.sections_cited
    ]
    checked = {"sections_cited": tuple(sections), "further_facts": tuple(further)}
    sheet = sheet.model_copy(update=checked)
    if not (empty or present_types(sheet)):
        problems.append("(whole): has no fact, so nothing to change")
    if problems:
        raise InputError(f"{where}: field {problems[0]}")
    return sheet


def facts_text(sheet):
    """The facts of a sheet as JSON, 3.0 as 3; the case id is left out."""
    return sheet.model_dump_json(exclude={"case_id"})


def sheet_hash(sheet):
    return hashlib.sha256(facts_text(sheet).encode()).hexdigest()


def contradictions(sheet):
    """What cannot be true at once: two values of one subject, or a Minor of age."""
    problems = []
    first = {}
    sides = vars(sheet.parties)
    for _, kind, field, number in facts_of(sheet):
        if kind not in NUMBERS:
            continue
        subject = number.subject.casefold()
        unit = getattr(number, "unit", "").casefold()
        if (
            subject
            and first.setdefault((kind, subject, unit), number.value) != number.value
        ):
            problems.append(
                f"{field}: {number} contradicts another number of {subject!r}"
            )
        is_minor = kind == "ages" and sides.get(f"{subject}_type") == "Minor"
        if is_minor and number.value >= ADULT:
            problems.append(f"{field}: a Minor of {number.value} years")
    return problems


# ---- facts one by one


class Fact(namedtuple("Fact", "type kind field value")):
    """A fact: its type, its kind (``ages``), the field that holds it, and what is there."""

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
    return {fact.type for fact in facts_of(sheet)}


# ---- the query that a sheet is searched by

MOST_SECTIONS = 8  # limits of the documented template
MOST_EVIDENCE = 6
MOST_NUMBERS = 2


def query_text(sheet, outcome=False):
    """The query of a fact sheet by the documented template.

    Facts beyond its limits change nothing, so an edit of such a fact is a no-op; `outcome` also
    states the outcome, as the documents do.
    """
    evidence = {item.evidence_type for item in sheet.evidence_items[:MOST_EVIDENCE]}
    parts = {
        "Sections cited": sheet.sections_cited[:MOST_SECTIONS],
        "Evidence": sorted(evidence),
    }
    for kind in NUMBERS:
        numbers = getattr(sheet.numerical_facts, kind)[:MOST_NUMBERS]
        parts[kind.capitalize()] = list(map(_number_in_query, numbers))
    if outcome and sheet.outcome:
        parts["Outcome"] = [sheet.outcome]
    for fact in sheet.further_facts:
        parts.setdefault(fact.fact_type, []).append(str(fact))
    parties = " versus ".join(vars(sheet.parties).values())
    sentences = [f"{parties}."]
    for name, of_part in parts.items():
        if of_part:
            values = ", ".join(of_part)
            sentences.append(f"{name}: {values}.")
    return " ".join(sentences)


def in_words(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _number_in_query(fact):
    unit = getattr(fact, "unit", "years")
    about = f" ({fact.subject})" if fact.subject else ""
    return f"{number_text(fact.value)} {unit}{about}"
