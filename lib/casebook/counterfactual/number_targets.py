"""What a number of a fact sheet is changed to: across legal limits, doubled, halved."""

import math
import re

AGE_LIMITS = (7, 12, 18, 21, 60)
YEAR_LIMITS = (1, 3, 6, 12)
MONEY_LIMITS = (25_000, 100_000, 500_000, 1_000_000, 10_000_000, 100_000_000)

# What one unit is worth; other units have no limits here and are doubled and halved.
_IN_YEARS = {"year": 1, "month": 1 / 12, "week": 7 / 365, "day": 1 / 365}
_MULTIPLES = {"lakh": 100_000, "lac": 100_000, "crore": 10_000_000}
_LENGTHS = _IN_YEARS | {"hour": 1 / (365 * 24), "hr": 1 / (365 * 24), "yr": 1}

FACTOR = 10  # most by which a sum or a length of time changes
OLDEST = 110
SHORT = 7 / 365  # years; up to a week a length may change by more
# The longest, in years, of what a context names: (words, years).
_LONGEST = (
    (r"imprison|sentence|custody|detention|detained|undergone|jail|arrest", 30),
    (r"service|employ|work|salary", 60),
    (r"marriage|married|absence|delay|notice|interest|apart", 80),
    (r"lease|licen[cs]e|possession", 999),
    ("", 150),
)
_WHOLE = ("hour", "hr", "day", "week")  # units of which judgments count no halves
# Who is grown up, and who is not: an age cannot make them another.
_ADULT = re.compile(
    r"\b(?:widow(?:er)?|wife|husband|mother|father|parent|driver|teacher|landl\w+|trader"
    r"|farmer|officer|engineer|nurse|clerk|worker|workman|pensioner|labourer|hawker"
    r"|employee|director|doctor|manager|guarantor|candidate)\b",
    re.IGNORECASE,
)
_CHILD = re.compile(r"\b(?:girl|boy|child|minor|lad|juvenile)\b", re.IGNORECASE)
_INFANT = re.compile(r"\b(?:infant|baby|newborn)\b", re.IGNORECASE)


def out_of_bounds(kind, fact, value):
    """Say why a number cannot become a value without leaving legal sense."""
    if value <= 0:
        return "a number of nothing"
    return {"ages": _age_bound, "durations": _length_bound, "amounts": _money_bound}[kind](fact, value)


def _age_bound(fact, value):
    if value != int(value) or value > OLDEST:
        return f"nobody is {value} years old"
    if _INFANT.search(fact.descriptor) and value > 3:
        return f"no infant is {value} years old"
    if _ADULT.search(fact.descriptor):
        return None if value >= 16 else f"{fact.descriptor} is no child of {value}"
    if _CHILD.search(fact.descriptor) and value > 21:
        return f"{fact.descriptor} is not {value} years old"
    return None


def _length_bound(fact, value):
    whole = fact.value == int(fact.value) and fact.unit.lower().startswith(_WHOLE)
    if whole and value != int(value):
        return f"nobody counts {value} {fact.unit}"
    years = _unit_factor(fact.unit, _LENGTHS)
    if years is not None:
        most = next(n for words, n in _LONGEST if re.search(words, fact.context, re.I))
        if value * years > most:
            return f"{value} {fact.unit} of {fact.context or 'anything'} is too long"
        if value * years <= SHORT:
            return None
    return _factor_bound(fact, value)


def _money_bound(fact, value):
    whole = fact.value == int(fact.value) and not _unit_factor(fact.unit, _MULTIPLES)
    if whole and value != int(value):
        return f"{value} is no whole sum as {fact.value} is"
    return _factor_bound(fact, value)


def _factor_bound(fact, value):
    if not fact.value or not 1 / FACTOR <= value / fact.value <= FACTOR:
        return f"{value} {fact.unit} is another order of size than {fact.value}"
    return None


def targets(kind, fact, bounded=True):
    """List the values that a number is changed to, one at a time."""
    found = {"ages": _ages, "durations": _durations, "amounts": _amounts}[kind](fact)
    found = {_plain(value) for value in found}
    if bounded:
        found = {_counted(kind, fact, value) for value in found}
        found = {v for v in found if not out_of_bounds(kind, fact, v)}
    return sorted(found - {_plain(fact.value)})


def _ages(fact):
    return [a - 1 if fact.value >= a else a for a in AGE_LIMITS]


def _durations(fact):
    value = fact.value
    unit = _unit_factor(fact.unit, _IN_YEARS)
    found = [2 * value]
    if unit is None:
        return [*found, value / 2]
    years = value * unit
    if years > 0.5:
        found.append(value / 2)
    beyond = [p + 0.5 if years < p else max(0.5, p - 0.5) for p in YEAR_LIMITS]
    return found + [other / unit for other in beyond]


def _amounts(fact):
    unit = _unit_factor(fact.unit, _MULTIPLES) or 1
    money = fact.value * unit
    beyond = [limit + 1 if money < limit else max(1, limit - 1) for limit in MONEY_LIMITS]
    return [2 * fact.value, fact.value / 2, *(other / unit for other in beyond)]


def _unit_factor(unit, table):
    """Find a unit by its first letters, whatever stands around it; None if unknown."""
    words = unit.lower().replace(".", " ").split()
    return next((factor for name, factor in table.items() for w in words if w.startswith(name)), None)


def _plain(value):
    """Round what conversion of units leaves behind; whole numbers are integers."""
    value = round(value, 7)
    return int(value) if value == int(value) else value


def _counted(kind, fact, value):
    """Round up to whole units where the number was counted in them."""
    units = kind == "amounts" and not _unit_factor(fact.unit, _MULTIPLES)
    units = units or (kind == "durations" and fact.unit.lower().startswith(_WHOLE))
    return math.ceil(value) if units and fact.value == int(fact.value) else value
