"""Faithfulness as documented: sentences by shared words."""

import re

from casebook.measures.faithfulness import THRESHOLD, source_texts

_DOCUMENTED_BREAK = re.compile(r"(?<=[.!?])\s+")
_DOCUMENTED_TOKEN = re.compile(r"[a-z][a-z0-9]+")


def documented_faithfulness(explanation, sources, *, threshold=THRESHOLD):
    """Documented faithfulness: 40 % of a sentence's words stand in one source."""
    shares = [share for share, _ in documented_shares(explanation, sources)]
    if not shares:
        return 1.0
    return sum(share >= threshold for share in shares) / len(shares)


def documented_shares(explanation, sources):
    """Give each sentence's best share of words under the documented rule."""
    vocabularies = [documented_words(source) for source in source_texts(sources)]
    found = []
    for sentence in _DOCUMENTED_BREAK.split(explanation.strip()):
        words = documented_words(sentence)
        if sentence and not words:
            found.append((1.0, sentence))
        elif sentence:
            common = max((len(words & known) for known in vocabularies), default=0)
            found.append((common / len(words), sentence))
    return found


def documented_words(text):
    """Give what the documented rule counts as words."""
    return frozenset(_DOCUMENTED_TOKEN.findall(text.lower()))
