"""Types of evidence that a judgment names as given, not as missing.

Negation follows NegEx (Chapman et al., 2001): a trigger before or after a term, within
the same clause and a few words, takes the term away.
"""

import re

from casebook.counterfactual.fact_types import EVIDENCE_TYPES, EvidenceItem
from casebook.counterfactual.spans import Found
from casebook.text import sentences

SCOPE = 6  # words between trigger and term
_DOCUMENTS = (
    r"(?:letters?|receipts?|invoices?|registers?|certificates?|agreements?"
    r"|deeds?|wills?"
    r"|cheques?|leases?|minutes|notes|documents?|ledgers?|guarantees?|contracts?"
    r"|subcontracts?|account books?|vouchers?)"
)
_GIVEN = (
    r"(?:produced|exhibited|signed|tendered|relied on|marked|proved|put in evidence"
    r"|put up|set up|executed|on record|admitted in evidence|filed in evidence|attested"
    r"|found genuine|dated)"
)
_TERMS = {
    "DyingDeclaration": r"dying declarations?",
    "Confession": (
        r"confess(?:ions?|ed|ional statement)|admitted (?:that|the|his|her|having)"
        r"|(?:written )?admissions? by|statements? admitting"
    ),
    "MedicalReport": (
        r"medical (?:report|evidence|certificate|examination|board)s?"
        r"|(?:wound|injury) (?:certificate|report)s?|doctor who examined"
        r"|medico-legal|ossification test|psychiatrist|discharge summary"
        r"|doctor certified|x-ray"
    ),
    "Document": (
        rf"\b{_DOCUMENTS}\b(?:\W+\w+){{0,9}}?\W+{_GIVEN}\b"
        rf"|\b{_GIVEN}\b(?:\W+\w+){{0,9}}?\W+{_DOCUMENTS}\b|promissory note|sale deed"
        r"|(?:leaving|salary|birth|death) certificates?|agreement of sale"
    ),
    "Witness": (
        r"eye-?witness(?:es)?|witness(?:es)? (?:were |was )?(?:examined|deposed|stated"
        r"|turned|spoke|stood)|p\.?\s?w\.?\s?-?\d+|(?:gave|oral) evidence"
        r"|testi(?:fied|mony)"
        r"|deposed|(?:injured|chance|independent|panch|attesting|sole"
        r"|oral) witness(?:es)?"
        r"|deposition|her statement (?:under section 164|was recorded)"
        r"|(?:\w+ )?witnesses were examined|spoke to the"
    ),
    "FIR": r"f\.?\s?i\.?\s?r\b\.?|first information report|police report"
    r"|report was lodged (?:in|at|with)",
    "PostMortem": r"post-?\s?mortem(?: report| examination)?|autopsy",
    "ExpertOpinion": (
        r"expert(?:'?s)? (?:opinions?|evidence|report|witness)|as an expert"
        r"|(?:forensic|handwriting|ballistics?|chemical) (?:expert|examiner|analyst)"
        r"|analyst (?:of|reported|certified)|surveyor|licensed valuer"
        r"|psychiatric report"
        r"|chemical examiner's report|expert opinions?"
    ),
    "ElectronicRecord": (
        r"cctv|e-?mails?|text messages?|(?:access|message|server) logs?|screenshots?"
        r"|(?:camera|video|audio|tape) recordings?|whatsapp|call (?:records?|detail)"
        r"|photographs?|electronic records?"
    ),
    "RecoveryMemo": (
        r"(?:recovery|seizure) (?:memo|panchnama|list)s?|recovered under memos?|mahazar"
        r"|panchnama|seized under"
    ),
    "SiteInspection": (
        r"(?:site|spot|local) inspection|inspected the (?:site|spot|premises"
        r"|house|place)"
        r"|(?:site|spot|premises) (?:was|were) inspected|inspection report"
        r"|(?:visited|viewed) the (?:house|site|spot|place|premises)"
    ),
    "Circumstantial": r"circumstantial evidence|last seen|chain of circumstances",
}
_PATTERNS = {name: re.compile(rf"(?<!\w)(?:{_TERMS[name]})(?!\w)", re.IGNORECASE) for name in EVIDENCE_TYPES}
_BEFORE = re.compile(
    r"\b(?:no|not|nor|never|neither|without|absence of|lack of|fail(?:ed|ure) to"
    r"|did not|was not|could not|denied|inspection of|asked .* for|copies of)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(?:not (?:been )?(?:produced|proved|exhibited|found|recorded|examined|called"
    r"|obtained|filed|signed|signature)|none of|withheld|was missing|were missing"
    r"|never|were dead|disbelieved|lost)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:]|,\s(?:but|and|nor|which|who|though|while)\b|\bbut\b|,")


def evidence(text):
    """Find the types of evidence that a text says were given."""
    found = {}
    for start, end in sentences(text):
        for name, pattern in _PATTERNS.items():
            for match in pattern.finditer(text, start, end):
                if name not in found and not _negated(text, match, start, end):
                    item = EvidenceItem(name, match.group())
                    found[name] = Found(item, match.start(), match.end())
    return sorted(found.values(), key=lambda one: one.start)


def _negated(text, match, start, end):
    before = _CLAUSE.split(text[start : match.start()])[-1]
    after = _CLAUSE.split(text[match.end() : end])[0]
    lead = " ".join(before.split()[-SCOPE:])
    tail = " ".join(after.split()[:SCOPE])
    return bool(_BEFORE.search(lead) or _AFTER.search(tail) or _AFTER.search(match.group()))
