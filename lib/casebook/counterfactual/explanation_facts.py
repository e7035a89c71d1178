"""Facts that a passage tells, and how facts are named in sentences."""

from functools import lru_cache

from casebook.counterfactual.extraction import extract_sheet
from casebook.counterfactual.fact_keys import fact_fields, fact_key
from casebook.counterfactual.fact_query import number_text

GROUPS = ("Section", "petitioner", "respondent", "Evidence", "number")
KIND_OF_GROUP = {"Section": "sections", "Evidence": "evidence", "number": "numbers"}
"""Sentences in order, and the kinds whose name is not that of the group."""
_IN_DAYS = ((360, "years"), (30, "months"), (1, "days"))


@lru_cache(maxsize=4096)
def facts_of(text):
    """Extract the facts of a passage.

    Parameters
    ----------
    text : str
        Passage.

    Returns
    -------
    dict
        Key of each fact (see `fact_key`) -> its place in the passage.
    """
    if not text.strip():
        return {}
    found = extract_sheet(text)
    return {
        fact_key(found.sheet, span.field): (span.start, span.end)
        for span in found.spans
        if span.field != "outcome"
    }


def keys_of(sheet):
    """Give the keys of a sheet's facts, the outcome apart.

    Parameters
    ----------
    sheet : FactSheet
        The sheet.

    Returns
    -------
    dict
        Key -> None, in the order of the sheet.
    """
    fields = (field for field in fact_fields(sheet) if field != "outcome")
    return dict.fromkeys(fact_key(sheet, field) for field in fields)


def group_of(key):
    """Name the sentence that a fact belongs to.

    Parameters
    ----------
    key : tuple
        From `fact_key`.

    Returns
    -------
    str
        One of ``GROUPS``.
    """
    kind, value = key
    if kind == "PartyType":
        return value[0].removesuffix("_type")
    return kind if kind in GROUPS else "number"


def shown(key):
    """Write a fact plainly.

    Parameters
    ----------
    key : tuple
        From `fact_key`.

    Returns
    -------
    str
        Such as ``IPC-302``, ``Minor``, ``5000 rupees`` or ``age 15``.
    """
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
    return f"{number_text(value * 24)} hours"
