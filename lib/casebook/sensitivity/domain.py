"""What a field of law reads: its acts, and fact types of one's own from one YAML file.

The file is laid over the tables of the library: what it adds is added, and an entry of the same
name replaces the library's.
"""

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.readers import read_yaml

ACTS = Path(__file__).with_name("acts.yml")
STRUCTURE = Path(__file__).with_name("act_structure.json")
# Canonical fact types, in the documented order.
FACT_TYPES = ("Numerical", "Section", "PartyType", "Evidence")

# A form is whole words; scripts without blanks between them have none.
_WHOLE_WORDS = "(?i)(?<![A-Za-z0-9_])(?:{})(?![A-Za-z0-9_])"


def _listed(forms):
    return [forms] if isinstance(forms, str) else forms


Name = Annotated[str, Field(pattern=r"^\s*[^:;\s][^:;\n]{0,59}$")]
Number = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Forms = Annotated[list[re.Pattern], BeforeValidator(_listed)]


class _Entry(pydantic.BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FactType(_Entry):
    # A fact type of one's own: words with their forms, or a number that a pattern finds.

    name: Name
    values: dict[Name, Forms] = {}
    ordered: bool = False
    pattern: re.Pattern | None = None
    unit: str = ""
    alternatives: list[Number] = []
    least: Number = 0
    most: Number = 1e15

    @model_validator(mode="after")
    def _finds(self):
        if bool(self.values) == bool(self.pattern):
            raise ValueError("give either values (words) or pattern (a number)")
        if self.pattern and "value" not in self.pattern.groupindex:
            raise ValueError("the pattern needs the group (?P<value>...) around its number")
        return self

    @cached_property
    def finders(self):
        # Compiled patterns by value; a number has one, under None.
        if self.pattern:
            return {None: re.compile(self.pattern.pattern, re.IGNORECASE)}
        finders = {}
        for value, forms in self.values.items():
            either = "|".join(form.pattern for form in forms)
            finders[value] = re.compile(_WHOLE_WORDS.format(either))
        return finders

    def problem(self, value):
        # Why a value is none of this type; None if it is one.
        if not self.pattern:
            return None if value in self.values else f"choose from {', '.join(self.values)}"
        if isinstance(value, str) or not self.least <= value <= self.most:
            return f"give a number from {self.least:g} to {self.most:g}"
        return None

    def replacements(self, value):
        if self.pattern:
            half = value // 2 if value == int(value) else value / 2
            numbers = sorted(self.alternatives or [half, 2 * value])
            return [n for n in numbers if n not in (0, value) and not self.problem(n)]
        near = list(self.values)
        if self.ordered:
            at = near.index(value)
            near = near[max(at - 1, 0) : at + 2]
        return [other for other in near if other != value]


def _numbered(spans):
    return [number for span in spans for number in _span(str(span))]


def _span(text):
    # The numbers of ``12``, ``12A`` or ``33-41``.
    match = re.fullmatch(r"(\d{1,3})\s?-\s?(\d{1,3})|\d{1,3}[A-Z]{0,3}", text)
    if match is None:
        raise ValueError(f"{text!r} is no section: give 12, 12A or a span such as 33-41")
    if match[1] is None:
        return [text]
    return [str(number) for number in range(int(match[1]), int(match[2]) + 1)]


class Act(_Entry):
    code: Annotated[str, Field(pattern=r"^[A-Za-z]\w{0,39}$")]
    titles: list[str] = Field(min_length=1)
    abbreviations: list[str] = []
    country: str = "elsewhere"
    year: int | None = None
    chapter: str = ""
    matter: Literal["civil", "criminal"] | None = None
    marks: list[Literal["injury", "family"]] = []
    sections: Annotated[list[int | str], AfterValidator(_numbered)] = []


class _File(_Entry):
    facts: list[FactType] = []
    acts: list[Act] = []

    @model_validator(mode="after")
    def _entries(self):
        names = [entry.name for entry in self.facts] + [entry.code for entry in self.acts]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"{min(repeated)!r} comes twice: put both into one entry")
        return self


@dataclass(frozen=True, eq=False)
class Domain:
    """Acts by code, the chapters of their sections, and further fact types by name."""

    acts: dict = field(repr=False)
    structure: dict = field(repr=False)
    types: dict = field(default_factory=dict)
    notes: tuple = ()  # on a file of one's own

    @property
    def fact_types(self):
        return tuple(dict.fromkeys([*FACT_TYPES, *self.types]))


def validate_record(where, record, model):
    # An entry or a row of a file as a pydantic model; one that does not fit is refused.
    try:
        return model.model_validate(record)
    except pydantic.ValidationError as error:
        keys = ", ".join(model.model_fields)
        problem = first_problem(error).replace("Value error, ", "")
        raise InputError(f"{where}: {problem}; the keys are {keys}") from error


def _read(path):
    content = validate_record(path, read_yaml(path), _File)
    return {act.code: act for act in content.acts}, {kind.name: kind for kind in content.facts}


# The tables of the library: acts of India and Singapore.
SHIPPED_DOMAIN = Domain(_read(ACTS)[0], json.loads(STRUCTURE.read_text(encoding="utf-8")))


def read_domain(path):
    """Fact types and acts of one's own, laid over those of the library.

    Without a file it is the library's tables.
    """
    if path is None:
        return SHIPPED_DOMAIN
    acts, types = _read(path)
    structure = dict(SHIPPED_DOMAIN.structure)
    for code, act in acts.items():
        structure.pop(f"{code}-Article-", None)
        structure[f"{code}-"] = {"": act.sections} if act.sections else {}
    name = Path(path).name
    replaced = [entry for entry in (*types, *acts) if entry in (*FACT_TYPES, *SHIPPED_DOMAIN.acts)]
    notes = [f"{name}: {len(types)} fact types, {len(acts)} acts"]
    notes += [f"{name} replaces {entry}" for entry in replaced]
    acts = acts | SHIPPED_DOMAIN.acts | acts  # those of one's own come first
    return Domain(acts, structure, types, tuple(notes))
