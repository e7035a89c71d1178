"""Edits that change one fact of a sheet, their order for a budget, and placebos of the same size.

Every query of a placebo-controlled tree ends with inert words of its case: filing month, docket
number, names of counsel, or, where documents have no such, words of theirs that occur in no fact.
A placebo leaves the facts as they are and exchanges, drops or adds such words, exactly as many as
the edit it is matched to drops and adds. It moves what any change of that size moves.
"""

import hashlib
import math
import re
from collections import Counter, namedtuple
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from casebook.sensitivity import facts
from casebook.sensitivity.domain import SHIPPED_DOMAIN, word_lists

_WORDS = word_lists()
TEMPLATE_LABELS = frozenset(_WORDS["template"]["labels"])


_Edit = namedtuple("_Edit", "fact_type item old new sheet query removed added noop")


class Edit(_Edit):
    """One fact changed: sheet and query after it, and the words that the query lost and gained."""

    @property
    def description(self):
        change = f"{self.old} to {self.new}"
        if self.old is None:
            change = f"{self.new} added"
        elif self.new is None:
            change = f"{self.old} removed"
        return f"{self.fact_type}: {change}"


def single_fact_edits(
    sheet, neighbours=None, write=facts.query_text, bounded=True, domain=SHIPPED_DOMAIN
):
    """Every edit of one fact of a sheet, by fact type.

    `neighbours` gives the sections that may replace one; `write` turns a sheet into a query;
    `bounded` keeps numbers within legal sense (the documented edits are not).
    """
    # Types of one's own take the place of those of the same name.
    changes = {name: [] for name in domain.fact_types}
    for name, item, new in _changes(sheet, neighbours, bounded):
        if name not in domain.types:
            changes[name].append((item, new))
    present = [(fact.fact_type, fact.value) for fact in sheet.further_facts]
    for at, (name, value) in enumerate(present):
        for other in domain.types[name].replacements(value):
            if (name, other) not in present:
                changes[name].append((f"further_facts/{at}", other))
    edits = []
    for of_type in changes.values():
        edits += [edit_fact(sheet, item, new, write) for item, new in of_type]
    return edits


def edit_fact(sheet, item, new, write=facts.query_text):
    """The edit of one fact.

    The fact is named as in ``ages/0``, ``sections_cited/IPC-302`` or ``evidence_items/+FIR``.
    """
    kind, key = item.split("/", 1)
    record = sheet.model_dump(mode="json")
    values = (record["numerical_facts"] if kind in facts.NUMBERS else record)[kind]
    if key.startswith("+"):
        values.append({"evidence_type": None})
        key = -1
    # Where the value of the fact is: a key of a record, or a place in a list.
    if kind == "parties":
        holder, at = values, f"{key}_type"
    elif kind == "sections_cited":
        holder, at = values, values.index(key)
    else:
        holder = values[int(key)]
        at = "value" if "value" in holder else "evidence_type"
    old = _told(holder, at)
    holder[at] = new
    told = _told(holder, at)
    if new is None:
        values.remove(holder)
    edited = facts.FactSheet.model_validate(record)
    fact_type = facts.LISTS.get(kind, ["PartyType"])[0] or holder["fact_type"]
    before = write(sheet)
    after = write(edited)
    sizes = changed_words(before, after)
    return Edit(fact_type, item, old, told, edited, after, *sizes, noop=after == before)


def _told(holder, at):
    """A value in words, that of a type of one's own in its unit."""
    value = holder[at]
    if at == "value" and not isinstance(value, str):
        value = facts.number_text(value)
    return f"{value} {holder['unit']}".strip() if "fact_type" in holder else value


def changed_words(before, after):
    """Numbers of words that a query loses and gains, labels of the template apart."""
    lost, gained = map(_query_words, (before, after))
    return (lost - gained).total(), (gained - lost).total()


def _query_words(text):
    words = re.findall(r"\d+(?:\.\d+)+|\w+", text.lower())
    return Counter(word for word in words if word not in TEMPLATE_LABELS)


def order_edits(edits, seed=0):
    """Edits in the order in which a budget is spent on them.

    One edit of each type in turn, within a type one of each fact, shuffled by the seed and the
    edits alone.
    """
    rng = _rng(seed, "\n".join(f"{edit.item} {edit.description}" for edit in edits))
    strata = {}
    for position in rng.permutation(len(edits)):
        edit = edits[position]
        of_type = strata.setdefault(edit.fact_type, {})
        of_type.setdefault(edit.item, []).append(edit)
    return _in_turn(_in_turn(items.values()) for items in strata.values())


def _in_turn(lists):
    return [edit for turn in zip_longest(*lists) for edit in turn if edit is not None]


def _changes(sheet, neighbours, bounded):
    """Every change of one fact: its type, the fact, and what it becomes."""
    for cited in sheet.sections_cited:
        for section in neighbours(cited) if neighbours else ():
            if section not in sheet.sections_cited:
                yield "Section", f"sections_cited/{cited}", section
    for side in facts.PARTY_SIDES:
        present = getattr(sheet.parties, f"{side}_type")
        for pair in _WORDS["swaps"]:
            if present in pair:
                yield "PartyType", f"parties/{side}", pair[1 - pair.index(present)]
    types = [item.evidence_type for item in sheet.evidence_items]
    for at in range(len(types)):
        yield "Evidence", f"evidence_items/{at}", None
    for name in _WORDS["added_evidence"]:
        if name not in types:
            yield "Evidence", f"evidence_items/+{name}", name
    for kind in facts.NUMBERS:
        for at, fact in enumerate(getattr(sheet.numerical_facts, kind)):
            for value in targets(kind, fact, bounded):
                yield "Numerical", f"{kind}/{at}", value


def _rng(seed, *purpose):
    digest = hashlib.sha256("\0".join(purpose).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8])])


# ---- what a number is changed to: across legal limits, doubled, halved

HOUR = 1 / (365 * 24)  # years
_UNITS = {
    "ages": {},
    "amounts": {"lakh": 100_000, "lac": 100_000, "crore": 10_000_000},
    "durations": {
        "year": 1,
        "month": 1 / 12,
        "week": 7 / 365,
        "day": 1 / 365,
        "hour": HOUR,
    },
}
LARGEST_FACTOR = 10  # most by which a sum or a length of time changes
SHORT_DURATION = 7 / 365  # years; up to a week a length may change by more


def targets(kind, fact, bounded=True):
    """Values that a number is changed to, one at a time, ascending.

    `kind` is ``amounts``, ``ages`` or ``durations``; unbounded, every documented limit is crossed
    from anywhere. Sums and lengths of time are doubled and halved as well, up to half a year only
    doubled.
    """
    limits = _WORDS["limits"][kind]
    crossed = limits["at"]
    unit = _worth(kind, fact) or 1
    worth = fact.value * unit
    if kind == "durations" and _worth(kind, fact) in (None, HOUR):
        crossed = ()
        worth = math.inf
    values = []
    for limit in crossed:
        across = limit + limits["beyond"] if worth < limit else limit - limits["short"]
        values.append(across / unit)
    if kind != "ages":
        values.append(2 * fact.value)
    if kind == "amounts" or (kind == "durations" and worth > 0.5):
        values.append(fact.value / 2)
    values = [_rounded(value) for value in values]
    if bounded and _counted(kind, fact):
        values = map(math.ceil, values)
    if bounded:
        values = [value for value in values if not is_out_of_bounds(kind, fact, value)]
    return sorted(set(values) - {_rounded(fact.value)})


def is_out_of_bounds(kind, fact, value):
    if value <= 0 or (_counted(kind, fact) and value != int(value)):
        return True
    size = value * (_worth(kind, fact) or 0) if kind == "durations" else value
    bounds = _WORDS["bounds"][kind]
    found = [row for row in bounds if re.search(row[0], fact.subject, re.IGNORECASE)]
    _, least, most = found[0]
    if not least <= size <= most:
        return True
    if kind == "ages" or (kind == "durations" and 0 < size <= SHORT_DURATION):
        return False
    return not fact.value / LARGEST_FACTOR <= value <= fact.value * LARGEST_FACTOR


def _worth(kind, fact):
    """What the unit of a number is worth, whatever is around it; None if unknown."""
    words = getattr(fact, "unit", "").lower().replace(".", " ").split()
    for name, factor in _UNITS[kind].items():
        if any(word.startswith(name) for word in words):
            return factor
    return None


def _counted(kind, fact):
    # Nobody counts halves of rupees or of days, unlike those of lakhs, months and years.
    is_small = (_worth(kind, fact) or 0) < 1 / 12
    return kind == "ages" or (is_small and fact.value == int(fact.value))


def _rounded(value):
    return facts.as_integer(round(value, 7))


# ---- placebos


class Inert(NamedTuple):
    """Inert words by kind; dockets are no year and no section of a usual act."""

    months: tuple = tuple(_WORDS["inert"]["months"])
    dockets: tuple = tuple(map(str, range(2101, 10_000)))
    counsel: tuple = tuple(_WORDS["inert"]["counsel"])
    own: tuple = ()  # of a collection without the others


ALL_WORDS = Inert()
NO_WORDS = Inert((), (), ())
CONTEXT_WORDS = 4  # inert words of a query: one month, one docket number, names
LEAST_WORDS = 2 * CONTEXT_WORDS  # of a collection
LEAST_TERMS = 3  # informative terms below which a sheet is too poor to be a query
NO_INERT_WORDS = (
    "the collection holds too few inert words for placebos: months, dockets and counsel, or words "
    "that occur in no fact"
)
_TEMPLATE = TEMPLATE_LABELS.union(_WORDS["template"]["other words"])


class Vocabulary:
    """Document frequencies of the words of a collection, as BM25 finds them."""

    def __init__(self, texts, words_of=None):
        words = [set((words_of or _words)(text)) for text in texts]
        self.n = len(words)
        self.df = Counter(word for of_text in words for word in of_text)

    def informative(self, word):
        return 0 < self.df[word.lower()] <= self.n / 2

    def terms(self, sheet):
        """Informative terms of a sheet's query, labels of the template apart."""
        labels = " ".join(fact.fact_type for fact in sheet.further_facts)
        no_terms = _TEMPLATE.union(_words(labels))
        words = dict.fromkeys(_words(facts.query_text(sheet)))
        terms = [word for word in words if len(word) > 1 and word not in no_terms]
        return tuple(filter(self.informative, terms))


def _words(text):
    return re.findall(r"\w+", text.lower())


def inert_words(vocabulary, sheets=(), domain=SHIPPED_DOMAIN):
    """Inert words that distinguish the documents of a collection.

    Where it has too few of some kinds, they are words of its own that occur in no fact of the
    sheets, those first that are about as frequent as the words of the facts.
    """
    usable = []
    for kind in ALL_WORDS:
        informative = tuple(filter(vocabulary.informative, kind))
        usable.append(informative if len(informative) > 2 else ())
    if sum(map(len, usable)) >= LEAST_WORDS:
        return Inert(*usable)
    # What facts may be, and become by an edit.
    of_facts = [*facts.PARTY_TYPES, *facts.EVIDENCE_TYPES, *domain.acts]
    for kind in domain.types.values():
        of_facts += [kind.name, kind.unit, *kind.values]
    frequencies = []
    for sheet in sheets:
        of_facts.append(facts.query_text(sheet))
        frequencies += map(vocabulary.df.get, vocabulary.terms(sheet))
    known = _TEMPLATE.union(_words(facts.in_words(" ".join(of_facts))))
    usual = np.median(frequencies or [1])
    words = sorted(filter(vocabulary.informative, vocabulary.df.keys() - known))
    own = [word for word in words if len(word) > 2 and word.isalpha()]
    own.sort(key=lambda word: abs(math.log(vocabulary.df[word] / usual)))
    if len(own) < LEAST_WORDS:
        return NO_WORDS
    return NO_WORDS._replace(own=tuple(own[:40]))  # are enough to draw from


class Writer(namedtuple("Writer", "context outcome label")):
    """Writer of the query of a sheet, with inert words at its end."""

    def __call__(self, sheet):
        query = facts.query_text(sheet, self.outcome)
        return (
            f"{query} {self.label}{', '.join(self.context)}." if self.context else query
        )


def with_context(case_id, inert, seed=0, outcome=False):
    """The writer of one case; its inert words depend on case and seed alone."""
    rng = _rng(seed, "context", case_id)
    chosen = [str(rng.choice(kind)) for kind in inert if kind]
    for kind in reversed(inert):
        left = [word for word in kind if word not in chosen]
        size = min(CONTEXT_WORDS - len(chosen), len(left))
        chosen += map(str, rng.choice(left, size, replace=False))
    label = "" if inert.own else "Month, docket and counsel: "
    return Writer(tuple(chosen), outcome, label)


def placebo_edits(sheet, write, removed, added, inert, draws=1, seed=0):
    """Placebos that drop and add as many words as a real edit; none if words are too few."""
    placebos = []
    for draw in range(draws):
        purpose = "placebo", write(sheet), str(removed), str(added), str(draw)
        chosen = _exchange(write.context, removed, added, inert, _rng(seed, *purpose))
        if chosen is None:
            return []
        item = f"placebo/-{removed}+{added}/{draw}"
        words = f"{removed} inert word(s)", f"{added} other(s)"
        query = write._replace(context=chosen)(sheet)
        placebos.append(
            Edit("Placebo", item, *words, sheet, query, removed, added, noop=False)
        )
    return placebos


def _exchange(context, removed, added, inert, rng):
    """Words dropped, and added in place by one of their kind; None if too few."""
    if removed > len(context):
        return None
    words = dict(enumerate(context))
    used = set(context)

    def draw(kind):
        for candidates in (kind, sum(inert, ())):
            for at in rng.permutation(len(candidates)):
                if candidates[at] not in used:
                    used.add(candidates[at])
                    return candidates[at]
        return None

    for count, position in enumerate(rng.permutation(len(context))[:removed]):
        dropped = words.pop(position)
        if count < added:
            words[position] = draw(next(kind for kind in inert if dropped in kind))
    exchanged = [words[position] for position in sorted(words)]
    exchanged += [draw(inert.counsel) for _ in range(added - removed)]
    return None if None in exchanged else tuple(exchanged)
