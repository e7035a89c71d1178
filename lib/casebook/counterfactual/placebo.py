"""Placebo edits: as many changed query words as a real edit, none with legal weight.

Every query of a placebo-controlled tree ends with inert words of its case: filing
month, docket number, names of counsel. A placebo leaves the facts as they are and
exchanges, drops or adds such words, exactly as many as the edit it is matched to drops
and adds. What moves then is what any change of that size moves.
"""

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from casebook.counterfactual.edits import Edit
from casebook.counterfactual.facts import query_text
from casebook.counterfactual.informative import Vocabulary
from casebook.errors import InputError

_MONTHS = """January February March April May June July August September October
November December"""
_COUNSEL = """Agarwal Ahmed Banerjee Bhatt Chandra Chatterjee Das Desai Dutta Ghosh Gill
Goh Gupta Iyer Jain Joshi Kapoor Khan Kumar Lim Mehta Mishra Mukherjee Nair Narayan Ng
Patel Pillai Prasad Rao Reddy Saxena Sethi Shah Sharma Singh Srinivasan Tan Verma
Wong"""
MONTHS, COUNSEL = tuple(_MONTHS.split()), tuple(_COUNSEL.split())
# Neither a year nor the number of a section of the usual acts.
DOCKETS = tuple(str(number) for number in range(2101, 10_000))
SIZE = 4  # inert words of a query: one month, one docket number, names
VACUOUS = "the collection holds no inert words (months, dockets, counsel) for placebos"


@dataclass(frozen=True)
class Inert:
    """Inert words to draw from."""

    months: tuple = MONTHS
    dockets: tuple = DOCKETS
    counsel: tuple = COUNSEL
    known: bool = False

    @property
    def kinds(self):
        """The three tuples of words."""
        return self.months, self.dockets, self.counsel


def inert_words(collection, kinds=(MONTHS, DOCKETS, COUNSEL), size=SIZE):
    """Choose inert words, out of those that tell the documents of a collection apart."""
    known = collection if isinstance(collection, Vocabulary) else Vocabulary(collection)
    kinds = [tuple(filter(known.informative, kind)) for kind in kinds]
    kinds = [kind if len(kind) > 2 else () for kind in kinds]
    if sum(map(len, kinds)) < 2 * size:
        return Inert((), (), ())
    return Inert(*kinds, known=True)


@dataclass(frozen=True)
class Writer:
    """Write the query of a sheet, with inert words at its end."""

    context: tuple = ()
    outcome: bool = False
    caps: bool = True
    words: bool = False

    def __call__(self, sheet):
        """Give the query of a sheet."""
        query = query_text(sheet, self.outcome, self.caps, self.words)
        if not self.context:
            return query
        return f"{query} Month, docket and counsel: {', '.join(self.context)}."


def with_context(case_id, inert, seed=0, size=SIZE, **options):
    """Give the writer of one case."""
    rng = _rng(seed, "context", case_id)
    chosen = [str(rng.choice(kind)) for kind in inert.kinds if kind][:size]
    for kind in reversed(inert.kinds):
        left = [word for word in kind if word not in chosen]
        take = min(size - len(chosen), len(left))
        chosen += [str(word) for word in rng.choice(left, take, replace=False)]
    return Writer(tuple(chosen), **options)


def placebo_edits(sheet, write, removed, added, inert, draws=1, seed=0):
    """Make placebos that drop and add as many query words as a real edit."""
    if not write.context:
        raise InputError("placebo edits need a writer with inert words")
    query = write(sheet)
    found = []
    for draw in range(draws):
        rng = _rng(seed, "placebo", query, str(removed), str(added), str(draw))
        words = _exchange(write.context, removed, added, inert, rng)
        if words is None:
            return []
        item = f"placebo/-{removed}+{added}/{draw}"
        found.append(
            Edit(
                "Placebo",
                item,
                "replace",
                f"{removed} inert word(s)",
                f"{added} other(s)",
                sheet,
                replace(write, context=words)(sheet),
                removed,
                added,
            )
        )
    return found


def _exchange(context, removed, added, inert, rng):
    """Drop and add words, in place by one of their kind; None if there are too few."""
    if removed > len(context):
        return None
    words, taken = list(context), set(context)
    places = rng.permutation(len(words))[:removed]
    gone = []
    for count, place in enumerate(places):
        kind = next(kind for kind in inert.kinds if words[place] in kind)
        if count >= added:
            gone.append(place)
            continue
        other = _draw(kind, taken, rng) or _draw(sum(inert.kinds, ()), taken, rng)
        if other is None:
            return None
        words[place] = other
    words = [word for place, word in enumerate(words) if place not in gone]
    for _ in range(added - removed):
        other = _draw(inert.counsel, taken, rng) or _draw(sum(inert.kinds, ()), taken, rng)
        if other is None:
            return None
        words.append(other)
    return tuple(words)


def _draw(kind, taken, rng):
    """Draw a word that was not used yet; None if there is none."""
    order = rng.permutation(len(kind))
    word = next((kind[at] for at in order if kind[at] not in taken), None)
    taken.add(word)
    return word


def _rng(seed, *purpose):
    """Random stream of one purpose, the same on every machine."""
    digest = hashlib.sha256("\0".join(purpose).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8])])
