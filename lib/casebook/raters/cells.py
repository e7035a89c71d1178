"""One cell of an answer: what it says, and what is wrong with it."""

import re

from casebook.raters.defects import LOST, REPAIRED, shortened
from casebook.raters.layouts import RATINGS
from casebook.sheets import Formula

_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


def read_choice(value, choices):
    """Read a cell with a choice."""
    problem = _no_value(value)
    if problem or value in choices:
        return (None, problem) if problem else (value, None)
    known = {choice.casefold(): choice for choice in choices}
    choice = known.get(str(value).strip().casefold())
    if choice is None:
        return None, ("not_a_choice", shortened(value), LOST)
    return choice, ("spelling", shortened(value), REPAIRED)


def read_rating(value):
    """Read a cell with a rating, a whole number from 1 to 5."""
    problem = _no_value(value)
    if problem:
        return None, problem
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None, ("not_a_number", shortened(value), LOST)
    text = str(value).strip()
    if not _NUMBER.fullmatch(text):
        return None, ("not_a_number", shortened(value), LOST)
    if not _WHOLE.fullmatch(text):
        return None, ("not_whole", shortened(value), LOST)
    number = float(text)
    if number not in RATINGS:  # infinite too, of hundreds of digits
        return None, ("out_of_range", shortened(value), LOST)
    number = int(number)
    if isinstance(value, str) and value != str(number):
        return number, ("spelling", shortened(value), REPAIRED)
    return number, None


def _no_value(value):
    if value is None or (isinstance(value, str) and not value.strip()):
        return ("blank", "", LOST)
    return None


def read_note(value):
    """Read a cell with free text."""
    if isinstance(value, Formula):
        value = value.text if value.value is None else value.value
    return "" if value is None else str(value), None
