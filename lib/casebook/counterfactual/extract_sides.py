"""Sides of a whole judgment: by its cause title, roles, counsel and procedure.

What a short text says of a side is read by `extract_parties`; a reported judgment names
its sides at the head (``A ... Appellant Versus B ... Respondent``), by compounds
(``the respondent-State``), by who is represented, or by the kind of proceeding: who
appeals against a conviction was accused, and the State opposes.
"""

import re
from collections import Counter

from casebook.counterfactual.spans import Found

HEAD = 4_000  # characters in which a cause title stands
_PETITIONERS = r"(?:appellant|petitioner|plaintiff|applicant|complainant)s?(?:\(s\))?"
_RESPONDENTS = r"(?:respondent|defendant|opposite part(?:y|ie))s?(?:\(s\))?"
_VERSUS = r"(?:versus|vs?)\b\.?"
_ROLES = re.compile(
    rf"(?P<a>[^\n;:]{{2,160}}?)[\s.…,\\–—-]*\b{_PETITIONERS}"
    rf"(?:\s(?:and|&)\s(?:others|another|ors?|anr)\b)?\W{{0,12}}{_VERSUS}\s+"
    rf"(?P<b>[^;:]{{2,160}}?)[\s.…,\\–—-]*\b{_RESPONDENTS}",
    re.IGNORECASE,
)
_FIRST_LINE = re.compile(
    r"\A[\s#*]*(?P<a>[A-Z][^\n]{1,90}?)\s(?:[vV][sS]?\.?|[Vv]ersus|VERSUS)\s"
    r"(?P<b>[A-Z][^\n\[]{1,90}?)(?=\s*(?:\[|\(?\d{4}|\bon \d|\n|$))"
)
_COURT = re.compile(
    r".*\b(?:NOS?\.?\s?[\d/ ,-]+(?:OF\s\d{4})?|OF\s\d{4}|JURISDICTION|REPORTABLE|\])\s", re.IGNORECASE | re.DOTALL
)
# Kinds of a party by its name, the most telling first; a name of none is a person.
_NAMES = (
    (
        "UnionOfIndia",
        r"union of india|\brevenue\b|income[- ]tax|central excise|customs|"
        r"\bc\.?b\.?i\b|central bureau|enforcement directorate|directorate of",
    ),
    (
        "State",
        r"\bstate\b|\bgovt\b|\bgovernment\b|public prosecutor|attorney-general|"
        r"collector|magistrate|\bpolice\b|secretary|commissioner|tahsildar|superintendent|"
        r"land acquisition officer|\bnct\b|union territory|\bthe queen\b|^r$|regina|"
        r"united states|people of",
    ),
    (
        "PublicSector",
        r"municipal|panchayat|\bboard\b|authority|university|transport corporation|"
        r"nigam|electricity|public service commission|development corporation|"
        r"life insurance corporation|reserve bank|port trust|housing|council\b|samiti",
    ),
    ("Employee", r"\bworkm[ae]n\b|employees|mazdoor|karmachari|staff|workers|\bunion\b|sangh\b"),
    (
        "Corporation",
        r"\bltd\b|\blimited\b|compan(?:y|ies)|\bco\b|\bcorpn?\b|corporation|\binc\b|"
        r"\bllp\b|\bpte\b|\bplc\b|\bgmbh\b|\bbank\b|industries|mills|enterprises|"
        r"insurance|society|trust\b|association|federation|carrier",
    ),
    ("Partnership", r"\bm/s\b|&\s?(?:sons|bros|brothers)|\bfirm\b|traders"),
    ("Minor", r"\bminor\b"),
)
_BY_NAME = [(kind, re.compile(words, re.IGNORECASE)) for kind, words in _NAMES]
# What a side is called beside its role: ``respondent-State``, ``appellant company``.
_CALLED = {
    "state": "State",
    "government": "State",
    "collector": "State",
    "authorities": "State",
    "union of india": "UnionOfIndia",
    "revenue": "UnionOfIndia",
    "department": "UnionOfIndia",
    "board": "PublicSector",
    "authority": "PublicSector",
    "university": "PublicSector",
    "municipality": "PublicSector",
    "municipal": "PublicSector",
    "corporation": "PublicSector",
    "workman": "Employee",
    "workmen": "Employee",
    "employee": "Employee",
    "employees": "Employee",
    "union": "Employee",
    "company": "Corporation",
    "bank": "Corporation",
    "society": "Corporation",
    "carrier": "Corporation",
    "insurer": "Corporation",
    "management": "Corporation",
    "federation": "Corporation",
    "firm": "Partnership",
    "tenant": "Tenant",
    "tenants": "Tenant",
    "landlord": "Individual",
    "accused": "Individual",
    "wife": "Individual",
    "husband": "Individual",
    "father": "Individual",
    "mother": "Individual",
    "claimant": "Individual",
    "claimants": "Individual",
    "candidate": "Individual",
    "detenu": "Individual",
}
_WORDS = "|".join(sorted(_CALLED, key=len, reverse=True))
_BESIDE = r"(?:\s?nos?\.?\s?[1i]\b)?\s?[-–/]?\s?(?:the\s)?"
_COMPOUND = {
    side: re.compile(
        rf"\b{role}{_BESIDE}(?P<w>{_WORDS})\b|\b(?P<w2>{_WORDS})\s?[-–/]\s?{role}\b"
        rf"|\b(?P<w3>{_WORDS})\b[^.;,]{{0,12}}, (?:the )?{role}\b",
        re.IGNORECASE,
    )
    for side, role in (("petitioner", r"(?:appellant|petitioner)s?"), ("respondent", r"respondents?"))
}
_FILED = re.compile(
    r"\b(?:this|these|present|instant|special leave)\b[^.;]{0,20}"
    r"\b(?:appeals?|petitions?)\b[^.;]{0,60}\b(?:filed|preferred|brought) by (?:the )?"
    r"(?P<w>State\b|Union of India|Revenue|[A-Z][\w.&]+(?: [A-Z][\w.&]+){0,5})"
    r"|^(?P<w2>[A-Z][\w.&]+(?: [A-Z][\w.&]+){1,6}) (?:\([^)]{0,60}\) )?"
    r"calls in question",
    re.MULTILINE,
)
_COUNSEL = re.compile(
    r"\b(?:counsel|advocate|solicitor[- ]general|attorney[- ]general)\b[^.;]{0,60}?"
    r"\b(?:for|behalf of) (?:the )?(?:respondents?[\s,-]+)?(?P<w>State\b|Union of India"
    r"|Revenue|Department|Public Prosecutor|Union Territory)",
    re.IGNORECASE,
)
_SOLICITOR = re.compile(
    r"\b(?:solicitor|attorney)[- ]general\b[^.;]{0,60}?\b(?:for|behalf of) (?:the )?"
    r"(?P<role>appellant|petitioner|respondent)",
    re.IGNORECASE,
)
_CONVICTED = re.compile(
    r"\bappellants?\b[^.]{0,90}\b(?:convicted|sentenced|tried for|found guilty|charged"
    r"|stood trial|faced trial)"
    r"|\b(?:convict(?:ed|ing|ion of)|sentenc(?:ed|ing)|guilt of)\b[^.]{0,80}\b"
    r"(?:appellants?|petitioner)\b|\b(?:appellants?[- ]accused|accused[- ]appellants?)",
    re.IGNORECASE,
)
_ASSESSEE = re.compile(
    r"\b(?P<role>appellant|petitioner|respondent)s?\W{1,3}assessee"
    r"|assessee\W{1,3}(?P<role2>appellant|petitioner|respondent)",
    re.IGNORECASE,
)
_GOVERNMENT = {"State", "UnionOfIndia", "PublicSector"}


def cause_title(text):
    """Find both sides in the cause title at the head of a judgment."""
    head = text[:HEAD]
    match = _FIRST_LINE.match(head) or _ROLES.search(head)
    if match is None:
        return {}
    before = _COURT.match(match["a"])
    start = match.start("a") + (before.end() if before else 0)
    sides = {"petitioner": (start, match.end("a")), "respondent": match.span("b")}
    found = {}
    for side, (low, high) in sides.items():
        if text[low:high].strip():
            found[side] = Found(_kind_of_name(text[low:high]), low, high)
    return found


def sides(text):
    """Find both sides of a whole judgment."""
    title = cause_title(text)
    if len(title) == 2:
        return title
    called = {side: _most_called(text, pattern) for side, pattern in _COMPOUND.items()}
    petitioner = _filed(text) or called["petitioner"]
    respondent = called["respondent"]
    convicted = _CONVICTED.search(text[: 3 * HEAD])
    if petitioner is None and convicted:
        petitioner = Found("Individual", *convicted.span())
    taxed = _ASSESSEE.search(text)
    if taxed:
        revenue = Found("UnionOfIndia", *taxed.span())
        if (taxed["role"] or taxed["role2"]).lower() == "respondent":
            petitioner = petitioner or revenue
        else:
            respondent = respondent or revenue
    general = _SOLICITOR.search(text)
    if general:
        union = Found("UnionOfIndia", *general.span())
        if general["role"].lower() == "respondent":
            respondent = respondent or union
        else:
            petitioner = petitioner or union
    if respondent is None and (petitioner is None or petitioner.fact != "State"):
        respondent = _counsel(text, petitioner)
    if respondent is None and convicted:
        if petitioner and petitioner.fact in _GOVERNMENT:
            respondent = Found("Individual", *convicted.span())
        else:
            respondent = Found("State", *convicted.span())
    found = {"petitioner": petitioner, "respondent": respondent}
    return {side: one for side, one in found.items() if one}


def _kind_of_name(name):
    """Tell the kind of a party by its name."""
    name = " ".join(name.split())
    return next((k for k, words in _BY_NAME if words.search(name)), "Individual")


def _most_called(text, pattern):
    """Give the kind that a side is called most often, at its first mention."""
    hits = [(_CALLED[(m["w"] or m["w2"] or m["w3"]).lower()], m) for m in pattern.finditer(text)]
    if not hits:
        return None
    kind = Counter(kind for kind, _ in hits).most_common(1)[0][0]
    first = next(match for other, match in hits if other == kind)
    return Found(kind, first.start(), first.end())


def _filed(text):
    match = _FILED.search(text[:HEAD])
    if match is None:
        return None
    name = match["w"] or match["w2"]
    return Found(_kind_of_name(name), match.start(), match.end())


def _counsel(text, petitioner):
    match = _COUNSEL.search(text)
    if match is None:
        return None
    kind = _kind_of_name(match["w"])
    kind = "UnionOfIndia" if match["w"].lower() == "department" else kind
    if petitioner and petitioner.fact == kind:
        return None
    return Found(kind, match.start(), match.end())
