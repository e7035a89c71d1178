"""Facts that a passage tells, and how facts are named in sentences."""

from functools import lru_cache

from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import fact_at, fact_fields, fact_key, number_text

GROUPS = ("Section", "petitioner", "respondent", "Evidence", "number")
KIND_OF_GROUP = {"Section": "sections", "Evidence": "evidence", "number": "numbers"}
"""Sentences in order, and the kinds whose name is not that of the group."""
LISTS = (
    ("Evidence", "evidence_items"),
    ("Section", "sections_cited"),
    ("Numerical", "numerical_facts.amounts"),
    ("Numerical", "numerical_facts.ages"),
    ("Numerical", "numerical_facts.durations"),
)
_IN_DAYS = ((360, "years"), (30, "months"), (1, "days"))


@lru_cache(maxsize=4096)
def facts_of(text):
    """Extract the facts of a passage."""
    if not text.strip():
        return {}
    found = extract_sheet(text)
    return {
        fact_key(found.sheet, span.field): (span.start, span.end) for span in found.spans if span.field != "outcome"
    }


def keys_of(sheet):
    """Give the keys of a sheet's facts, the outcome apart."""
    found = {}
    for field in fact_fields(sheet):
        if field != "outcome":
            found.setdefault(fact_key(sheet, field), written(sheet, field))
    return found


def written(sheet, field):
    """Write a fact of a sheet in its own unit."""
    fact = fact_at(sheet, field)
    if hasattr(fact, "unit"):
        return f"{number_text(fact.value)} {fact.unit}"
    return shown(fact_key(sheet, field))


def fact_changes(before, after):
    """Tell by position what differs between two sheets."""
    found = []
    for side in ("parties.petitioner_type", "parties.respondent_type"):
        if fact_at(before, side) != fact_at(after, side):
            found.append(("PartyType", side, side))
    for fact_type, name in LISTS:
        old, new = fact_at(before, name), fact_at(after, name)
        if len(old) == len(new):
            places = [(at, at) for at in range(len(old)) if old[at] != new[at]]
        else:
            gone, come = _unmatched(old, new), _unmatched(new, old)
            places = [(at, None) for at in gone] + [(None, at) for at in come]
        for place in places:
            fields = (None if at is None else f"{name}.{at}" for at in place)
            found.append((fact_type, *fields))
    return found


def _unmatched(facts, others):
    """Give the places of facts that have no equal among others, each used once."""
    left, places = list(others), []
    for at, fact in enumerate(facts):
        if fact in left:
            left.remove(fact)
        else:
            places.append(at)
    return places


def group_of(key):
    """Name the sentence that a fact belongs to."""
    kind, value = key
    if kind == "PartyType":
        return value[0].removesuffix("_type")
    return kind if kind in GROUPS else "number"


def shown(key):
    """Write a fact plainly."""
    kind, value = key
    if kind == "Amount":
        return f"{number_text(value[0])} {value[1]}"
    if kind == "Age":
        return f"age {number_text(value)}"
    if kind == "Duration":
        return _length(value)
    return value[1] if kind == "PartyType" else str(value)


def _length(value):
    if isinstance(value, tuple):
        return f"{number_text(value[0])} {value[1]}"
    for days, unit in _IN_DAYS:
        if value >= days and (value / days) == int(value / days):
            return f"{number_text(value / days)} {unit}"
    if value > 3:  # so long a time is not counted in hours
        return f"{number_text(value)} days"
    return f"{number_text(value * 24)} hours"
