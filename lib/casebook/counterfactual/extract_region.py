"""Where a judgment tells its facts."""

import re

LONGEST = 12_000  # characters of the documented system
SHORT = 4_000  # texts up to here are read whole: a fifth of them is a sentence or two
SHARE = 0.2
_NUMBERING = r"[ \t]*(?:\(?(?:[IVX]+|\d{1,2}|[A-Z])[.)]\s*)?"
_HEADING = re.compile(
    rf"^{_NUMBERING}(?:(?:brief|material|relevant|factual|undisputed)\s+)?"
    r"(?:facts?|background|factual (?:matrix|background))"
    r"(?:\s+(?:of|in|and)\s+[\w ]{1,40})?\s*[:.-]*\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE = re.compile(
    r"\b(?:briefly stated,? )?the (?:brief |material "
    r"|relevant |short )?facts (?:of|giving rise|leading|which|that|are|in|necessary)",
    re.IGNORECASE,
)
_NEXT = re.compile(
    rf"^(?i:{_NUMBERING}(?:issues?|questions?|submissions?|arguments?|contentions?|analysis"
    r"|discussion|reasons?|reasoning|findings?|decision|held|judgment|order|conclusions?"
    r"|the law|law|evidence|grounds)(?:\s+[\w ]{1,40})?\s*[:.-]*\s*)$"
    r"|^[ \t]*[A-Z][A-Z ,&']{6,60}[:.]?\s*$",
    re.MULTILINE,
)


def facts_region(text, documented=False):
    """Find the part of a judgment that tells the facts."""
    heading = _HEADING.search(text)
    if heading:
        return _bounded(text, heading.end())
    if len(text) <= SHORT and not documented:
        return 0, len(text)
    inline = _INLINE.search(text)
    if inline:
        return _bounded(text, inline.start())
    return 0, min(LONGEST, max(1, round(len(text) * SHARE)))


def _bounded(text, start):
    following = _NEXT.search(text, start)
    end = following.start() if following else len(text)
    return start, min(end, start + LONGEST)
