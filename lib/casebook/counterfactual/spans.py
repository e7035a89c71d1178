"""Facts at their places in a text, and what the words around them say."""

import re
from dataclasses import dataclass

_LIMIT = re.compile(
    r"(?:\bup\s?to|\bextend(?:s|ing)? to|\bnot exceeding|\bnot exceed|\bmaximum of"
    r"|\bmaximum (?:fine|term|penalty|sentence) (?:of|is)|\bpunishable with"
    r"|\bperiod prescribed|\blimitation of|\bceiling of|\bminimum of|\bcap of"
    r"|\bthreatens (?:a )?(?:fine|imprisonment)|\bfine between|\bterm between"
    r"|\bprescribes)(?:\s[\w$₹.,/-]+){0,4}\s*$",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[;:]|[.,](?=\s)|\s(?:but|while|whereas)\s")
_REACH = 70  # characters in which a word says what a number is for


@dataclass(frozen=True)
class Found:
    """One fact, found at ``text[start:end]``."""

    fact: object
    start: int
    end: int


def set_by_law(text, start):
    """Tell whether what follows is a limit that a statute sets."""
    return bool(_LIMIT.search(text, max(0, start - 60), start))


def about(text, start, end, words):
    """Say what a quantity is for: the nearest of some words, in its sentence."""
    before = text[max(0, start - _REACH) : start]
    after = text[end : end + _REACH]
    before = re.split(r"[.;]\s", before)[-1].lower()
    after = re.split(r"[.;]\s", after)[0].lower()
    near = [
        (distance + (_REACH if _CLAUSE_END.search(between) else 0), word)
        for word in words
        for distance, between in _gaps(word, before, after)
    ]
    return min(near)[1] if near else ""


def _gaps(word, before, after):
    pattern = re.compile(rf"\b{re.escape(word)}")
    for match in pattern.finditer(before):
        yield len(before) - match.end(), before[match.end() :]
    for match in pattern.finditer(after):
        yield match.start(), after[: match.start()]
