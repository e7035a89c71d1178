"""Sums of money in a judgment, each with its place and what it is for."""

import re

from casebook.counterfactual.fact_types import LARGEST, Amount
from casebook.counterfactual.number_words import QUANTITY, quantity
from casebook.counterfactual.spans import Found, about, set_by_law

_UNITS = {
    "rupees": r"rs\.?|inr|₹|rupees?",
    "US dollars": r"us\s?\$|usd|u\.s\.\s?dollars?|us dollars?",
    "Singapore dollars": r"s\s?\$|sgd|singapore dollars?",
    "Australian dollars": r"au?\s?\$|aud|australian dollars?",
    "Canadian dollars": r"ca?\s?\$|cad|canadian dollars?",
    "Hong Kong dollars": r"hk\s?\$|hkd|hong kong dollars?",
    "New Zealand dollars": r"nz\s?\$|nzd|new zealand dollars?",
    "ringgit": r"rm|myr|ringgit",
    "yen": r"¥|jpy|yen",
    "euros": r"€|eur|euros?",
    "pounds": r"£|gbp|pounds?(?: sterling)?",
    "dollars": r"\$|dollars?",
}
_CURRENCY = "|".join(f"(?:{pattern})" for pattern in _UNITS.values())
_AMOUNT = re.compile(
    rf"(?<![a-z])(?P<before>{_CURRENCY})\s?\.?\s?(?P<figure>{QUANTITY})(?:/-)?"
    rf"|(?<![\w.,-])(?P<words>{QUANTITY})\s(?P<after>(?:us|singapore|australian|canadian"
    r"|hong kong|new zealand)\sdollars|rupees|dollars|pounds|euros|ringgit|yen)\b",
    re.IGNORECASE,
)
_PURPOSES_WORDS = """
compensation maintenance salary wages income rent fine penalty damages costs loan
price deposit interest award claim dowry bribe bond advance cheque fee settlement
expenses earnings earns alimony value loss premium duty debt dividend profits
turnover restitution ransom bill gratuity pension
"""
_PURPOSES = _PURPOSES_WORDS.split()


def amounts(text, country="IN"):
    """Find sums of money."""
    found = {}
    for match in _AMOUNT.finditer(text):
        value = quantity(match["figure"] or match["words"])
        unit = _unit(match["before"] or match["after"], country)
        if value > LARGEST or set_by_law(text, match.start()):
            continue
        context = about(text, match.start(), match.end(), _PURPOSES)
        fact = Amount(value, unit, context)
        found.setdefault((value, unit), Found(fact, match.start(), match.end()))
    return list(found.values())


def _unit(written, country):
    unit = next(name for name, pattern in _UNITS.items() if re.fullmatch(pattern, written, re.IGNORECASE))
    if unit == "dollars" and country == "SG":
        return "Singapore dollars"
    return unit
