"""Statutory citations in running text: sections beside an act of a `Domain`.

Unit and numbers stand before an act (``Sections 302 and 34 IPC``) or after it (``PDPA s.13``), also
in chains that share one act (``s. 304-B read with s. 34, I.P.C.``). Normal forms are ``IPC-302``,
``Constitution-Article-21`` and ``CPC-Order-7-Rule-11``. Patterns are in ``words.yml``.
"""

import itertools
import re
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from casebook.readers import read_yaml
from casebook.sensitivity.domain import SHIPPED_DOMAIN

FORMS = ("act_and_numbers", "units_and_act", "numbers_and_act", "act_and_units")

# ---- words and patterns, which are data


@cache
def word_lists():
    return read_yaml(Path(__file__).with_name("words.yml"))


def fill_pattern(pattern, **pieces):
    # A pattern with «name» filled in: a piece, or the words of a list as alternatives.
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


class Provision(NamedTuple):
    """One provision of an act, in normal form, cited at ``text[start:end]``."""

    act: str
    number: str
    id: str
    start: int = 0
    end: int = 0


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
    # The numbers of a match; a sub-section belongs to the number before it.
    groups = match.groupdict()
    stem = f"{act}-Article-" if groups.get("article") else f"{act}-"
    order = groups.get("order")
    if order:
        numerals = word_lists()["numerals"]
        order = numerals.index(order) + 1 if order in numerals else int(order)
        stem = f"{act}-Order-{order}-Rule-"
    for number in pattern("one_provision").finditer(match.string, *match.span("numbers")):
        plain = number[1].replace("-", "")
        yield Provision(act, plain, stem + plain, *number.span())


@cache
def _act_names(domain):
    # A pattern with a group for each act; with another year beside it a name is none of it.
    patterns = []
    for code, act in domain.acts.items():
        titles = [re.escape(name).replace(r"\ ", r"\s+") for name in act.titles]
        short = [r"\.?\s?".join(map(re.escape, name)) for name in act.abbreviations]
        words = {
            "titles": "|".join(titles),
            "short": "|".join(short) or "\0",
            "edition": rf"{act.year or '-'}\b|Cap\.?\s*{act.chapter or '-'}\b[^)]*",
        }
        patterns.append(f"(?P<{code}>{pattern('act', **words).pattern})")
    return re.compile(rf"\b(?=[A-Za-z])(?:{'|'.join(patterns)})")


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


def adjacent_sections(structure, distance=2):
    """Neighbours of each section, closest first.

    They are those of its chapter whose numbers differ by at most `distance`.
    """
    near = {}
    for prefix, chapters in structure.items():
        for numbers in chapters.values():
            for number in numbers:
                gaps = {other: abs(_leading(number) - _leading(other)) for other in numbers}
                del gaps[number]
                close = [other for other in sorted(gaps, key=gaps.get) if gaps[other] <= distance]
                near[prefix + number] = tuple(prefix + other for other in close)
    return near


@cache
def _neighbours_in(domain):
    return adjacent_sections(domain.structure)


def neighbours(section, domain=SHIPPED_DOMAIN):
    return _neighbours_in(domain).get(section, ())


def neighbours_or_next(section, domain=SHIPPED_DOMAIN):
    # Neighbours of a section; where its act is not known, the numbers before and after it.
    near = neighbours(section, domain)
    parsed = parse_section(section)
    if near or parsed is None:
        return near
    stem = section.removesuffix(parsed.number)
    number = _leading(parsed.number)
    return tuple(f"{stem}{n}" for n in (number - 1, number + 1) if n > 0)


def _leading(number):
    # 304 of 304A
    return int(re.match(r"\d+", number)[0])
