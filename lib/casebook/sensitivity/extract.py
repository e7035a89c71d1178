"""Fact sheets from the text of judgments, each fact with its place.

The patterns are in ``words.yml``: sections beside an act of the domain, both sides from the cause
title, sums, ages, lengths of time, and words for evidence. Negation follows NegEx (Chapman et al.,
2001): a trigger in the same clause takes a term away. A language model reads more, and any text:
`extract_with_model`.
"""

import json
import re
from collections import namedtuple
from functools import cache
from operator import attrgetter

from casebook.errors import InputError
from casebook.sensitivity import facts
from casebook.sensitivity.domain import (
    SHIPPED_DOMAIN,
    fill_pattern,
    find_provisions,
    pattern,
    word_lists,
)
from casebook.text import fold

LONGEST_READ = 12_000  # characters, as the documented system
HEAD = 4_000  # characters that hold a cause title
REACH = 60  # characters in which a word says what a number is about


class Found(namedtuple("Found", "kind value start end")):
    # A fact at ``text[start:end]``, of a kind of `facts.LISTS` or of a side.

    @property
    def key(self):
        return getattr(self.value, "fact_type", self.kind), str(self.value)


Extraction = namedtuple("Extraction", "sheet spans notes", defaults=[(), ()])


def extract_sheet(text, case_id="case", domain=SHIPPED_DOMAIN):
    """Extract the fact sheet of a judgment by patterns.

    Sections are read beside an act of the domain, the kinds of both sides in the cause title
    alone; an outcome is not read.

    Parameters
    ----------
    text : str
        Judgment, or a passage that tells facts.
    case_id : str
        Name of the case.
    domain : Domain, optional
        Acts and fact types of your own, as
        ``casebook.sensitivity.domain.read_domain("facts.yml")`` gives them.

    Returns
    -------
    Extraction
        ``sheet``; ``spans``, the place of each fact; ``notes`` on what was left out.

    Raises
    ------
    InputError
        If there is no text.

    Examples
    --------
    >>> text = "The appellant, a farmer aged 40, was fined Rs. 5,000 under section 302 IPC."
    >>> sheet = extract_sheet(text).sheet
    >>> sheet.sections_cited, sheet.numerical_facts.amounts[0].value
    (('IPC-302',), 5000)
    """
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{case_id}: has no text to extract facts from")
    text = fold(text[:LONGEST_READ])
    found, notes = _facts_in(text, domain)
    lists = {
        kind: [fact.value for fact in found if fact.kind == kind]
        for kind in facts.LISTS
    }
    sides = [] if "PartyType" in domain.types else list(cause_title(text))
    numbers = {kind: lists.pop(kind) for kind in facts.NUMBERS}
    parties = {f"{side.kind}_type": side.value for side in sides}
    record = {"case_id": case_id, "parties": parties, "numerical_facts": numbers}
    sheet = facts.FactSheet.model_validate(record | lists)
    return Extraction(sheet, (*found, *sides), tuple(notes))


def _facts_in(text, domain):
    # Of one's own types first: words that tell one of them, or one number, tell no other.
    own = further_facts(text, domain)
    found = list(own)
    for kind in ("ages", "amounts", "durations"):
        found += [
            fact for fact in list(_numbers(text, kind)) if not _overlaps(fact, found)
        ]
    found += [fact for fact in _evidence(text) if not _overlaps(fact, own)]
    provisions, n_unknown = find_provisions(text, domain)
    found += [Found("sections_cited", one.id, one.start, one.end) for one in provisions]
    notes = (
        [f"{n_unknown} provisions of acts that are not known are left out"]
        if n_unknown
        else []
    )
    kept = {}
    for fact in sorted(found, key=attrgetter("start")):
        # One's own types take the place of ours.
        if facts.LISTS[fact.kind][0] not in domain.types:
            kept.setdefault(fact.key, fact)
    return kept.values(), notes


def _overlaps(fact, others):
    return any(fact.start < other.end and other.start < fact.end for other in others)


# ---- quantities, sums of money, ages, lengths of time


def quantity(text):
    """A quantity as judgments write it: 5,00,000, 2.5 lakh, two and a half."""
    total = current = 0.0
    words = word_lists()
    for figure, plural in pattern("number_or_word").findall(text.lower()):
        word = plural.rstrip("s")
        if figure:
            current += float(figure.replace(",", ""))
        elif word == "hundred":  # stays open: two hundred and ten
            current = (current or 1) * 100
        elif word in words["scales"]:
            total += (current or 1) * words["scales"][word]
            current = 0.0
        elif word in words["numbers"]:
            at = words["numbers"].index(word)
            current += at if at < 20 else 10 * (at - 18)
        elif word == "half":
            current += 0.5
    return facts.as_integer(total + current)


@cache
def _patterns(table, around="{}"):
    compiled = {}
    for name, forms in word_lists()[table].items():
        filled = [around.format(fill_pattern(form)) for form in forms]
        compiled[name] = [re.compile(form, re.IGNORECASE) for form in filled]
    return compiled


_NUMBERS = {
    "amounts": (facts.Amount, "context"),
    "ages": (facts.Age, "descriptor"),
    "durations": (facts.Duration, "context"),
}


def _numbers(text, kind):
    """Numbers of a kind that no statute sets, each with what it is about."""
    model, about = _NUMBERS[kind]
    matches = [
        match for form in _patterns("facts")[kind] for match in form.finditer(text)
    ]
    said = {""}  # two numbers about one subject would contradict each other
    for match in sorted(matches, key=re.Match.start):
        value = quantity(match["value"])
        largest = 110 if kind == "ages" else facts.LARGEST_NUMBER
        is_whole = kind != "ages" or value == int(value)
        if not 0 < value <= largest or not is_whole or _is_limit(text, match):
            continue
        subject = _subject(text, match, kind)
        fields = {} if subject in said else {about: subject}
        said.add(subject)
        if kind != "ages":
            fields["unit"] = _unit(match["unit"])
        yield Found(kind, model(value=value, **fields), *match.span())


def _is_limit(text, match):
    return pattern("limit").search(text, max(0, match.start() - REACH), match.start())


def _around(text, match, mark):
    """Words before and after a match, up to a mark."""
    start, end = match.span()
    before = text[max(0, start - REACH) : start]
    after = text[end : end + REACH]
    return re.split(mark, before)[-1], re.split(mark, after)[0]


def _subject(text, match, kind):
    (words,) = _patterns("subjects")[kind]
    before, after = _around(text, match, r"[.;]\s")
    near = words.findall(before + match.group())[-1:] + words.findall(after)[:1]
    return near[0].lower() if near else ""


def _unit(written):
    for name, forms in (_patterns("currencies") | _patterns("time_units")).items():
        if any(form.fullmatch(written) for form in forms):
            return name
    return written.lower()


# ---- evidence that a text says was given


def _evidence(text):
    for name, forms in _patterns("evidence", r"(?<!\w)(?:{})(?!\w)").items():
        for match in [match for form in forms for match in form.finditer(text)]:
            if not _is_denied(text, match):
                item = facts.EvidenceItem(evidence_type=name, description=match.group())
                yield Found("evidence_items", item, *match.span())


def _is_denied(text, match):
    # A trigger in the clause of a term takes it away.
    before, after = _around(text, match, pattern("clause"))
    is_denied = pattern("negated_before").search(before)
    return bool(is_denied or pattern("negated_after").search(match.group() + after))


# ---- facts of one's own types


def further_facts(text, domain):
    found = []
    for kind in domain.types.values():
        for value, form in kind.finders.items():
            for match in form.finditer(text):
                if kind.pattern:
                    value = quantity(match["value"])
                if not _is_limit(text, match) and not _is_denied(text, match):
                    fact = facts.FurtherFact(
                        fact_type=kind.name, value=value, unit=kind.unit
                    )
                    found.append(Found("further_facts", fact, *match.span()))
    return found


# ---- kinds of both sides


def cause_title(text):
    """Kinds of both sides: ``A ... Appellant Versus B ... Respondent``."""
    head = text[:HEAD]
    match = pattern("title_line").match(head) or pattern("title_of_roles").search(head)
    if match is None:
        return
    court = pattern("court").match(match["a"])
    start = match.start("a") + (court.end() if court else 0)
    spans = ((start, match.end("a")), match.span("b"))
    for side, (a, b) in zip(facts.PARTY_SIDES, spans, strict=True):
        name = " ".join(text[a:b].split())
        kinds = ["Individual"] if name else []
        for kind, forms in reversed(_patterns("named").items()):
            kinds += [kind for form in forms if form.search(name)]
        if kinds:
            yield Found(side, kinds[-1], a, b)


# ---- by a language model, held to the schema and to the text

_PROMPT = """Read the judgment below and write down the facts of the case as a fact
sheet. Use only what the text says. Leave out limits that a statute sets, dates and
docket numbers. Copy the words that name an item of evidence into its description.
Cite sections as in IPC-302, Constitution-Article-21, CPC-Order-7-Rule-11, PDPA-13.
Leave lists empty, and types Unknown, where the text says nothing. Further facts are
of these types, with these values: {types}.
Judgment:
{text}
"""


def extract_with_model(text, model, case_id="case", domain=SHIPPED_DOMAIN):
    """Extract a fact sheet with a language model; after an unusable answer, by patterns."""
    by_patterns = extract_sheet(text, case_id, domain)
    known = {fact.key for fact in by_patterns.spans}
    types = {
        key: list(kind.values or ["a number"]) for key, kind in domain.types.items()
    }
    prompt = _PROMPT.format(text=text[:LONGEST_READ], types=json.dumps(types))
    try:
        record = {**model.complete_json(prompt, facts.FactSheet), "case_id": case_id}
        sheet = facts.from_dict(record, "the model", empty=True, domain=domain)
    except (InputError, TypeError) as problem:
        note = f"no fact sheet: {problem}: the patterns were used"
        return by_patterns._replace(notes=(*by_patterns.notes, note))
    unknown = [fact for fact in facts.facts_of(sheet) if fact.key not in known]
    note = f"{len(unknown)} facts of the model were not found by the patterns"
    return Extraction(sheet, (), (note,))
