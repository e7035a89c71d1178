"""Edits of a fact sheet that change exactly one fact, their order for a budget, and placebos of the same size.

Every query of a placebo-controlled tree ends with inert words of its case: filing month, docket number, names of
counsel. A placebo leaves the facts as they are and exchanges, drops or adds such words, exactly as many as the edit it
is matched to drops and adds. What moves then is what any change of that size moves.
"""

import hashlib
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from casebook.errors import InputError
from casebook.sensitivity import facts
from casebook.sensitivity.citations import pattern, word_lists

SWAPS = (
    ("Individual", "Minor"),
    ("Employee", "Contractor"),
    ("Tenant", "Licensee"),
    ("Individual", "Corporation"),
    ("State", "UnionOfIndia"),
    ("Policyholder", "Beneficiary"),
    ("Insured", "Claimant"),
    ("Insurer", "Reinsurer"),
    ("Broker", "Underwriter"),
    ("Adjuster", "Broker"),
)
ADDED_EVIDENCE = ("DyingDeclaration", "Confession", "MedicalReport")
TEMPLATE_LABELS = frozenset(
    ["sections", "cited", "evidence", "amounts", "ages", "durations", "outcome"]
)  # of the template
BUDGETS = ("stratified", "first")


@dataclass(frozen=True)
class Edit:
    """One fact changed: the sheet and the query after it, and how many words the query lost and gained."""

    fact_type: str
    item: str
    operation: str
    old: str | None
    new: str | None
    sheet: facts.FactSheet = field(repr=False)
    query: str = field(repr=False)
    removed: int
    added: int
    noop: bool = False

    @property
    def description(self):
        """What changed, in a few words."""
        change = {"add": f"{self.new} added", "remove": f"{self.old} removed"}
        return f"{self.fact_type}: {change.get(self.operation, f'{self.old} to {self.new}')}"


def single_fact_edits(
    sheet, neighbours=None, write=facts.query_text, fact_types=facts.FACT_TYPES, bounded=True
):
    """List every edit of one fact of a sheet, by fact type.

    `neighbours` gives the sections that may replace one; `write` turns a sheet into a query; `bounded` keeps numbers
    within legal sense (the documented edits are not).
    """
    query = write(sheet)
    changes = list(_changes(sheet, neighbours, bounded))
    chosen = [
        change
        for name in facts.FACT_TYPES
        if name in fact_types
        for change in changes
        if change[0] == name
    ]
    return [edit_fact(sheet, item, new, write, query) for _, item, new in chosen]


def edit_fact(sheet, item, new, write=facts.query_text, query=None):
    """Make the edit of one fact, named as in ``ages/0``, ``sections_cited/IPC-302`` or ``evidence_items/+FIR``."""
    (kind, _, which), operation, evidence = item.partition("/"), "replace", sheet.evidence_items
    if kind == "sections_cited":
        fact_type = "Section"
        old = which
        changed = {kind: tuple(new if name == which else name for name in sheet.sections_cited)}
    elif kind == "parties":
        fact_type = "PartyType"
        old = getattr(sheet.parties, f"{which}_type")
        changed = {kind: replace(sheet.parties, **{f"{which}_type": new})}
    elif which.startswith("+"):
        fact_type = "Evidence"
        operation = "add"
        old = None
        changed = {kind: (*evidence, facts.EvidenceItem(new))}
    elif kind == "evidence_items":
        fact_type = "Evidence"
        operation = "remove"
        at = int(which)
        old = evidence[at].evidence_type
        changed = {kind: evidence[:at] + evidence[at + 1 :]}
    else:
        fact_type = "Numerical"
        at = int(which)
        numbers = getattr(sheet.numerical_facts, kind)
        values = (
            *numbers[:at],
            replace(numbers[at], value=facts.as_integer(new)),
            *numbers[at + 1 :],
        )
        old = facts.number_text(numbers[at].value)
        new = facts.number_text(new)
        changed = {"numerical_facts": replace(sheet.numerical_facts, **{kind: values})}
    changed = replace(sheet, **changed)
    before = query or write(sheet)
    after = write(changed)
    words = changed_words(before, after)
    return Edit(fact_type, item, operation, old, new, changed, after, *words, noop=after == before)


def changed_words(before, after):
    """Count the words that a query loses and gains, labels of the template apart."""
    words = (re.findall(r"\d+(?:\.\d+)+|\w+", text.lower()) for text in (before, after))
    a, b = (Counter(word for word in found if word not in TEMPLATE_LABELS) for found in words)
    return (a - b).total(), (b - a).total()


def order_edits(edits, budget="stratified", seed=0):
    """Bring edits into the order in which a budget is spent on them.

    ``first`` is the documented order; ``stratified`` takes one edit of each type in turn, within a type one of each
    fact, shuffled by the seed and the edits alone.
    """
    if budget == "first":
        return list(edits)
    rng = _rng(seed, "\n".join(f"{edit.item} {edit.description}" for edit in edits))
    strata = defaultdict(lambda: defaultdict(list))
    for edit in (edits[place] for place in rng.permutation(len(edits))):
        strata[edit.fact_type][edit.item].append(edit)
    return _in_turn(_in_turn(items.values()) for items in strata.values())


def _in_turn(lists):
    return [edit for turn in zip_longest(*lists) for edit in turn if edit is not None]


def _changes(sheet, neighbours, bounded):
    """Yield fact type, item and new value of every edit of one fact."""
    for cited in sheet.sections_cited:
        for other in neighbours(cited) if neighbours else ():
            if other not in sheet.sections_cited:
                yield "Section", f"sections_cited/{cited}", other
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


def targets(kind, fact, bounded=True):
    """List the values that a number is changed to, one at a time, ascending.

    `kind` is ``amounts``, ``ages`` or ``durations``; unbounded, every documented limit is crossed from anywhere.
    """
    value = fact.value
    if kind == "ages":
        found = [limit - 1 if value >= limit else limit for limit in AGE_LIMITS]
    elif kind == "amounts":
        unit = _worth(fact.unit, MULTIPLES) or 1
        beyond = [
            limit + 1 if value * unit < limit else max(1, limit - 1) for limit in MONEY_LIMITS
        ]
        found = [2 * value, value / 2, *(other / unit for other in beyond)]
    else:
        unit = _worth(fact.unit, IN_YEARS)
        years = value * unit if unit else math.inf
        beyond = [limit + 0.5 if years < limit else max(0.5, limit - 0.5) for limit in YEAR_LIMITS]
        found = [
            2 * value,
            *([value / 2] if years > 0.5 else []),
            *(other / unit for other in beyond if unit),
        ]
    found = {_plain(value) for value in found}
    if bounded:
        found = {math.ceil(value) if _counted(kind, fact) else value for value in found}
        found = {value for value in found if not out_of_bounds(kind, fact, value)}
    return sorted(found - {_plain(fact.value)})


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


def _plain(value):
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
NO_INERT_WORDS = "the collection holds no inert words (months, dockets, counsel) for placebos"
_TEMPLATE = TEMPLATE_LABELS | {
    "versus",
    "unknown",
    "years",
    "months",
    "days",
    "section",
    "article",
    "order",
    "rule",
}


class Vocabulary:
    """Document frequencies of the words of a collection, in lower case."""

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
        found = dict.fromkeys(re.findall(r"\w+", facts.query_text(sheet).lower()))
        return tuple(
            word
            for word in found
            if len(word) > 1 and word not in _TEMPLATE and self.informative(word)
        )


class Inert(NamedTuple):
    """Inert words to draw from, by kind."""

    months: tuple = MONTHS
    dockets: tuple = DOCKETS
    counsel: tuple = COUNSEL


def inert_words(collection, kinds=(MONTHS, DOCKETS, COUNSEL), size=CONTEXT_WORDS):
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
        query = facts.query_text(sheet, self.outcome, self.caps)
        return (
            f"{query} Month, docket and counsel: {', '.join(self.context)}."
            if self.context
            else query
        )


def with_context(case_id, inert, seed=0, size=CONTEXT_WORDS, **options):
    """Give the writer of one case: its inert words depend on case and seed alone."""
    rng = _rng(seed, "context", case_id)
    chosen = [str(rng.choice(kind)) for kind in inert if kind][:size]
    for kind in reversed(inert):
        left = [word for word in kind if word not in chosen]
        chosen += map(str, rng.choice(left, min(size - len(chosen), len(left)), replace=False))
    return Writer(tuple(chosen), **options)


def placebo_edits(sheet, write, removed, added, inert, draws=1, seed=0):
    """Make placebos that drop and add as many query words as a real edit; none if there are too few words."""
    if not write.context:
        raise InputError("placebo edits need a writer with inert words")
    query = write(sheet)
    found = []
    for draw in range(draws):
        rng = _rng(seed, "placebo", query, str(removed), str(added), str(draw))
        chosen = _exchange(write.context, removed, added, inert, rng)
        if chosen is None:
            return []
        item = f"placebo/-{removed}+{added}/{draw}"
        old = f"{removed} inert word(s)"
        new = f"{added} other(s)"
        text = replace(write, context=chosen)(sheet)
        found.append(Edit("Placebo", item, "replace", old, new, sheet, text, removed, added))
    return found


def _exchange(context, removed, added, inert, rng):
    """Drop and add words, in place by one of their kind; None if there are too few."""
    if removed > len(context):
        return None
    words = dict(enumerate(context))
    taken = set(context)

    def drawn(kind):
        """Draw a word that was not used yet, of a kind if that has any left; None if there is none."""
        for known in (kind, sum(inert, ())):
            order = rng.permutation(len(known))
            word = next((known[at] for at in order if known[at] not in taken), None)
            taken.add(word)
            if word is not None:
                return word
        return None

    for count, place in enumerate(rng.permutation(len(context))[:removed]):
        gone = words.pop(place)
        if count < added:
            words[place] = drawn(next(kind for kind in inert if gone in kind))
    words = [words[place] for place in sorted(words)] + [
        drawn(inert.counsel) for _ in range(added - removed)
    ]
    return None if None in words else tuple(words)
