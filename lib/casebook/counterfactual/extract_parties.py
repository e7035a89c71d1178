"""Kinds of petitioner and respondent, from how a judgment calls and describes them.

A side is described where it is introduced (``the appellant, a farmer of the village``),
named as the owner of the proceeding (``the company's appeal``) or by what it does
(``worked as a clerk with``). A role in the dispute goes before a legal form, and that
before Individual.
"""

import re

from casebook.counterfactual.extract_region import SHORT
from casebook.counterfactual.extract_sides import cause_title, sides
from casebook.counterfactual.spans import Found

_NATIONS = (
    r"(?:malaysian|chinese|indian national|nigerian|australian|indonesian|thai|burmese"
    r"|pakistani|nepali|nepalese|sri lankan|british|american|kenyan|afghan|filipino"
    r"|vietnamese|bangladeshi|iranian)"
)
_KINDS = (
    ("Minor", r"(?:\ba|\bthe|^) ?minor\b|minor (?:son|daughter|girl|boy|child)"),
    (
        "Employee",
        r"work(?:man|ed as|ing as)|employees?\b|employed (?:by|as)"
        r"|civil servant|clerk with"
        r"|engaged as|retired from|conductor|dismissed without notice"
        r"|in the service of",
    ),
    ("Contractor", r"(?:sub)?contractor"),
    ("Tenant", r"\b(?:sub)?tenants?\b|lessee"),
    ("Licensee", r"licensees?\b|held a licence|licence[- ]holder"),
    (
        "ForeignNational",
        rf"\b{_NATIONS}\b|citizen of (?!india|singapore)|\bnational\b|foreigner"
        r"|from (?:myanmar|china|australia|bangladesh|malaysia|indonesia)",
    ),
    ("UnionOfIndia", r"union of india|\brevenue\b|central government|income[- ]tax dep"),
    (
        "PublicSector",
        r"(?:municipal|transport|electricity|development) (?:corporation"
        r"|board)|\bboard\b"
        r"|public sector|nationalised|government (?:company|undertaking)|statutory body"
        r"|(?:port|housing) (?:trust|authority|board)|reserve bank|life insurance corp",
    ),
    ("Partnership", r"partnership|\bfirm\b|partners\b"),
    ("PrivateSector", r"private (?:hospital|school|college|tuition|clinic|university|trust)"),
    (
        "State",
        r"\bstate (?:of|govern|appeal|support|contest|resist|answer|oppose|said|has)"
        r"|(?:^|the )state(?:'s)?\b|public prosecutor|\bprosecution\b|attorney-general"
        r"|collector\b",
    ),
    (
        "Corporation",
        r"\bcompany\b|\bltd\b|\blimited\b|\bbank\b|corporation|insurer|developer"
        r"|incorporated",
    ),
    (
        "Individual",
        r"\b(?:he|she|his|her|him|widow|husband|wife|farmer|mother|father|son|daughter"
        r"|man|woman|lad|boy|girl|brothers?|sisters?|student|trader|hawker"
        r"|teacher|clerk"
        r"|inspector|engineer|journalist|landlord|businessman|mechanic|nurse"
        r"|doctor|aged"
        r"|ms|mr|mrs|smt|shri|convicted|sentenced|imprisonment|candidate|heirs?|manager"
        r"|director|detenu|landlady|parents|cousins?|driver|guarantor"
        r"|claimants)\b|-year-old",
    ),
)
_PATTERNS = [(kind, re.compile(words, re.IGNORECASE)) for kind, words in _KINDS]
_PETITIONER_WORDS = """
appellants? petitioners? plaintiffs? claimants? applicants? complainants? detenu
assessee workman
"""
_PETITIONER = _PETITIONER_WORDS.split()
_RESPONDENT = ("respondents?", "defendants?", "accused", r"opposite\sparty")
_OWNER = re.compile(
    r"\b(?:the |a )?(?P<who>[\w-]+(?: [\w-]+){0,2}?)'s? (?:further |second |own )?"
    r"(?:appeal|petition|revision|application)",
    re.IGNORECASE,
)
_MOVER = re.compile(
    r"\b(?:the )?(?P<who>[\w-]+(?: [\w-]+){0,2}?),?(?: [^.;,]{1,30},){0,2} (?:who )?"
    r"(?:appealed|appeals\b"
    r"|has come in appeal|sought (?:enhancement|divorce|eviction)|has appealed"
    r"|is in appeal|filed (?:a|this) (?:writ|appeal|petition|suit|revision))",
    re.IGNORECASE,
)
_OPPOSER = re.compile(
    r"\b(?:the )?(?P<who>[\w-]+(?: [\w-]+)?) (?:resisted|resists|contests"
    r"|opposes|supports"
    r"|answered|replied|said that|says that|asked that the sentence)",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:against|sued|from) (?:the )?(?P<who>(?!judgment|order|decision|award)"
    r"[\w-]+(?: (?:of )?[\w-]+){0,3})",
    re.IGNORECASE,
)
_COUNTERPART = {
    "Tenant": r"\b(?:landlord|landlady|lessor)\b",
    "Licensee": r"\blicen[sc](?:or|ee)s? of the (?P<who>\w+ \w+ ?\w*)",
    "Employee": r"\b(?:with|by|under|from) the (?P<who>(?:\w+ ){1,3})",
}
_SPOUSES = re.compile(r"\b(?:husband|wife|spouses)\b", re.IGNORECASE)
_ROLES_OF_OTHERS = "court|tribunal|judge|commission|magistrate|this|single|letters patent"


def parties(text, start=0, end=None):
    """Find the kinds of both sides."""
    whole = sides(text) if len(text) > SHORT else cause_title(text)
    whole = {side: Found(one.fact, one.start - start, one.end - start) for side, one in whole.items()}
    if len(whole) == 2:
        return whole
    told = _told(text[start:end])
    return told | whole


def _told(text):
    """Find the kinds of both sides in what is said of them."""
    petitioner = _described(text, _PETITIONER)
    respondent = _described(text, _RESPONDENT)
    owner = _first_kind(text, [_OWNER, _MOVER])
    if owner and (petitioner is None or owner.fact != petitioner.fact):
        swapped = respondent is None or respondent.fact == owner.fact
        respondent = petitioner if swapped else respondent
        petitioner = owner
    respondent = respondent or _other_side(text, petitioner)
    if respondent and petitioner and respondent.start == petitioner.start:
        respondent = None  # one description cannot be of both
    both = {"petitioner": petitioner, "respondent": respondent}
    return {side: found for side, found in both.items() if found}


def _other_side(text, petitioner):
    """Give the respondent by what it does, or by whose counterpart it is."""
    opposer = _first_kind(text, [_OPPOSER, _AGAINST])
    if opposer and opposer.fact in {"State", "UnionOfIndia", "PublicSector"}:
        return opposer
    if petitioner is None:
        return None
    pattern = _COUNTERPART.get(petitioner.fact)
    for match in re.finditer(pattern or "$^", text, re.IGNORECASE):
        words = match["who"] if "who" in match.groupdict() else match.group()
        found = _kind(words, match.start() + match.group().find(words))
        if found and (found.fact != petitioner.fact):
            return found
    spouses = {match.group().lower(): match for match in _SPOUSES.finditer(text)}
    if petitioner.fact == "Individual" and len(spouses) > 1:
        match = list(spouses.values())[-1]
        return Found("Individual", match.start(), match.end())
    return opposer if opposer and opposer.fact != "Individual" else None


def _first_kind(text, patterns):
    for pattern in patterns:
        for match in pattern.finditer(text):
            who = match["who"]
            if re.search(_ROLES_OF_OTHERS, who, re.IGNORECASE):
                continue
            found = _kind(who, match.start("who"))
            if found:
                return found
    return None


def _described(text, roles):
    """Give the kind of the side that is called by some roles, or None."""
    role = rf"(?:{'|'.join(roles)})\b(?:\sNo\.?\s?1\b)?"
    near = (
        rf"(?P<w>(?:\b\w+[ -])?\b{role}(?:[ -](?!was|is|were|are|had|has)\w+)?)",
        rf"\b{role}(?:-\w+)?, (?P<w>(?:(?:an?|the|then|now)\b|M/s|Ms|Mr"
        rf"|\w+ly\b)[^.;,]{{0,60}})",
    )
    said = (
        rf"\b{role} (?P<w>(?:was|is|were|worked|held|retired|served"
        rf"|trades?)\b[^.;,]{{0,60}})",
        rf"\b{role}[^.;]{{0,80}}?, (?P<w>an? [^.;,]{{0,60}})",
    )
    person = (rf"\b{role}(?P<w>[^.]{{0,200}}\.?[^.]{{0,40}})",)
    return (
        _best(text, near, {"Individual"})
        or _best(text, said, {"Individual"})
        or _best(text, (*near, *said), set())
        or _best(text, person, {kind for kind, _ in _KINDS if kind != "Individual"})
    )


def _best(text, windows, excluded):
    order = [kind for kind, _ in _KINDS]
    found = [
        kind
        for window in windows
        for match in re.finditer(window, text, re.IGNORECASE)
        for kind in [_kind(match["w"], match.start("w"), excluded)]
        if kind
    ]
    return min(found, key=lambda one: (order.index(one.fact), one.start), default=None)


def _kind(words, offset, excluded=()):
    for kind, pattern in _PATTERNS:
        match = pattern.search(words) if kind not in excluded else None
        if match:
            return Found(kind, offset + match.start(), offset + match.end())
    return None
