"""A fact sheet with exactly one fact replaced, added or removed."""

from dataclasses import replace

from casebook.counterfactual.fact_types import EvidenceItem
from casebook.errors import InputError
from casebook.inference.samples import check_choice

NUMBERS = ("amounts", "ages", "durations")
SIDES = ("petitioner", "respondent")


def replace_party(sheet, side, party_type):
    """Give the sheet with another kind of party.

    Parameters
    ----------
    sheet : FactSheet
        The sheet.
    side : {"petitioner", "respondent"}
        Which one.
    party_type : str
        Its new type.

    Returns
    -------
    FactSheet
        The changed copy.

    Raises
    ------
    InputError
        If there is no such side.
    """
    check_choice("side", side, SIDES)
    parties = replace(sheet.parties, **{f"{side}_type": party_type})
    return replace(sheet, parties=parties)


def replace_section(sheet, old, new):
    """Give the sheet with another section in the place of a cited one.

    Parameters
    ----------
    sheet : FactSheet
        The sheet.
    old, new : str
        Normalised citations; `old` is cited and `new` is not.

    Returns
    -------
    FactSheet
        The changed copy.

    Raises
    ------
    InputError
        If `old` is not cited, or `new` is already.
    """
    cited = sheet.sections_cited
    if old not in cited:
        raise InputError(f"{sheet.case_id}: {old} is not cited, so not replaced")
    if new in cited and new != old:
        raise InputError(f"{sheet.case_id}: {new} is cited already")
    changed = tuple(new if name == old else name for name in cited)
    return replace(sheet, sections_cited=changed)


def add_evidence(sheet, evidence_type, description=""):
    """Give the sheet with one more item of evidence.

    Parameters
    ----------
    sheet : FactSheet
        The sheet.
    evidence_type, description : str
        The new item, which comes last.

    Returns
    -------
    FactSheet
        The changed copy.
    """
    item = EvidenceItem(evidence_type, description)
    return replace(sheet, evidence_items=(*sheet.evidence_items, item))


def remove_evidence(sheet, at):
    """Give the sheet without one item of evidence.

    Parameters
    ----------
    sheet : FactSheet
        The sheet.
    at : int
        Position of the item, from 0.

    Returns
    -------
    FactSheet
        The changed copy.

    Raises
    ------
    InputError
        If there is no such item.
    """
    items = sheet.evidence_items
    _check_position(sheet, "evidence_items", at, items)
    return replace(sheet, evidence_items=items[:at] + items[at + 1 :])


def replace_number(sheet, kind, at, value):
    """Give the sheet with another value of one number; unit and context stay.

    Parameters
    ----------
    sheet : FactSheet
        The sheet.
    kind : {"amounts", "ages", "durations"}
        List that holds the number.
    at : int
        Position in it, from 0.
    value : int or float
        The new value; whole numbers are stored as integers.

    Returns
    -------
    FactSheet
        The changed copy.

    Raises
    ------
    InputError
        If there is no such number.
    """
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
