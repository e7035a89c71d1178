"""What a field of law reads: its acts and their citations, and fact types of one's own.

The file is laid over the tables of the library: what it adds is added, and an entry of the same
name replaces the library's.
"""

import itertools
import json
import re
from collections import namedtuple
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.readers import read_yaml

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
    """A fact type of one's own: words with forms, or a number that a pattern finds."""

    name: Name
    values: dict[Name, Forms] = {}
    pattern: re.Pattern | None = None
    unit: str = ""
    alternatives: list[Number] = []

    @model_validator(mode="after")
    def _finds(self):
        if bool(self.values) == bool(self.pattern):
            raise ValueError("give either values (words) or pattern (a number)")
        if self.pattern and "value" not in self.pattern.groupindex:
            raise ValueError(
                "the pattern needs the group (?P<value>...) around its number"
            )
        return self

    @cached_property
    def finders(self):
        """Compiled patterns by value; a number has one, under None."""
        if self.pattern:
            return {None: re.compile(self.pattern.pattern, re.IGNORECASE)}
        finders = {}
        for value, forms in self.values.items():
            either = "|".join(form.pattern for form in forms)
            finders[value] = re.compile(_WHOLE_WORDS.format(either))
        return finders

    def problem(self, value):
        """Why a value is none of this type; None if it is one."""
        if self.pattern:
            return "give a number" if isinstance(value, str) else None
        return None if value in self.values else f"choose from {', '.join(self.values)}"

    def replacements(self, value):
        others = self.values
        if self.pattern:
            half = value // 2 if value == int(value) else value / 2
            others = sorted(self.alternatives or [half, 2 * value])
        return [other for other in others if other not in (0, value)]


class Act(_Entry):
    code: Annotated[str, Field(pattern=r"^[A-Za-z]\w{0,39}$")]
    titles: list[str] = Field(min_length=1)
    abbreviations: list[str] = []
    country: str = "elsewhere"
    year: int | None = None
    chapter: str = ""
    matter: Literal["civil", "criminal"] | None = None
    marks: list[Literal["injury", "family"]] = []


class _File(_Entry):
    facts: list[FactType] = []
    acts: list[Act] = []


@dataclass(frozen=True, eq=False)
class Domain:
    """Acts by code, and further fact types by name."""

    acts: dict = field(repr=False)
    types: dict = field(default_factory=dict)
    notes: tuple = ()  # on a file of one's own

    @property
    def fact_types(self):
        return tuple(dict.fromkeys([*FACT_TYPES, *self.types]))


def validate_record(where, record, model):
    """An entry or a row of a file as a pydantic model; a misfit is refused."""
    try:
        return model.model_validate(record)
    except pydantic.ValidationError as error:
        keys = ", ".join(model.model_fields)
        problem = first_problem(error).replace("Value error, ", "")
        raise InputError(f"{where}: {problem}; the keys are {keys}") from error


def _read(path):
    content = validate_record(path, read_yaml(path), _File)
    return {act.code: act for act in content.acts}, {
        kind.name: kind for kind in content.facts
    }


# The tables of the library: acts of India and Singapore.
SHIPPED_DOMAIN = Domain(_read(Path(__file__).with_name("acts.yml"))[0])


def read_domain(path):
    """Fact types and acts of one's own, laid over those of the library.

    Without a file it is the library's tables.
    """
    if path is None:
        return SHIPPED_DOMAIN
    acts, types = _read(path)
    name = Path(path).name
    note = f"{name} adds or replaces {', '.join([*types, *acts])}"
    acts = acts | SHIPPED_DOMAIN.acts | acts  # those of one's own come first
    return Domain(acts, types, (note,))


# ---- citations in running text: sections beside an act
#
# Unit and numbers stand before an act (``Sections 302 and 34 IPC``) or after it (``PDPA s.13``),
# also in chains that share one act (``s. 304-B read with s. 34, I.P.C.``). Normal forms are
# ``IPC-302``, ``Constitution-Article-21`` and ``CPC-Order-7-Rule-11``; patterns: ``words.yml``.

FORMS = ("act_and_numbers", "units_and_act", "numbers_and_act", "act_and_units")


@cache
def word_lists():
    return read_yaml(Path(__file__).with_name("words.yml"))


def fill_pattern(pattern, **pieces):
    """A pattern with «name» filled in: a piece, or the alternatives of a list."""
    words = word_lists()
    pieces = words["pieces"] | pieces
    for name in set(re.findall("«(.+?)»", pattern)):
        if name in pieces:
            text = fill_pattern(pieces[name])
        elif isinstance(words[name], dict):
            text = "|".join(itertools.chain(*words[name].values()))
        else:
            text = "|".join(words[name])
        pattern = pattern.replace(f"«{name}»", text)
    return pattern


@cache
def pattern(name, **pieces):
    form = "".join(word_lists()["patterns"][name])
    return re.compile(fill_pattern(form, **pieces))


# ---- citations


#: One provision of an act, in normal form, cited at ``text[start:end]``.
Provision = namedtuple("Provision", "act number id start end", defaults=[0, 0])


def find_provisions(text, domain=SHIPPED_DOMAIN):
    """Provisions that a text cites beside an act, by place; and how many of no known act."""
    names = _act_names(domain)
    acts = {match.start(): match.lastgroup for match in names.finditer(text)}
    text = names.sub(lambda match: "\0" * len(match[0]), text)
    provisions = []
    for name in FORMS:
        form = pattern(name)
        for match in form.finditer(text):
            provisions += _provisions(match, acts[match.start("act")])
        text = form.sub(lambda match: re.sub(r"[^\0]", " ", match[0]), text)
    n_unknown = len(pattern("numbers_alone").findall(text))
    return sorted(provisions, key=attrgetter("start")), n_unknown


def _provisions(match, act):
    """The numbers of a match; a sub-section belongs to the number before it."""
    groups = match.groupdict()
    stem = f"{act}-Article-" if groups.get("article") else f"{act}-"
    order = groups.get("order")
    if order:
        numerals = word_lists()["numerals"]
        order = numerals.index(order) + 1 if order in numerals else int(order)
        stem = f"{act}-Order-{order}-Rule-"
    for number in pattern("one_provision").finditer(
        match.string, *match.span("numbers")
    ):
        plain = number[1].replace("-", "")
        yield Provision(act, plain, stem + plain, *number.span())


@cache
def _act_names(domain):
    """A pattern with a group for each act; with another year a name is none of it."""
    patterns = []
    for code, act in domain.acts.items():
        titles = "|".join(map(re.escape, act.titles)).replace(r"\ ", r"\s+")
        short = [r"\.?\s?".join(map(re.escape, name)) for name in act.abbreviations]
        short = "|".join(short) or "\0"
        year = act.year or "-"
        chapter = act.chapter or "-"
        edition = rf"{year}\b|Cap\.?\s*{chapter}\b[^)]*"
        form = pattern("act", titles=titles, short=short, edition=edition).pattern
        patterns.append(f"(?P<{code}>{form})")
    either = "|".join(patterns)
    return re.compile(rf"\b(?=[A-Za-z])(?:{either})")


def cited_sections(text, domain=SHIPPED_DOMAIN):
    provisions, _ = find_provisions(text, domain)
    return tuple(dict.fromkeys(cited.id for cited in provisions))


def parse_section(section):
    match = pattern("normal_form").fullmatch(section.strip())
    return Provision(match["act"], match["number"], match[0]) if match else None


def normalise_section(citation, domain=SHIPPED_DOMAIN):
    normal = parse_section(citation)
    return normal.id if normal else next(iter(cited_sections(citation, domain)), None)


# ---- which sections are neighbours


def _leading(number):
    """The number that a section begins with: 304 of 304A."""
    return int(re.match(r"\d+", number)[0])


def adjacent_sections(structure, distance=2):
    """Neighbours of each section, closest first.

    They are those of its chapter whose numbers differ by at most `distance`.
    """
    near = {}
    for prefix, chapters in structure.items():
        for numbers in chapters.values():
            leading = {number: _leading(number) for number in numbers}
            for number in numbers:
                gaps = {
                    other: abs(leading[number] - leading[other]) for other in numbers
                }
                close = [
                    other
                    for other in sorted(gaps, key=gaps.get)
                    if gaps[other] <= distance
                ]
                near[prefix + number] = tuple(
                    prefix + other for other in close if other != number
                )
    return near


# Sections by chapter of the acts of India and Singapore.
STRUCTURE = json.loads(
    Path(__file__).with_name("act_structure.json").read_text(encoding="utf-8")
)


@cache
def _shipped_neighbours():
    return adjacent_sections(STRUCTURE)


def neighbours(section):
    return _shipped_neighbours().get(section, ())


def neighbours_or_next(section):
    """Neighbours of a section; of an unknown act, the numbers around it."""
    near = neighbours(section)
    parsed = parse_section(section)
    if near or parsed is None:
        return near
    stem = section.removesuffix(parsed.number)
    number = _leading(parsed.number)
    return tuple(f"{stem}{n}" for n in (number - 1, number + 1) if n > 0)
