"""Facts of a sheet by field, and when two facts are the same."""

from casebook.counterfactual.extract_times import in_days

NUMBERS = ("amounts", "ages", "durations")


def fact_fields(sheet):
    """Name the facts of a sheet as errors do."""
    for side in ("petitioner", "respondent"):
        if getattr(sheet.parties, f"{side}_type") != "Unknown":
            yield f"parties.{side}_type"
    for name in ("evidence_items", "sections_cited"):
        yield from (f"{name}.{at}" for at in range(len(getattr(sheet, name))))
    for kind in NUMBERS:
        facts = getattr(sheet.numerical_facts, kind)
        yield from (f"numerical_facts.{kind}.{at}" for at in range(len(facts)))
    if sheet.outcome not in (None, "Unknown"):
        yield "outcome"


def fact_at(sheet, field):
    """Give the fact that a field names."""
    fact = sheet
    for part in field.split("."):
        fact = fact[int(part)] if part.isdigit() else getattr(fact, part)
    return fact


def fact_key(sheet, field):
    """Give what makes two facts the same: contexts and descriptions do not count."""
    fact = fact_at(sheet, field)
    kind = field.split(".")[1] if field.startswith("numerical") else field.split(".")[0]
    if kind == "durations":
        return "Duration", in_days(fact.value, fact.unit) or (fact.value, fact.unit)
    if kind == "amounts":
        return "Amount", (fact.value, fact.unit)
    if kind == "ages":
        return "Age", fact.value
    if kind == "evidence_items":
        return "Evidence", fact.evidence_type
    if kind == "parties":
        return "PartyType", (field.split(".")[1], fact)
    return ("Section" if kind == "sections_cited" else "Outcome"), fact
