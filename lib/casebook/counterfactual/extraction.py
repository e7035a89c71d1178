"""Fact sheets from the text of judgments, each fact with the place that tells it."""

from collections import Counter
from dataclasses import dataclass, replace

from casebook.counterfactual.acts import ELSEWHERE, INDIA, SINGAPORE, UNKNOWN, country_of
from casebook.counterfactual.citations import find_citations
from casebook.counterfactual.extract_amounts import amounts
from casebook.counterfactual.extract_evidence import evidence
from casebook.counterfactual.extract_outcome import outcome
from casebook.counterfactual.extract_parties import parties
from casebook.counterfactual.extract_region import facts_region
from casebook.counterfactual.extract_times import ages, durations
from casebook.counterfactual.fact_types import FactSheet, NumericalFacts, Parties
from casebook.counterfactual.spans import Found
from casebook.errors import InputError
from casebook.text import fold

RULES = "rules"
PARTIAL = "coverage is partial: the rules know acts, parties and procedure of India and Singapore, and {}"
_TOLD = {
    ELSEWHERE: "this text shows marks of other countries",
    None: "nothing in this text tells its country; it is read as India's",
}


@dataclass(frozen=True)
class FactSpan:
    """Where a fact of the sheet stands in the text."""

    field: str
    start: int
    end: int


@dataclass(frozen=True)
class Extraction:
    """A sheet, and how it came about."""

    sheet: FactSheet
    spans: tuple
    region: tuple
    method: str = RULES
    notes: tuple = ()


def extract_sheet(text, case_id="case", country=None, documented_region=False):
    """Extract the fact sheet of a judgment by rules."""
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{case_id}: has no text to extract facts from")
    folded = fold(text)
    country = country or country_of(folded)
    notes = [] if country in (INDIA, SINGAPORE) else [PARTIAL.format(_TOLD[country])]
    start, end = facts_region(folded, documented_region)
    part = folded[start:end]
    sections, unknown = _sections(part, country)
    if unknown:
        notes.append(f"{unknown} provisions of acts that are not known are left out")
    found = {
        "parties": parties(folded, start, end),
        "evidence_items": evidence(part),
        "sections_cited": sections,
        "numerical_facts.amounts": _distinct(amounts(part, country), "context"),
        "numerical_facts.ages": _distinct(ages(part), "descriptor"),
        "numerical_facts.durations": _distinct(durations(part), "context"),
    }
    ended = outcome(folded)
    spans = [*_spans(found, start)]
    if ended:
        spans.append(FactSpan("outcome", ended.start, ended.end))
    sheet = _sheet(case_id, found, ended)
    return Extraction(sheet, tuple(spans), (start, end), notes=tuple(notes))


def _sheet(case_id, found, ended):
    sides = {f"{side}_type": one.fact for side, one in found["parties"].items()}
    facts = {name: tuple(one.fact for one in found[name]) for name in found.keys() - {"parties"}}
    return FactSheet(
        case_id,
        Parties(**sides),
        facts["evidence_items"],
        facts["sections_cited"],
        NumericalFacts(
            facts["numerical_facts.amounts"], facts["numerical_facts.ages"], facts["numerical_facts.durations"]
        ),
        ended.fact if ended else None,
    )


def _sections(text, country):
    """Give the sections whose act is known, each once, and the number of others."""
    first, unknown = {}, set()
    for one in find_citations(text, country):
        if one.act == UNKNOWN:
            unknown.add(one.id)
        else:
            first.setdefault(one.id, Found(one.id, one.start, one.end))
    return list(first.values()), len(unknown)


def _distinct(found, field):
    """Tell repeated contexts apart: facts of one context must not differ."""
    seen, result = Counter(), []
    for one in found:
        about = getattr(one.fact, field)
        seen[about] += 1
        if about and seen[about] > 1:
            changed = replace(one.fact, **{field: f"{about} {seen[about]}"})
            one = replace(one, fact=changed)
        result.append(one)
    return result


def _spans(found, offset):
    for name, facts in found.items():
        if name == "parties":
            named = [(f"parties.{side}_type", one) for side, one in facts.items()]
        else:
            named = [(f"{name}.{at}", one) for at, one in enumerate(facts)]
        for field, one in named:
            yield FactSpan(field, offset + one.start, offset + one.end)
