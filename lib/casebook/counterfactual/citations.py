"""Statutory citations in running text, each resolved to its act.

Read are unit and numbers before an act (``Sections 302 and 34 IPC``), after it (``PDPA
s.13``), chains that share one act (``s. 304-B read with s. 34, I.P.C.``), and citations
without an act, which take over the act cited before. Sub-sections are kept apart.
"""

import re
from dataclasses import dataclass
from functools import cache

from casebook.counterfactual.acts import SINGAPORE, UNKNOWN, country_of, find_acts
from casebook.counterfactual.adjacency import shipped_structure

_NUMBER = r"\d{1,3}(?:-?[A-Z]{1,3}(?![A-Za-z]))?(?!\d|\.\d|[-/]\d{4})"
_PINPOINT = r"(?:\s?\(\s?\w{1,4}\s?\))*"
_ONE = rf"{_NUMBER}{_PINPOINT}"
_LINK = r"(?:\s*(?:,\s*(?:and|or)\b|,|/|&|\band\b|\bor\b|\bto\b|\br/w\b|\bread with\b)\s*)"
_MORE = rf"(?:{_LINK}(?:{_ONE}|\(\w{{1,4}}\)(?:\(\w{{1,4}}\))*))*"
_UNIT = (
    r"(?:u/ss?\.?|§{1,2}|(?i:sections?)|(?i:secs?)\b\.?|[Ss]s?\b\.?"
    r"|(?i:articles?)|(?i:arts?)\b\.?)"
)
_ROMAN = r"(?:[IVXL]+|\d{1,3})"
_GROUPS = re.compile(
    rf"(?<!\w)(?:Order|O\.?)[\s-]?(?P<order>{_ROMAN}),?[\s-]?(?:(?i:rules?)|[Rr]r?\.?)[\s-]?"
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
# An act is named after the number, but none that is known: it is not the last one.
_NAMED = re.compile(
    r"\s?(?:of|under|in)\s(?:the\s)?(?!Act\b|Code\b|Constitution\b|Charter\b"
    r"|Ordinance\b|Rules\b|said\b|same\b)(?:[A-Z][\w.'’&-]+\s?|[(\[]|of\s|and\s|the\s)"
)
_AFTER_NAME = re.compile(
    rf"[\s-](?:(?:Section|(?P<article>Article))-)?(?P<numbers>{_ONE}(?:\s?/\s?{_ONE})*)"
    r"(?!\s?(?:%|per\b|days?|weeks?|months?|years?|of\s\d))"
)
_BEFORE_ACT = re.compile(
    r"[\s,]*(?:Part [IVX]+,?\s*)?(?:of|under|in)?\s*(?:the\s+)?"
    r"(?:schedule to\s+(?:the\s+)?)?\[?"
)
_AFTER_ACT = re.compile(r"[\s,:'’s-]{0,4}")
_CHAIN = re.compile(
    r"[\s,;]*(?:and|or|&|r/w|read with|along with|as well as)?[\s,]*(?:under\s+)?"
    r"(?:the\s+)?"
)
_USUAL = 120  # sections that an act of unknown structure is taken to have
_ACTS_LARGE = """BNS BNSS BSA SGPC SGCPC SGEA MVA CoA IBC ITA CusA ElA ISA SGCoA IRDA
RTA WC Constitution SGConstitution RPA EmA"""
_LARGE = frozenset(_ACTS_LARGE.split())
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}


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
        """Give the normal form: ``IPC-302``, ``CPC-Order-7-Rule-11``."""
        if self.kind == "Rule":
            return f"{self.act}-Order-{self.order}-Rule-{self.number}"
        middle = "Article-" if self.kind == "Article" else ""
        return f"{self.act}-{middle}{self.number}"


@dataclass
class _Group:
    """Numbers that share one unit, before their act is known."""

    kind: str
    order: str
    items: list  # (number, pinpoint, start, end)
    start: int
    end: int
    bare: bool
    act: str = ""


def find_citations(text, country=None):
    """Find the provisions that a text cites."""
    country = country or country_of(text)
    mentions = find_acts(text, country)
    inside = [(m.start, m.end) for m in mentions]
    long = list(_paragraphs(text, mentions))
    taken = inside + [(group.start, group.end) for group in long]
    groups = [g for g in _groups(text) if not _overlap(g.start, g.end, taken)]
    groups = sorted([*groups, *long], key=lambda group: group.start)
    groups = _with_bare_after(text, groups, mentions)
    _attach_following(text, groups, mentions)
    _attach_preceding(text, groups, mentions)
    _attach_chains(text, groups)
    groups = [group for group in groups if group.act or not group.bare]
    for group in groups:
        if not group.act and _NAMED.match(text, group.end):
            group.act = UNKNOWN
    _inherit(text, groups, mentions, country)
    return [
        Citation(group.act, group.kind, number, pinpoint, group.order, start, end)
        for group in groups
        for number, pinpoint, start, end in group.items
    ]


def _groups(text):
    for match in _GROUPS.finditer(text):
        name = next(n for n in ("rules", "numbers", "bare") if match[n])
        items = list(_items(match[name], match.start(name)))
        order = str(_arabic(match["order"])) if name == "rules" else ""
        unit = (match["unit"] or "").lower()
        kind = "Rule" if order else "Article" if unit.startswith("art") else "Section"
        yield _Group(kind, order, items, match.start(), match.end(), name == "bare")


def _paragraphs(text, mentions):
    """Yield groups with a paragraph sign: of a code by title, by name, or of none."""
    ends = {mention.end for mention in mentions if mention.code != UNKNOWN}
    for match in _PARAGRAPHS.finditer(text):
        act, name = "", (match["name"] or "").strip()
        if match["code"]:
            act = f"{re.sub(r'[^A-Z]', '', match['code'])[:3]}{match['title']}"
        elif name and match.end("name") - 1 in ends:
            continue  # an act that is known stands before the sign
        elif name.endswith(_CODES):
            words = re.sub(r"^(?:(?:Under|See|In|The|By|And|Of)\s)+", "", name)
            act = "".join(re.findall(r"\w+", words))
        elif name:
            continue
        start = match.start("numbers")
        items = [
            (one[1], re.sub(r"\s", "", one[2]), start + one.start(), start + one.end())
            for one in re.finditer(rf"({_LONG})({_PINPOINT})", match["numbers"])
        ]
        yield _Group("Section", "", items, match.start(), match.end(), False, act)


def _items(numbers, offset):
    """Yield each number with its sub-section; ``(b)`` alone belongs to the last one."""
    for match in re.finditer(rf"({_NUMBER})({_PINPOINT})", numbers):
        number = match[1].replace("-", "")
        pinpoint = re.sub(r"\s", "", match[2])
        yield number, pinpoint, offset + match.start(), offset + match.end()


def _with_bare_after(text, groups, mentions):
    """Add numbers that follow an act without a unit: ``IPC 302``, ``IPC-302``."""
    taken = [(group.start, group.end) for group in groups]
    for mention in mentions:
        match = _AFTER_NAME.match(text, mention.end)
        if match and not _within(match.start("numbers"), match.end(), taken):
            items = list(_items(match["numbers"], match.start("numbers")))
            span = match.start("numbers"), match.end()
            kind = "Article" if match["article"] else "Section"
            groups.append(_Group(kind, "", items, *span, True, mention.code))
    return sorted(groups, key=lambda group: group.start)


def _within(start, end, spans):
    return any(low <= start and end <= high for low, high in spans)


def _overlap(start, end, spans):
    return any(low < end and start < high for low, high in spans)


def _attach_following(text, groups, mentions):
    """Give a group the act that follows it: ``section 7 of the Arms Act``."""
    for group in groups:
        stop = _BEFORE_ACT.match(text, group.end).end()
        for mention in mentions:
            if group.end <= mention.start <= stop and _fits(group, mention.code):
                group.act = mention.code


def _attach_preceding(text, groups, mentions):
    """Give a group the act that stands right before it: ``PDPA s.13``, ``IPC-302``."""
    for group in groups:
        for mention in mentions:
            gap = _AFTER_ACT.fullmatch(text, mention.end, group.start)
            if not group.act and mention.end <= group.start and gap:
                group.act = mention.code if _fits(group, mention.code) else ""


def _attach_chains(text, groups):
    """Give a group without act the act of the group that it is linked to."""
    for group, after in zip(groups[-2::-1], groups[:0:-1], strict=True):
        linked = _CHAIN.fullmatch(text, group.end, after.start)
        if not group.act and linked and group.kind == after.kind:
            group.act = after.act


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
    known = {(g.kind, item[0]): g.act for g in groups for item in g.items if g.act}
    for group in groups:
        if group.act:
            continue
        same = known.get((group.kind, group.items[0][0]))
        group.act = same or _default(group, country) or _nearest(text, group, groups, mentions)


def _default(group, country):
    if group.kind == "Article":
        return "SGConstitution" if country == SINGAPORE else "Constitution"
    if group.kind == "Rule":
        return "ROC" if country == SINGAPORE else "CPC"
    return ""


def _nearest(text, group, groups, mentions):
    """Give the only act that a text names, or the one of the sentence or that before."""
    before = [g for g in groups if g.end <= group.start and g.kind == group.kind]
    cited = [(g.end, g.act) for g in before if g.act and g.act != UNKNOWN]
    named = [(m.end, m.code) for m in mentions if _fits(group, m.code)]
    acts = {code for _, code in [*cited, *named]} - {UNKNOWN}
    near = [code for end, code in cited if _near(text, end, group.start)]
    numbers = [item[0] for item in group.items]
    largest = {}
    for other in groups:
        for number, *_ in other.items:
            largest[other.act] = max(largest.get(other.act, 0), _leading(number))
    choice = acts if len(acts) == 1 else near[-1:]
    able = [a for a in choice if all(_has(a, n, largest.get(a, 0)) for n in numbers)]
    return able[0] if able else UNKNOWN


def _near(text, end, start):
    """Tell whether two places lie in one sentence or in two that follow each other."""
    return len(re.findall(r"[.;]\s+[A-Z]", text[end:start])) <= 1


@cache
def _sections_of(act):
    """Give the numbers of an act's sections; None where they are not known."""
    chapters = shipped_structure().get(f"{act}-")
    return chapters and {number for part in chapters.values() for number in part}


def _leading(number):
    return int(re.match(r"\d+", number)[0])


def _has(act, number, largest):
    """Tell whether an act can have a section: by its structure, else by its size."""
    numbers = _sections_of(act)
    if numbers:
        last = max(map(_leading, numbers))
        return number in numbers or (number.isdigit() and int(number) <= last)
    return act in _LARGE or _leading(number) <= max(_USUAL, 3 * largest)


def _arabic(numeral):
    """Read a Roman or Arabic numeral."""
    if numeral.isdigit():
        return int(numeral)
    values = [_VALUES[letter] for letter in numeral]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)
