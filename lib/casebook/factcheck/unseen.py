"""What the default judge cannot see: kinds of contradiction, and words of a claim.

It compares words. The shares are of contradictions that were planted for the purpose, by kind
(``tests/validation/unseen.py``); they were looked at only after the judge was made.
"""

from functools import cache
from pathlib import Path

import pandas as pd

from casebook.factcheck import claims
from casebook.factcheck.claims import VERBS, content, proper_names, stems, word_set, word_tokens
from casebook.factcheck.stance import exchanged, is_listed

TABLE = Path(__file__).with_name("unseen.csv")
SEEN = 0.8  # share of a kind that is refuted, from which on the judge counts as seeing it
#: A word of the list of parties to a contract or a case, which is found by it.
_A_PARTY = "plaintiff"
_MOST_WORDS = 5  # that are named of a claim


@cache
def unseen_kinds():
    """Kinds of contradiction that the judge does not recognise, the least recognised first."""
    table = pd.read_csv(TABLE)
    unseen = table[table["refuted"] < SEEN].sort_values("refuted", kind="stable")
    return tuple(unseen.to_dict("records"))


def general_caution():
    """Say which kinds of contradiction the default judge does not recognise."""
    shares = [f"{row['contradiction']} ({100 * row['refuted']:.0f} %)" for row in unseen_kinds()]
    return (
        "the default judge compares words, and so often misses contradictions of these kinds (share"
        f" that it refutes of planted ones): {', '.join(shares)}"
    )


def not_compared(claim, texts):
    """What of a claim the judge compared with nothing in its evidence, one phrase a kind."""
    phrases = [
        f"{word} (the evidence has {rival})"
        for word, rival, excluded in exchanged(claim, tuple(texts))
        if not excluded
    ]
    evidence_stems = content(" ".join(texts))
    tokens = word_tokens(claim)
    if lacking := _in_no_list_and_no_text(claim, evidence_stems):
        phrases.append(f"words that neither the evidence nor a list has ({_listed(lacking)})")
    roles = [role for role in _roles(claim) if content(role) and content(role) <= evidence_stems]
    if len(roles) > 1:
        phrases.append(f"who did what to whom ({_listed(roles)})")
    for kind, words in claims.CLAIM_WORDS["not_compared"].items():
        if stated := [word for word in dict.fromkeys(tokens) if word in word_set(words)]:
            phrases.append(f"{kind} ({_listed(stated)})")
    return tuple(phrases)


def _in_no_list_and_no_text(claim, evidence_stems):
    """Content words of a claim that are no name, verb or number, and are compared with nothing."""
    names = word_set(" ".join(proper_names(claim)).lower())
    words = []
    for word in dict.fromkeys(word_tokens(claim)):
        stem = next(iter(stems(word)), "")
        plain = content(word) and not word[0].isdigit() and word not in names | VERBS
        if plain and stem not in evidence_stems and not is_listed(stem):
            words.append(word)
    return words


def _roles(claim):
    """Names in a claim, and parties to a contract or a case."""
    lists = claims.CLAIM_WORDS["exclusive"]
    parties = set().union(*(words.split() for words in lists if _A_PARTY in words.split()))
    return [*proper_names(claim), *dict.fromkeys(w for w in word_tokens(claim) if w in parties)]


def _listed(words):
    """Some words, and how many more there are."""
    rest = len(words) - _MOST_WORDS
    return ", ".join(words[:_MOST_WORDS]) + (f" and {rest} more" if rest > 0 else "")
