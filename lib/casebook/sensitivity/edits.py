"""Edits of a fact sheet that change exactly one fact, typed, counted in words, and put in order for a budget."""

import hashlib
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from casebook.sensitivity import facts
from casebook.sensitivity.citations import patterns
from casebook.stats.samples import check_choice

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
LABELS = frozenset(["sections", "cited", "evidence", "amounts", "ages", "durations", "outcome"])  # of the template
BUDGETS = ("stratified", "first")
_WORD = re.compile(r"\d+(?:\.\d+)+|\w+")


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
        if self.operation == "add":
            return f"{self.fact_type}: {self.new} added"
        if self.operation == "remove":
            return f"{self.fact_type}: {self.old} removed"
        return f"{self.fact_type}: {self.old} to {self.new}"


def single_fact_edits(sheet, neighbours=None, write=facts.query_text, fact_types=facts.FACT_TYPES, bounded=True):
    """List every edit of one fact of a sheet, by fact type.

    `neighbours` gives the sections that may replace one; `write` turns a sheet into a query; `bounded` keeps numbers
    within legal sense (the documented edits are not).
    """
    for name in fact_types:
        check_choice("fact type", name, facts.FACT_TYPES)
    query = write(sheet)
    changes = [change for change in _changes(sheet, neighbours, bounded) if change[0] in fact_types]
    changes.sort(key=lambda change: facts.FACT_TYPES.index(change[0]))
    return [edit_fact(sheet, item, new, write, query) for _, item, new in changes]


def edit_fact(sheet, item, new, write=facts.query_text, query=None):
    """Make the edit of one fact, named as in ``ages/0``, ``sections_cited/IPC-302`` or ``evidence_items/+FIR``."""
    kind, _, which = item.partition("/")
    operation = "replace"
    if kind == "sections_cited":
        fact_type, old, changed = "Section", which, facts.replace_section(sheet, which, new)
    elif kind == "parties":
        fact_type, old = "PartyType", getattr(sheet.parties, f"{which}_type")
        changed = facts.replace_party(sheet, which, new)
    elif which.startswith("+"):
        fact_type, operation, old, changed = "Evidence", "add", None, facts.add_evidence(sheet, new)
    elif kind == "evidence_items":
        fact_type, operation, changed = "Evidence", "remove", facts.remove_evidence(sheet, int(which))
        old = sheet.evidence_items[int(which)].evidence_type
    else:
        fact_type, old = "Numerical", facts.number_text(getattr(sheet.numerical_facts, kind)[int(which)].value)
        changed, new = facts.replace_number(sheet, kind, int(which), new), facts.number_text(new)
    before, after = query or write(sheet), write(changed)
    words = changed_words(before, after)
    return Edit(fact_type, item, operation, old, new, changed, after, *words, noop=after == before)


def changed_words(before, after):
    """Count the words that a query loses and gains, labels of the template apart."""
    a, b = (Counter(w for w in _WORD.findall(text.lower()) if w not in LABELS) for text in (before, after))
    return (a - b).total(), (b - a).total()


def ordered(edits, budget="stratified", seed=0):
    """Bring edits into the order in which a budget is spent on them.

    ``first`` is the documented order; ``stratified`` takes one edit of each type in turn, within a type one of each
    fact, shuffled by the seed and the edits alone.
    """
    check_choice("budget", budget, BUDGETS)
    if budget == "first":
        return list(edits)
    names = "\n".join(f"{edit.item} {edit.description}" for edit in edits)
    rng = np.random.default_rng([seed, int.from_bytes(hashlib.sha256(names.encode()).digest()[:8])])
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
    for side in facts.SIDES:
        present = getattr(sheet.parties, f"{side}_type")
        for pair in SWAPS:
            if present in pair:
                yield "PartyType", f"parties/{side}", pair[1 - pair.index(present)]
    types = [item.evidence_type for item in sheet.evidence_items]
    yield from (("Evidence", f"evidence_items/{at}", None) for at in range(len(types)))
    yield from (("Evidence", f"evidence_items/+{name}", name) for name in ADDED_EVIDENCE if name not in types)
    for kind in facts.NUMBERS:
        for at, fact in enumerate(getattr(sheet.numerical_facts, kind)):
            yield from (("Numerical", f"{kind}/{at}", value) for value in targets(kind, fact, bounded))


# ---- what a number is changed to: across legal limits, doubled, halved

AGE_LIMITS = (7, 12, 18, 21, 60)
YEAR_LIMITS = (1, 3, 6, 12)
MONEY_LIMITS = (25_000, 100_000, 500_000, 1_000_000, 10_000_000, 100_000_000)
# What one unit is worth; other units have no limits here and are doubled and halved.
IN_YEARS = {"year": 1, "month": 1 / 12, "week": 7 / 365, "day": 1 / 365}
MULTIPLES = {"lakh": 100_000, "lac": 100_000, "crore": 10_000_000}
_LENGTHS = IN_YEARS | {"hour": 1 / (365 * 24), "hr": 1 / (365 * 24), "yr": 1}
_WHOLE_UNITS = ("hour", "hr", "day", "week")  # units of which judgments count no halves
FACTOR = 10  # most by which a sum or a length of time changes
OLDEST = 110
SHORT = 7 / 365  # years; up to a week a length may change by more
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
        beyond = [limit + 1 if value * unit < limit else max(1, limit - 1) for limit in MONEY_LIMITS]
        found = [2 * value, value / 2, *(other / unit for other in beyond)]
    else:
        unit = _worth(fact.unit, IN_YEARS)
        years = value * unit if unit else math.inf
        beyond = [limit + 0.5 if years < limit else max(0.5, limit - 0.5) for limit in YEAR_LIMITS]
        found = [2 * value, *([value / 2] if years > 0.5 else []), *(other / unit for other in beyond if unit)]
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
        most = next(n for words, n in _LONGEST.items() if re.search(words, fact.context, re.IGNORECASE))
        if value * years > most:
            return f"{value} {fact.unit} of {fact.context or 'anything'} is too long"
        if value * years <= SHORT:
            return None
    if not fact.value or not 1 / FACTOR <= value / fact.value <= FACTOR:
        return f"{value} {fact.unit} is another order of size than {fact.value}"
    return None


def _age_bound(fact, value):
    if value != int(value) or value > OLDEST:
        return f"nobody is {value} years old"
    if patterns()["infant"].search(fact.descriptor) and value > 3:
        return f"no infant is {value} years old"
    if patterns()["grown_up"].search(fact.descriptor):
        return None if value >= 16 else f"{fact.descriptor} is no child of {value}"
    if patterns()["child"].search(fact.descriptor) and value > 21:
        return f"{fact.descriptor} is not {value} years old"
    return None


def _worth(unit, table):
    """Find a unit by its first letters, whatever stands around it; None if unknown."""
    words = unit.lower().replace(".", " ").split()
    return next((factor for name, factor in table.items() for w in words if w.startswith(name)), None)


def _counted(kind, fact):
    """Tell whether a number was counted in whole units that have no halves."""
    units = kind == "amounts" and not _worth(fact.unit, MULTIPLES)
    units = units or (kind == "durations" and fact.unit.lower().startswith(_WHOLE_UNITS))
    return units and fact.value == int(fact.value)


def _plain(value):
    """Round what conversion of units leaves behind; whole numbers are integers."""
    value = round(value, 7)
    return int(value) if value == int(value) else value
