"""Statutory citations in running text: sections beside an act of a `Domain`.

Unit and numbers stand before an act (``Sections 302 and 34 IPC``) or after it (``PDPA s.13``), also
in chains that share one act (``s. 304-B read with s. 34, I.P.C.``). Normal forms are ``IPC-302``,
``Constitution-Article-21`` and ``CPC-Order-7-Rule-11``. Of two acts of one name a year or chapter
beside it decides, else the first of the domain is meant; a number without such an act is of the act
``Unknown``. Patterns are in ``words.yml``.
"""

import re
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path

from casebook.readers import read_yaml
from casebook.sensitivity.domain import SHIPPED_DOMAIN

WORDS = Path(__file__).with_name("words.yml")
UNKNOWN = "Unknown"


# ---- words and patterns, which are data


@cache
def word_lists():
    """Word lists and patterns of the rules, from ``words.yml``."""
    return read_yaml(WORDS)


def fill_pattern(pattern, **pieces):
    """Fill the names in a pattern.

    «name» is a keyword argument, a piece, or the words of a list as alternatives.
    """
    words = word_lists()

    def piece(match):
        name = match[1]
        if name in pieces:
            return pieces[name]
        if name in words["pieces"]:
            return fill_pattern(words["pieces"][name])
        forms = words[name]
        if isinstance(forms, dict) and isinstance(next(iter(forms.values())), list):
            forms = [form for group in forms.values() for form in group]
        return "|".join(forms)

    return re.sub("«(.+?)»", piece, pattern)


@cache
def pattern(name, **pieces):
    """One of the patterns of the rules."""
    return re.compile(fill_pattern("".join(word_lists()["patterns"][name]), **pieces))


# ---- citations


@dataclass(frozen=True)
class Provision:
    """One provision cited at ``text[start:end]``."""

    act: str
    kind: str
    number: str
    order: str = ""
    start: int = 0
    end: int = 0

    @property
    def id(self):
        """Normal form: ``IPC-302``, ``Constitution-Article-21``, ``CPC-Order-7-Rule-11``."""
        if self.kind == "Rule":
            return f"{self.act}-Order-{self.order}-Rule-{self.number}"
        return f"{self.act}-{'Article-' if self.kind == 'Article' else ''}{self.number}"


_KINDS = {"rules": "Rule", "articles": "Article", "sections": "Section", "bare": "Section"}


def find_provisions(text, domain=SHIPPED_DOMAIN):
    """Find the provisions that a text cites; without an act of the domain, that is ``Unknown``."""
    acts = list(_act_pattern(domain).finditer(text))
    taken = [act.span() for act in acts]
    provisions = []
    for act in acts:
        # Numbers right behind an act, without a unit: IPC 302, IPC-302
        match = pattern("after_name").match(text, act.end())
        code = _code(act, domain)
        if match and code:
            kind = "Article" if match["article"] else "Section"
            provisions += _provisions(match, "numbers", code, kind)
            taken.append(match.span("numbers"))
    for match in pattern("provisions").finditer(text):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        form = next(form for form in _KINDS if match[form])
        code = _act_beside(text, match, acts, domain)
        if code or form != "bare":  # bare numbers are a citation only beside an act
            provisions += _provisions(match, form, code or UNKNOWN, _KINDS[form])
    return sorted(provisions, key=attrgetter("start"))


def _provisions(match, form, act, kind):
    """Split numbers; a sub-section belongs to the number before it, so ``(b)`` alone does too."""
    order = str(_arabic(match["order"])) if form == "rules" else ""
    return [
        Provision(act, kind, number[1].replace("-", ""), order, *number.span())
        for number in pattern("one_provision").finditer(match.string, *match.span(form))
    ]


def _act_beside(text, match, acts, domain):
    """Give the act after numbers (``section 7 of the Arms Act``) or before (``PDPA s.13``)."""
    stop = pattern("before_an_act").match(text, match.end()).end()
    after = [act for act in acts if match.end() <= act.start() <= stop]
    before = [
        act
        for act in acts
        if act.end() <= match.start()
        and pattern("after_an_act").fullmatch(text, act.end(), match.start())
    ]
    return next((_code(act, domain) for act in after + before), "")


def _arabic(numeral):
    """Read a Roman or Arabic numeral."""
    if numeral.isdigit():
        return int(numeral)
    values = [{"I": 1, "V": 5, "X": 10, "L": 50}[letter] for letter in numeral]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)


def cited_sections(text, domain=SHIPPED_DOMAIN):
    """Give the distinct provisions that a text cites, those of unknown acts left out."""
    provisions = find_provisions(text, domain)
    return tuple(dict.fromkeys(cited.id for cited in provisions if cited.act != UNKNOWN))


def parse_section(section):
    """Take a section in normal form apart; None if it is not in normal form."""
    match = pattern("normal_form").fullmatch(section.strip())
    if match is None:
        return None
    return Provision(
        match["act"],
        match["rule"] or match["kind"] or "Section",
        match["number"],
        match["order"] or "",
    )


def normalise_section(citation, domain=SHIPPED_DOMAIN):
    """Bring one citation into normal form; None if it is none."""
    normal = parse_section(citation)
    return normal.id if normal else next(iter(cited_sections(citation, domain)), None)


# ---- which sections stand next to each other


def adjacent_sections(structure, distance=2):
    """Neighbours of each section, closest first.

    They are those of its chapter whose numbers differ by at most `distance`.
    """
    near = {}
    for prefix, chapters in structure.items():
        for numbers in chapters.values():
            for number in dict.fromkeys(numbers):
                candidates = near.setdefault(prefix + number, set())
                for neighbour in numbers:
                    gap = abs(leading(number) - leading(neighbour))
                    if neighbour != number and gap <= distance:
                        candidates.add((gap, section_key(neighbour), prefix + neighbour))
    return {
        section: tuple(neighbour for *_, neighbour in sorted(candidates))
        for section, candidates in near.items()
    }


@cache
def _neighbours_in(domain):
    return adjacent_sections(domain.structure)


def neighbours(section, domain=SHIPPED_DOMAIN):
    """Neighbours of a section in an act of known structure; empty for others."""
    return _neighbours_in(domain).get(section, ())


def neighbours_or_next(section, domain=SHIPPED_DOMAIN):
    """Neighbours of a section; where its act is not known, the numbers before and after it."""
    near = neighbours(section, domain)
    parsed = parse_section(section)
    if near or parsed is None:
        return near
    stem = section.removesuffix(parsed.number)
    number = int("".join(filter(str.isdigit, parsed.number)))
    return tuple(f"{stem}{n}" for n in (number - 1, number + 1) if n > 0)


def section_key(section):
    """Sort key under which section 9 comes before 10, and 304A after 304."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", section))


def leading(number):
    """The number without what stands behind it: 304 of 304A."""
    return int(re.match(r"\d+", number)[0])


# ---- acts by name


def _code(match, domain):
    """Choose the act that a match means: by year or chapter, else the first of its name."""
    acts = _acts_by_name(domain)[_plain(match["name"])]
    stated = set(re.findall(r"\d+[A-Z]?", match["tail"].split("Rev")[0]))
    for act in acts:
        if stated & {act["year"], act["chapter"]} - {""}:
            return act["code"]
    # An act of this name but of another year is none of the domain.
    return "" if re.search(r"\d{4}", match["tail"]) else acts[0]["code"]


@cache
def _acts_by_name(domain):
    """The acts of each name, those of the user's own first."""
    table = {}
    for act in sorted(domain.acts.values(), key=lambda act: act["code"] not in domain.further_acts):
        for name in (*act["titles"], *act["abbreviations"]):
            table.setdefault(_plain(name), []).append(act)
    return table


@cache
def _act_pattern(domain):
    """One pattern of all acts, the longest names first."""

    def names(column, written):
        ordered = sorted({name for act in domain.acts.values() for name in act[column]})
        ordered.sort(key=len, reverse=True)
        return "|".join(map(written, ordered))

    return pattern("act", titles=names("titles", _loose), short=names("abbreviations", _dotted))


def _loose(name):
    """Match a title whatever its spaces, hyphens and apostrophes."""
    return re.escape(name).replace("\\ ", r"\s+").replace("\\-", r"[-\s]").replace("'", "['’]?")


def _dotted(name):
    """Match an abbreviation with or without points: IPC, I.P.C., I. P. C."""
    patterns = []
    for word in name.split():
        letters = re.findall(r"[A-Z][a-z]?(?![a-z])|[A-Z]|/", word)
        dotted = r"\.?\s?".join(map(re.escape, letters)) + r"\.?"
        patterns.append(word if word == "Act" else dotted)
    return r"\s?".join(patterns)


def _plain(name):
    return re.sub(r"[\s.'’-]", "", name).casefold()
