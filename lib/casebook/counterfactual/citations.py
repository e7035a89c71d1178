"""Statutory citations in running text, each resolved to its act.

Read are unit and numbers before an act (``Sections 302 and 34 IPC``), after it (``PDPA
s.13``), chains that share one act (``s. 304-B read with s. 34, I.P.C.``), and citations
without an act, which take over the act cited before. Sub-sections are kept apart.
"""

import re
from dataclasses import dataclass

from casebook.counterfactual.acts import SINGAPORE, country_of, find_acts

_NUMBER = r"\d{1,3}(?:-?[A-Z]{1,3}(?![A-Za-z]))?(?!\d|\.\d|[-/]\d{4})"
_PINPOINT = r"(?:\s?\(\s?\w{1,4}\s?\))*"
_ONE = rf"{_NUMBER}{_PINPOINT}"
_LINK = (
    r"(?:\s*(?:,\s*(?:and|or)\b|,|/|&|\band\b|\bor\b|\bto\b|\br/w\b|\bread with\b)\s*)"
)
_MORE = rf"(?:{_LINK}(?:{_ONE}|\(\w{{1,4}}\)(?:\(\w{{1,4}}\))*))*"
_UNIT = (
    r"(?:u/ss?\.?|(?i:sections?)|(?i:secs?)\b\.?|[Ss]s?\b\.?"
    r"|(?i:articles?)|(?i:arts?)\b\.?)"
)
_ROMAN = r"(?:[IVXL]+|\d{1,3})"
_GROUPS = re.compile(
    rf"(?<!\w)(?:Order|O\.?)[\s-]?(?P<order>{_ROMAN}),?[\s-]?(?:(?i:rules?)|[Rr]r?\.?)[\s-]?"
    rf"(?P<rules>{_ONE}{_MORE})"
    rf"|(?<![\w/.'’-])(?P<unit>{_UNIT})\s?(?P<numbers>{_ONE}{_MORE})"
    rf"|(?<![\w./,$₹-])(?P<bare>{_ONE}(?:\s?/\s?{_ONE})*)(?=,?\s(?:of\s(?:the\s)?)?[A-Z])"
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
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}


@dataclass(frozen=True)
class Citation:
    """One provision cited at ``text[start:end]``.

    ``kind`` is Section, Article or Rule; ``order`` is the order of a rule, ``pinpoint``
    the sub-section as written, such as ``(1)(b)``.
    """

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
    """Find the provisions that a text cites.

    Parameters
    ----------
    text : str
        Any text.
    country : {"IN", "SG"}, optional
        Whose act is meant where both have one of that name; guessed by default.

    Returns
    -------
    list of Citation
        In the order of the text, every mention. A citation whose act cannot be told
        from the text has the act ``Unknown``.
    """
    country = country or country_of(text)
    mentions = find_acts(text, country)
    inside = [(m.start, m.end) for m in mentions]
    groups = [g for g in _groups(text) if not _within(g.start, g.end, inside)]
    groups = _with_bare_after(text, groups, mentions)
    _attach_following(text, groups, mentions)
    _attach_preceding(text, groups, mentions)
    _attach_chains(text, groups)
    groups = [group for group in groups if group.act or not group.bare]
    _inherit(groups, mentions, country)
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


def _inherit(groups, mentions, country):
    """Give the rest the act of the same number, else the act cited last before it."""
    known = {(g.kind, item[0]): g.act for g in groups for item in g.items if g.act}
    for group in groups:
        if group.act:
            continue
        same = known.get((group.kind, group.items[0][0]))
        group.act = (
            same or _default(group, country) or _nearest(group, groups, mentions)
        )


def _default(group, country):
    if group.kind == "Article":
        return "SGConstitution" if country == SINGAPORE else "Constitution"
    if group.kind == "Rule":
        return "ROC" if country == SINGAPORE else "CPC"
    return ""


def _nearest(group, groups, mentions):
    before = [g for g in groups if g.end <= group.start and g.kind == group.kind]
    cited = [g.act for g in before if g.act and g.act != "Unknown"]
    named = [m.code for m in mentions if _fits(group, m.code)]
    return (cited[-1:] or named[:1] or ["Unknown"])[0]


def _arabic(numeral):
    """Read a Roman or Arabic numeral."""
    if numeral.isdigit():
        return int(numeral)
    values = [_VALUES[letter] for letter in numeral]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)
