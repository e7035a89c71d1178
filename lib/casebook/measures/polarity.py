"""Negation and modality that a sentence and its source do not share.

A rule of thumb over words, not an entailment model: it flags pairs of sentences to look
at, and its rate is reported beside that of mismatched sources.
"""

from dataclasses import dataclass

from casebook.text import STOP_LIST, content_words, tokens

LEAST_OVERLAP = 0.5
SCOPE = 4
_NEGATORS = frozenset(("not", "no", "never", "neither", "nor", "without", "cannot"))
_STRENGTH = {
    "prohibition": (("shall", "not"), ("must", "not"), ("may", "not")),
    "obligation": (("must",), ("shall",), ("required",), ("obliged",)),
    "permission": (("may",), ("permitted",), ("allowed",), ("entitled",)),
}


@dataclass(frozen=True)
class Flip:
    """What a sentence turns round."""

    negated: tuple
    modality: tuple | None
    overlap: float


def find_flip(sentence, source_sentences, *, least_overlap=LEAST_OVERLAP):
    """Compare a sentence with the source sentence that shares most content with it."""
    words = content_words(sentence)
    if not words or not source_sentences:
        return None
    shares = [len(words & content_words(s)) / len(words) for s in source_sentences]
    best = max(range(len(shares)), key=shares.__getitem__)
    if shares[best] < least_overlap:
        return None
    ours, theirs = _negated(sentence), _negated(source_sentences[best])
    turned = sorted(w for w in ours.keys() & theirs.keys() if ours[w] != theirs[w])
    pair = modality(sentence), modality(source_sentences[best])
    differ = None not in pair and pair[0] != pair[1]
    return Flip(tuple(turned), pair if differ else None, shares[best])


def _negated(sentence):
    """Give each content word and whether an odd number of negators precede it."""
    words = [_plain(word) for word in tokens(sentence)]
    found = {}
    for place, word in enumerate(words):
        if word not in STOP_LIST and word not in _NEGATORS:
            before = words[max(0, place - SCOPE) : place]
            found.setdefault(word, sum(w in _NEGATORS for w in before) % 2 == 1)
    return found


def _plain(word):
    return "not" if word.endswith("n't") else word


def modality(sentence):
    """Give the modality of the first modal phrase of a sentence."""
    words = [part for word in tokens(sentence) for part in _expanded(word)]
    for place in range(len(words)):
        for name, phrases in _STRENGTH.items():
            for phrase in phrases:
                if tuple(words[place : place + len(phrase)]) == phrase:
                    return name
    return None


def _expanded(word):
    return (word[:-3], "not") if word.endswith("n't") else (word,)
