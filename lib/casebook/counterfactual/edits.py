"""Edits of a fact sheet that change exactly one fact, typed and counted in words."""

import re
from collections import Counter
from dataclasses import dataclass, field

from casebook.counterfactual.facts import (
    FACT_TYPES,
    FactSheet,
    add_evidence,
    number_text,
    query_text,
    remove_evidence,
    replace_number,
    replace_party,
    replace_section,
)
from casebook.counterfactual.number_targets import targets
from casebook.errors import InputError
from casebook.stats.samples import check_choice

SWAPS = (
    ("Individual", "Minor"),
    ("Employee", "Contractor"),
    ("Tenant", "Licensee"),
    ("Individual", "Corporation"),
    ("State", "UnionOfIndia"),
)
ADDED_EVIDENCE = ("DyingDeclaration", "Confession", "MedicalReport")
_LABELS = "sections cited evidence amounts ages durations outcome"
LABELS = frozenset(_LABELS.split())
_WORD = re.compile(r"\d+(?:\.\d+)+|\w+")


@dataclass(frozen=True)
class Edit:
    """One fact changed."""

    fact_type: str
    item: str
    operation: str
    old: str | None
    new: str | None
    sheet: FactSheet = field(repr=False)
    query: str = field(repr=False)
    removed: int
    added: int
    noop: bool = False

    @property
    def description(self):
        """What changed, in a few words: str."""
        if self.operation == "add":
            return f"{self.fact_type}: {self.new} added"
        if self.operation == "remove":
            return f"{self.fact_type}: {self.old} removed"
        return f"{self.fact_type}: {self.old} to {self.new}"


def single_fact_edits(sheet, neighbours=None, write=query_text, fact_types=FACT_TYPES, bounded=True):
    """List every edit of one fact of a sheet."""
    unknown = [name for name in fact_types if name not in FACT_TYPES]
    if unknown:
        known = ", ".join(FACT_TYPES)
        raise InputError(f"unknown fact type {unknown[0]!r}: choose from {known}")
    makers = {
        "Numerical": lambda s: _numbers(s, bounded),
        "Section": lambda s: _sections(s, neighbours),
        "PartyType": _parties,
        "Evidence": _evidence,
    }
    query = write(sheet)
    return [
        _edit(name, query, write, change) for name in FACT_TYPES if name in fact_types for change in makers[name](sheet)
    ]


def edit_fact(sheet, item, new, write=query_text):
    """Make the edit of one named fact."""
    kind, _, which = item.partition("/")
    operation = "replace"
    if kind == "sections_cited":
        fact_type, old, changed = "Section", which, replace_section(sheet, which, new)
    elif kind == "parties":
        fact_type, old = "PartyType", getattr(sheet.parties, f"{which}_type")
        changed = replace_party(sheet, which, new)
    elif which.startswith("+"):
        fact_type, operation, old = "Evidence", "add", None
        changed = add_evidence(sheet, new)
    elif kind == "evidence_items":
        fact_type, operation = "Evidence", "remove"
        old = sheet.evidence_items[int(which)].evidence_type
        changed = remove_evidence(sheet, int(which))
    else:
        fact_type = "Numerical"
        old = number_text(getattr(sheet.numerical_facts, kind)[int(which)].value)
        changed, new = replace_number(sheet, kind, int(which), new), number_text(new)
    return _edit(fact_type, write(sheet), write, (item, operation, old, new, changed))


def manual_edit(before, after, fact_type, write=query_text):
    """Make an edge of a change by hand, with the type that the user states."""
    check_choice("fact type", fact_type, FACT_TYPES)
    change = ("manual", "replace", "as found", "by hand", after)
    return _edit(fact_type, write(before), write, change)


def changed_words(before, after):
    """Count the words that a query loses and gains."""
    a, b = (Counter(_WORD.findall(text.lower())) for text in (before, after))
    lost, gained = ({w: n for w, n in c.items() if w not in LABELS} for c in (a - b, b - a))
    return sum(lost.values()), sum(gained.values())


def _edit(fact_type, query, write, change):
    """Make an edge of a change: item, operation, old and new value, new sheet."""
    text = write(change[-1])
    words = changed_words(query, text)
    return Edit(fact_type, *change, text, *words, text == query)


def _sections(sheet, neighbours):
    for cited in sheet.sections_cited:
        for other in neighbours(cited) if neighbours else ():
            if other not in sheet.sections_cited:
                changed = replace_section(sheet, cited, other)
                yield f"sections_cited/{cited}", "replace", cited, other, changed


def _parties(sheet):
    for side in ("petitioner", "respondent"):
        present = getattr(sheet.parties, f"{side}_type")
        for pair in SWAPS:
            if present in pair:
                other = pair[1 - pair.index(present)]
                changed = replace_party(sheet, side, other)
                yield f"parties/{side}", "replace", present, other, changed


def _evidence(sheet):
    types = [item.evidence_type for item in sheet.evidence_items]
    for at, name in enumerate(types):
        yield f"evidence_items/{at}", "remove", name, None, remove_evidence(sheet, at)
    for name in ADDED_EVIDENCE:
        if name not in types:
            yield (f"evidence_items/+{name}", "add", None, name, add_evidence(sheet, name))


def _numbers(sheet, bounded):
    for kind in ("amounts", "ages", "durations"):
        for at, fact in enumerate(getattr(sheet.numerical_facts, kind)):
            for value in targets(kind, fact, bounded):
                changed = replace_number(sheet, kind, at, value)
                old, new = number_text(fact.value), number_text(value)
                yield f"{kind}/{at}", "replace", old, new, changed
