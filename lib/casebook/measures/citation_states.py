"""Citations of an explanation, and whether they name its sources.

States: *verbatim*, written as the source is; *repaired*, the same in another spelling;
*misattributed*, another source than the one expected; *stitched*, parts of several
sources in one citation, or one case's name with another's citation; *absent*, none.
"""

import re
from dataclasses import dataclass

from casebook.errors import InputError
from casebook.measures.citations import find_citations
from casebook.measures.mentions import PARTY
from casebook.text import fold

_NAME = re.compile(rf"{PARTY} (?:v|vs)\.? (?:the )?{PARTY}[,:;]? ?$")
_NO_NAME = {"and", "anr", "co", "de", "for", "ltd", "of", "ors", "pvt", "r", "state"}
_NO_NAME |= {"the", "union", "v", "vs"}


@dataclass(frozen=True)
class CitationState:
    """One citation and its state."""

    citation: object
    state: str
    source: object


def citation_states(explanation, sources, *, names=None, expected=None):
    """Say of every citation of an explanation which source it names."""
    known = _known(sources)
    return [
        CitationState(citation, *_state(citation, explanation, known, names, expected))
        for citation in find_citations(explanation)
    ]


def _known(sources):
    """Give canonical citation to (key, ways it is written, parts)."""
    known = {}
    for written, key in sources.items():
        found = find_citations(written)
        if not found:
            raise InputError(f"source {written!r} is not written as a citation")
        other = known.get(found[0].canonical)
        if other and other[0] != key:
            raise InputError(f"{written!r} names both {other[0]!r} and {key!r}")
        spellings = {fold(found[0].text)} | (other[1] if other else set())
        known[found[0].canonical] = key, spellings, found[0].parts
    return known


def _state(citation, text, known, names, expected):
    match = known.get(citation.canonical)
    if match is None:
        parts = [parts for _, _, parts in known.values()]
        return ("stitched" if _mixed(citation, parts) else "absent"), None
    key, spellings, _ = match
    if _names_another(text[: citation.start], key, names or {}):
        return "stitched", None
    if expected is not None and key != expected:
        return "misattributed", key
    return ("verbatim" if fold(citation.text) in spellings else "repaired"), key


def _mixed(citation, known):
    """Whether each part of a case citation stands in some source, but not together."""
    if citation.kind != "case":
        return False
    places = zip(*known, strict=True) if known else ()
    return all(part in place for part, place in zip(citation.parts, places, strict=False))


def _names_another(before, key, names):
    """Whether the case name right before a citation fits other sources only."""
    match = _NAME.search(fold(before).replace("\n", " "))
    if match is None:
        return False
    here = _name_words(match.group())
    fits = {other for other, name in names.items() if here & _name_words(name)}
    return bool(fits) and key not in fits


def _name_words(name):
    return set(re.findall(r"\w+", fold(name).lower())) - _NO_NAME
