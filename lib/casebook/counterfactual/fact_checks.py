"""What a fact sheet may not say: nothing, the same twice, or two things at once."""

from casebook.counterfactual.fact_types import EVIDENCE_TYPES, FACT_TYPES

ADULT = 18  # age of majority in India; Singapore's tests of minority lie at or above
OLDEST = 130


def present_types(sheet):
    """Name the fact types of which a sheet has at least one fact."""
    numbers, parties = sheet.numerical_facts, sheet.parties
    sides = {parties.petitioner_type, parties.respondent_type}
    has = {
        "Numerical": numbers.amounts or numbers.ages or numbers.durations,
        "Section": sheet.sections_cited,
        "PartyType": sides - {"Unknown"},
        "Evidence": sheet.evidence_items,
    }
    return tuple(name for name in FACT_TYPES if has[name])


def contradictions(sheet):
    """List what in a sheet cannot be true at once."""
    numbers = sheet.numerical_facts
    return [
        *_two_values("ages", numbers.ages, lambda age: age.descriptor),
        *_two_values("amounts", numbers.amounts, lambda a: _subject(a.unit, a.context)),
        *_two_values("durations", numbers.durations, lambda d: _subject(d.unit, d.context)),
        *_impossible_ages(sheet),
        *_doubles(sheet),
    ]


def unknown_evidence(sheet):
    """List evidence types outside the vocabulary."""
    types = (item.evidence_type for item in sheet.evidence_items)
    return [(at, name) for at, name in enumerate(types) if name not in EVIDENCE_TYPES]


def _subject(unit, context):
    return f"{context} in {unit}" if context else ""


def _two_values(name, facts, subject):
    seen = {}
    for at, fact in enumerate(facts):
        about = subject(fact).casefold()
        if about and seen.setdefault(about, fact.value) != fact.value:
            yield (f"numerical_facts.{name}.{at}: {fact.value} contradicts {seen[about]} for {about!r}")


def _impossible_ages(sheet):
    sides = ("petitioner", "respondent")
    minors = {side for side in sides if getattr(sheet.parties, f"{side}_type") == "Minor"}
    for at, age in enumerate(sheet.numerical_facts.ages):
        where = f"numerical_facts.ages.{at}"
        if age.value > OLDEST:
            yield f"{where}: nobody is {age.value} years old"
        elif age.descriptor.casefold() in minors and age.value >= ADULT:
            yield f"{where}: the {age.descriptor} is a Minor of {age.value} years"


def _doubles(sheet):
    """Yield citations and evidence items that stand twice."""
    for name in ("sections_cited", "evidence_items"):
        facts = getattr(sheet, name)
        for at, fact in enumerate(facts):
            if fact in facts[:at]:
                shown = getattr(fact, "evidence_type", fact)
                yield f"{name}.{at}: {shown!r} stands twice"
