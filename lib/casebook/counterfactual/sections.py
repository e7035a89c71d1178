"""Sections in one normal form: ``IPC-302``, ``PDPA-13``, ``CPC-Order-7-Rule-11``."""

import re

from casebook.counterfactual.citations import Citation, find_citations

__all__ = ["Citation", "cited_sections", "documented_section", "find_citations", "normalise_section", "parse_section"]

# ``S-304B`` names no act; numbers with points or hyphens are those of American codes.
_ACT = r"(?P<act>(?!(?i:u?/?ss?|secs?|sections?|arts?|articles?|unknown)-)[A-Za-z]\w*)"
_NUMBER = r"(?P<number>\d{1,4}[A-Z]{0,3}|\d{1,5}[A-Za-z]{0,2}(?:[.-]\d{1,4}[a-z]?){0,3})"
_NORMAL = re.compile(rf"{_ACT}-(?:(?P<kind>Section|Article)-|Order-(?P<order>\d+)-(?P<rule>Rule)-)?{_NUMBER}")
_DOCUMENTED = re.compile(r"\w+-(?:(?:Section|Article|Order|Rule)-)?\d+.*")


def parse_section(section):
    """Take a section in normal form apart."""
    match = _NORMAL.fullmatch(section.strip())
    if match is None:
        return None
    kind = match["rule"] or match["kind"] or "Section"
    return Citation(match["act"], kind, match["number"], order=match["order"] or "")


def normalise_section(citation, country=None):
    """Bring one citation into normal form."""
    normal = parse_section(citation)
    if normal is not None:
        return normal.id
    found = [c for c in find_citations(citation, country) if c.act != "Unknown"]
    return found[0].id if found else None


def cited_sections(text, country=None):
    """Give the distinct provisions that a text cites."""
    found = find_citations(text, country)
    return tuple(dict.fromkeys(c.id for c in found if c.act != "Unknown"))


def documented_section(section):
    """Treat a section as the documented system does."""
    hyphened = re.sub(r"\s+", "-", section.strip())
    return hyphened if _DOCUMENTED.fullmatch(hyphened) else section
