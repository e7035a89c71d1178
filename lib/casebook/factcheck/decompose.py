"""Atomic claims with logical form and verifiability, by rules on whole words.

There is no parser behind it; ``data/factcheck/decomposition.jsonl`` has annotated
sentences to test the rules on.
"""

import re

from casebook.errors import InputError
from casebook.factcheck import grammar
from casebook.factcheck.clauses import leading, split
from casebook.factcheck.model import SubClaim
from casebook.factcheck.verifiability import verifiability
from casebook.factcheck.words import names, numbers

MOST_SUBCLAIMS = 10
LONGEST_CLAIM = 10_000  # characters


def decompose(claim, most=MOST_SUBCLAIMS):
    """Part a claim into atomic claims."""
    texts = split(checked_claim(claim))
    if len(texts) > most:
        raise InputError(f"the claim has {len(texts)} parts, more than {most}")
    return tuple(
        SubClaim(
            f"SC{number}",
            text,
            logical_form(text),
            verifiability(text),
            names(text),
            tuple(f"{n.value:g} {n.unit}".strip() for n in numbers(text)),
        )
        for number, text in enumerate(texts, start=1)
    )


def checked_claim(claim):
    """Refuse a claim that is no text, blank or too long."""
    if not isinstance(claim, str) or not claim.strip():
        raise InputError("the claim is empty")
    if len(claim) > LONGEST_CLAIM:
        raise InputError(
            f"the claim has {len(claim):,} characters, more than {LONGEST_CLAIM:,}: give one claim at a time"
        )
    return " ".join(claim.split())


def logical_form(text):
    """Write an atomic claim as a predicate."""
    lead, clause = leading(text.rstrip(".?! "))
    frame = f"{lead.rstrip(', ').lower()}: " if lead else ""
    return frame + _predicate(clause)


def _predicate(clause):
    """Write a clause without its frame as a predicate."""
    place = grammar.finite_verb(clause)
    if place is None:
        return f"claim({clause})"
    listed = grammar.tokens(clause)
    subject = clause[: listed[place][1]].strip().lower()
    helper = place
    negated = False
    while place + 1 < len(listed) and (
        listed[place][0] in grammar.AUXILIARIES | grammar.MODALS or listed[place][0] in ("not", "never")
    ):
        negated |= listed[place][0] in ("not", "never", "cannot")
        place += 1
    verb, start = listed[place]
    if verb not in grammar.BASE | set(grammar.THIRD) | set(grammar.PAST):
        verb, start = listed[helper]
    rest = clause[start + len(verb) :].strip(" ,")
    if negated:
        rest = re.sub(r"^(?:not|never)\s+", "", rest)
    form = f"{verb}({subject}, {rest})" if rest else f"{verb}({subject})"
    return f"not({form})" if negated else form


def undivided(claim):
    """Give a claim as its own only part, taken to be verifiable."""
    return (SubClaim("SC1", checked_claim(claim), f"claim({claim})"),)
