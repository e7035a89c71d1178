"""Statutory citations in running text, each resolved to its act: ``IPC-302``, ``CPC-Order-7-Rule-11``.

Read are unit and numbers before an act (``Sections 302 and 34 IPC``), after it (``PDPA s.13``), chains that share one
act (``s. 304-B read with s. 34, I.P.C.``), and citations without an act, which take over the act cited before. Acts of
one name are told apart by year or chapter number if the text gives one, here or elsewhere, else by the country of the
text; an act of another year is another act. Acts, marks of countries and structure of acts: ``data/counterfactual``.
"""

import csv
import json
import re
from dataclasses import dataclass
from functools import cache

from casebook import paths
from casebook.readers import read_yaml

FOLDER = paths.DATA / "counterfactual"
INDIA, SINGAPORE, ELSEWHERE = "IN", "SG", "elsewhere"
UNKNOWN = "Unknown"
HEAD = 20_000  # characters in which a judgment shows where it comes from
USUAL = 120  # sections that an act of unknown structure is taken to have


@dataclass(frozen=True)
class Citation:
    """One provision cited at ``text[start:end]``."""

    act: str
    kind: str
    number: str
    pinpoint: str = ""
    order: str = ""
    start: int = 0
    end: int = 0

    @property
    def id(self):
        """Normal form: ``IPC-302``, ``Constitution-Article-21``, ``CPC-Order-7-Rule-11``."""
        if self.kind == "Rule":
            return f"{self.act}-Order-{self.order}-Rule-{self.number}"
        middle = "Article-" if self.kind == "Article" else ""
        return f"{self.act}-{middle}{self.number}"


def find_citations(text, country=None):
    """Find the provisions that a text cites; one whose act cannot be told is of the act ``Unknown``."""
    country = country or country_of(text)
    mentions = find_acts(text, country)
    signs = list(_paragraph_signs(text, mentions))
    taken = [(m.start, m.end) for m in mentions] + [(g.start, g.end) for g in signs]
    groups = [g for g in _groups(text) if not any(a < g.end and g.start < b for a, b in taken)]
    groups = _by_place([*groups, *signs])
    groups = _by_place([*groups, *_numbers_after_names(text, groups, mentions)])
    for group in groups:
        _attach(text, group, mentions)
    for group, after in zip(groups[-2::-1], groups[:0:-1], strict=True):  # chains share the act of their last link
        if not group.act and group.kind == after.kind and patterns()["chain"].fullmatch(text, group.end, after.start):
            group.act = after.act
    groups = [group for group in groups if group.act or not group.bare]
    for group in groups:
        # An act is named after the number, but none that is known: it is not the last one.
        if not group.act and patterns()["act_of_another_name"].match(text, group.end):
            group.act = UNKNOWN
    _inherit(text, groups, mentions, country)
    return [Citation(g.act, g.kind, number, pin, g.order, *span) for g in groups for number, pin, *span in g.items]


def cited_sections(text, country=None):
    """Give the distinct provisions that a text cites, those of unknown acts left out."""
    return tuple(dict.fromkeys(c.id for c in find_citations(text, country) if c.act != UNKNOWN))


def parse_section(section):
    """Take a section in normal form apart; None if it is not in normal form."""
    match = patterns()["normal_form"].fullmatch(section.strip())
    if match is None:
        return None
    return Citation(
        match["act"], match["rule"] or match["kind"] or "Section", match["number"], order=match["order"] or ""
    )


def normalise_section(citation, country=None):
    """Bring one citation into normal form; None if it is none."""
    normal = parse_section(citation)
    if normal is not None:
        return normal.id
    return next(iter(cited_sections(citation, country)), None)


def documented_section(section):
    """Treat a section as the documented system does: hyphens for spaces."""
    hyphened = re.sub(r"\s+", "-", section.strip())
    return hyphened if patterns()["documented_form"].fullmatch(hyphened) else section


# ---- which sections stand next to each other


@cache
def act_structure():
    """Chapters and section numbers of the acts whose structure the project ships, by prefix of their sections."""
    return json.loads((FOLDER / "act_structure.json").read_text(encoding="utf-8"))


def adjacent_sections(structure, distance=2):
    """Neighbours of each section: those of its chapter whose numbers differ by at most `distance`, closest first."""
    near = {}
    for prefix, chapters in structure.items():
        for numbers in chapters.values():
            for one in dict.fromkeys(numbers):
                gaps = {other: abs(_leading(one) - _leading(other)) for other in numbers if other != one}
                found = [(gap, section_key(other), prefix + other) for other, gap in gaps.items() if gap <= distance]
                near.setdefault(prefix + one, set()).update(found)
    return {one: tuple(other for *_, other in sorted(found)) for one, found in near.items()}


@cache
def _shipped_neighbours():
    return adjacent_sections(act_structure())


def neighbours(section):
    """Neighbours of a section in an act whose structure is shipped; empty for others."""
    return _shipped_neighbours().get(section, ())


def neighbours_or_next(section):
    """Neighbours of a section; where its act is not known, the numbers before and after it."""
    known, parsed = neighbours(section), parse_section(section)
    if known or parsed is None:
        return known
    stem, number = section.removesuffix(parsed.number), int("".join(filter(str.isdigit, parsed.number)))
    return tuple(f"{stem}{n}" for n in (number - 1, number + 1) if n > 0)


def section_key(section):
    """Sort key under which section 9 comes before 10, and 304A after 304."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", section))


def _leading(number):
    return int(re.match(r"\d+", number)[0])


# ---- acts by name


@dataclass(frozen=True)
class Mention:
    """An act named in a text, at ``text[start:end]``."""

    code: str
    start: int
    end: int


@cache
def acts():
    """Rows of ``acts.csv`` by code; titles, abbreviations and marks are lists."""
    with (FOLDER / "acts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lists = ("titles", "abbreviations", "marks")
    return {row["code"]: row | {name: [x for x in row[name].split(";") if x] for name in lists} for row in rows}


@cache
def acts_marked(mark):
    """Codes of the acts with a mark (``injury``, ``family``, ``large``) or of a matter (``criminal``, ``civil``)."""
    return frozenset(code for code, act in acts().items() if mark in act["marks"] or mark == act["matter"])


@cache
def word_lists():
    """Word lists and patterns of the rules, from ``words.yml``."""
    return read_yaml(FOLDER / "words.yml")


@cache
def patterns():
    """Patterns of the rules by name, from ``words.yml``."""
    return {name: re.compile("".join(pieces)) for name, pieces in word_lists()["patterns"].items()}


@cache
def _marks():
    return {country: re.compile("|".join(marks)) for country, marks in word_lists()["countries"].items()}


def country_of(text):
    """Guess the country that a text belongs to from its words: IN, SG, elsewhere, or None where nothing tells."""
    head = text[:HEAD]
    count = {country: len(marks.findall(head)) for country, marks in _marks().items()}
    for match in _act_pattern().finditer(head):
        sure = acts().get(_code(match, None, certain=True))
        if {act["country"] for act in _by_name("titles").get(_plain(match["title"] or ""), ())} == {SINGAPORE}:
            count[SINGAPORE] += not re.search(r"\d{4}", match.group())  # known in Singapore only
        if sure:  # an act told by its year or chapter
            count[sure["country"]] += 2 if sure["country"] == SINGAPORE else 1
    if count[ELSEWHERE] > max(count[INDIA], count[SINGAPORE]):
        return ELSEWHERE
    if count[SINGAPORE] > count[INDIA]:
        return SINGAPORE
    return INDIA if count[INDIA] else None


def find_acts(text, country=None):
    """Find the acts that a text names, by title, abbreviation, or the name that the text gave them."""
    country = country or country_of(text)
    matches = list(_act_pattern().finditer(text))
    named, called, found = {}, {}, []
    for match in matches:
        if code := _code(match, country, certain=True):
            named.setdefault(_title(match), set()).add(code)
    for match in matches:
        code = _abbreviated(text, match) or _code(match, country, certain=True)
        known = named.get(_title(match), set())
        if code is None and known:
            code = next(iter(known)) if len(known) == 1 else UNKNOWN
        code = code or _code(match, country)
        found.append(Mention(code, match.start(), match.end()))
        alias = patterns()["act_is_called"].match(text, match.end())
        if alias and code != UNKNOWN and _plain(alias["name"]) not in _by_name("abbreviations"):
            called[alias["name"]] = (alias.end(), code)
    taken = [(one.start, one.end) for one in found]
    for name, (after, code) in called.items():
        for match in re.compile(rf"\b{re.escape(name)}(?!\w)").finditer(text, after):
            if not any(low < match.end() and match.start() < high for low, high in taken):
                found.append(Mention(code, *match.span()))
    return _by_place(found)


def _abbreviated(text, match):
    """Give the act whose usual abbreviation stands in brackets behind a long title."""
    behind = match["any"] and patterns()["act_in_brackets"].match(text, match.end())
    candidates = _by_name("abbreviations").get(_plain(behind["name"]), ()) if behind else ()
    year = re.findall(r"\d{4}", match["tail3"] or "")
    fit = [act for act in candidates if not year or act["year"] in year]
    return fit[0]["code"] if len(fit) == 1 else None


def _title(match):
    """Give the name by which a match names its act, without year or chapter."""
    return _plain(match["title"] or match["short"] or _without_lead(match["any"]))


def _without_lead(name):
    return re.sub(r"^(?:(?:The|Under|In|By|And|Of|See)\s+)+", "", name)


def _code(match, country, certain=False):
    """Choose the act that a match means: by year or chapter, else by country."""
    named = match["title"] or match["short"]
    tail = match["tail"] or match["tail2"] or match["tail3"] or ""
    stated = set(re.findall(r"\d+[A-Z]?", tail))
    year = next(iter(re.findall(r"\b\d{4}\b", tail.split("Rev")[0])), "")
    joined = "".join(re.findall(r"\w+", (named or _without_lead(match["any"])).title().replace("'S", "s"))) + year
    if named is None:
        return joined if year or not certain else None
    candidates = _by_name("titles" if match["title"] else "abbreviations")[_plain(named)]
    for act in candidates:
        if stated & {act["year"], act["chapter"]} - {""}:
            return act["code"]
    if year:  # an act of this name, but of a year that the table does not know
        return joined
    if certain:
        return None
    here = [act for act in candidates if act["country"] == country]
    if here or (country != ELSEWHERE and len(candidates) == 1):
        return (here or candidates)[0]["code"]
    told = country == INDIA or (country is None and match["short"])
    return candidates[0]["code"] if told else UNKNOWN


@cache
def _by_name(column):
    table = {}
    for act in acts().values():
        for name in act[column]:
            table.setdefault(_plain(name), []).append(act)
    return table


@cache
def _act_pattern():
    """One pattern of all acts: by title, by abbreviation, or any long title that ends in Act."""

    def longest_first(column):
        return sorted({name for act in acts().values() for name in act[column]}, key=lambda name: (-len(name), name))

    titles = "|".join(_loose(name) for name in longest_first("titles"))
    short = "|".join(_dotted(name) for name in longest_first("abbreviations"))
    chapter = r"Cap\.?\s*\d+[A-Z]?(?:,\s*\d{4}\s+Rev\.?\s+Ed\.?)?"
    tail = rf"(?P<tail>(?:,?\s*(?:of\s)?(?:\(\s*)?(?:\d{{4}}\b|{chapter})\)?)?)"
    any_act = (
        r"(?:[A-Z][a-z][\w'’-]*,?\s+(?:\([A-Z][^()]{2,60}\)\s+)?"
        r"(?:(?:of|and|for|the|to|on|in)\s+)*){1,9}(?:Act|Ordinance|Adhiniyam)\b"
    )
    return re.compile(
        rf"\b(?P<title>(?i:{titles}))\b{tail}|"
        rf"(?<![\w.])(?P<short>{short})(?![A-Za-z]){tail.replace('<tail>', '<tail2>')}|"
        rf"\b(?P<any>{any_act}){tail.replace('<tail>', '<tail3>')}"
    )


def _loose(name):
    """Match a title whatever its spaces, hyphens and apostrophes."""
    return re.escape(name).replace("\\ ", r"\s+").replace("\\-", r"[-\s]").replace("'", "['’]?")


def _dotted(name):
    """Match an abbreviation with or without points: IPC, I.P.C., I. P. C."""
    found = []
    for word in name.split():
        letters = re.findall(r"[A-Z][a-z]?(?![a-z])|[A-Z]|/", word)
        found.append(word if word == "Act" else r"\.?\s?".join(map(re.escape, letters)) + r"\.?")
    return r"\s?".join(found)


def _plain(name):
    return re.sub(r"[\s.'’-]", "", name).casefold()


# ---- groups of numbers that share one unit, and their act


@dataclass
class _Group:
    kind: str
    order: str
    items: list  # (number, pinpoint, start, end)
    start: int
    end: int
    bare: bool = False  # without unit: a citation only if an act stands beside it
    act: str = ""


_NUMBER = r"\d{1,3}(?:-?[A-Z]{1,3}(?![A-Za-z]))?(?!\d|\.\d|[-/]\d{4})"
_PINPOINT = r"(?:\s?\(\s?\w{1,4}\s?\))*"
_ONE = rf"{_NUMBER}{_PINPOINT}"
_LINK = r"(?:\s*(?:,\s*(?:and|or)\b|,|/|&|\band\b|\bor\b|\bto\b|\br/w\b|\bread with\b)\s*)"
_MORE = rf"(?:{_LINK}(?:{_ONE}|\(\w{{1,4}}\)(?:\(\w{{1,4}}\))*))*"
_UNIT = r"(?:u/ss?\.?|§{1,2}|(?i:sections?)|(?i:secs?)\b\.?|[Ss]s?\b\.?|(?i:articles?)|(?i:arts?)\b\.?)"
_GROUPS = re.compile(
    r"(?<!\w)(?:Order|O\.?)[\s-]?(?P<order>(?:[IVXL]+|\d{1,3})),?[\s-]?(?:(?i:rules?)|[Rr]r?\.?)[\s-]?"
    rf"(?P<rules>{_ONE}{_MORE})"
    rf"|(?<![\w/.'’-])(?P<unit>{_UNIT})\s?(?P<numbers>{_ONE}{_MORE})"
    rf"|(?<![\w./,$₹-])(?P<bare>{_ONE}(?:\s?/\s?{_ONE})*)(?=,?\s(?:of\s(?:the\s)?)?[A-Z])"
)
# Codes of the United States: 18 U.S.C. § 922(g), Cal. Penal Code §§ 187 and 189.
_LONG = (
    r"\d{1,5}[A-Za-z]{0,2}(?:[.-]\d{1,4}[a-z]?){0,3}(?!\d)"
    r"(?!\s(?:U\.?\s?S\.?\s?C|C\.?\s?F\.?\s?R)\b)"
)
_PARAGRAPHS = re.compile(
    r"(?:\b(?P<title>\d{1,2})\s"
    r"(?P<code>U\.?\s?S\.?\s?C\.?(?:\s?A\.)?|C\.?\s?F\.?\s?R\.?)\s?(?:§{1,2}\s?)?"
    r"|(?P<name>(?:\b[A-Z][A-Za-z.&]*\s){1,6})§{1,2}\s?|(?<!\w)§{1,2}\s?(?=\d{4}))"
    rf"(?P<numbers>{_LONG}{_PINPOINT}(?:(?:,\s?(?:and\s)?|\s(?:and|or|to|through)\s){_LONG}{_PINPOINT})*)"
)
_CODES = ("Code", "Code Ann.", "Law", "Stat.", "Laws", "Statutes", "Ann.", "O.C.G.A.")
_AFTER_NAME = re.compile(
    rf"[\s-](?:(?:Section|(?P<article>Article))-)?(?P<numbers>{_ONE}(?:\s?/\s?{_ONE})*)"
    r"(?!\s?(?:%|per\b|days?|weeks?|months?|years?|of\s\d))"
)


def _by_place(found):
    return sorted(found, key=lambda one: one.start)


def _groups(text):
    for match in _GROUPS.finditer(text):
        name = next(n for n in ("rules", "numbers", "bare") if match[n])
        order = str(_arabic(match["order"])) if name == "rules" else ""
        article = (match["unit"] or "").lower().startswith("art")
        kind = "Rule" if order else "Article" if article else "Section"
        yield _Group(kind, order, _items(match, name), *match.span(), name == "bare")


def _items(match, name, number=_NUMBER):
    """Take numbers apart, each with its sub-section; ``(b)`` alone belongs to the last one."""
    offset = match.start(name)
    return [
        (one[1] if number is _LONG else one[1].replace("-", ""), re.sub(r"\s", "", one[2]), *_moved(one, offset))
        for one in re.finditer(rf"({number})({_PINPOINT})", match[name])
    ]


def _moved(match, offset):
    return offset + match.start(), offset + match.end()


def _paragraph_signs(text, mentions):
    """Yield groups with a paragraph sign: of a code by title, by name, or of none."""
    ends = {mention.end for mention in mentions if mention.code != UNKNOWN}
    for match in _PARAGRAPHS.finditer(text):
        act, name = "", (match["name"] or "").strip()
        if match["code"]:
            act = f"{re.sub(r'[^A-Z]', '', match['code'])[:3]}{match['title']}"
        elif name and (match.end("name") - 1 in ends or not name.endswith(_CODES)):
            continue  # an act that is known stands before the sign, or a name that is no code
        elif name:
            act = "".join(re.findall(r"\w+", _without_lead(name)))
        yield _Group("Section", "", _items(match, "numbers", _LONG), *match.span(), act=act)


def _numbers_after_names(text, groups, mentions):
    """Yield numbers that follow an act without a unit: ``IPC 302``, ``IPC-302``."""
    for mention in mentions:
        match = _AFTER_NAME.match(text, mention.end)
        if match and not any(g.start <= match.start("numbers") and match.end() <= g.end for g in groups):
            kind = "Article" if match["article"] else "Section"
            yield _Group(kind, "", _items(match, "numbers"), match.start("numbers"), match.end(), True, mention.code)


def _attach(text, group, mentions):
    """Give a group the act that follows it (``section 7 of the Arms Act``) or precedes it (``PDPA s.13``)."""
    stop = patterns()["before_an_act"].match(text, group.end).end()
    for mention in mentions:
        if group.end <= mention.start <= stop and _fits(group, mention.code):
            group.act = mention.code
    for mention in mentions:
        before = mention.end <= group.start and patterns()["after_an_act"].fullmatch(text, mention.end, group.start)
        if before and not group.act and _fits(group, mention.code):
            group.act = mention.code


def _fits(group, code):
    """Tell whether an act has such provisions: sections, articles, or orders."""
    if group.kind == "Rule":
        return code in {"CPC", "ROC"}
    constitution = code.endswith("Constitution")
    if group.kind == "Article":
        return constitution or code == "LA"  # the schedule of the Limitation Act
    return not constitution


def _inherit(text, groups, mentions, country):
    """Give the rest the act of the same number, else the one act that it can be."""
    usual = {"Article": ("Constitution", "SGConstitution"), "Rule": ("CPC", "ROC")}
    known = {(g.kind, item[0]): g.act for g in groups for item in g.items if g.act}
    for group in groups:
        if not group.act:
            default = usual.get(group.kind, ("", ""))[country == SINGAPORE]
            same = known.get((group.kind, group.items[0][0]))
            group.act = same or default or _nearest(text, group, groups, mentions)


def _nearest(text, group, groups, mentions):
    """Give the only act that a text names, or the one of the sentence or that before, if it can have the number."""
    before = [g for g in groups if g.end <= group.start and g.kind == group.kind]
    cited = [(g.end, g.act) for g in before if g.act and g.act != UNKNOWN]
    choice = {code for _, code in cited} | {m.code for m in mentions if _fits(group, m.code)} - {UNKNOWN}
    if len(choice) != 1:  # no sentence, or one, lies between
        near = [code for end, code in cited if len(re.findall(r"[.;]\s+[A-Z]", text[end : group.start])) <= 1]
        choice = near[-1:]
    largest = {}
    for other in groups:
        for number, *_ in other.items:
            largest[other.act] = max(largest.get(other.act, 0), _leading(number))
    able = [a for a in choice if all(_has(a, number, largest.get(a, 0)) for number, *_ in group.items)]
    return able[0] if able else UNKNOWN


def _has(act, number, largest):
    """Tell whether an act can have a section: by its structure, else by its size."""
    numbers = _numbers_of(f"{act}-")
    if numbers:
        return number in numbers or (number.isdigit() and int(number) <= max(map(_leading, numbers)))
    return act in acts_marked("large") or _leading(number) <= max(USUAL, 3 * largest)


@cache
def _numbers_of(prefix):
    return frozenset(number for chapter in act_structure().get(prefix, {}).values() for number in chapter)


def _arabic(numeral):
    """Read a Roman or Arabic numeral."""
    if numeral.isdigit():
        return int(numeral)
    values = [{"I": 1, "V": 5, "X": 10, "L": 50}[letter] for letter in numeral]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)
