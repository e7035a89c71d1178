"""Legal citations in text: found, and written in one canonical way.

Recognised are neutral citations (``[2019] UKSC 41``, ``2023 INSC 677``), reports
(``[1932] AC 562``, ``(1973) 4 SCC 225``, ``AIR 1973 SC 1461``, ``410 U.S. 113``),
sections, articles, orders and rules with their Act where it stands beside them, and the
pinpoint that follows (``at [50]-[52]``, ``para 42``, ``p 580E``). ``[50]`` alone is no
citation, and ``[2019]`` alone no pinpoint.
"""

import re
from dataclasses import dataclass

from casebook.text import fold

_YEAR = r"(?:1[6-9]|20)\d\d"
_DIVISION = r"(?: ?\((?:[A-Z][A-Za-z]*|[A-Z])\))?"
_SERIES = r"[A-Z][A-Za-z.]*(?: ?(?:\([A-Z][A-Za-z]*\)|&|[A-Z][A-Za-z.]*)){0,3}"
_COURT = r"[A-Z]{2,8}(?: (?:Civ|Crim|Admin|Ch|Comm|Fam|Pat|TCC|\([A-Z][A-Za-z]*\)))?"
_PINPOINT = (
    r"(?:,? ?(?:at )?(?P<pin>\[\d{1,3}\](?: ?(?:-|to|and|,) ?\[\d{1,3}\])*"
    r"|(?:paras?\.?|paragraphs?|¶+) ?\d{1,4}(?: ?(?:-|to|and|,) ?\d{1,4})*"
    r"|(?:p|pp|pages?)\.? ?\d{1,4}[A-H]?(?: ?- ?\d{1,4}[A-H]?)?"
    r"|(?<=at )\d{1,4}[A-H]?))?"
)
_CASES = [
    rf"\[(?P<year>{_YEAR})\] (?P<volume>\d{{1,3}} )?(?P<series>{_SERIES}) ?"
    rf"(?P<page>\d{{1,5}})(?P<division>{_DIVISION})",
    rf"\((?P<year>{_YEAR})\) (?P<volume>\d{{1,3}} )?(?P<series>{_SERIES}) ?"
    rf"(?P<page>\d{{1,5}})",
    rf"(?P<series>A\.? ?I\.? ?R\.?) (?P<year>{_YEAR}) (?P<volume>[A-Z][A-Za-z&. ]*?) "
    rf"(?P<page>\d{{1,5}})",
    rf"\b(?P<year>{_YEAR}) (?P<series>{_COURT}) (?P<page>\d{{1,5}})",
    r"\b(?P<volume>\d{1,3} )(?P<series>U\. ?S\.|F\. ?[23]d|S\. ?Ct\.|C\. ?L\. ?R\.)"
    r" (?P<page>\d{1,5})(?: \((?P<year>\d{4})\))?",
]
_UNIT = (
    r"(?:[Ss]ections?|[Ss]ecs?\.?|[Ss]s?\.?|[Aa]rticles?|[Aa]rts?\.?|[Rr]egulations?"
    r"|[Rr]egs?\.?|[Oo]rder|[Rr]ules?|[Cc]lauses?|[Cc]ls?\.?)"
)
_NUMBER = r"\d{1,4}[A-Z]{0,3}(?: ?\((?:\d{1,3}|[a-z]{1,4}|[A-Z]{1,2})\))*"
_ACT = (
    r"(?:I\.?P\.?C\.?|Cr\.?P\.?C\.?|C\.?P\.?C\.?|PDPA|GDPR|POCSO|NDPS|BNSS?|BSA"
    r"|Constitution|Evidence Act|Penal Code)"
)
_SECTION = re.compile(
    rf"(?<![\w.])(?:(?P<before>{_ACT}),? ?)?(?P<unit>{_UNIT}) ?(?P<numbers>{_NUMBER}"
    rf"(?:(?:, ?| and | or | ?- ?| to |, and ){_NUMBER})*)(?![\d])"
    rf"(?: Rules? (?P<rule>{_NUMBER}))?"
    rf"(?:,? (?:of )?(?:the )?(?P<after>{_ACT})\b)?"
)
_KINDS = {"a": "article", "o": "order", "r": "rule", "c": "clause", "s": "section"}


@dataclass(frozen=True)
class Citation:
    """One citation of a text."""

    kind: str
    text: str
    canonical: str
    parts: tuple
    pinpoint: str | None
    start: int
    end: int


def find_citations(text):
    """Find the citations of a text."""
    plain = re.sub(r"\s", " ", fold(text))
    found = [_case(match, text) for pattern in _CASES for match in re.finditer(pattern + _PINPOINT, plain)]
    found += [c for match in _SECTION.finditer(plain) for c in _provisions(match, text)]
    found.sort(key=lambda c: (c.start, c.kind != "case", -c.end))
    kept = []
    for citation in found:
        if not kept or citation.start >= kept[-1].end:
            kept.append(citation)
    return kept


def _case(match, text):
    parts = match.groupdict()
    end = match.start("pin") if parts.get("pin") else match.end()
    year = parts["year"] or ""
    series = re.sub(r"[. ]", "", parts["series"])
    volume = re.sub(r"[. ]", "", parts.get("volume") or "")
    division = re.sub(r"[ ()]", "", parts.get("division") or "")
    name = " ".join(part for part in (volume, series + division) if part)
    if series == "AIR":
        name = f"AIR {volume}"
    written = text[match.start() : end].rstrip(" ,")
    written = re.sub(r"[, ]+(?:at)?$", "", written)
    return Citation(
        "case",
        written,
        " ".join(part for part in (year, name, parts["page"]) if part),
        (year, name, parts["page"]),
        parts.get("pin"),
        match.start(),
        match.end(),
    )


def _provisions(match, text):
    parts = match.groupdict()
    act = parts["before"] or parts["after"] or ""
    act = "".join(c for c in act if c not in ". ")
    unit = _KINDS.get(parts["unit"][0].lower(), "section")
    if parts["unit"].lower().startswith("reg"):
        unit = "regulation"
    for number in re.finditer(_NUMBER, parts["numbers"]):
        value = number.group().replace(" ", "")
        rule = f" rule {parts['rule'].replace(' ', '')}" if parts["rule"] else ""
        name = f"{unit} {value}{rule}"
        start = match.start("numbers") + number.start()
        end = match.start("numbers") + number.end()
        yield Citation(
            "provision", text[start:end], f"{act} {name}".strip(), (act, unit, value + rule), None, start, end
        )


def canonical(text):
    """Write a single citation in the canonical way."""
    found = find_citations(text)
    return found[0].canonical if found else None
