"""What a fact sheet is made of: vocabularies and frozen records."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, StringConstraints

FACT_TYPES = ("Numerical", "Section", "PartyType", "Evidence")
"""Canonical fact types, in the documented order."""

PARTY_TYPES = (
    "Individual",
    "Corporation",
    "State",
    "UnionOfIndia",
    "Minor",
    "Partnership",
    "ForeignNational",
    "PublicSector",
    "PrivateSector",
    "Employee",
    "Contractor",
    "Tenant",
    "Licensee",
    "Unknown",
)
EVIDENCE_TYPES = (
    "DyingDeclaration",
    "Confession",
    "MedicalReport",
    "Document",
    "Witness",
    "FIR",
    "PostMortem",
    "ExpertOpinion",
    "ElectronicRecord",
    "RecoveryMemo",
    "SiteInspection",
    "Circumstantial",
)
OUTCOMES = ("Allowed", "Dismissed", "Disposed", "Partly Allowed", "Unknown")
LARGEST = 1e15  # beyond it a float no longer tells two amounts apart

_STRICT = ConfigDict(extra="forbid")


def _number(value):
    """Accept a finite number that is not negative; whole ones become integers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if math.isnan(value) or not 0 <= value <= LARGEST:
        raise ValueError(f"must lie between 0 and {LARGEST:g}")
    return int(value) if value == int(value) else float(value)


Number = Annotated[int | float, BeforeValidator(_number)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
PartyType = Literal[PARTY_TYPES]


@dataclass(frozen=True)
class Parties:
    """Kind of each side, out of ``PARTY_TYPES``."""

    __pydantic_config__ = _STRICT
    petitioner_type: PartyType = "Unknown"
    respondent_type: PartyType = "Unknown"


@dataclass(frozen=True)
class EvidenceItem:
    """One item of evidence, its type out of ``EVIDENCE_TYPES``."""

    __pydantic_config__ = _STRICT
    evidence_type: Name
    description: Text = ""


@dataclass(frozen=True)
class Amount:
    """A sum of money: ``500000``, ``rupees``, ``compensation``."""

    __pydantic_config__ = _STRICT
    value: Number
    unit: Text = "rupees"
    context: Text = ""


@dataclass(frozen=True)
class Age:
    """An age in years and whose it is."""

    __pydantic_config__ = _STRICT
    value: Number
    descriptor: Text = ""


@dataclass(frozen=True)
class Duration:
    """A length of time: ``2.5``, ``years``, ``imprisonment``."""

    __pydantic_config__ = _STRICT
    value: Number
    unit: Text = "years"
    context: Text = ""


@dataclass(frozen=True)
class NumericalFacts:
    """All numbers of a case that are facts."""

    __pydantic_config__ = _STRICT
    amounts: tuple[Amount, ...] = ()
    ages: tuple[Age, ...] = ()
    durations: tuple[Duration, ...] = ()


@dataclass(frozen=True)
class FactSheet:
    """The facts of one case."""

    __pydantic_config__ = _STRICT
    case_id: Name
    parties: Parties = field(default_factory=Parties)
    evidence_items: tuple[EvidenceItem, ...] = ()
    sections_cited: tuple[Name, ...] = ()
    numerical_facts: NumericalFacts = field(default_factory=NumericalFacts)
    outcome: Literal[OUTCOMES] | None = None
