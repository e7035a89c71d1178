"""Ages and lengths of time in a judgment; dates and limits set by law are neither."""

import re

from casebook.counterfactual.fact_types import Age, Duration
from casebook.counterfactual.number_words import QUANTITY, quantity
from casebook.counterfactual.spans import Found, about, set_by_law

_N = rf"(?P<n>(?:\d{{1,3}}(?![\d,/.-]\d))|(?:{QUANTITY}))"
_YEARS = r"(?:years?|yrs?)\b\.?"
_PERSON = (
    r"(?P<who>girl|boy|child|woman|man|lad|widow|widower|teacher|farmer|trader|hawker"
    r"|student|driver|labourer|baby|daughter|son|wife|husband|mother|father|brother"
    r"|sister|victim|accused|deceased|appellant|respondent|petitioner|prosecutrix|minor"
    r"|witness|worker|nurse|clerk|officer|engineer|pensioner|youth|infant)"
)
_ABOUT = r"(?:about|around|only|just|nearly|approximately)?\s?"
_AGES = re.compile(
    rf"\baged\s{_ABOUT}{_N}(?:\s?{_YEARS})?(?P<more>(?:,\s\w+|\sand\s\w+){{1,3}})?"
    rf"|\b(?:at )?(?:the|an) age of {_ABOUT}{_N.replace('<n>', '<n2>')}"
    rf"|(?<![\w.,/-]){_N.replace('<n>', '<n3>')}[\s-]?{_YEARS}[\s-]"
    rf"(?:(?:,|and|[\w-]+)\s){{0,6}}?(?:old\b|of age\b)"
    rf"|\b{_PERSON} of {_ABOUT}{_N.replace('<n>', '<n4>')}(?=[\s,.;)])(?!\s(?:per|%))"
    rf"|(?<!there\s)(?<!it\s)\b(?:is|was|were|being|then|now|only)\s(?:then\s|now\s|only\s|still\s){{0,2}}"
    rf"{_N.replace('<n>', '<n5>')}(?=[,.;)]\s|\sand\b|\sat the time|\sby then)"
    rf"|\b{_PERSON.replace('<who>', '<who2>')},\s(?:then\s|now\s)?"
    rf"{_N.replace('<n>', '<n6>')},",
    re.IGNORECASE,
)
_UNITS = {"hours": r"hours?|hrs?", "days": r"days?", "weeks": r"weeks?", "months": r"months?", "years": r"years?|yrs?"}
_UNIT = "|".join(f"(?:{pattern})" for pattern in _UNITS.values())
_ONE = rf"(?P<value>{QUANTITY}|\ba(?=\syear\sand\sa\shalf))[\s-](?P<unit>{_UNIT})\b"
_DURATION = re.compile(
    rf"(?<![\w.,/$-]){_ONE}(?P<half>\sand\sa\shalf)?(?:'s?)?"
    rf"(?:\s?,?\s?(?:and\s)?(?P<value2>{QUANTITY})\s(?P<unit2>{_UNIT})\b)?"
    r"(?!\s(?:old|of age))",
    re.IGNORECASE,
)
_LIST = re.compile(
    rf"(?<![\w.,/$-])(?P<all>\d{{1,3}}(?:, \d{{1,3}})* and \d{{1,3}}) "
    rf"(?P<unit>{_UNIT})\b",
    re.IGNORECASE,
)
_PURPOSES_WORDS = """
imprisonment sentence custody delay notice service lease employment possession
marriage detention limitation rent interest licence salary absence period delay
apart undergone maintenance contract repayment
"""
_PURPOSES = _PURPOSES_WORDS.split()
OLDEST = 110
_IN_DAYS = {"hours": 1 / 24, "days": 1, "weeks": 7, "months": 30, "years": 360}


def ages(text):
    """Find ages."""
    found = {}
    for match in _AGES.finditer(text):
        written = next(match[n] for n in ("n", "n2", "n3", "n4", "n5", "n6") if match[n])
        who = match["who"] or match["who2"] or _person(text, match)
        more = re.findall(r"\w+", match["more"] or "")
        values = [quantity(written), *(int(word) for word in more if word.isdigit())]
        for value in values:
            if 1 <= value <= OLDEST and value == int(value):
                fact = Found(Age(int(value), who.lower()), match.start(), match.end())
                found.setdefault(value, fact)
    return list(found.values())


def durations(text):
    """Find lengths of time."""
    taken = [match.span() for match in _AGES.finditer(text)]
    found = {}
    for match in _LIST.finditer(text):
        for value in re.findall(r"\d+", match["all"]):
            _add(found, text, match, int(value), _unit(match["unit"]))
    for match in _DURATION.finditer(text):
        inside = any(low < match.end() and match.start() < high for low, high in taken)
        if inside or set_by_law(text, match.start()):
            continue
        value, unit = _length(match)
        if value:
            _add(found, text, match, value, unit)
    return list(found.values())


def in_days(value, unit):
    """Bring a length of time to days, so that equal ones compare equal."""
    factor = _IN_DAYS.get(unit)
    return None if factor is None else round(value * factor, 6)


def _person(text, match):
    """Give the person noun nearest before or inside an age."""
    window = text[max(0, match.start() - 50) : match.end() + 25]
    people = list(re.finditer(rf"\b{_PERSON}\b", window, re.IGNORECASE))
    return people[-1]["who"] if people else ""


def _length(match):
    written = match["value"].lower()
    value = 1 if written == "a" else quantity(match["value"])
    value += 0.5 if match["half"] else 0
    unit = _unit(match["unit"])
    if match["value2"] is None:
        return value, unit
    smaller = _unit(match["unit2"])
    if _IN_DAYS[smaller] >= _IN_DAYS[unit]:
        return value, unit
    total = value * _IN_DAYS[unit] / _IN_DAYS[smaller] + quantity(match["value2"])
    return (int(total) if total == int(total) else total), smaller


def _unit(written):
    return next(name for name, pattern in _UNITS.items() if re.fullmatch(pattern, written, re.IGNORECASE))


def _add(found, text, match, value, unit):
    context = about(text, match.start(), match.end(), _PURPOSES)
    fact = Found(Duration(value, unit, context), match.start(), match.end())
    found.setdefault(in_days(value, unit), fact)
