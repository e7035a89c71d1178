"""Atomic claims with their verifiability: by rules, as documented, by a function of one's own.

The rules part a claim where a tagger finds a predicate or a clause after a connector, and restore
subject, modal and leading condition. A list of things under one verb stays whole.
"""

import re
from collections import namedtuple

from casebook.errors import InputError
from casebook.factcheck.clauses import split_claim
from casebook.factcheck.words import CLAIM_WORDS, of_kind, yaml_table
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.stats.samples import check_choice
from casebook.text import tokens

VERIFIABLE, OPINION, VAGUE = ("verifiable", "opinion", "vague")
MOST_SUBCLAIMS = 10
LONGEST_CLAIM = 10_000  # characters
_JUDGEMENT = frozenset(CLAIM_WORDS["judgement"].split())
_VAGUE = frozenset(CLAIM_WORDS["vague"].split())
_DOCUMENTED_SPLIT = re.compile(r" and |,| that ", re.IGNORECASE)
_DOCUMENTED_NAME = re.compile(r"[A-Z][a-zA-Z]*(?:\s+[A-Z][a-zA-Z]*)*")

#: One atomic claim; the documented pipeline writes its entities into queries.
SubClaim = namedtuple("SubClaim", "id text verifiability entities", defaults=[VERIFIABLE, ()])


def numbered(texts, kind_of=lambda text: VERIFIABLE):
    parts = []
    for number, text in enumerate(texts, start=1):
        parts.append(SubClaim(f"SC{number}", text, kind_of(text)))
    return tuple(parts)


def decompose(claim):
    texts = split_claim(checked_claim(claim))
    if len(texts) > MOST_SUBCLAIMS:
        raise InputError(f"the claim has {len(texts)} parts, more than {MOST_SUBCLAIMS}")
    return numbered(texts, verifiability)


def undivided(claim):
    """A claim as its only part, taken to be verifiable."""
    return numbered([checked_claim(claim)])


def checked_claim(claim):
    if not isinstance(claim, str) or not claim.strip():
        raise InputError("the claim is empty")
    if len(claim) > LONGEST_CLAIM:
        raise InputError(f"the claim has {len(claim):,} characters, more than {LONGEST_CLAIM:,}")
    return " ".join(claim.split())


def verifiability(text):
    """Whether a text can be checked against documents, by whole words."""
    words = tokens(text)
    for kind, patterns in CLAIM_WORDS["patterns"].items():
        if re.search("|".join(patterns), text, re.IGNORECASE):
            return kind
    if not _JUDGEMENT.isdisjoint(words):
        return OPINION
    n_vague = sum(word in _VAGUE for word in words)
    return VAGUE if n_vague > 1 and not of_kind(text, "number") else VERIFIABLE


def decompose_documented(claim):
    """The documented parts, quirks included: split at connectors, cut at ten."""
    pieces = filter(None, map(str.strip, _DOCUMENTED_SPLIT.split(claim)))
    parts = []
    for part in numbered(pieces, documented_verifiability)[:MOST_SUBCLAIMS]:
        names = dict.fromkeys(_DOCUMENTED_NAME.findall(part.text))
        parts.append(part._replace(entities=tuple(names)))
    return tuple(parts)


def documented_verifiability(text):
    """The documented kind, by substrings: "William" contains "will"."""
    lowered = text.lower()
    for kind, substrings in yaml_table("documented")["verifiability"].items():
        too_long = kind == VAGUE and len(text.split()) >= 10
        if not too_long and any(substring in lowered for substring in substrings):
            return kind
    return VERIFIABLE


def plugin_decomposer(name):
    """Decomposer of one's own: a function of a claim to the texts of its parts."""
    split = callable_plugin(name, "claim -> list of texts")

    def decompose_by_plugin(claim):
        texts = called(name, split, checked_claim(claim))
        is_list = isinstance(texts, list | tuple) and texts
        if not is_list or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{name} gave {texts!r}: give the texts of one part or more")
        return numbered(texts)

    return decompose_by_plugin


DECOMPOSERS = {"rules": decompose, "documented": decompose_documented, "none": undivided}


def decomposer_of(name):
    if is_plugin(name):
        return plugin_decomposer(name)
    check_choice("decomposition", name, DECOMPOSERS)
    return DECOMPOSERS[name]
