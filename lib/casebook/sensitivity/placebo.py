"""Placebo edits: as many changed query words as a real edit, none with legal weight.

Every query of a placebo-controlled tree ends with inert words of its case: filing month, docket number, names of
counsel. A placebo leaves the facts as they are and exchanges, drops or adds such words, exactly as many as the edit it
is matched to drops and adds. What moves then is what any change of that size moves.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from casebook.errors import InputError
from casebook.sensitivity.citations import word_lists
from casebook.sensitivity.edits import LABELS, Edit
from casebook.sensitivity.facts import query_text

MONTHS, COUNSEL = (tuple(word_lists()["inert"][kind]) for kind in ("months", "counsel"))
DOCKETS = tuple(map(str, range(2101, 10_000)))  # neither a year nor the number of a section of the usual acts
SIZE = 4  # inert words of a query: one month, one docket number, names
LEAST_TERMS = 3  # informative terms below which a sheet is too poor to be a query
VACUOUS = "the collection holds no inert words (months, dockets, counsel) for placebos"
_TEMPLATE = LABELS | {"versus", "unknown", "years", "months", "days", "section", "article", "order", "rule"}


class Vocabulary:
    """Document frequencies of the words of a collection, in lower case."""

    def __init__(self, texts):
        self.n, self.df = 0, Counter()
        for text in texts:
            self.n += 1
            self.df.update(set(re.findall(r"\w+", text.lower())))

    def informative(self, word):
        """Tell whether a word stands in some document, and in at most half of them."""
        return 0 < self.df[word.lower()] <= self.n / 2

    def terms(self, sheet):
        """Give the informative terms of a sheet's query, labels of the template apart."""
        found = dict.fromkeys(re.findall(r"\w+", query_text(sheet).lower()))
        return tuple(word for word in found if len(word) > 1 and word not in _TEMPLATE and self.informative(word))


@dataclass(frozen=True)
class Inert:
    """Inert words to draw from."""

    months: tuple = MONTHS
    dockets: tuple = DOCKETS
    counsel: tuple = COUNSEL

    @property
    def kinds(self):
        """The three tuples of words."""
        return self.months, self.dockets, self.counsel


def inert_words(collection, kinds=(MONTHS, DOCKETS, COUNSEL), size=SIZE):
    """Choose inert words, out of those that tell the documents of a collection (texts or `Vocabulary`) apart."""
    known = collection if isinstance(collection, Vocabulary) else Vocabulary(collection)
    kinds = [tuple(filter(known.informative, kind)) for kind in kinds]
    kinds = [kind if len(kind) > 2 else () for kind in kinds]
    return Inert(*kinds) if sum(map(len, kinds)) >= 2 * size else Inert((), (), ())


@dataclass(frozen=True)
class Writer:
    """Write the query of a sheet, with inert words at its end."""

    context: tuple = ()
    outcome: bool = False
    caps: bool = True

    def __call__(self, sheet):
        """Give the query of a sheet."""
        query = query_text(sheet, self.outcome, self.caps)
        return f"{query} Month, docket and counsel: {', '.join(self.context)}." if self.context else query


def with_context(case_id, inert, seed=0, size=SIZE, **options):
    """Give the writer of one case: its inert words depend on case and seed alone."""
    rng = _rng(seed, "context", case_id)
    chosen = [str(rng.choice(kind)) for kind in inert.kinds if kind][:size]
    for kind in reversed(inert.kinds):
        left = [word for word in kind if word not in chosen]
        take = min(size - len(chosen), len(left))
        chosen += [str(word) for word in rng.choice(left, take, replace=False)]
    return Writer(tuple(chosen), **options)


def placebo_edits(sheet, write, removed, added, inert, draws=1, seed=0):
    """Make placebos that drop and add as many query words as a real edit; none if there are too few words."""
    if not write.context:
        raise InputError("placebo edits need a writer with inert words")
    query, found = write(sheet), []
    for draw in range(draws):
        rng = _rng(seed, "placebo", query, str(removed), str(added), str(draw))
        chosen = _exchange(write.context, removed, added, inert, rng)
        if chosen is None:
            return []
        item, old, new = f"placebo/-{removed}+{added}/{draw}", f"{removed} inert word(s)", f"{added} other(s)"
        text = replace(write, context=chosen)(sheet)
        found.append(Edit("Placebo", item, "replace", old, new, sheet, text, removed, added))
    return found


def _exchange(context, removed, added, inert, rng):
    """Drop and add words, in place by one of their kind; None if there are too few."""
    if removed > len(context):
        return None
    words, taken, gone = list(context), set(context), []
    for count, place in enumerate(rng.permutation(len(words))[:removed]):
        if count >= added:
            gone.append(place)
            continue
        kind = next(kind for kind in inert.kinds if words[place] in kind)
        words[place] = _draw(kind, inert, taken, rng)
    words = [word for place, word in enumerate(words) if place not in gone]
    words += [_draw(inert.counsel, inert, taken, rng) for _ in range(added - removed)]
    return None if None in words else tuple(words)


def _draw(kind, inert, taken, rng):
    """Draw a word that was not used yet, of a kind if that has any left; None if there is none."""
    for words in (kind, sum(inert.kinds, ())):
        order = rng.permutation(len(words))
        word = next((words[at] for at in order if words[at] not in taken), None)
        taken.add(word)
        if word is not None:
            return word
    return None


def _rng(seed, *purpose):
    """Random stream of one purpose, the same on every machine."""
    digest = hashlib.sha256("\0".join(purpose).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8])])
