"""Whether an edited case could exist, by rules or by a language model."""

from collections import Counter
from typing import NamedTuple

import pandas as pd
import pydantic

from casebook import paths
from casebook.errors import CasebookError
from casebook.readers import read_jsonl
from casebook.sensitivity import citations, facts
from casebook.sensitivity.cases import read_cases, read_gold
from casebook.sensitivity.citations import pattern
from casebook.sensitivity.domain import FACT_TYPES, SHIPPED_DOMAIN
from casebook.sensitivity.edits import edit_fact, out_of_bounds
from casebook.stats.intervals import bounded, clustered_wilson

ACCEPT = "accept"
REJECT = "reject"
UNDETERMINED = "undetermined"
EDIT_OUTCOMES = (ACCEPT, REJECT, UNDETERMINED)
LABELLED_EDITS = paths.DATA / "counterfactual" / "edits.jsonl"


class Decision(NamedTuple):
    """What a validator says of one edit."""

    outcome: str
    reason: str


# ---- by rules

LEAST_GUILTY = 7  # years
LEAST_EMPLOYED = 14
_MAINTENANCE = {"CrPC-125", "CrPC-126", "CrPC-127", "IPC-498A", "IPC-304B"}
_BODY = range(299, 378)  # sections of the penal codes on offences against the body


def rules(before, edit, domain=SHIPPED_DOMAIN):
    """Judge an edit of a sheet by rules, without a model: `Decision`.

    Of fact types of the user's own they know nothing: each value that the file lists is plausible.
    """
    contradictions_before = facts.contradictions(before)
    for contradiction in facts.contradictions(edit.sheet):
        if contradiction not in contradictions_before:
            return Decision(REJECT, f"contradiction: {contradiction}")
    if edit.operation == "add":
        return _added_evidence(before, edit.new, domain)
    checks = {"Numerical": _number, "Section": _section, "PartyType": _party}
    check = None if edit.fact_type in domain.types else checks.get(edit.fact_type)
    reason = check(before, edit, domain) if check else None
    if reason:
        return Decision(REJECT, reason)
    return Decision(ACCEPT, "no rule speaks against it")


def _number(before, edit, domain):
    kind, at = edit.item.split("/")
    fact = getattr(before.numerical_facts, kind)[int(at)]
    value = facts.as_integer(float(edit.new))
    reason = out_of_bounds(kind, fact, value)
    if reason or kind != "ages":
        return reason
    side = _side_of(fact.descriptor)
    party = getattr(before.parties, f"{side}_type") if side else None
    if party == "Minor" and value >= facts.ADULT:
        return f"the {fact.descriptor} is a Minor of {edit.new} years"
    if party in {"Employee", "Contractor", "Tenant", "Licensee"} and value < LEAST_EMPLOYED:
        return f"no {party} is {edit.new} years old"
    offences = _acts_of(before) & domain.acts_marked("criminal") - {"CrPC", "SGCPC", "BNSS"}
    if side and offences and value < LEAST_GUILTY and party != "State":
        return f"nobody is guilty at {edit.new} years"
    return None


def _section(_, edit, domain):
    old = citations.parse_section(edit.old)
    new = citations.parse_section(edit.new)
    if old is None or new is None:
        return None
    if old.act != new.act:
        return f"{edit.new} is of another act than {edit.old}"
    chapters = domain.structure.get(edit.new.removesuffix(new.number))
    if chapters and not any(new.number in numbers for numbers in chapters.values()):
        return f"{new.act} has no section {new.number}"
    return None


def _party(before, edit, domain):
    side = edit.item.partition("/")[2]
    ages = [age.value for age in before.numerical_facts.ages if _side_of(age.descriptor) == side]
    if edit.new == "UnionOfIndia" and _in_singapore(before, domain):
        return "the Union of India in a case of Singapore"
    if edit.new == "Minor" and ages and min(ages) >= facts.ADULT:
        return f"the {side} is {min(ages)} years old"
    if edit.new != "Corporation":
        return None
    if ages:
        return "a company has no age"
    if _acts_of(before) & domain.acts_marked("family") or _MAINTENANCE & set(before.sections_cited):
        return "a company has no family"
    durations = before.numerical_facts.durations
    if any(pattern("prison").search(duration.context) for duration in durations):
        return "a company is not imprisoned"
    if any(map(_against_body, before.sections_cited)):
        return "a company commits or suffers no offence against the body"
    return None


def _added_evidence(before, name, domain):
    cited = _acts_of(before)
    mentions_death = _mentions_death(before)
    disputes = {before.parties.petitioner_type, before.parties.respondent_type} & {
        "Tenant",
        "Licensee",
        "Contractor",
    }
    civil = cited <= domain.acts_marked("civil") if cited else bool(disputes)
    if name == "DyingDeclaration":
        if mentions_death:
            return Decision(ACCEPT, "the case speaks of a death")
        if not cited and not civil:
            return Decision(UNDETERMINED, "no section tells whether somebody died")
        return Decision(REJECT, "a dying declaration where nobody died")
    if name == "Confession":
        if cited & domain.acts_marked("criminal"):
            return Decision(ACCEPT, "a criminal act is cited")
        if civil:
            return Decision(REJECT, "a confession in a civil dispute")
        return Decision(UNDETERMINED, "no section tells whether the case is criminal")
    injured = cited & domain.acts_marked("injury") or mentions_death
    if name == "MedicalReport" and civil and not injured:
        return Decision(REJECT, "a medical report where nobody was hurt")
    return Decision(ACCEPT, "no rule speaks against it")


def _side_of(descriptor):
    """Name the side that an age belongs to, or None."""
    return next(
        (side for side in facts.PARTY_SIDES if pattern(side).search(descriptor.casefold())), None
    )


def _against_body(section):
    parsed = citations.parse_section(section)
    if parsed is None or parsed.act not in {"IPC", "SGPC"}:
        return parsed is not None and parsed.act in {"POCSO", "COFEPOSA"}
    return citations.leading(parsed.number) in _BODY


def _acts_of(sheet):
    return {cited.split("-")[0] for cited in sheet.sections_cited}


def _in_singapore(sheet, domain):
    acts = domain.acts
    countries = {acts[code]["country"] for code in _acts_of(sheet) if code in acts}
    units = {amount.unit for amount in sheet.numerical_facts.amounts}
    return "SG" in countries or "Singapore dollars" in units


def _mentions_death(sheet):
    homicide = citations.word_lists()["homicide"]
    for section in sheet.sections_cited:
        parts = section.split("-")
        if parts[-1] in homicide.get(parts[0], ()):
            return True
    if any(item.evidence_type == "PostMortem" for item in sheet.evidence_items):
        return True
    return bool(pattern("death").search(facts.canonical_json(sheet)))


# ---- by a language model


class Judgement(pydantic.BaseModel):
    """What a language model says of an edit."""

    model_config = pydantic.ConfigDict(extra="forbid")

    plausible: bool
    changes_operative_fact: bool


QUESTIONS = """A hypothetical case was made by changing one fact of a real one.

Facts of the real case: {before}
Change: {change}
Facts of the hypothetical case: {after}

plausible: could the hypothetical case come before a court, without contradiction?
changes_operative_fact: can a court's decision depend on the changed fact?"""


class ModelValidator:
    """Judge edits by two yes-no questions to a language model.

    A model that fails leaves an edit undetermined. As documented, it accepts, counts the text
    ``"false"`` as yes, and repeats a decision whatever the rest of the case says.
    """

    def __init__(self, model, documented=False):
        self._model = model
        self._documented = documented
        self._decisions = {}
        self.failures = Counter()

    @property
    def costs(self):
        """What was asked, and what it took, see `casebook.models.answers.CachedModel`."""
        return getattr(self._model, "costs", {})

    def __call__(self, before, edit):
        """Judge one edit; see `rules` for arguments and result."""
        key = (edit.fact_type, edit.old, edit.new)
        key += () if self._documented else (edit.item, facts.sheet_hash(before))
        if key not in self._decisions:
            self._decisions[key] = self._ask(before, edit)
        return self._decisions[key]

    def _ask(self, before, edit):
        question = QUESTIONS.format(
            before=facts.query_text(before, caps=False),
            change=edit.description,
            after=facts.query_text(edit.sheet, caps=False),
        )
        try:
            answer = self._model.complete_json(question, Judgement)
            plausible, operative = (answer[name] for name in Judgement.model_fields)
            if not (
                self._documented or (isinstance(plausible, bool) and isinstance(operative, bool))
            ):
                raise ValueError
        except (CasebookError, KeyError, TypeError, ValueError, OSError) as error:
            cause = getattr(error, "cause", None) or "nonsense"
            self.failures[cause] += 1
            return Decision(ACCEPT if self._documented else UNDETERMINED, f"no answer: {cause}")
        if plausible and operative:
            return Decision(ACCEPT, "plausible and operative")
        return Decision(REJECT, "not operative" if plausible else "not plausible")


# ---- how much is accepted, and how good a validator is


def accept_rates(decisions, fact_types=FACT_TYPES):
    """Share of accepted edits per fact type, undetermined ones apart; cases are clusters."""
    rows = []
    for name in (*fact_types, "all"):
        part = decisions if name == "all" else decisions[decisions["fact_type"] == name]
        count = part["outcome"].value_counts().reindex(EDIT_OUTCOMES, fill_value=0)
        decided = part[part["outcome"] != UNDETERMINED]
        row = {
            "fact type": name,
            "n": len(part),
            "accepted": count[ACCEPT],
            "rejected": count[REJECT],
            "undetermined": count[UNDETERMINED],
            **bounded("rate", _share(decided, ACCEPT)),
            **bounded("undetermined share", _share(part, UNDETERMINED)),
        }
        rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(frame.columns[5:], float))


def _share(part, outcome, cluster="case_id"):
    hits = part["outcome"] == outcome
    by = hits.groupby(part[cluster])
    return clustered_wilson(by.sum().to_numpy(), by.size().to_numpy())


def labelled_edits():
    """Read edits that a person called sensible or absurd: list of record, sheet and edit."""
    sheets = {text.id: text.sheet for text in read_gold()}
    sheets |= {case.sheet.case_id: case.sheet for case in read_cases()[0]}
    edits = []
    for _, record in read_jsonl(LABELLED_EDITS, {"sheet": str, "fact": str}):
        sheet = sheets[record["sheet"]]
        edits.append((record, sheet, edit_fact(sheet, record["fact"], record["new"])))
    return edits


def validator_table(validator=rules):
    """Measure a validator on the labelled edits, by split and label, with sheets as clusters."""
    judged_edits = pd.DataFrame(
        {
            "edits": record["split"],
            "sheet": record["sheet"],
            "sensible": record["sensible"],
            "outcome": validator(sheet, edit).outcome,
        }
        for record, sheet, edit in labelled_edits()
    )
    rows = []
    for (split, sensible), part in judged_edits.groupby(["edits", "sensible"]):
        correct = ACCEPT if sensible else REJECT
        row = {
            "edits": split,
            "measure": "sensible accepted" if sensible else "absurd rejected",
            **bounded("share", _share(part, correct, "sheet")),
            "n": len(part),
            "sheets": part["sheet"].nunique(),
            "undetermined": int((part["outcome"] == UNDETERMINED).sum()),
            "accepting all": float(sensible),
        }
        rows.append(row)
    return pd.DataFrame(rows).sort_values(
        ["edits", "accepting all"], ascending=[True, False], ignore_index=True
    )
