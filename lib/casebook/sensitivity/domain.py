"""What a field of law reads: its acts, and fact types of one's own from one YAML file.

The file is laid over the tables of the library: what it adds is added, and an entry of the same
name replaces the library's.
"""

import csv
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.readers import read_yaml

ACTS = Path(__file__).with_name("acts.csv")
STRUCTURE = Path(__file__).with_name("act_structure.json")
FACT_TYPES = ("Numerical", "Section", "PartyType", "Evidence")
"""Canonical fact types, in the documented order."""


_LETTER = "[A-Za-z0-9_]"  # a form is whole words; scripts without blanks between them have none


def _listed(forms):
    return [forms] if isinstance(forms, str) else forms


Name = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^:;\n]{1,60}$")]
Text = Annotated[str, StringConstraints(min_length=2, max_length=2000)]
Number = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FactType(_Entry):
    """A fact type of one's own: words with their forms, or a number that a pattern finds."""

    name: Name
    values: dict[Name, Annotated[list[Text], BeforeValidator(_listed)]] | None = None
    ordered: bool = False
    pattern: Text | None = None
    unit: str = ""
    alternatives: list[Number] = []
    least: Number = 0
    most: Number = 1e15

    @model_validator(mode="after")
    def _finds(self):
        if (self.values is None) == (self.pattern is None):
            raise ValueError("give either values (words) or pattern (a number)")
        for finder in self.finders.values():
            if finder.search(""):
                raise ValueError(f"{finder.pattern!r} matches the empty text")
            if self.is_number and "value" not in finder.groupindex:
                raise ValueError("the pattern needs the group (?P<value>...) around its number")
        return self

    @property
    def is_number(self):
        return self.pattern is not None

    @cached_property
    def finders(self):
        """Compiled patterns by value; a number has one, under None."""
        patterns = {None: self.pattern}
        if not self.is_number:
            words = rf"(?<!{_LETTER})(?:{{}})(?!{_LETTER})"
            patterns = {value: words.format("|".join(fs)) for value, fs in self.values.items()}
        try:
            return {key: re.compile(form, re.IGNORECASE) for key, form in patterns.items()}
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None

    def problem(self, value):
        """Why a value is none of this type; None if it is one."""
        if not self.is_number:
            return None if value in self.values else f"choose from {', '.join(self.values)}"
        if isinstance(value, str) or not self.least <= value <= self.most:
            return f"give a number from {self.least:g} to {self.most:g}"
        return None

    def replacements(self, value):
        if not self.is_number:
            values = list(self.values)
            at = values.index(value)
            near = values[max(at - 1, 0) : at + 2]
            return [other for other in (near if self.ordered else values) if other != value]
        half = value // 2 if value == int(value) else value / 2
        numbers = sorted(self.alternatives or [half, 2 * value])
        return [n for n in numbers if n not in (0, value) and self.problem(n) is None]


class Act(_Entry):
    code: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]\w{0,39}$")]
    titles: list[Text] = Field(min_length=1)
    abbreviations: list[Text] = []
    country: str = "elsewhere"
    year: int | None = None
    chapter: str = ""
    matter: Literal["civil", "criminal"] | None = None
    marks: list[Literal["injury", "family"]] = []
    sections: list[int | str] | dict[int | str, list[int | str]] = []

    @model_validator(mode="after")
    def _numbers(self):
        _ = self.chapters  # so that a section that is none is refused here
        return self

    @cached_property
    def chapters(self):
        listed = self.sections if isinstance(self.sections, dict) else {"": self.sections}
        chapters = {}
        for chapter, numbers in listed.items():
            chapters[chapter] = [number for text in numbers for number in _span(str(text))]
        return chapters


def _span(text):
    """The numbers of ``12``, ``12A`` or ``33-41``."""
    match = re.fullmatch(r"(\d{1,3})\s?-\s?(\d{1,3})|\d{1,3}[A-Z]{0,3}", text)
    if match is None:
        raise ValueError(f"{text!r} is no section: give 12, 12A or a span such as 33-41")
    if match[1] is None:
        return [text]
    return [str(number) for number in range(int(match[1]), int(match[2]) + 1)]


@dataclass(frozen=True, eq=False)
class Domain:
    """Acts by code, the chapters of their sections, and further fact types by name."""

    acts: dict = field(repr=False)
    structure: dict = field(repr=False)
    types: dict = field(default_factory=dict)
    account: dict | None = None  # of a file of one's own, as plain data
    notes: tuple = ()

    @property
    def fact_types(self):
        return tuple(dict.fromkeys([*FACT_TYPES, *self.types]))

    def acts_marked(self, mark):
        """Codes of the acts with a mark (``injury``, ``family``) or of a matter (``criminal``)."""
        acts = self.acts.items()
        return {code for code, act in acts if mark in act.marks or mark == act.matter}


def _shipped():
    acts = {}
    with ACTS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for column in ("titles", "abbreviations", "marks"):
                row[column] = [text for text in row[column].split(";") if text]
            row["matter"] = row["matter"] or None
            acts[row["code"]] = Act(**row)
    return Domain(acts, json.loads(STRUCTURE.read_text(encoding="utf-8")))


SHIPPED_DOMAIN = _shipped()
"""The tables of the library: acts of India and Singapore."""


# ---- from a file


class _File(_Entry):
    facts: list[FactType] = []
    acts: list[Act] = []

    @model_validator(mode="after")
    def _entries(self):
        names = [entry.name for entry in self.facts] + [entry.code for entry in self.acts]
        if not names:
            raise ValueError("give the lists facts, acts or both")
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"{min(repeated)!r} comes twice: put both into one entry")
        return self


def read_domain(path):
    """Fact types and acts of one's own, laid over those of the library.

    Without a file it is the library's tables.
    """
    if path is None:
        return SHIPPED_DOMAIN
    path = Path(path)
    content = validate_record(path, read_yaml(path), _File)
    types = {entry.name: entry for entry in content.facts}
    acts = {entry.code: entry for entry in content.acts}
    structure = dict(SHIPPED_DOMAIN.structure)
    for code, act in acts.items():
        structure.pop(f"{code}-Article-", None)
        structure.pop(f"{code}-", None)
        if act.sections:
            structure[f"{code}-"] = act.chapters
    account = {"file": path.name, "sha256": sha256_file(path)}
    account |= {"fact types": list(types), "acts": list(acts)}
    replaced = [name for name in types if name in FACT_TYPES]
    replaced += [code for code in acts if code in SHIPPED_DOMAIN.acts]
    notes = tuple(f"{path.name} replaces {name}" for name in replaced)
    acts = acts | SHIPPED_DOMAIN.acts | acts  # those of one's own come first
    return Domain(acts, structure, types, account, notes)


def validate_record(where, record, model):
    """An entry or a row of a file as a pydantic model; one that does not fit is refused."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        keys = ", ".join(model.model_fields)
        problem = first_problem(error).replace("Value error, ", "")
        raise InputError(f"{where}: {problem}; the keys are {keys}") from error
