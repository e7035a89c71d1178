"""Acts by name: full titles and usual abbreviations of Indian and Singapore statutes.

Acts of the same name in both countries are told apart by their year or chapter number
if the text gives one, else by the country that the text belongs to.
"""

import re
from dataclasses import dataclass
from functools import cache

from casebook.counterfactual.acts_table import TABLE

INDIA, SINGAPORE = "IN", "SG"
HEAD = 20_000  # characters in which a judgment shows where it comes from

_CHAPTER = r"Cap\.?\s*\d+[A-Z]?(?:,\s*\d{4}\s+Rev\.?\s+Ed\.?)?"
_TAIL = rf"(?P<tail>(?:,?\s*(?:\(\s*)?(?:\d{{4}}\b|{_CHAPTER})\)?)?)"
_ANY_ACT = (
    r"(?:[A-Z][a-z][\w'’-]*,?\s+(?:(?:of|and|for|the|to|on)\s+)*){1,9}"
    r"(?:Act|Ordinance|Adhiniyam)\b"
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
    """Give the table.

    Returns
    -------
    tuple of Act
        In the order of the table.
    """
    rows = (line.split("|") for line in TABLE.strip().splitlines())
    return tuple(
        Act(code, country, year, chapter, _split(names), _split(short))
        for code, country, year, chapter, names, short in rows
    )


def country_of(text):
    """Guess the country that a text belongs to from its words.

    Parameters
    ----------
    text : str
        A judgment, of which the first 20,000 characters are read, or a citation.

    Returns
    -------
    str
        ``SG`` if marks of Singapore outnumber those of India, else ``IN``: the
        documented system knows Indian judgments only.
    """
    head = text[:HEAD]
    singapore = len(_SINGAPORE_MARKS.findall(head))
    return SINGAPORE if singapore > len(_INDIA_MARKS.findall(head)) else INDIA


def find_acts(text, country=None):
    """Find the acts that a text names.

    Parameters
    ----------
    text : str
        Any text.
    country : {"IN", "SG"}, optional
        Whose act is meant where both have one of that name; by default
        `country_of` the text.

    Returns
    -------
    list of Mention
        In the order of the text, without overlaps. An act outside the table has its
        title, joined, as code: ``ExciseAct``.
    """
    country = country or country_of(text)
    found = []
    for match in _pattern().finditer(text):
        code = _code(match, country)
        if code:
            found.append(Mention(code, match.start(), match.end()))
    return found


def _code(match, country):
    """Choose the act that a match means: by year or chapter, else by country."""
    named = match["title"] or match["short"]
    if named is None:
        title = re.sub(r"^(?:The|Under|In|By|And|Of)\s+", "", match["any"])
        return "".join(re.findall(r"\w+", title.title().replace("'S", "s")))
    kind = _titles() if match["title"] else _abbreviations()
    candidates = kind[_plain(named)]
    stated = set(re.findall(r"\d+[A-Z]?", match["tail"] or match["tail2"] or ""))
    certain = [act for act in candidates if stated & {act.year, act.chapter} - {""}]
    here = [act for act in candidates if act.country == country]
    return (certain or here or candidates)[0].code


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
    r"|Public Prosecutor|\bHDB\b|\bCPF\b|Women['’]s Charter|\$\s?\d|\bMDA\b|\bPOHA\b"
    r"|\b(?:Act|Code|Charter) (?:19|20|18)\d\d\b"
)
_INDIA_MARKS = re.compile(
    r"\bIndian?\b|\bR[se]\.?\s?\d|₹|\brupees?\b|\b(?:lakh|lac|crore)s?\b|I\.?\s?P\.?\s?C\b"
    r"|Cr\.?\s?P\.?\s?C\b|\bSessions\b|Union of India|\bP\.?W\.?\s?-?\d|Hon['’]ble"
    r"|\b(?:Act|Code), (?:19|20|18)\d\d\b|\bSLP\b|S\.L\.P|\bHigh Court of [A-Z]"
)
