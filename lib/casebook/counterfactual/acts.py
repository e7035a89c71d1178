"""Acts by name: full titles and usual abbreviations of Indian and Singapore statutes.

Acts of one name are told apart by their year or chapter number if the text gives one,
here or elsewhere, else by the country that the text belongs to. An act of another year
is another act; one of a third country is known by its title and year alone.
"""

import re
from dataclasses import dataclass
from functools import cache

from casebook.counterfactual.acts_table import TABLE

INDIA, SINGAPORE, ELSEWHERE = "IN", "SG", "elsewhere"
UNKNOWN = "Unknown"
HEAD = 20_000  # characters in which a judgment shows where it comes from

_CHAPTER = r"Cap\.?\s*\d+[A-Z]?(?:,\s*\d{4}\s+Rev\.?\s+Ed\.?)?"
_TAIL = rf"(?P<tail>(?:,?\s*(?:of\s)?(?:\(\s*)?(?:\d{{4}}\b|{_CHAPTER})\)?)?)"
_ANY_ACT = (
    r"(?:[A-Z][a-z][\w'’-]*,?\s+(?:\([A-Z][^()]{2,60}\)\s+)?"
    r"(?:(?:of|and|for|the|to|on|in)\s+)*){1,9}(?:Act|Ordinance|Adhiniyam)\b"
)
_BRACKET = re.compile(r"\s*\(\W{0,2}(?:the\s)?(?P<name>[A-Z][\w./ ]{1,14}?)\W{0,2}\)")
# What a text calls an act from here on: (“the CDSA”), (hereinafter 'the Act').
_CALLED = re.compile(
    r"[\s,]*(?:\(?(?:Cap|Rev)[^()]{0,40}\)?\s*)?[(\[]"
    r"(?:(?:hereinafter|in short|for short)[^\"“”'‘’)]{0,40})?(?:the\s)?"
    r"[\"“”'‘’`]{1,2}(?:the\s)?(?P<name>[A-Z][A-Za-z&.]{1,11}(?:\sAct|\sCode)?)[\"“”'‘’]{1,2}"
)


@dataclass(frozen=True)
class Act:
    """One act of the table; ``names`` are its titles, ``short`` its abbreviations."""

    code: str
    country: str
    year: str
    chapter: str
    names: tuple
    short: tuple


@dataclass(frozen=True)
class Mention:
    """An act named in a text, at ``text[start:end]``."""

    code: str
    start: int
    end: int


@cache
def acts():
    """Give the table."""
    rows = (line.split("|") for line in TABLE.strip().splitlines())
    return tuple(
        Act(code, country, year, chapter, _split(names), _split(short))
        for code, country, year, chapter, names, short in rows
    )


def country_of(text):
    """Guess the country that a text belongs to from its words."""
    head = text[:HEAD]
    patterns = (_INDIA_MARKS, _SINGAPORE_MARKS, _OTHER_MARKS)
    india, singapore, other = (len(marks.findall(head)) for marks in patterns)
    for match in _pattern().finditer(head):  # an act told by its year or chapter
        sure = _country_by_code().get(_code(match, None, certain=True))
        name = _plain(match["title"] or "")
        alone = {act.country for act in _titles().get(name, ())}
        if alone == {SINGAPORE} and not re.search(r"\d{4}", match.group()):
            singapore += 1  # an act of this name is known in Singapore only
        singapore += 2 * (sure == SINGAPORE)
        india += sure == INDIA
    if other > max(india, singapore):
        return ELSEWHERE
    if singapore > india:
        return SINGAPORE
    return INDIA if india else None


def find_acts(text, country=None):
    """Find the acts that a text names."""
    country = country or country_of(text)
    matches = list(_pattern().finditer(text))
    named, called = {}, {}
    for match in matches:
        code = _code(match, country, certain=True)
        if code:
            named.setdefault(_title(match), set()).add(code)
    found = []
    for match in matches:
        code = _abbreviated(text, match) or _code(match, country, certain=True)
        known = named.get(_title(match), set())
        if code is None and known:
            code = next(iter(known)) if len(known) == 1 else UNKNOWN
        code = code or _code(match, country)
        found.append(Mention(code, match.start(), match.end()))
        alias = _CALLED.match(text, match.end())
        if alias and code != UNKNOWN and _plain(alias["name"]) not in _abbreviations():
            called[alias["name"]] = (alias.end(), code)
    return sorted([*found, *_aliases(text, called, found)], key=lambda m: m.start)


def _abbreviated(text, match):
    """Give the act whose usual abbreviation stands in brackets behind a long title."""
    behind = match["any"] and _BRACKET.match(text, match.end())
    candidates = _abbreviations().get(_plain(behind["name"]), ()) if behind else ()
    year = re.findall(r"\d{4}", match["tail3"] or "")
    fit = [act for act in candidates if not year or act.year in year]
    return fit[0].code if len(fit) == 1 else None


def _aliases(text, called, found):
    """Yield the mentions of acts by the names that a text gave them."""
    taken = [(one.start, one.end) for one in found]
    for name, (after, code) in called.items():
        for match in re.compile(rf"\b{re.escape(name)}(?!\w)").finditer(text, after):
            start, end = match.span()
            if not any(low < end and start < high for low, high in taken):
                yield Mention(code, start, end)


def _title(match):
    """Give the name by which a match names its act, without year or chapter."""
    return _plain(match["title"] or match["short"] or _stem(match["any"]))


def _stem(words):
    return re.sub(r"^(?:(?:The|Under|In|By|And|Of|See)\s+)+", "", words)


def _joined(words, year):
    return "".join(re.findall(r"\w+", words.title().replace("'S", "s"))) + year


def _code(match, country, certain=False):
    """Choose the act that a match means: by year or chapter, else by country."""
    named = match["title"] or match["short"]
    tail = match["tail"] or match["tail2"] or match["tail3"] or ""
    stated = set(re.findall(r"\d+[A-Z]?", tail))
    year = next((n for n in re.findall(r"\b\d{4}\b", tail.split("Rev")[0])), "")
    if named is None:
        code = _joined(_stem(match["any"]), year)
        return code if year or not certain else None
    kind = _titles() if match["title"] else _abbreviations()
    candidates = kind[_plain(named)]
    for act in candidates:
        if stated & {act.year, act.chapter} - {""}:
            return act.code
    if year:  # an act of this name, but of a year that the table does not know
        return _joined(named, year)
    if certain:
        return None
    here = [act for act in candidates if act.country == country]
    if here or (country != ELSEWHERE and len(candidates) == 1):
        return (here or candidates)[0].code
    told = country == INDIA or (country is None and match["short"])
    return candidates[0].code if told else UNKNOWN


@cache
def _country_by_code():
    return {act.code: act.country for act in acts()}


@cache
def _titles():
    return _by_name(lambda act: act.names)


@cache
def _abbreviations():
    return _by_name(lambda act: act.short)


def _by_name(names):
    table = {}
    for act in acts():
        for name in names(act):
            table.setdefault(_plain(name), []).append(act)
    return table


@cache
def _pattern():
    titles = {name for act in acts() for name in act.names}
    short = {name for act in acts() for name in act.short}
    longest = sorted(titles, key=lambda name: (-len(name), name))
    title = "|".join(_loose(name) for name in longest)
    spaced = sorted(short, key=lambda name: (-len(name), name))
    abbreviation = "|".join(_dotted(name) for name in spaced)
    tail2 = _TAIL.replace("<tail>", "<tail2>")
    return re.compile(
        rf"\b(?P<title>(?i:{title}))\b{_TAIL}|"
        rf"(?<![\w.])(?P<short>{abbreviation})(?![A-Za-z]){tail2}|"
        rf"\b(?P<any>{_ANY_ACT}){_TAIL.replace('<tail>', '<tail3>')}"
    )


def _loose(name):
    """Match a title whatever its spaces, hyphens and apostrophes."""
    name = re.escape(name).replace("\\ ", r"\s+").replace("\\-", r"[-\s]")
    return name.replace("'", "['’]?")


def _dotted(name):
    """Match an abbreviation with or without points: IPC, I.P.C., I. P. C."""
    words = []
    for word in name.split():
        letters = re.findall(r"[A-Z][a-z]?(?![a-z])|[A-Z]|/", word)
        dotted = r"\.?\s?".join(map(re.escape, letters)) + r"\.?"
        words.append(word if word == "Act" else dotted)
    return r"\s?".join(words)


def _plain(name):
    return re.sub(r"[\s.'’-]", "", name).casefold()


def _split(names):
    return tuple(name for name in names.split(";") if name)


_SINGAPORE_MARKS = re.compile(
    r"Singapore|\bS\$|SGD|\[\d{4}\] SG\w+|\bCap\.?\s*\d|\bPDPA\b|\bPDPC\b"
    r"|Public Prosecutor|\bHDB\b|\bCPF\b|Women['’]s Charter|\bMDA\b|\bPOHA\b"
    r"|Personal Data Protection|\b(?:Ang Mo Kio|Bedok|Bukit|Changi|Geylang|Hougang"
    r"|Jurong|Pasir Ris|Punggol|Sengkang|Serangoon|Tampines|Toa Payoh|Yishun)\b"
)
_OTHER_MARKS = re.compile(
    r"§|\bU\.\s?S\.(?:\s?C\.)?(?=\W)|\bF\.\s?(?:2d|3d|4th|Supp)|United States"
    r"|\bCircuit\b|\b(?:Cal|Tex|Fla|Ill|Mass)\.|California|New York|Texas|Florida"
    r"|\bInc\.|£|€|\bGBP\b|\bEUR\b|\bEWHC\b|\bEWCA\b|\bUKSC\b|\bUKHL\b|Crown Court"
    r"|Upper Tribunal|England|Wales|Scotland|\bHMRC\b|Secretary of State|Housing Act"
    r"|\bGDPR\b|European|Australian?\b|\bHCA\b|\bNSW\b|Canad(?:a|ian)|Ontario|\bSCC\b"
    r"|Malaysian? (?:High|Court)|Hong Kong|New Zealand|South African?\b|Kenyan?\b"
)
_INDIA_MARKS = re.compile(
    r"\bIndian?\b|\bR[se]\.?\s?\d|₹|\brupees?\b|\b(?:lakh|lac|crore)s?\b|I\.?\s?P\.?\s?C\b"
    r"|Cr\.?\s?P\.?\s?C\b|\bSessions\b|Union of India|\bP\.?W\.?\s?-?\d|Hon['’]ble"
    r"|\b(?:Act|Code), (?:19|20|18)\d\d\b|\bSLP\b|S\.L\.P|\bHigh Court of [A-Z]"
)
