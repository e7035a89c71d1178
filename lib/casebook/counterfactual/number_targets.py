"""What a number of a fact sheet is changed to: across legal limits, doubled, halved."""

AGE_LIMITS = (7, 12, 18, 21, 60)
YEAR_LIMITS = (1, 3, 6, 12)
MONEY_LIMITS = (25_000, 100_000, 500_000, 1_000_000, 10_000_000, 100_000_000)

# What one unit is worth; other units have no limits here and are doubled and halved.
_IN_YEARS = {"year": 1, "month": 1 / 12, "week": 7 / 365, "day": 1 / 365}
_MULTIPLES = {"lakh": 100_000, "lac": 100_000, "crore": 10_000_000}


def targets(kind, fact):
    """List the values that a number is changed to, one at a time.

    Parameters
    ----------
    kind : {"amounts", "ages", "durations"}
        List that holds the number.
    fact : Amount, Age or Duration
        The number, in the unit that it names.

    Returns
    -------
    list of int or float
        Distinct from the number and from each other, ascending, in its unit.

    Notes
    -----
    Ages: just below each of ``AGE_LIMITS`` if the age reaches it, else at it.
    Durations: doubled; halved if more than half a year is left to lose; half a year
    to the other side of each of ``YEAR_LIMITS``, but not below half a year. Amounts:
    doubled, halved, and one unit to the other side of each of ``MONEY_LIMITS``, but
    not below one. Limits in years hold for months, weeks and days by conversion, and
    limits of money for lakh and crore.
    """
    found = {"ages": _ages, "durations": _durations, "amounts": _amounts}[kind](fact)
    return sorted({_plain(value) for value in found} - {_plain(fact.value)})


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
    beyond = [
        limit + 1 if money < limit else max(1, limit - 1) for limit in MONEY_LIMITS
    ]
    return [2 * fact.value, fact.value / 2, *(other / unit for other in beyond)]


def _unit_factor(unit, table):
    """Find a unit by its first letters, whatever stands around it; None if unknown."""
    words = unit.lower().replace(".", " ").split()
    return next(
        (factor for name, factor in table.items() for w in words if w.startswith(name)),
        None,
    )


def _plain(value):
    """Round what conversion of units leaves behind; whole numbers are integers."""
    value = round(value, 7)
    return int(value) if value == int(value) else value
