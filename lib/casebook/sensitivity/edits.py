"""Edits that change one fact of a sheet, their order for a budget, and placebos of the same size.

Every query of a placebo-controlled tree ends with inert words of its case: filing month, docket
number, names of counsel, or, where documents have no such, words of theirs that occur in no fact.
A placebo leaves the facts as they are and exchanges, drops or adds such words, exactly as many as
the edit it is matched to drops and adds. It moves what any change of that size moves.
"""

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from casebook.errors import InputError
from casebook.sensitivity import facts
from casebook.sensitivity.citations import pattern, word_lists
from casebook.sensitivity.domain import SHIPPED_DOMAIN

SWAPS = word_lists()["swaps"]
ADDED_EVIDENCE = word_lists()["added_evidence"]
#: Labels in the template of a query.
TEMPLATE_LABELS = frozenset(word_lists()["template"]["labels"])
BUDGETS = ("stratified", "first")


@dataclass(frozen=True)
class Edit:
    """One fact changed: sheet and query after it, and the words that the query lost and gained."""

    fact_type: str
    item: str
    old: str | None
    new: str | None
    sheet: facts.FactSheet = field(repr=False)
    query: str = field(repr=False)
    removed: int
    added: int
    noop: bool = False

    @property
    def operation(self):
        """What was done with the fact: ``add``, ``remove`` or ``replace``."""
        if self.old is None:
            return "add"
        return "remove" if self.new is None else "replace"

    @property
    def description(self):
        """What changed, in a few words."""
        change = {"add": f"{self.new} added", "remove": f"{self.old} removed"}
        return f"{self.fact_type}: {change.get(self.operation, f'{self.old} to {self.new}')}"


def single_fact_edits(
    sheet,
    neighbours=None,
    write=facts.query_text,
    fact_types=None,
    bounded=True,
    domain=SHIPPED_DOMAIN,
):
    """List every edit of one fact of a sheet, by fact type.

    `neighbours` gives the sections that may replace one; `write` turns a sheet into a query;
    `fact_types` are those that are edited, by default all of the domain; `bounded` keeps numbers
    within legal sense (the documented edits are not).
    """
    query = write(sheet)
    changes = [
        change
        for change in _changes(sheet, neighbours, bounded)
        if change[0] not in domain.types  # the user's own stand in their place
    ]
    changes += _further_changes(sheet, domain)
    chosen = [
        change
        for name in domain.fact_types
        if fact_types is None or name in fact_types
        for change in changes
        if change[0] == name
    ]
    return [edit_fact(sheet, item, new, write, query) for _, item, new in chosen]


def edit_fact(sheet, item, new, write=facts.query_text, query=None):
    """Make the edit of one fact.

    The fact is named as in ``ages/0``, ``sections_cited/IPC-302`` or ``evidence_items/+FIR``.
    """
    fact_type, old, new, edited = _changed_fact(sheet, *item.split("/", 1), new)
    before = query or write(sheet)
    after = write(edited)
    removed, added = changed_words(before, after)
    return Edit(fact_type, item, old, new, edited, after, removed, added, noop=after == before)


def _changed_fact(sheet, kind, key, new):
    """Give the type of a fact, its old and new value as text, and the sheet with the new one."""
    if kind == "parties":
        side = f"{key}_type"
        parties = replace(sheet.parties, **{side: new})
        return "PartyType", getattr(sheet.parties, side), new, replace(sheet, parties=parties)
    holder = sheet.numerical_facts if kind in facts.NUMBERS else sheet
    listed = list(getattr(holder, kind))
    if kind == "sections_cited":
        listed = [new if section == key else section for section in listed]
        change = "Section", key, new
    elif key.startswith("+"):
        listed.append(facts.EvidenceItem(new))
        change = "Evidence", None, new
    elif kind == "evidence_items":
        change = "Evidence", listed.pop(int(key)).evidence_type, None
    else:
        old = listed[int(key)]
        value = new if isinstance(new, str) else facts.as_integer(new)
        listed[int(key)] = replace(old, value=value)
        write = facts.further_text if kind == "further_facts" else _number
        change = getattr(old, "fact_type", "Numerical"), write(old), write(listed[int(key)])
    edited = replace(holder, **{kind: tuple(listed)})
    return *change, edited if holder is sheet else replace(sheet, numerical_facts=edited)


def _number(fact):
    return facts.number_text(fact.value)


def changed_words(before, after):
    """Count the words that a query loses and gains, labels of the template apart."""
    words_before = _query_words(before)
    words_after = _query_words(after)
    removed = (words_before - words_after).total()
    added = (words_after - words_before).total()
    return removed, added


def _query_words(text):
    words = re.findall(r"\d+(?:\.\d+)+|\w+", text.lower())
    return Counter(word for word in words if word not in TEMPLATE_LABELS)


def order_edits(edits, budget="stratified", seed=0):
    """Bring edits into the order in which a budget is spent on them.

    ``first`` is the documented order; ``stratified`` takes one edit of each type in turn, within a
    type one of each fact, shuffled by the seed and the edits alone.
    """
    if budget == "first":
        return list(edits)
    rng = _rng(seed, "\n".join(f"{edit.item} {edit.description}" for edit in edits))
    strata = {}
    for position in rng.permutation(len(edits)):
        edit = edits[position]
        by_item = strata.setdefault(edit.fact_type, {})
        by_item.setdefault(edit.item, []).append(edit)
    return _in_turn(_in_turn(items.values()) for items in strata.values())


def _in_turn(lists):
    return [edit for turn in zip_longest(*lists) for edit in turn if edit is not None]


def _changes(sheet, neighbours, bounded):
    """Yield fact type, item and new value of every edit of one fact."""
    for cited in sheet.sections_cited:
        for section in neighbours(cited) if neighbours else ():
            if section not in sheet.sections_cited:
                yield "Section", f"sections_cited/{cited}", section
    for side in facts.PARTY_SIDES:
        present = getattr(sheet.parties, f"{side}_type")
        for pair in SWAPS:
            if present in pair:
                yield "PartyType", f"parties/{side}", pair[1 - pair.index(present)]
    types = [item.evidence_type for item in sheet.evidence_items]
    yield from (("Evidence", f"evidence_items/{at}", None) for at in range(len(types)))
    yield from (
        ("Evidence", f"evidence_items/+{name}", name)
        for name in ADDED_EVIDENCE
        if name not in types
    )
    for kind in facts.NUMBERS:
        for at, fact in enumerate(getattr(sheet.numerical_facts, kind)):
            yield from (
                ("Numerical", f"{kind}/{at}", value) for value in targets(kind, fact, bounded)
            )


def _further_changes(sheet, domain):
    """Yield the changes of facts of the user's own types."""
    values = {(fact.fact_type, fact.value) for fact in sheet.further_facts}
    for at, fact in enumerate(sheet.further_facts):
        for value in domain.types[fact.fact_type].replacements(fact.value):
            if (fact.fact_type, value) not in values:
                new = value if isinstance(value, str) else facts.as_integer(value)
                yield fact.fact_type, f"further_facts/{at}", new


def _rng(seed, *purpose):
    """Random stream of one purpose, the same on every machine."""
    digest = hashlib.sha256("\0".join(purpose).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8])])


# ---- what a number is changed to: across legal limits, doubled, halved

AGE_LIMITS = (7, 12, 18, 21, 60)
YEAR_LIMITS = (1, 3, 6, 12)
MONEY_LIMITS = (25_000, 100_000, 500_000, 1_000_000, 10_000_000, 100_000_000)
# What one unit is worth; other units have no limits here and are doubled and halved.
IN_YEARS = {"year": 1, "month": 1 / 12, "week": 7 / 365, "day": 1 / 365}
MULTIPLES = {"lakh": 100_000, "lac": 100_000, "crore": 10_000_000}
_LENGTHS = IN_YEARS | {"hour": 1 / (365 * 24), "hr": 1 / (365 * 24), "yr": 1}
_WHOLE_UNITS = ("hour", "hr", "day", "week")  # units of which judgments count no halves
LARGEST_FACTOR = 10  # most by which a sum or a length of time changes
OLDEST_TARGET = 110
SHORT_DURATION = 7 / 365  # years; up to a week a length may change by more
# The longest, in years, of what a context names.
_LONGEST = {
    r"imprison|sentence|custody|detention|detained|undergone|jail|arrest": 30,
    r"service|employ|work|salary": 60,
    r"marriage|married|absence|delay|notice|interest|apart": 80,
    r"lease|licen[cs]e|possession": 999,
    "": 150,
}


# For each kind its limits, what lies beyond and short of them, and what its units are worth.
_CROSSED = {
    "ages": (AGE_LIMITS, 0, 1, {}),
    "amounts": (MONEY_LIMITS, 1, 1, MULTIPLES),
    "durations": (YEAR_LIMITS, 0.5, 0.5, IN_YEARS),
}


def targets(kind, fact, bounded=True):
    """List the values that a number is changed to, one at a time, ascending.

    `kind` is ``amounts``, ``ages`` or ``durations``; unbounded, every documented limit is crossed
    from anywhere. Sums and lengths of time are doubled and halved as well, up to half a year only
    doubled.
    """
    limits, beyond, short, units = _CROSSED[kind]
    unit = _worth(getattr(fact, "unit", ""), units)
    if unit is None and kind == "durations":
        limits = ()  # of a length of time in another unit
    worth = fact.value * (unit or 1)
    across = [limit + beyond if worth < limit else limit - short for limit in limits]
    values = {_rounded(value / (unit or 1)) for value in across}
    if kind != "ages":
        values.add(_rounded(2 * fact.value))
    if kind == "amounts" or (kind == "durations" and (worth > 0.5 or unit is None)):
        values.add(_rounded(fact.value / 2))
    if bounded:
        if _counted(kind, fact):
            values = {math.ceil(value) for value in values}
        values = {value for value in values if not out_of_bounds(kind, fact, value)}
    return sorted(values - {_rounded(fact.value)})


def out_of_bounds(kind, fact, value):
    """Say why a number cannot become a value without leaving legal sense; None if it can."""
    if value <= 0:
        return "a number of nothing"
    if kind == "ages":
        return _age_bound(fact, value)
    if _counted(kind, fact) and value != int(value):
        return (
            f"nobody counts {value} {fact.unit}"
            if kind == "durations"
            else f"{value} is no whole sum as {fact.value} is"
        )
    years = _worth(fact.unit, _LENGTHS) if kind == "durations" else None
    if years is not None:
        most = next(
            n for words, n in _LONGEST.items() if re.search(words, fact.context, re.IGNORECASE)
        )
        if value * years > most:
            return f"{value} {fact.unit} of {fact.context or 'anything'} is too long"
        if value * years <= SHORT_DURATION:
            return None
    if not fact.value or not 1 / LARGEST_FACTOR <= value / fact.value <= LARGEST_FACTOR:
        return f"{value} {fact.unit} is another order of size than {fact.value}"
    return None


def _age_bound(fact, value):
    if value != int(value) or value > OLDEST_TARGET:
        return f"nobody is {value} years old"
    if pattern("infant").search(fact.descriptor) and value > 3:
        return f"no infant is {value} years old"
    if pattern("grown_up").search(fact.descriptor):
        return None if value >= 16 else f"{fact.descriptor} is no child of {value}"
    if pattern("child").search(fact.descriptor) and value > 21:
        return f"{fact.descriptor} is not {value} years old"
    return None


def _worth(unit, table):
    """Find a unit by its first letters, whatever stands around it; None if unknown."""
    words = unit.lower().replace(".", " ").split()
    return next(
        (factor for name, factor in table.items() for w in words if w.startswith(name)), None
    )


def _counted(kind, fact):
    """Tell whether a number was counted in whole units that have no halves."""
    units = kind == "amounts" and not _worth(fact.unit, MULTIPLES)
    units = units or (kind == "durations" and fact.unit.lower().startswith(_WHOLE_UNITS))
    return units and fact.value == int(fact.value)


def _rounded(value):
    """Round what conversion of units leaves behind; whole numbers are integers."""
    value = round(value, 7)
    return int(value) if value == int(value) else value


# ---- placebos

MONTHS, COUNSEL = (tuple(word_lists()["inert"][kind]) for kind in ("months", "counsel"))
DOCKETS = tuple(
    map(str, range(2101, 10_000))
)  # neither a year nor the number of a section of the usual acts
CONTEXT_WORDS = 4  # inert words of a query: one month, one docket number, names
LEAST_TERMS = 3  # informative terms below which a sheet is too poor to be a query
MOST_OWN_WORDS = 40  # of a collection, that placebos draw from
NO_INERT_WORDS = (
    "the collection holds too few inert words for placebos: months, dockets and counsel, or words "
    "that occur in no fact"
)
_TEMPLATE = TEMPLATE_LABELS.union(word_lists()["template"]["other words"])


class Vocabulary:
    """Document frequencies of the words of a collection, as BM25 finds them."""

    def __init__(self, texts):
        self.n = 0
        self.df = Counter()
        for text in texts:
            self.n += 1
            self.df.update(set(re.findall(r"\w+", text.lower())))

    def informative(self, word):
        """Tell whether a word stands in some document, and in at most half of them."""
        return 0 < self.df[word.lower()] <= self.n / 2

    def terms(self, sheet):
        """Give the informative terms of a sheet's query, labels of the template apart."""
        words = dict.fromkeys(re.findall(r"\w+", facts.query_text(sheet).lower()))
        labels = " ".join(fact.fact_type for fact in sheet.further_facts)
        no_terms = _TEMPLATE.union(re.findall(r"\w+", labels.lower()))
        return tuple(
            word
            for word in words
            if len(word) > 1 and word not in no_terms and self.informative(word)
        )


class Inert(NamedTuple):
    """Inert words to draw from, by kind."""

    months: tuple = MONTHS
    dockets: tuple = DOCKETS
    counsel: tuple = COUNSEL
    own: tuple = ()  # of a collection without the others


NO_WORDS = Inert((), (), ())


def inert_words(
    collection,
    kinds=(MONTHS, DOCKETS, COUNSEL),
    size=CONTEXT_WORDS,
    sheets=(),
    domain=SHIPPED_DOMAIN,
):
    """Inert words that distinguish the documents of a collection, which is texts or a `Vocabulary`.

    Where it has too few of some kinds, they are words of its own that occur in no fact of the
    sheets, those first that are about as frequent as the words of the facts.
    """
    vocabulary = collection if isinstance(collection, Vocabulary) else Vocabulary(collection)
    informative = [tuple(filter(vocabulary.informative, words)) for words in kinds]
    usable = [words if len(words) > 2 else () for words in informative]
    if sum(map(len, usable)) >= 2 * size:
        return Inert(*usable)
    own = _own_words(vocabulary, sheets, domain)
    return NO_WORDS._replace(own=own) if len(own) >= 2 * size else NO_WORDS


def _own_words(vocabulary, sheets, domain):
    """Words of a collection that occur in no fact, nearest in frequency to those of facts."""
    frequencies = [vocabulary.df[word] for sheet in sheets for word in vocabulary.terms(sheet)]
    if not frequencies:
        return ()
    of_facts = [facts.query_text(sheet, caps=False, words=True) for sheet in sheets]
    of_facts += [name for value in _fact_values(domain) for name in (value, facts.in_words(value))]
    no_own = _TEMPLATE.union(re.findall(r"\w+", " ".join(of_facts).lower()))
    usual = np.median(frequencies)
    distance = {}
    for word in sorted(vocabulary.df):
        if len(word) > 2 and word.isalpha() and word not in no_own and vocabulary.informative(word):
            distance[word] = abs(math.log(vocabulary.df[word] / usual))
    return tuple(sorted(distance, key=distance.get)[:MOST_OWN_WORDS])


def _fact_values(domain):
    """What facts may be, and become by an edit."""
    yield from (*facts.PARTY_TYPES, *facts.EVIDENCE_TYPES, *facts.CASE_OUTCOMES, *domain.acts)
    for name, kind in domain.types.items():
        yield from (name, kind.unit, *(kind.values or ()))


@dataclass(frozen=True)
class Writer:
    """Write the query of a sheet, with inert words at its end."""

    context: tuple = ()
    outcome: bool = False
    caps: bool = True
    label: str = "Month, docket and counsel: "

    def __call__(self, sheet):
        """The query of a sheet."""
        query = facts.query_text(sheet, self.outcome, self.caps)
        return f"{query} {self.label}{', '.join(self.context)}." if self.context else query


def with_context(case_id, inert, seed=0, size=CONTEXT_WORDS, *, outcome=False, caps=True):
    """The writer of one case: its inert words depend on case and seed alone."""
    rng = _rng(seed, "context", case_id)
    chosen = [str(rng.choice(kind)) for kind in inert if kind][:size]
    for kind in reversed(inert):
        left = [word for word in kind if word not in chosen]
        chosen += map(str, rng.choice(left, min(size - len(chosen), len(left)), replace=False))
    label = "" if inert.own else Writer.label
    return Writer(tuple(chosen), outcome, caps, label)


def placebo_edits(sheet, write, removed, added, inert, draws=1, seed=0):
    """Make placebos that drop and add as many words as a real edit; none if words are too few."""
    if not write.context:
        raise InputError("placebo edits need a writer with inert words")
    query = write(sheet)
    placebos = []
    for draw in range(draws):
        rng = _rng(seed, "placebo", query, str(removed), str(added), str(draw))
        chosen = _exchange(write.context, removed, added, inert, rng)
        if chosen is None:
            return []
        item = f"placebo/-{removed}+{added}/{draw}"
        old = f"{removed} inert word(s)"
        new = f"{added} other(s)"
        text = replace(write, context=chosen)(sheet)
        placebos.append(Edit("Placebo", item, old, new, sheet, text, removed, added))
    return placebos


def _exchange(context, removed, added, inert, rng):
    """Drop and add words, in place by one of their kind; None if there are too few."""
    if removed > len(context):
        return None
    words = dict(enumerate(context))
    used = set(context)

    def draw(kind):
        """Draw an unused word, of a kind if that has any left; None if there is none."""
        for candidates in (kind, sum(inert, ())):
            order = rng.permutation(len(candidates))
            word = next((candidates[at] for at in order if candidates[at] not in used), None)
            used.add(word)
            if word is not None:
                return word
        return None

    for count, position in enumerate(rng.permutation(len(context))[:removed]):
        dropped = words.pop(position)
        if count < added:
            words[position] = draw(next(kind for kind in inert if dropped in kind))
    exchanged = [words[position] for position in sorted(words)]
    exchanged += [draw(inert.counsel) for _ in range(added - removed)]
    return None if None in exchanged else tuple(exchanged)
