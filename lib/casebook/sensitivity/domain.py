"""What a field of law reads: its acts, and fact types of the user's own from one YAML file.

The file is laid over the tables of the library: what it adds is added, and an entry of the same
name replaces the library's. `read_domain` refuses what cannot be used, by file and entry.
"""

import csv
import hashlib
import json
import re
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
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
from casebook.readers import read_yaml

ACTS = Path(__file__).with_name("acts.csv")
STRUCTURE = Path(__file__).with_name("act_structure.json")
FACT_TYPES = ("Numerical", "Section", "PartyType", "Evidence")
"""Canonical fact types, in the documented order."""
RESERVED = ("Placebo", "all", "all facts")  # names of rows of the tables
SLOWEST_SEARCH = 2.0  # seconds that one pattern may take on one text
LARGEST_ACT = 999  # highest number of a section that the rules read


def _listed(forms):
    return [forms] if isinstance(forms, str) else forms


Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=r"^[^:;\n]+$"),
]
Title = Annotated[str, StringConstraints(min_length=2, max_length=200, pattern=r"^\w.*\w$")]
Abbreviation = Annotated[  # of capitals, each with a small letter at most: IPC, CrPC, Arms Act
    str, StringConstraints(pattern=r"^(?:[A-Z][a-z]?|/)+(?: (?:Act|(?:[A-Z][a-z]?|/)+))*$")
]
Form = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Forms = Annotated[list[Form], BeforeValidator(_listed), Field(min_length=1)]
Number = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FactType(_Entry):
    """A fact type of the user's own: words with their forms, or a number that a pattern finds."""

    name: Name
    values: dict[Name, Forms] | None = Field(None, min_length=2)
    ordered: bool = False
    pattern: Form | None = None
    unit: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)] = ""
    alternatives: list[Number] | None = Field(None, min_length=1)
    least: Number = 0
    most: Number = 1e15

    @model_validator(mode="after")
    def _one_kind(self):
        if (self.values is None) == (self.pattern is None):
            raise ValueError("give either values (words) or pattern (a number)")
        numeric = {"unit", "alternatives", "least", "most"} & self.model_fields_set
        if self.values and numeric:
            raise ValueError(f"{min(numeric)} is of a number: leave it out, or give a pattern")
        if self.pattern and self.ordered:
            raise ValueError("a number is ordered already: leave ordered out")
        if self.least > self.most:
            raise ValueError(f"least is {self.least:g} and most {self.most:g}: exchange them")
        for number in self.alternatives or ():
            if not self.least <= number <= self.most:
                raise ValueError(f"alternative {number:g} is not between least and most")
        return self

    @model_validator(mode="after")
    def _patterns(self):
        value_of_form = {}
        for value, forms in (self.values or {None: [self.pattern]}).items():
            for form in forms:
                _check_pattern(form)
                if value_of_form.setdefault(form, value) != value:
                    raise ValueError(f"{form!r} tells {value_of_form[form]} and {value}")
        if self.pattern and "value" not in re.compile(self.pattern).groupindex:
            raise ValueError("the pattern needs the group (?P<value>...) around its number")
        _ = self.finders  # compiled once, so that forms that do not go together are refused
        return self

    @property
    def is_number(self):
        """Whether its facts are numbers."""
        return self.pattern is not None

    @cached_property
    def finders(self):
        """Compiled patterns by value; a number has one, under None."""
        if self.is_number:
            return {None: re.compile(self.pattern, re.IGNORECASE)}
        finders = {}
        for value, forms in self.values.items():
            try:
                finders[value] = re.compile("|".join(map(_whole_words, forms)), re.IGNORECASE)
            except re.error as error:
                raise ValueError(f"the forms of {value} do not go together: {error}") from None
        return finders

    def problem(self, value):
        """Say why a value is none of this type; None if it is one."""
        if not self.is_number:
            return None if value in self.values else f"choose from {', '.join(self.values)}"
        if isinstance(value, str) or not self.least <= value <= self.most:
            return f"give a number from {self.least:g} to {self.most:g}"
        return None

    def replacements(self, value):
        """Give the values that an edit may put in the place of one."""
        if not self.is_number:
            values = list(self.values)
            if not self.ordered:
                return [candidate for candidate in values if candidate != value]
            at = values.index(value)
            return [values[near] for near in (at - 1, at + 1) if 0 <= near < len(values)]
        whole = value == int(value)
        numbers = self.alternatives or [value // 2 if whole else value / 2, 2 * value]
        return [
            number
            for number in sorted(numbers)
            if number != value and number > 0 and self.problem(number) is None
        ]


class Act(_Entry):
    """An act of the user's own, as texts name it, and the numbers of its sections."""

    code: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]\w*$", max_length=40)]
    titles: list[Title] = Field(min_length=1)
    abbreviations: list[Abbreviation] = []
    country: Literal["IN", "SG", "elsewhere"] = "elsewhere"
    year: Annotated[int, Field(ge=1000, le=2999)] | None = None
    matter: Literal["civil", "criminal"] | None = None
    marks: list[Literal["injury", "family"]] = []
    sections: list[int | str] | dict[int | str, list[int | str]] = []

    @model_validator(mode="after")
    def _numbers(self):
        for chapter, numbers in self.chapters.items():
            repeated = [number for number, count in Counter(numbers).items() if count > 1]
            if repeated:
                where = f" of chapter {chapter}" if chapter else ""
                raise ValueError(f"section {repeated[0]}{where} stands twice")
        return self

    @cached_property
    def chapters(self):
        """Numbers of the sections by chapter, spans such as ``33-41`` written out."""
        listed = self.sections if isinstance(self.sections, dict) else {"": self.sections}
        return {
            chapter: [number for text in numbers for number in _span(str(text))]
            for chapter, numbers in listed.items()
            if numbers
        }

    def row(self):
        """Give its row of the table of acts."""
        return {
            "code": self.code,
            "country": self.country,
            "year": str(self.year or ""),
            "chapter": "",
            "titles": self.titles,
            "abbreviations": self.abbreviations,
            "matter": self.matter or "",
            "marks": self.marks,
        }


def _whole_words(form):
    """Let a form match whole words only, unless it is of a script without blanks between words."""
    if re.search("[\u2e80-\uffef]", form):
        return f"(?:{form})"
    return rf"(?<!\w)(?:{form})(?!\w)"


def _check_pattern(form):
    """Refuse what is no regular expression, or one that finds nothing everywhere."""
    try:
        compiled = re.compile(form)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{form!r} is no regular expression: {error}") from None
    if compiled.search(""):
        raise ValueError(f"{form!r} matches the empty text: say what must stand there")


def _span(text):
    """Give the numbers of ``12``, ``12A`` or ``33-41``."""
    first, dash, last = text.replace(" ", "").partition("-")
    if dash and first.isdigit() and last.isdigit() and int(first) < int(last) <= LARGEST_ACT:
        return [str(number) for number in range(int(first), int(last) + 1)]
    if not re.fullmatch(r"\d{1,3}[A-Z]{0,3}", text):
        raise ValueError(f"{text!r} is no section: give 12, 12A or a span such as 33-41")
    return [text]


@dataclass(frozen=True, eq=False)
class Domain:
    """Acts by code, the chapters of their sections, and further fact types by name."""

    acts: dict = field(repr=False)
    structure: dict = field(repr=False)
    types: dict = field(default_factory=dict)
    further_acts: tuple = ()
    file: str | None = None
    sha256: str | None = None
    notes: tuple = ()

    @property
    def fact_types(self):
        """Names of all fact types: the library's, then the user's own."""
        return (*FACT_TYPES, *(name for name in self.types if name not in FACT_TYPES))

    def acts_marked(self, mark):
        """Codes of the acts with a mark (``injury``, ``family``) or of a matter (``criminal``)."""
        return frozenset(
            code for code, act in self.acts.items() if mark in act["marks"] or mark == act["matter"]
        )

    def account(self):
        """Describe the user's own file as plain data; None without one."""
        if self.file is None:
            return None
        return {
            "file": self.file,
            "sha256": self.sha256,
            "fact types": list(self.types),
            "acts": list(self.further_acts),
        }


def _shipped():
    with ACTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for column in ("titles", "abbreviations", "marks"):
            row[column] = [text for text in row[column].split(";") if text]
    structure = json.loads(STRUCTURE.read_text(encoding="utf-8"))
    return Domain({row["code"]: row for row in rows}, structure)


SHIPPED_DOMAIN = _shipped()
"""The tables of the library: acts of India and Singapore."""


# ---- from a file


def read_domain(path):
    """Read fact types and acts of the user's own, laid over those of the library.

    Without a file it is the library's tables.
    """
    if path is None:
        return SHIPPED_DOMAIN
    path = Path(path)
    content = read_yaml(path)
    if not isinstance(content, dict) or not content:
        raise InputError(f"{path}: give the lists facts, acts or both")
    unknown = sorted(map(str, content.keys() - {"facts", "acts"}))
    if unknown:
        raise InputError(f"{path}: unknown key {unknown[0]!r}: the keys are facts, acts")
    types = {entry.name: entry for entry in _entries(path, content, "facts", FactType, "name")}
    further_acts = {entry.code: entry for entry in _entries(path, content, "acts", Act, "code")}
    if not types and not further_acts:
        raise InputError(f"{path}: holds no fact type and no act: add one, or leave the file out")
    _check_names(path, types)
    _check_codes(path, further_acts)
    for entry in types.values():
        _check_speed(path, entry)
    notes = [f"{path.name} replaces the fact type {name}" for name in types if name in FACT_TYPES]
    notes += [
        f"{path.name} replaces the act {code}"
        for code in further_acts
        if code in SHIPPED_DOMAIN.acts
    ]
    structure = dict(SHIPPED_DOMAIN.structure)
    for code, act in further_acts.items():
        for prefix in (f"{code}-", f"{code}-Article-"):
            structure.pop(prefix, None)
        if act.chapters:
            structure[f"{code}-"] = act.chapters
    return Domain(
        acts=SHIPPED_DOMAIN.acts | {code: act.row() for code, act in further_acts.items()},
        structure=structure,
        types=types,
        further_acts=tuple(further_acts),
        file=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        notes=tuple(notes),
    )


def validate_record(where, record, model):
    """An entry or a row of a file as a pydantic model; one that does not fit is refused."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        keys = ", ".join(model.model_fields)
        problem = first_problem(error).replace("Value error, ", "")
        raise InputError(f"{where}: {problem}; the keys are {keys}") from error


def _entries(path, content, key, model, naming):
    """Check the entries of one list; an error names the entry and the keys that it may have."""
    listed = content.get(key)
    if key not in content:
        return []
    if not isinstance(listed, list) or not listed:
        raise InputError(f"{path}: {key} is no list of entries: begin each with '- {naming}:'")
    entries = []
    for number, record in enumerate(listed, 1):
        where = f"{path}: {key} {number}"
        if not isinstance(record, dict):
            raise InputError(f"{where}: is no mapping: begin it with '{naming}:'")
        if record.get(naming):
            where += f" ({record[naming]})"
        entry = validate_record(where, record, model)
        if getattr(entry, naming) in [getattr(earlier, naming) for earlier in entries]:
            raise InputError(f"{where}: comes twice: put both into one entry")
        entries.append(entry)
    return entries


def _check_names(path, types):
    """Refuse names that a table could mistake for another."""
    names = {name.casefold(): name for name in (*RESERVED, *FACT_TYPES)}
    for name in types:
        holder = names.setdefault(name.casefold(), name)
        if holder != name or name in RESERVED:
            raise InputError(
                f"{path}: facts ({name}): the name is taken by {holder}: choose another"
            )


def _check_codes(path, acts):
    """Refuse codes that read as a unit, and a title or abbreviation of two acts of the file."""
    holders = {}
    for code, act in acts.items():
        if re.fullmatch(r"(?i)u?/?ss?|secs?|sections?|arts?|articles?|unknown", code):
            raise InputError(f"{path}: acts ({code}): reads as a unit, not as an act: rename it")
        for name in dict.fromkeys((*act.titles, *act.abbreviations)):
            holder = holders.setdefault((name.casefold(), act.year), code)
            if holder != code:
                raise InputError(
                    f"{path}: acts ({code}): {name!r} is a name of {holder} too: "
                    "give each its year, or one of them another name"
                )


# ---- patterns of others, which may never end

_PROBES = tuple(sample * 400 + "!" for sample in ("a", "1", " ", "a ", "1,", "the 30 days of "))


class _TooSlow(Exception):
    """A pattern took longer than a search may take."""


@contextmanager
def _time_limit(seconds):
    """Interrupt what runs too long; only where signals reach, in the main thread of POSIX."""
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "setitimer")):
        yield
        return

    def interrupt(_, __):
        raise _TooSlow

    earlier = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def matches(finder, text, name):
    """Find a pattern of the user's own everywhere in a text; one that does not end is refused."""
    try:
        with _time_limit(SLOWEST_SEARCH):
            return list(finder.finditer(text))
    except _TooSlow:
        raise InputError(
            f"fact type {name!r}: a search for {finder.pattern!r} takes more than "
            f"{SLOWEST_SEARCH:g} s: avoid repetitions within repetitions, such as (a+)+"
        ) from None


def _check_speed(path, entry):
    for finder, probe in product(entry.finders.values(), _PROBES):
        try:
            matches(finder, probe, entry.name)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
