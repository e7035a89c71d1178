"""Rules that say whether an edited case could exist, without a model."""

import re
from dataclasses import dataclass
from functools import cache

from casebook.counterfactual.acts import INDIA, SINGAPORE, acts
from casebook.counterfactual.adjacency import shipped_structure
from casebook.counterfactual.facts import canonical_json, contradictions
from casebook.counterfactual.number_targets import out_of_bounds
from casebook.counterfactual.sections import parse_section

ACCEPT, REJECT, UNDETERMINED = "accept", "reject", "undetermined"
OUTCOMES = (ACCEPT, REJECT, UNDETERMINED)
# Acts under which somebody can be prosecuted, and those of a mere civil dispute.
_CRIMINAL = """IPC BNS CrPC BNSS NDPS POCSO PCA PMLA UAPA COFEPOSA DPA SCSTA AA SGPC
SGCPC MDA SGPCA EFMA POA MLA"""
_CIVIL = """CPC NIA HMA HSA IDA ISA MVA ICA TPA SRA LA RA ACA IDisA WCA PGA CoA IBC ITA
CPA ElA RTI RPA TMA LAA CLRA PDPA ROC EmA WICA SGCoA SGLA CLA WC SOPA IRDA CPFTA
UCTA"""
CRIMINAL, CIVIL = frozenset(_CRIMINAL.split()), frozenset(_CIVIL.split())
_EXAMINED = "MVA WCA WICA HMA HSA IDA ISA CLA WC IDisA CPA PGA EmA"
# Civil acts under which bodies and minds are examined, and those between spouses.
_EXAMINED = "MVA WCA WICA HMA HSA IDA ISA CLA WC IDisA CPA PGA EmA"
_BODILY = frozenset(_EXAMINED.split())
_FAMILY = frozenset(["HMA", "IDA", "WC", "PWDVA", "DPA"])
_MAINTENANCE = {"CrPC-125", "CrPC-126", "CrPC-127", "IPC-498A", "IPC-304B"}
_CIVIL_PARTIES = {"Tenant", "Licensee", "Contractor"}
# Homicide, dowry death and abetment of suicide.
_HOMICIDE = {
    "IPC": "299 300 301 302 303 304 304A 304B 305 306 307",
    "SGPC": "299 300 301 302 304 304A 305 306 307",
    "BNS": "80 100 101 102 103 104 105 106 107 108 109",
}
HOMICIDE = {act: frozenset(numbers.split()) for act, numbers in _HOMICIDE.items()}
_DEATH = re.compile(r"\b(?:dea(?:th|d)|died|deceased|murder|kill|homicide|fatal)", re.I)
_PRISON = re.compile(r"imprison|sentence|custody|detention|detained|undergone", re.I)
_PETITIONER = re.compile(r"\b(?:petitioner|appellant|applicant|plaintiff|claimant)\b")
_RESPONDENT = re.compile(r"\b(?:respondent|defendant|accused)\b")
_BODY = 299, 377  # sections of the penal codes on offences against the body
ADULT, LEAST_GUILTY = 18, 7


@dataclass(frozen=True)
class Decision:
    """What a validator says of one edit."""

    outcome: str
    reason: str


def rules(before, edit):
    """Judge an edit by rules, without a model."""
    new = [p for p in contradictions(edit.sheet) if p not in contradictions(before)]
    if new:
        return Decision(REJECT, f"contradiction: {new[0]}")
    judge = {"Numerical": _number, "Section": _section, "PartyType": _party}
    if edit.fact_type in judge and edit.item != "manual":
        reason = judge[edit.fact_type](before, edit)
        if reason:
            return Decision(REJECT, reason)
    if edit.fact_type == "Evidence" and edit.operation == "add":
        return _added_evidence(before, edit.new)
    return Decision(ACCEPT, "no rule speaks against it")


def _number(before, edit):
    """Say what is wrong with a changed number, or None."""
    kind, at = edit.item.split("/")
    fact = getattr(before.numerical_facts, kind)[int(at)]
    value = float(edit.new)
    reason = out_of_bounds(kind, fact, int(value) if value == int(value) else value)
    if reason or kind != "ages":
        return reason
    side = _side_of(fact.descriptor)
    party = getattr(before.parties, f"{side}_type") if side else None
    if party == "Minor" and value >= ADULT:
        return f"the {fact.descriptor} is a Minor of {edit.new} years"
    if party in {"Employee", "Contractor", "Tenant", "Licensee"} and value < 14:
        return f"no {party} is {edit.new} years old"
    offences = _acts(before) & CRIMINAL - {"CrPC", "SGCPC", "BNSS"}
    if side and offences and value < LEAST_GUILTY and party != "State":
        return f"nobody is guilty at {edit.new} years"
    return None


def _side_of(descriptor):
    """Name the side that an age belongs to, or None."""
    if _PETITIONER.search(descriptor.casefold()):
        return "petitioner"
    return "respondent" if _RESPONDENT.search(descriptor.casefold()) else None


def _section(_, edit):
    """Say what is wrong with an exchanged section, or None."""
    old, new = (parse_section(name) for name in (edit.old, edit.new))
    if old is None or new is None:
        return None
    if old.act != new.act:
        return f"{edit.new} is of another act than {edit.old}"
    prefix = edit.new.removesuffix(new.number)
    chapters = shipped_structure().get(prefix)
    if chapters and new.number not in {n for part in chapters.values() for n in part}:
        return f"{new.act} has no section {new.number}"
    return None


def _party(before, edit):
    """Say what is wrong with an exchanged kind of party, or None."""
    side = edit.item.partition("/")[2]
    if edit.new == "UnionOfIndia" and _country(before) == SINGAPORE:
        return "the Union of India in a case of Singapore"
    if edit.new == "Minor":
        ages = before.numerical_facts.ages
        own = [age.value for age in ages if _side_of(age.descriptor) == side]
        if own and min(own) >= ADULT:
            return f"the {side} is {min(own)} years old"
    if edit.new == "Corporation":
        return _no_company(before, side)
    return None


def _no_company(sheet, side):
    """Say why a side cannot be a company, or None."""
    if any(_side_of(age.descriptor) == side for age in sheet.numerical_facts.ages):
        return "a company has no age"
    if _acts(sheet) & _FAMILY or _MAINTENANCE & set(sheet.sections_cited):
        return "a company has no family"
    if any(_PRISON.search(one.context) for one in sheet.numerical_facts.durations):
        return "a company is not imprisoned"
    if any(_against_body(name) for name in sheet.sections_cited):
        return "a company commits or suffers no offence against the body"
    return None


def _against_body(section):
    parsed = parse_section(section)
    if parsed is None or parsed.act not in {"IPC", "SGPC"}:
        return parsed is not None and parsed.act in {"POCSO", "COFEPOSA"}
    number = int(re.match(r"\d+", parsed.number)[0])
    return _BODY[0] <= number <= _BODY[1]


def _added_evidence(before, name):
    kind = _kind(before)
    if name == "DyingDeclaration":
        if _speaks_of_death(before):
            return Decision(ACCEPT, "the case speaks of a death")
        if not before.sections_cited and kind is None:
            return Decision(UNDETERMINED, "no section tells whether somebody died")
        return Decision(REJECT, "a dying declaration where nobody died")
    if name == "Confession":
        if kind == "criminal":
            return Decision(ACCEPT, "a criminal act is cited")
        if kind == "civil":
            return Decision(REJECT, "a confession in a civil dispute")
        return Decision(UNDETERMINED, "no section tells whether the case is criminal")
    bodily = _acts(before) & _BODILY or _speaks_of_death(before)
    if name == "MedicalReport" and kind == "civil" and not bodily:
        return Decision(REJECT, "a medical report where nobody was hurt")
    return Decision(ACCEPT, "no rule speaks against it")


def _kind(sheet):
    """Tell a criminal from a merely civil case; None where nothing does."""
    cited = _acts(sheet)
    if cited & CRIMINAL:
        return "criminal"
    parties = {sheet.parties.petitioner_type, sheet.parties.respondent_type}
    civil = cited <= CIVIL if cited else bool(parties & _CIVIL_PARTIES)
    return "civil" if civil else None


def _acts(sheet):
    return {cited.split("-")[0] for cited in sheet.sections_cited}


def _country(sheet):
    """Give the country of a sheet by its acts and currency; India by default."""
    units = {amount.unit for amount in sheet.numerical_facts.amounts}
    known = {_countries().get(act) for act in _acts(sheet)}
    return SINGAPORE if SINGAPORE in known or "Singapore dollars" in units else INDIA


@cache
def _countries():
    return {act.code: act.country for act in acts()}


def _speaks_of_death(sheet):
    cited = (name.split("-") for name in sheet.sections_cited)
    if any(parts[-1] in HOMICIDE.get(parts[0], ()) for parts in cited):
        return True
    if any(item.evidence_type == "PostMortem" for item in sheet.evidence_items):
        return True
    return bool(_DEATH.search(canonical_json(sheet)))
