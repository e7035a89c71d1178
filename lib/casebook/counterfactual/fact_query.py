"""The query that a fact sheet stands for: a fixed template, filled deterministically.

The documented template has limits: facts beyond them change nothing, so an edit of
such a fact leaves the query as it was (`is_noop`) and is a zero by construction.
"""

import re

SECTIONS, EVIDENCE_ITEMS, NUMBERS = 8, 6, 2  # limits of the documented template


def query_text(sheet, outcome=False, caps=True, words=False):
    """Write the query of a fact sheet."""
    limit = (SECTIONS, EVIDENCE_ITEMS, NUMBERS) if caps else (None, None, None)
    label = _words if words else str
    evidence = {item.evidence_type for item in sheet.evidence_items[: limit[1]]}
    numbers = sheet.numerical_facts
    parts = [
        ("Sections cited", sheet.sections_cited[: limit[0]]),
        ("Evidence", [label(name) for name in sorted(evidence)]),
        ("Amounts", [_quantity(fact) for fact in numbers.amounts[: limit[2]]]),
        ("Ages", [_age(fact) for fact in numbers.ages[: limit[2]]]),
        ("Durations", [_quantity(fact) for fact in numbers.durations[: limit[2]]]),
        ("Outcome", [sheet.outcome] if outcome and sheet.outcome else []),
    ]
    sides = sheet.parties.petitioner_type, sheet.parties.respondent_type
    first = f"{label(sides[0])} versus {label(sides[1])}."
    told = [f"{name}: {', '.join(facts)}." for name, facts in parts if facts]
    return " ".join([first, *told])


def is_noop(before, after, **options):
    """Tell whether an edit leaves the query as it was."""
    return query_text(before, **options) == query_text(after, **options)


def number_text(value):
    """Write a number plainly: no exponent, no trailing ``.0``."""
    if value == int(value):
        return str(int(value))
    return f"{value:.10f}".rstrip("0").rstrip(".")


def _words(label):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)


def _quantity(fact):
    about = f" ({fact.context})" if fact.context else ""
    return f"{number_text(fact.value)} {fact.unit}{about}"


def _age(fact):
    about = f" ({fact.descriptor})" if fact.descriptor else ""
    return f"{number_text(fact.value)} years{about}"
