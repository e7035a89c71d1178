"""Whether an edited case could exist, by rules or by a language model."""

import re
from collections import Counter, namedtuple

import pandas as pd
import pydantic

from casebook.errors import CasebookError
from casebook.models.language import CachedModel, costs_in_words, load_language_model
from casebook.sensitivity import facts
from casebook.sensitivity.domain import (
    FACT_TYPES,
    SHIPPED_DOMAIN,
    pattern,
    word_lists,
)
from casebook.sensitivity.edits import is_out_of_bounds
from casebook.stats.intervals import clustered_wilson

ACCEPT = "accept"
REJECT = "reject"
UNDETERMINED = "undetermined"
EDIT_OUTCOMES = (ACCEPT, REJECT, UNDETERMINED)


Decision = namedtuple("Decision", "outcome reason")


# ---- by rules, most of which are data in words.yml

LEAST_GUILTY = 7  # years
LEAST_EMPLOYED = 14
_WORK_OR_LEASE = {"Employee", "Contractor", "Tenant", "Licensee"}


def rules(before, edit, domain=SHIPPED_DOMAIN):
    """Judgement of an edit of a sheet by rules, without a model: `Decision`.

    Of fact types of one's own they know nothing: each value that the file lists is plausible.
    """
    new = set(facts.contradictions(edit.sheet)).difference(facts.contradictions(before))
    reason = None
    if new:
        reason = f"contradiction: {min(new)}"
    elif edit.fact_type == "Numerical":
        reason = _number(before, edit, domain)
    if reason:
        return Decision(REJECT, reason)
    marks = _marks(before, edit.item.removeprefix("parties/"), domain)
    known = {} if edit.fact_type in domain.types else word_lists()["rules"]
    for rule in known.get(edit.new, ()):
        if marks & set(rule.get("if", marks)) and not marks & set(
            rule.get("unless", ())
        ):
            return Decision(rule["outcome"], rule["reason"])
    return Decision(ACCEPT, "no rule rejects it")


def _marks(sheet, side, domain):
    """What the rules ask of a case, and of a side of it, as words."""
    codes = {cited.split("-")[0] for cited in sheet.sections_cited}
    known = codes & domain.acts.keys()
    matters = set()
    marks = {"a case"}
    for code in known:
        act = domain.acts[code]
        matters.add(act.matter)
        marks.update(act.marks, [act.matter, act.country])
    if known < codes or matters != {"civil"}:
        marks.discard("civil")
    if not codes:
        sides = _WORK_OR_LEASE.intersection(vars(sheet.parties).values())
        marks.add("civil" if sides - {"Employee"} else "unknown")
    text = facts.facts_text(sheet)
    for name, form in word_lists()["marks"].items():
        if re.search(form, text):
            marks.add(name)
    ages = [age.value for age in sheet.numerical_facts.ages if _side_of(age) == side]
    if ages:
        marks.add("age")
    if ages and min(ages) >= facts.ADULT:
        marks.add("adult")
    return marks


def _number(before, edit, domain):
    kind, at = edit.item.split("/")
    fact = getattr(before.numerical_facts, kind)[int(at)]
    value = facts.as_integer(float(edit.new))
    if is_out_of_bounds(kind, fact, value):
        return f"{edit.new} is out of bounds: {fact.subject or kind}, {fact}"
    side = _side_of(fact)
    if side is None:
        return None
    party = getattr(before.parties, f"{side}_type")
    is_child = party in _WORK_OR_LEASE and value < LEAST_EMPLOYED
    if is_child or (party == "Minor" and value >= facts.ADULT):
        return f"no {party} is {edit.new} years old"
    is_criminal = "criminal" in _marks(before, side, domain)
    if is_criminal and value < LEAST_GUILTY and party != "State":
        return f"nobody is guilty at {edit.new} years"
    return None


def _side_of(number):
    for side in facts.PARTY_SIDES:
        if pattern(side).search(getattr(number, "descriptor", "").casefold()):
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

    A model that fails leaves an edit undetermined.
    """

    def __init__(self, model):
        self.model = model
        self.failures = Counter()

    def notes(self):
        """What the model was asked and did not answer, and the cost."""
        notes = [
            f"{count} answers missing: {why}"
            for why, count in self.failures.most_common(3)
        ]
        return [*notes, f"the validator: {costs_in_words(self.model.costs)}"]

    def __call__(self, before, edit):
        texts = [facts.query_text(sheet) for sheet in (before, edit.sheet)]
        question = QUESTIONS.format(
            before=texts[0], change=edit.description, after=texts[1]
        )
        try:
            answer = self.model.complete_json(question, Judgement)
            judged = Judgement.model_validate(answer, strict=True)
        except (CasebookError, ValueError, OSError) as error:
            why = " ".join(str(error).split())[:100]
            self.failures[why] += 1
            return Decision(UNDETERMINED, f"no answer: {why}")
        if judged.plausible and judged.changes_operative_fact:
            return Decision(ACCEPT, "plausible and operative")
        return Decision(
            REJECT, "not operative" if judged.plausible else "not plausible"
        )


def model_validator(name):
    return ModelValidator(CachedModel(load_language_model(name)))


# ---- how much is accepted


def accept_rates(decisions, fact_types=FACT_TYPES):
    """Share of accepted edits per fact type, undetermined ones left out; cases are clusters."""
    rows = []
    for name in (*fact_types, "all"):
        part = decisions if name == "all" else decisions[decisions["fact_type"] == name]
        decided = part[part["outcome"] != UNDETERMINED]
        is_accepted = decided["outcome"].eq(ACCEPT).groupby(decided["case_id"])
        rate = clustered_wilson(
            is_accepted.sum().to_numpy(), is_accepted.size().to_numpy()
        )
        counts = part["outcome"].value_counts().reindex(EDIT_OUTCOMES, fill_value=0)
        rows.append([name, len(part), *counts, rate.estimate, rate.low, rate.high])
    rates = ["rate", "rate low", "rate high"]
    frame = pd.DataFrame(rows, columns=["fact type", "n", *EDIT_OUTCOMES, *rates])
    return frame.astype(dict.fromkeys(rates, float))
