"""A fact sheet with exactly one fact replaced, added or removed."""

from dataclasses import replace

from casebook.counterfactual.fact_types import EvidenceItem
from casebook.errors import InputError
from casebook.stats.samples import check_choice

NUMBERS = ("amounts", "ages", "durations")
SIDES = ("petitioner", "respondent")


def replace_party(sheet, side, party_type):
    """Give the sheet with another kind of party."""
    check_choice("side", side, SIDES)
    parties = replace(sheet.parties, **{f"{side}_type": party_type})
    return replace(sheet, parties=parties)


def replace_section(sheet, old, new):
    """Give the sheet with another section in the place of a cited one."""
    cited = sheet.sections_cited
    if old not in cited:
        raise InputError(f"{sheet.case_id}: {old} is not cited, so not replaced")
    if new in cited and new != old:
        raise InputError(f"{sheet.case_id}: {new} is cited already")
    changed = tuple(new if name == old else name for name in cited)
    return replace(sheet, sections_cited=changed)


def add_evidence(sheet, evidence_type, description=""):
    """Give the sheet with one more item of evidence."""
    item = EvidenceItem(evidence_type, description)
    return replace(sheet, evidence_items=(*sheet.evidence_items, item))


def remove_evidence(sheet, at):
    """Give the sheet without one item of evidence."""
    items = sheet.evidence_items
    _check_position(sheet, "evidence_items", at, items)
    return replace(sheet, evidence_items=items[:at] + items[at + 1 :])


def replace_number(sheet, kind, at, value):
    """Give the sheet with another value of one number; unit and context stay."""
    check_choice("kind", kind, NUMBERS)
    facts = getattr(sheet.numerical_facts, kind)
    _check_position(sheet, kind, at, facts)
    whole = int(value) if value == int(value) else float(value)
    changed = replace(facts[at], value=whole)
    numbers = {kind: (*facts[:at], changed, *facts[at + 1 :])}
    return replace(sheet, numerical_facts=replace(sheet.numerical_facts, **numbers))


def _check_position(sheet, name, at, facts):
    if not 0 <= at < len(facts):
        raise InputError(f"{sheet.case_id}: {name} has no position {at}")
