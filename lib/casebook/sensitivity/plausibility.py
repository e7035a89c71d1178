"""Whether an edited case could exist, by rules or by a language model."""

import itertools
import re
from collections import Counter
from typing import NamedTuple

import pandas as pd
import pydantic

from casebook.errors import CasebookError
from casebook.sensitivity import citations, facts
from casebook.sensitivity.citations import pattern, word_lists
from casebook.sensitivity.domain import FACT_TYPES, SHIPPED_DOMAIN
from casebook.sensitivity.edits import out_of_bounds
from casebook.stats.intervals import bounded, clustered_wilson

ACCEPT = "accept"
REJECT = "reject"
UNDETERMINED = "undetermined"
EDIT_OUTCOMES = (ACCEPT, REJECT, UNDETERMINED)


class Decision(NamedTuple):
    outcome: str
    reason: str


# ---- by rules, most of which are data in words.yml

LEAST_GUILTY = 7  # years
LEAST_EMPLOYED = 14
_WORK_OR_LEASE = {"Employee", "Contractor", "Tenant", "Licensee"}


def rules(before, edit, domain=SHIPPED_DOMAIN):
    """Judgement of an edit of a sheet by rules, without a model: `Decision`.

    Of fact types of one's own they know nothing: each value that the file lists is plausible.
    """
    known = facts.contradictions(before)
    for contradiction in facts.contradictions(edit.sheet):
        if contradiction not in known:
            return Decision(REJECT, f"contradiction: {contradiction}")
    reason = None
    if edit.fact_type == "Numerical":
        reason = _number(before, edit, domain)
    elif edit.fact_type == "Section":
        reason = _section(edit, domain)
    elif edit.fact_type not in domain.types:
        marks = _marks(before, edit.item.removeprefix("parties/"), domain)
        for rule in word_lists()["rules"].get(edit.new, ()):
            if marks & set(rule.get("if", marks)) and not marks & set(rule.get("unless", ())):
                return Decision(rule["outcome"], rule["reason"])
    return Decision(REJECT, reason) if reason else Decision(ACCEPT, "no rule speaks against it")


def _marks(sheet, side, domain):
    """What the rules ask of a case, and of a side of it, as words."""
    codes = {cited.split("-")[0] for cited in sheet.sections_cited}
    acts = [domain.acts[code] for code in codes if code in domain.acts]
    marks = {"a case", *itertools.chain(*(act.marks for act in acts))}
    marks |= {act.country for act in acts} | {act.matter for act in acts} - {"civil"}
    parties = set(vars(sheet.parties).values())
    if len(acts) == len(codes) > 0 and all(act.matter == "civil" for act in acts):
        marks.add("civil")
    elif not codes:
        marks.add("civil" if parties & _WORK_OR_LEASE - {"Employee"} else "unknown")
    text = facts.canonical_json(sheet)
    marks |= {name for name in ("death", "prison", "singapore") if pattern(name).search(text)}
    marks |= {name for name in ("homicide", "maintenance", "body") if _cites(sheet, name)}
    ages = [age.value for age in sheet.numerical_facts.ages if _side_of(age) == side]
    if ages:
        marks |= {"age", "adult"} if min(ages) >= facts.ADULT else {"age"}
    return marks


def _cites(sheet, name):
    """Whether a sheet cites a section of a list, in which spans have a dash."""
    return any(re.fullmatch("|".join(word_lists()[name]), cited) for cited in sheet.sections_cited)


def _number(before, edit, domain):
    kind, at = edit.item.split("/")
    fact = getattr(before.numerical_facts, kind)[int(at)]
    value = facts.as_integer(float(edit.new))
    reason = out_of_bounds(kind, fact, value)
    side = _side_of(fact) if kind == "ages" else None
    if reason or not side:
        return reason
    party = getattr(before.parties, f"{side}_type")
    if party == "Minor" and value >= facts.ADULT:
        return f"the {fact.descriptor} is a Minor of {edit.new} years"
    if party in _WORK_OR_LEASE and value < LEAST_EMPLOYED:
        return f"no {party} is {edit.new} years old"
    is_criminal = "criminal" in _marks(before, side, domain)
    if is_criminal and value < LEAST_GUILTY and party != "State":
        return f"nobody is guilty at {edit.new} years"
    return None


def _section(edit, domain):
    old, new = map(citations.parse_section, (edit.old, edit.new))
    if old is None or new is None:
        return None
    if old.act != new.act:
        return f"{edit.new} is of another act than {edit.old}"
    chapters = domain.structure.get(edit.new.removesuffix(new.number), {})
    if chapters and new.number not in itertools.chain(*chapters.values()):
        return f"{new.act} has no section {new.number}"
    return None


def _side_of(age):
    for side in facts.PARTY_SIDES:
        if pattern(side).search(age.descriptor.casefold()):
            return side
    return None


# ---- by a language model


class Judgement(pydantic.BaseModel):
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
    """Judge of edits by two yes-no questions to a language model.

    A model that fails leaves an edit undetermined. As documented, it accepts, counts the text
    ``"false"`` as yes, and repeats a decision whatever the rest of the case says.
    """

    def __init__(self, model, documented=False):
        self.model = model
        self._documented = documented
        self._decisions = {}
        self.failures = Counter()

    def __call__(self, before, edit):
        key = (edit.fact_type, edit.old, edit.new)
        key += () if self._documented else (edit.item, facts.sheet_hash(before))
        if key not in self._decisions:
            self._decisions[key] = self._ask(before, edit)
        return self._decisions[key]

    def _ask(self, before, edit):
        texts = [facts.query_text(sheet, caps=False) for sheet in (before, edit.sheet)]
        question = QUESTIONS.format(before=texts[0], change=edit.description, after=texts[1])
        try:
            answer = self.model.complete_json(question, Judgement)
            plausible, operative = (answer[name] for name in Judgement.model_fields)
            if not self._documented:
                Judgement.model_validate(answer, strict=True)
        except (CasebookError, KeyError, TypeError, ValueError, OSError) as error:
            cause = getattr(error, "cause", None) or "nonsense"
            self.failures[cause] += 1
            return Decision(ACCEPT if self._documented else UNDETERMINED, f"no answer: {cause}")
        if plausible and operative:
            return Decision(ACCEPT, "plausible and operative")
        return Decision(REJECT, "not operative" if plausible else "not plausible")


# ---- how much is accepted


def accept_rates(decisions, fact_types=FACT_TYPES):
    """Share of accepted edits per fact type, undetermined ones apart; cases are clusters."""
    rows = []
    for name in (*fact_types, "all"):
        part = decisions if name == "all" else decisions[decisions["fact_type"] == name]
        count = part["outcome"].value_counts().reindex(EDIT_OUTCOMES, fill_value=0)
        decided = part[part["outcome"] != UNDETERMINED]
        row = {"fact type": name, "n": len(part)}
        row |= dict(zip(["accepted", "rejected", "undetermined"], count, strict=True))
        row |= bounded("rate", _share(decided, ACCEPT))
        row |= bounded("undetermined share", _share(part, UNDETERMINED))
        rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(frame.columns[5:], float))


def _share(part, outcome):
    by = (part["outcome"] == outcome).groupby(part["case_id"])
    return clustered_wilson(by.sum().to_numpy(), by.size().to_numpy())
