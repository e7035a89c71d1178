"""Fact sheets from the text of judgments, each fact with its place.

The patterns and words are in ``words.yml``. They read sections beside an act of the domain, both
sides from the cause title, sums, ages, lengths of time, and evidence. Negation of evidence follows
NegEx (Chapman et al., 2001): a trigger before or after a term, within the same clause and a few
words, takes the term away. A language model reads more, and any text: `extract_with_model`.
"""

import dataclasses
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, NamedTuple

import pydantic

from casebook.errors import InputError
from casebook.sensitivity import citations, facts
from casebook.sensitivity.citations import fill_pattern, pattern
from casebook.sensitivity.domain import SHIPPED_DOMAIN, matches
from casebook.text import fold, sentences

CASE_WORDS = citations.word_lists()
LONGEST_REGION = 12_000  # characters of the documented system
SHORT_TEXT = 4_000  # texts up to here are read whole: a fifth of them is a sentence or two
FACTS_SHARE = 0.2  # of a text without a heading that is read


class TextFact(NamedTuple):
    """One fact, found at ``text[start:end]``."""

    fact: object
    start: int
    end: int


def _once(found):
    """Keep the first of the facts that are the same."""
    by_key = {}
    for one in found:
        by_key.setdefault(facts.key_of(one.fact), one)
    return list(by_key.values())


class FactSpan(NamedTuple):
    """Where a fact of the sheet stands in the text."""

    field: str
    start: int
    end: int


@dataclass(frozen=True)
class Extraction:
    """A sheet, and how it came about."""

    sheet: facts.FactSheet
    spans: tuple
    region: tuple
    method: str = "patterns"
    notes: tuple = ()


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
        Acts and fact types of the user's own, as
        ``casebook.sensitivity.domain.read_domain("facts.yml")`` gives them.

    Returns
    -------
    Extraction
        ``sheet``; ``spans``, the place of each fact; ``region``, start and end of the part that
        was read; ``notes`` on what was left out.

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
    folded = fold(text)
    start, end = facts_region(folded)
    lists, notes = _fact_lists(folded[start:end], domain)
    sides = {} if "PartyType" in domain.types else cause_title(folded)
    spans = [FactSpan(f"parties.{side}_type", *fact[1:]) for side, fact in sides.items()]
    values = {name: tuple(fact.fact for fact in listed) for name, listed in lists.items()}
    spans += [
        FactSpan(f"{name}.{at}", start + fact.start, start + fact.end)
        for name, listed in lists.items()
        for at, fact in enumerate(listed)
    ]
    numbers = {kind: values.pop(f"numerical_facts.{kind}") for kind in _NUMBERS}
    sheet = facts.FactSheet(
        case_id,
        facts.Parties(**{f"{side}_type": fact.fact for side, fact in sides.items()}),
        numerical_facts=facts.NumericalFacts(**numbers),
        **values,
    )
    return Extraction(sheet, tuple(spans), (start, end), notes=tuple(notes))


def _fact_lists(text, domain):
    """Find the facts of a passage by field of the sheet, and what must be said of them.

    A type of the user's own takes the place of one of the same name; words that tell a fact of
    the user's own tell no evidence and no number besides.
    """
    sections, n_unknown = _sections(text, domain)
    further, notes = further_facts(text, domain)
    if n_unknown:
        notes.insert(0, f"{n_unknown} provisions of acts that are not known are left out")
    lists = {"evidence_items": [], "sections_cited": []}
    if "Section" not in domain.types:
        lists["sections_cited"] = sections
    if "Evidence" not in domain.types:
        lists["evidence_items"] = _not_among(evidence(text), further)
    for kind, (find, subject) in _NUMBERS.items():
        numbers = [] if "Numerical" in domain.types else _distinct(find(text), subject)
        lists[f"numerical_facts.{kind}"] = _not_among(numbers, further)
    return lists | {"further_facts": further}, notes


def _sections(text, domain):
    """Find the provisions of acts that are known, and count those of other acts."""
    provisions = citations.find_provisions(text, domain)
    known = [one for one in provisions if one.act != citations.UNKNOWN]
    n_unknown = len({one.id for one in provisions} - {one.id for one in known})
    return _once(TextFact(one.id, one.start, one.end) for one in known), n_unknown


def _distinct(numbers, field):
    """Tell repeated contexts apart by a number: facts of one context must not differ."""
    counts = Counter()
    for number in numbers:
        subject = getattr(number.fact, field)
        counts[subject] += 1
        if subject and counts[subject] > 1:
            fact = replace(number.fact, **{field: f"{subject} {counts[subject]}"})
            number = number._replace(fact=fact)
        yield number


def facts_region(text):
    """Find the part with the facts: under a heading, from a phrase on, or the first fifth."""
    heading = pattern("heading").search(text)
    inline = pattern("facts_of").search(text)
    if not heading and len(text) <= SHORT_TEXT:
        return 0, len(text)
    if not heading and not inline:
        return 0, min(LONGEST_REGION, max(1, round(len(text) * FACTS_SHARE)))
    start = heading.end() if heading else inline.start()
    following = pattern("next_heading").search(text, start)
    return start, min(following.start() if following else len(text), start + LONGEST_REGION)


# ---- quantities, sums of money, ages, lengths of time

_TENS = {word: 10 * tens for tens, word in enumerate(CASE_WORDS["numbers"][20:], 2)}
_SPELLED = {word: value for value, word in enumerate(CASE_WORDS["numbers"][:20])} | _TENS
_REACH = 70  # characters in which a word says what a number is for
OLDEST_READ = 110


def quantity(text):
    """Give the value of a quantity as judgments write it: 5,00,000, 2.5 lakh, two and a half."""
    total = current = 0.0
    half = 0.0
    scales = CASE_WORDS["scales"]
    for figure, plural in pattern("number_or_word").findall(text.lower()):
        word = plural.rstrip("s")
        if figure:
            current += float(figure.replace(",", ""))
        elif word in _SPELLED:
            current += _SPELLED[word]
        elif word == "half":
            half = 0.5
        elif word == "hundred":  # stays open: two hundred and ten
            current = (current or 1) * 100
        elif word in scales:
            total = total + (current or 1) * scales[word]
            current = 0.0
    return facts.as_integer(total + current + half)


def _set_by_law(text, start):
    """Tell whether what follows is a limit that a statute sets."""
    return bool(pattern("limit").search(text, max(0, start - 60), start))


def _about(text, match, kind):
    """Say what a quantity is for: the nearest purpose in its sentence, other clauses farther."""
    before = re.split(r"[.;]\s", text[max(0, match.start() - _REACH) : match.start()])[-1].lower()
    after = re.split(r"[.;]\s", text[match.end() : match.end() + _REACH])[0].lower()
    near = []
    for word in CASE_WORDS["purposes"][kind]:
        purpose = re.compile(rf"\b{re.escape(word)}")
        gaps = [before[match.end() :] for match in purpose.finditer(before)]
        gaps += [after[: match.start()] for match in purpose.finditer(after)]
        for gap in gaps:
            penalty = _REACH if pattern("clause_end").search(gap) else 0
            near.append((len(gap) + penalty, word))
    return min(near)[1] if near else ""


def _unit(written, table):
    return next(
        name
        for name, forms in CASE_WORDS[table].items()
        if re.fullmatch("|".join(forms), written, re.IGNORECASE)
    )


def amounts(text):
    """Find sums of money."""
    sums = []
    for match in pattern("amount").finditer(text):
        value = quantity(match["figure"] or match["words"])
        unit = _unit(match["before"] or match["after"], "currencies")
        if value <= facts.LARGEST_NUMBER and not _set_by_law(text, match.start()):
            fact = facts.Amount(value, unit, _about(text, match, "amounts"))
            sums.append(TextFact(fact, *match.span()))
    return _once(sums)


def ages(text):
    """Find ages, each with the person noun nearest before or inside it."""
    found = []
    for match in pattern("age").finditer(text):
        people = pattern("person").findall(text[max(0, match.start() - 50) : match.end() + 25])
        person = match["who"] or match["who2"] or (people[-1] if people else "")
        number = next(match[f"n{form}"] for form in range(1, 7) if match[f"n{form}"])
        further = re.findall(r"\w+", match["more"] or "")
        values = [quantity(number), *(int(word) for word in further if word.isdigit())]
        for value in values:
            if 1 <= value <= OLDEST_READ and value == int(value):
                fact = facts.Age(int(value), person.lower())
                found.append(TextFact(fact, *match.span()))
    return _once(found)


def durations(text):
    """Find lengths of time; ages and limits set by law are none."""
    age_spans = [match.span() for match in pattern("age").finditer(text)]
    lengths = []
    for match in pattern("durations").finditer(text):
        unit = _unit(match["unit"], "time_units")
        lengths += [(int(value), unit, match) for value in re.findall(r"\d+", match["all"])]
    for match in pattern("duration").finditer(text):
        is_age = any(low < match.end() and match.start() < high for low, high in age_spans)
        value, unit = _length(match)
        if value and not is_age and not _set_by_law(text, match.start()):
            lengths.append((value, unit, match))
    return _once(
        TextFact(facts.Duration(value, unit, _about(text, match, "durations")), *match.span())
        for value, unit, match in lengths
    )


def _length(match):
    """Value and unit; mixed lengths are in the smaller unit."""
    value = 1 if match["value"].lower() == "a" else quantity(match["value"])
    if match["half"]:
        value += 0.5
    unit = _unit(match["unit"], "time_units")
    smaller = _unit(match["unit2"], "time_units") if match["value2"] else unit
    if facts.IN_DAYS[smaller] >= facts.IN_DAYS[unit]:
        return value, unit
    in_smaller = value * facts.IN_DAYS[unit] / facts.IN_DAYS[smaller]
    return facts.as_integer(in_smaller + quantity(match["value2"])), smaller


_NUMBERS = {
    "amounts": (amounts, "context"),
    "ages": (ages, "descriptor"),
    "durations": (durations, "context"),
}


# ---- evidence that a text says was given

_SCOPE = 6  # words between trigger and term


def _one_of(forms, before="", after=""):
    """One pattern of several, without regard to case."""
    return re.compile(fill_pattern(before + "|".join(forms) + after), re.IGNORECASE)


_EVIDENCE = {
    name: _one_of(CASE_WORDS["evidence"][name], r"(?<!\w)(?:", r")(?!\w)")
    for name in facts.EVIDENCE_TYPES
}


def evidence(text):
    """Find the types of evidence that a text says were given, not those that are missing."""
    found = [
        TextFact(facts.EvidenceItem(name, match.group()), *match.span())
        for start, end in sentences(text)
        for name, forms in _EVIDENCE.items()
        for match in forms.finditer(text, start, end)
        if not _negated(text, match, start, end)
    ]
    return sorted(_once(found), key=attrgetter("start"))


def _negated(text, match, start, end):
    words_before = pattern("clause").split(text[start : match.start()])[-1].split()
    words_after = pattern("clause").split(text[match.end() : end])[0].split()
    before = " ".join(words_before[-_SCOPE:])
    after = " ".join(words_after[:_SCOPE])
    negated_after = pattern("negated_after")
    return bool(
        pattern("negated_before").search(before)
        or negated_after.search(after)
        or negated_after.search(match.group())
    )


# ---- facts of the user's own types


def _not_among(listed, further):
    """Leave out facts whose words tell a fact of the user's own: one number is not two facts."""
    return [
        fact
        for fact in listed
        if not any(fact.start < near.end and near.start < fact.end for near in further)
    ]


def further_facts(text, domain):
    """Find the facts of the user's own types, each value once, and what must be said of them."""
    listed = []
    notes = []
    sentence_spans = list(sentences(text)) if domain.types else []
    for kind in domain.types.values():
        values = list(_further_values(text, kind, sentence_spans))
        out_of_bounds = {value for value, _ in values if kind.problem(value)}
        found = _once(
            TextFact(facts.FurtherFact(kind.name, value, kind.unit), *match.span())
            for value, match in values
            if value not in out_of_bounds
        )
        if out_of_bounds:
            notes.append(
                f"{len(out_of_bounds)} numbers of {kind.name!r} are not between {kind.least:g} and "
                f"{kind.most:g}, and are left out"
            )
        listed += sorted(found, key=attrgetter("start"))
    return listed, notes


def _further_values(text, kind, sentence_spans):
    """Yield every value that a text states of a type, and where; not what it says is missing."""
    for value, finder in kind.finders.items():
        for match in matches(finder, text, kind.name):
            if kind.is_number:
                number = match["value"] or ""
                if _tells_number(number) and not _set_by_law(text, match.start()):
                    yield quantity(number), match
            elif not _negated(text, match, *_sentence_of(match, sentence_spans)):
                yield value, match


def _tells_number(text):
    """Tell whether a text holds a figure or a number word."""
    words = pattern("number_or_word").findall(text.lower())
    return any(figure or word in _SPELLED or word in CASE_WORDS["scales"] for figure, word in words)


def _sentence_of(match, sentence_spans):
    """Give start and end of the sentence in which a match begins, as far as it reaches."""
    for start, end in sentence_spans:
        if start <= match.start() < end:
            return start, max(end, match.end())
    return match.span()


# ---- kinds of both sides

_HEAD = 4_000  # characters in which a cause title stands
_NAMED = {kind: _one_of(forms) for kind, forms in CASE_WORDS["named"].items()}


def cause_title(text):
    """Kinds of both sides in the cause title: ``A ... Appellant Versus B ... Respondent``."""
    head = text[:_HEAD]
    match = pattern("title_line").match(head) or pattern("title_of_roles").search(head)
    if match is None:
        return {}
    before = pattern("court").match(match["a"])
    start = match.start("a") + (before.end() if before else 0)
    spans = {"petitioner": (start, match.end("a")), "respondent": match.span("b")}
    return {
        side: TextFact(_kind_of_name(text[a:b]), a, b)
        for side, (a, b) in spans.items()
        if text[a:b].strip()
    }


def _kind_of_name(name):
    name = " ".join(name.split())
    return next((kind for kind, forms in _NAMED.items() if forms.search(name)), "Individual")


# ---- by a language model, held to the schema and to the text

_STRICT = pydantic.ConfigDict(extra="forbid")
_PROMPT = """Read the judgment below and write down the facts of the case as a fact
sheet. Use only what the text says. Leave out limits that a statute sets, dates and
docket numbers. Copy the words that name an item of evidence into its description.
Cite sections as in IPC-302, Constitution-Article-21, CPC-Order-7-Rule-11, PDPA-13.
Leave lists empty, and types Unknown, where the text says nothing.
{again}
Judgment:
{text}
"""


def extract_with_model(text, model, case_id="case", domain=SHIPPED_DOMAIN):
    """Extract a fact sheet with a language model; after two unusable answers, by patterns."""
    by_patterns = extract_sheet(text, case_id, domain=domain)
    part = text[slice(*by_patterns.region)]
    name = getattr(model, "name", "") or type(model).__name__
    answer_type = _answer_type(domain)
    again = ""
    notes = []
    for attempt in (1, 2):
        try:
            answer = model.complete_json(_PROMPT.format(text=part, again=again), answer_type)
        except InputError as problem:  # the model has tried again by itself
            notes.append(f"attempt {attempt}: {problem}")
            break
        try:
            record = {**answer, "case_id": case_id}
            sheet = facts.from_dict(record, name, empty=True, domain=domain)
        except (InputError, TypeError) as problem:
            notes.append(f"attempt {attempt}: {problem}")
            again = f"The last answer was refused: {problem}\n"
            continue
        spans, n_missing = _spans_in_text(sheet, part, by_patterns)
        if n_missing:
            notes.append(f"{n_missing} facts of {name} were not found in the text")
        return Extraction(sheet, spans, by_patterns.region, name, tuple(notes))
    notes.append(f"{name} gave no usable fact sheet: the patterns were used")
    return replace(by_patterns, notes=(*by_patterns.notes, *notes))


def _answer_type(domain):
    """The type of a model's answer: a sheet without its case, facts of the domain's own types."""
    fields = {field.name: field for field in dataclasses.fields(facts.FactSheet)}
    del fields["case_id"]
    further = fields.pop("further_facts")
    types = {
        name: (field.type, pydantic.Field(**_default(field))) for name, field in fields.items()
    }
    if domain.types:
        types["further_facts"] = (tuple[_further_fact_type(domain), ...], further.default)
    return pydantic.create_model("FactSheet", __config__=_STRICT, **types)


def _further_fact_type(domain):
    """The type of a further fact, whose kinds and values the schema names."""
    described = {
        name: "a number" if kind.is_number else list(kind.values)
        for name, kind in domain.types.items()
    }
    description = json.dumps(described, ensure_ascii=False)
    annotations = facts.FurtherFact.__annotations__
    return pydantic.create_model(
        "FurtherFact",
        __config__=_STRICT,
        fact_type=Literal[tuple(domain.types)],
        value=(annotations["value"], pydantic.Field(description=description)),
        unit=(annotations["unit"], ""),
    )


def _default(field):
    if field.default_factory is not dataclasses.MISSING:
        return {"default_factory": field.default_factory}
    return {"default": field.default}


def _spans_in_text(sheet, part, by_patterns):
    """Find the facts of a model's sheet in the text; gives their spans, and how many are not there.

    Sides and outcome have no words of their own, so they are not missed.
    """
    offset = by_patterns.region[0]
    span_of_fact = {
        facts.fact_key(by_patterns.sheet, field): (start, end)
        for field, start, end in by_patterns.spans
    }
    spans = []
    n_missing = 0
    for _, field, fact in facts.facts_of(sheet):
        span = span_of_fact.get(facts.fact_key(sheet, field))
        if not span and isinstance(fact, facts.EvidenceItem):
            quotation = fact.description
            at = part.casefold().find(quotation.casefold()) if quotation else -1
            if at >= 0:
                span = (offset + at, offset + at + len(quotation))
        if span:
            spans.append(FactSpan(field, *span))
        elif not field.startswith(("parties", "outcome")):
            n_missing += 1
    return tuple(spans), n_missing
