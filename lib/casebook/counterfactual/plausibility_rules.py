"""Rules that say whether an edited case could exist, without a model."""

import re
from dataclasses import dataclass

from casebook.counterfactual.facts import canonical_json, contradictions

ACCEPT, REJECT, UNDETERMINED = "accept", "reject", "undetermined"
OUTCOMES = (ACCEPT, REJECT, UNDETERMINED)
# Acts under which somebody can be prosecuted, and those of a mere civil dispute.
_CRIMINAL = """IPC BNS CrPC BNSS NDPS POCSO PCA PMLA UAPA COFEPOSA DPA SCSTA AA SGPC
SGCPC MDA SGPCA EFMA POA MLA"""
_CIVIL = """CPC NIA HMA HSA IDA ISA MVA ICA TPA SRA LA RA ACA IDisA WCA PGA CoA IBC ITA
CPA ElA RTI RPA TMA LAA CLRA PDPA ROC EmA WICA SGCoA SGLA CLA WC SOPA IRDA CPFTA
UCTA"""
CRIMINAL, CIVIL = frozenset(_CRIMINAL.split()), frozenset(_CIVIL.split())
# Homicide, dowry death and abetment of suicide.
_HOMICIDE = {
    "IPC": "299 300 301 302 303 304 304A 304B 305 306 307",
    "SGPC": "299 300 301 302 304 304A 305 306 307",
    "BNS": "80 100 101 102 103 104 105 106 107 108 109",
}
HOMICIDE = {act: frozenset(numbers.split()) for act, numbers in _HOMICIDE.items()}
_DEATH = re.compile(r"\b(?:dea(?:th|d)|died|deceased|murder|kill|homicide|fatal)", re.I)


@dataclass(frozen=True)
class Decision:
    """What a validator says of one edit.

    Attributes
    ----------
    outcome : {"accept", "reject", "undetermined"}
        Undetermined is never treated as accepted.
    reason : str
        Why.
    """

    outcome: str
    reason: str


def rules(before, edit):
    """Judge an edit by rules, without a model.

    Parameters
    ----------
    before : FactSheet
        Sheet that was edited.
    edit : Edit
        The edit.

    Returns
    -------
    Decision
        Rejected: facts that contradict each other, a number that became 0, a dying
        declaration although nothing speaks of a death, and a confession in a dispute
        under civil acts only. Undetermined: a dying declaration or a confession where
        no section is cited that tells the kind of case.
    """
    new = [p for p in contradictions(edit.sheet) if p not in contradictions(before)]
    if new:
        return Decision(REJECT, f"contradiction: {new[0]}")
    if edit.fact_type == "Numerical" and float(edit.new) == 0:
        return Decision(REJECT, "a number of nothing")
    if edit.fact_type == "Evidence" and edit.operation == "add":
        return _added_evidence(before, edit.new)
    return Decision(ACCEPT, "no rule speaks against it")


def _added_evidence(before, name):
    acts = {cited.split("-")[0] for cited in before.sections_cited}
    if name == "DyingDeclaration":
        if _speaks_of_death(before):
            return Decision(ACCEPT, "the case speaks of a death")
        if not acts:
            return Decision(UNDETERMINED, "no section tells whether somebody died")
        return Decision(REJECT, "a dying declaration where nobody died")
    if name == "Confession":
        if acts & CRIMINAL:
            return Decision(ACCEPT, "a criminal act is cited")
        if acts and acts <= CIVIL:
            return Decision(REJECT, "a confession in a civil dispute")
        return Decision(UNDETERMINED, "no section tells whether the case is criminal")
    return Decision(ACCEPT, "no rule speaks against it")


def _speaks_of_death(sheet):
    cited = (name.split("-") for name in sheet.sections_cited)
    if any(parts[-1] in HOMICIDE.get(parts[0], ()) for parts in cited):
        return True
    if any(item.evidence_type == "PostMortem" for item in sheet.evidence_items):
        return True
    return bool(_DEATH.search(canonical_json(sheet)))
