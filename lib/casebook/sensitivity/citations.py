"""Statutory citations in running text, each resolved to its act: ``CPC-Order-7-Rule-11``.

Unit and numbers may stand before an act (``Sections 302 and 34 IPC``) or after it (``PDPA s.13``),
in chains that share one act (``s. 304-B read with s. 34, I.P.C.``), or without an act; then they
are of the act cited before. Acts of one name are distinguished by year or chapter number if the
text gives one, here or elsewhere, else by the country of the text; an act of another year is
another act. Words and patterns are in ``words.yml``; the acts are those of a `Domain`.
"""

import re
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from casebook.readers import read_yaml
from casebook.sensitivity.domain import SHIPPED_DOMAIN

WORDS = Path(__file__).with_name("words.yml")
INDIA = "IN"
SINGAPORE = "SG"
ELSEWHERE = "elsewhere"
UNKNOWN = "Unknown"
HEAD = 20_000  # characters in which a judgment shows where it comes from
USUAL = 120  # sections that an act of unknown structure is taken to have


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


def alternatives(forms, before="", after=""):
    """One pattern of several, without regard to case."""
    return re.compile(fill_pattern(before + "|".join(forms) + after), re.IGNORECASE)


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


def find_provisions(text, country=None, domain=SHIPPED_DOMAIN):
    """Find the provisions that a text cites; without a clear act, that is ``Unknown``."""
    country = country or country_of(text, domain)
    mentions = _acts_named(text, country, domain)
    signs = list(_paragraph_signs(text, mentions))
    groups = [group for group in _groups(text) if not _touches(group, mentions + signs)]
    groups = sorted(groups + signs, key=attrgetter("start"))
    groups += list(_numbers_after_names(text, groups, mentions))
    groups.sort(key=attrgetter("start"))
    for group in groups:
        _attach(text, group, mentions)
    # Chains share the act of their last link.
    for group, following in zip(groups[-2::-1], groups[:0:-1], strict=True):
        linked = pattern("chain").fullmatch(text, group.end, following.start)
        if not group.act and group.kind == following.kind and linked:
            group.act = following.act
    groups = [group for group in groups if group.act or not group.bare]
    for group in groups:
        # An act is named after the number, but none that is known: it is not the last one.
        if not group.act and pattern("act_of_another_name").match(text, group.end):
            group.act = UNKNOWN
    _inherit(text, groups, mentions, country, domain)
    provisions = []
    for group in groups:
        for number, start, end in group.items:
            provisions.append(Provision(group.act, group.kind, number, group.order, start, end))
    return provisions


def cited_sections(text, country=None, domain=SHIPPED_DOMAIN):
    """Give the distinct provisions that a text cites, those of unknown acts left out."""
    provisions = find_provisions(text, country, domain)
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
    return normal.id if normal else next(iter(cited_sections(citation, domain=domain)), None)


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


class Mention(NamedTuple):
    """An act named in a text, at ``text[start:end]``."""

    code: str
    start: int
    end: int


def country_of(text, domain=SHIPPED_DOMAIN):
    """Guess the country of a text from its words: IN, SG, elsewhere, or None without a sign."""
    head = text[:HEAD]
    count = {
        name: len(re.findall("|".join(marks), head))
        for name, marks in word_lists()["countries"].items()
    }
    for match in _act_pattern(domain).finditer(head):
        acts_of_title = _by_name("titles", domain).get(_plain(match["title"] or ""), ())
        countries = {act["country"] for act in acts_of_title}
        if countries == {SINGAPORE} and not re.search(r"\d{4}", match.group()):
            count[SINGAPORE] += 1
        code = _code(match, None, domain, certain=True)
        dated_act = domain.acts.get(code)  # by its year or chapter
        if dated_act:
            country = dated_act["country"]
            count[country] += 2 if country == SINGAPORE else 1
    if count[ELSEWHERE] > max(count[INDIA], count[SINGAPORE]):
        return ELSEWHERE
    if count[SINGAPORE] > count[INDIA]:
        return SINGAPORE
    return INDIA if count[INDIA] else None


def _acts_named(text, country, domain):
    """Find the acts that a text names, by title, abbreviation, or an alias that it defines."""
    matches = [
        (match, _code(match, country, domain, certain=True))
        for match in _act_pattern(domain).finditer(text)
    ]
    codes_by_title = {}
    for match, code in matches:
        if code:
            codes_by_title.setdefault(_title(match), set()).add(code)
    mentions = []
    aliases = {}
    for match, code in matches:
        codes = codes_by_title.get(_title(match), set())
        code = _abbreviated(text, match, domain) or code
        if code is None and codes:
            code = next(iter(codes)) if len(codes) == 1 else UNKNOWN
        code = code or _code(match, country, domain)
        mentions.append(Mention(code, *match.span()))
        alias = pattern("act_is_called").match(text, match.end())
        abbreviations = _by_name("abbreviations", domain)
        if alias and code != UNKNOWN and _plain(alias["name"]) not in abbreviations:
            aliases[alias["name"]] = (alias.end(), code)
    by_alias = []
    for name, (defined_at, code) in aliases.items():
        for match in re.compile(rf"\b{re.escape(name)}(?!\w)").finditer(text, defined_at):
            mention = Mention(code, *match.span())
            if not _touches(mention, mentions):
                by_alias.append(mention)
    return sorted(mentions + by_alias, key=attrgetter("start"))


def _abbreviated(text, match, domain):
    """Give the act whose usual abbreviation follows a long title in brackets."""
    in_brackets = match["any"] and pattern("act_in_brackets").match(text, match.end())
    if not in_brackets:
        return None
    years = re.findall(r"\d{4}", match["tail3"] or "")
    candidates = _by_name("abbreviations", domain).get(_plain(in_brackets["name"]), ())
    codes = [act["code"] for act in candidates if not years or act["year"] in years]
    return codes[0] if len(codes) == 1 else None


def _title(match):
    """Give the name by which a match names its act, without year or chapter."""
    return _plain(match["title"] or match["short"] or _without_lead(match["any"]))


def _without_lead(name):
    return re.sub(r"^(?:(?:The|Under|In|By|And|Of|See)\s+)+", "", name)


def _code(match, country, domain, certain=False):
    """Choose the act that a match means: by year or chapter, else by country."""
    listed_name = match["title"] or match["short"]
    tail = match["tail"] or match["tail2"] or match["tail3"] or ""
    years = re.findall(r"\b\d{4}\b", tail.split("Rev")[0])
    year = years[0] if years else ""
    name = listed_name or _without_lead(match["any"])
    code_of_name = "".join(re.findall(r"\w+", name.title().replace("'S", "s"))) + year
    if listed_name is None:
        return code_of_name if year or not certain else None
    column = "titles" if match["title"] else "abbreviations"
    candidates = _by_name(column, domain)[_plain(listed_name)]
    stated = set(re.findall(r"\d+[A-Z]?", tail))
    for act in candidates:
        if stated & {act["year"], act["chapter"]} - {""}:
            return act["code"]
    if year:  # an act of this name, but of a year that is not in the table
        return code_of_name
    if certain:
        return None
    of_country = [act for act in candidates if act["country"] == country]
    is_indian = country == INDIA or (country is None and match["short"])
    if of_country or is_indian or (country != ELSEWHERE and len(candidates) == 1):
        return (of_country or candidates)[0]["code"]
    return UNKNOWN


@cache
def _by_name(column, domain):
    table = {}
    for act in domain.acts.values():
        for name in act[column]:
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


# ---- groups of numbers that share one unit, and their act


@dataclass
class _Group:
    kind: str
    items: list  # (number, start, end)
    start: int
    end: int
    order: str = ""
    bare: bool = False  # without unit: a citation only if an act stands beside it
    act: str = ""


def _touches(span, others):
    return any(span.start < near.end and near.start < span.end for near in others)


def _groups(text):
    for match in pattern("provisions").finditer(text):
        form = next(name for name in ("rules", "numbers", "bare") if match[name])
        order = str(_arabic(match["order"])) if form == "rules" else ""
        if order:
            kind = "Rule"
        elif (match["unit"] or "").lower().startswith("art"):
            kind = "Article"
        else:
            kind = "Section"
        yield _Group(kind, _items(match, form), *match.span(), order, bare=form == "bare")


def _items(match, name, item="one_provision"):
    """Split numbers; a sub-section belongs to the number before it, so ``(b)`` alone does too."""
    items = []
    for number in pattern(item).finditer(match.string, *match.span(name)):
        text = number[1]
        if item == "one_provision":
            text = text.replace("-", "")
        items.append((text, *number.span()))
    return items


def _paragraph_signs(text, mentions):
    """Yield groups with a paragraph sign: of a code by title, by name, or of none."""
    ends = {mention.end for mention in mentions if mention.code != UNKNOWN}
    codes = ("Code", "Code Ann.", "Law", "Stat.", "Laws", "Statutes", "Ann.", "O.C.G.A.")
    for match in pattern("paragraphs").finditer(text):
        act = ""
        name = (match["name"] or "").strip()
        if match["code"]:
            act = f"{re.sub(r'[^A-Z]', '', match['code'])[:3]}{match['title']}"
        elif name and (match.end("name") - 1 in ends or not name.endswith(codes)):
            continue  # an act that is known stands before the sign, or a name that is no code
        elif name:
            act = "".join(re.findall(r"\w+", _without_lead(name)))
        yield _Group("Section", _items(match, "numbers", "one_paragraph"), *match.span(), act=act)


def _numbers_after_names(text, groups, mentions):
    """Yield numbers that follow an act without a unit: ``IPC 302``, ``IPC-302``."""
    for mention in mentions:
        match = pattern("after_name").match(text, mention.end)
        if match is None:
            continue
        start = match.start("numbers")
        end = match.end()
        if not any(group.start <= start and end <= group.end for group in groups):
            kind = "Article" if match["article"] else "Section"
            items = _items(match, "numbers")
            yield _Group(kind, items, start, end, bare=True, act=mention.code)


def _attach(text, group, mentions):
    """Give a group the act after it (``section 7 of the Arms Act``) or before (``PDPA s.13``)."""
    stop = pattern("before_an_act").match(text, group.end).end()
    possible = [mention for mention in mentions if _fits(group, mention.code)]
    for mention in possible:
        if group.end <= mention.start <= stop:
            group.act = mention.code
    for mention in possible:
        before = mention.end <= group.start and pattern("after_an_act").fullmatch(
            text, mention.end, group.start
        )
        if before and not group.act:
            group.act = mention.code


def _fits(group, code):
    """Tell whether an act has such provisions: sections, articles, or orders."""
    if group.kind == "Rule":
        return code in {"CPC", "ROC"}
    constitution = code.endswith("Constitution")
    if group.kind == "Article":
        return constitution or code == "LA"  # the schedule of the Limitation Act
    return not constitution


def _inherit(text, groups, mentions, country, domain):
    """Give each group without an act that of the same number, else the only act it can be of."""
    if country == SINGAPORE:
        usual = {"Article": "SGConstitution", "Rule": "ROC"}
    else:
        usual = {"Article": "Constitution", "Rule": "CPC"}
    act_of_number = {}
    for group in groups:
        if group.act:
            act_of_number |= {(group.kind, number): group.act for number, *_ in group.items}
    for group in groups:
        if not group.act:
            first_number = group.items[0][0]
            group.act = (
                act_of_number.get((group.kind, first_number))
                or usual.get(group.kind)
                or _nearest(text, group, groups, mentions, domain)
            )


def _nearest(text, group, groups, mentions, domain):
    """Give the only act of the text, or the last of this sentence or that before, if it can be."""
    cited_before = [
        earlier
        for earlier in groups
        if earlier.end <= group.start
        and earlier.kind == group.kind
        and earlier.act not in ("", UNKNOWN)
    ]
    mentioned = {mention.code for mention in mentions if _fits(group, mention.code)}
    candidates = {earlier.act for earlier in cited_before} | mentioned - {UNKNOWN}
    if len(candidates) != 1:  # no sentence, or one, lies between
        near = [
            earlier.act
            for earlier in cited_before
            if len(re.findall(r"[.;]\s+[A-Z]", text[earlier.end : group.start])) <= 1
        ]
        candidates = near[-1:]
    numbers = [number for number, *_ in group.items]
    for act in candidates:
        cited_numbers = [
            leading(number)
            for cited_group in groups
            if cited_group.act == act
            for number, *_ in cited_group.items
        ]
        largest = max(cited_numbers, default=0)
        if all(_has(act, number, largest, domain) for number in numbers):
            return act
    return UNKNOWN


def _has(act, number, largest, domain):
    """Tell whether an act can have a section: by its structure, else by its size."""
    chapters = domain.structure.get(f"{act}-", {}).values()
    numbers = {number for chapter in chapters for number in chapter}
    if numbers:
        return number in numbers or (number.isdigit() and int(number) <= max(map(leading, numbers)))
    return act in domain.acts_marked("large") or leading(number) <= max(USUAL, 3 * largest)


def _arabic(numeral):
    """Read a Roman or Arabic numeral."""
    if numeral.isdigit():
        return int(numeral)
    values = [{"I": 1, "V": 5, "X": 10, "L": 50}[letter] for letter in numeral]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)
