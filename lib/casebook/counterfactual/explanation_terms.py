"""Terms that a query and a passage share, the rarest first."""

import math
import re
from collections import Counter
from functools import lru_cache

from casebook.measures.legal_text import STOP_LIST
from casebook.sensitivity.edits import LABELS

TERMS = 3  # named in a sentence
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_SHORTEST = 3
_TEMPLATE = LABELS | {"versus", "unknown", "years", "months", "days"}


@lru_cache(maxsize=4096)
def terms(text):
    """Split a text into terms."""
    return tuple(
        (match.group().lower(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if _counts(match.group().lower())
    )


def _counts(word):
    return len(word) >= _SHORTEST and word not in STOP_LIST


class TermWeights:
    """Inverse document frequencies of a collection: ln((N + 1) / (df + 1)) + 1."""

    def __init__(self, texts):
        self.n, self.df = 0, Counter()
        for text in texts:
            self.n += 1
            words = set(_TOKEN.findall(text.lower()))  # places are not needed here
            self.df.update(filter(_counts, words))

    def weight(self, term):
        """Give the weight of a term, at least 1."""
        return math.log((self.n + 1) / (self.df[term] + 1)) + 1

    def shared(self, query, text, documented=False):
        """Find the terms that a query and a text share."""
        asked = {term for term, _, _ in terms(query)}
        if not documented:
            asked -= _TEMPLATE
        first = {}
        for term, start, end in terms(text):
            if term in asked:
                first.setdefault(term, (term, start, end))
        return sorted(first.values(), key=lambda one: (-self.weight(one[0]), one[0]))
