"""Words that tell the documents of a collection apart, and whether a query has any."""

import re
from collections import Counter

from casebook.counterfactual.edits import LABELS
from casebook.counterfactual.facts import query_text

LEAST_TERMS = 3
"""Informative terms below which a sheet is too poor to be a query."""

_WORD = re.compile(r"\w+")
_TEMPLATE = LABELS | {"versus", "unknown", "years", "months", "days"}
_TEMPLATE |= {"section", "article", "order", "rule"}  # of citations in normal form


class Vocabulary:
    """Document frequencies of the words of a collection, in lower case."""

    def __init__(self, texts):
        self.n, self.df = 0, Counter()
        for text in texts:
            self.n += 1
            self.df.update(set(_WORD.findall(text.lower())))

    def informative(self, word):
        """Tell whether a word stands in some document, and in at most half of them."""
        return 0 < self.df[word.lower()] <= self.n / 2

    def terms(self, sheet, words=False):
        """Give the informative terms of a sheet's query, labels of the template apart."""
        found = _WORD.findall(query_text(sheet, words=words).lower())
        return tuple(
            word for word in dict.fromkeys(found) if len(word) > 1 and word not in _TEMPLATE and self.informative(word)
        )
