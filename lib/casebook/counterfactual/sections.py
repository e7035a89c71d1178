"""Sections in one normal form: ``IPC-302``, ``PDPA-13``, ``CPC-Order-7-Rule-11``."""

import re

from casebook.counterfactual.citations import Citation, find_citations

__all__ = [
    "Citation",
    "cited_sections",
    "documented_section",
    "find_citations",
    "normalise_section",
    "parse_section",
]

# ``S-304B`` names no act; numbers with points or hyphens are those of American codes.
_ACT = r"(?P<act>(?!(?i:u?/?ss?|secs?|sections?|arts?|articles?|unknown)-)[A-Za-z]\w*)"
_NUMBER = (
    r"(?P<number>\d{1,4}[A-Z]{0,3}|\d{1,5}[A-Za-z]{0,2}(?:[.-]\d{1,4}[a-z]?){0,3})"
)
_NORMAL = re.compile(
    rf"{_ACT}-(?:(?P<kind>Section|Article)-|Order-(?P<order>\d+)-(?P<rule>Rule)-)?{_NUMBER}"
)
_DOCUMENTED = re.compile(r"\w+-(?:(?:Section|Article|Order|Rule)-)?\d+.*")


def parse_section(section):
    """Take a section in normal form apart.

    Parameters
    ----------
    section : str
        Such as ``IPC-302`` or ``CPC-Order-7-Rule-11``.

    Returns
    -------
    Citation or None
        None if it is not in normal form.
    """
    match = _NORMAL.fullmatch(section.strip())
    if match is None:
        return None
    kind = match["rule"] or match["kind"] or "Section"
    return Citation(match["act"], kind, match["number"], order=match["order"] or "")


def normalise_section(citation, country=None):
    """Bring one citation into normal form.

    Parameters
    ----------
    citation : str
        As lawyers write it: ``u/s 138 NI Act``, ``s 300A IPC``, ``Order VII Rule 11
        CPC``, ``Section 13(1)(b) of the Personal Data Protection Act 2012``.
    country : {"IN", "SG"}, optional
        Whose act is meant where both have one of that name; guessed by default.

    Returns
    -------
    str or None
        The normal form of the first provision, without its sub-section; None if there
        is none, or its act is not told.
    """
    normal = parse_section(citation)
    if normal is not None:
        return normal.id
    found = [c for c in find_citations(citation, country) if c.act != "Unknown"]
    return found[0].id if found else None


def cited_sections(text, country=None):
    """Give the distinct provisions that a text cites.

    Parameters
    ----------
    text : str
        Any text.
    country : {"IN", "SG"}, optional
        As for `find_citations`.

    Returns
    -------
    tuple of str
        Normal forms in the order of first mention, without those of unknown act.
    """
    found = find_citations(text, country)
    return tuple(dict.fromkeys(c.id for c in found if c.act != "Unknown"))


def documented_section(section):
    """Treat a section as the documented system does.

    Parameters
    ----------
    section : str
        As the extractor gave it.

    Returns
    -------
    str
        Unchanged if it has the documented form, else with hyphens for spaces if that
        has it, else unchanged.
    """
    hyphened = re.sub(r"\s+", "-", section.strip())
    return hyphened if _DOCUMENTED.fullmatch(hyphened) else section
