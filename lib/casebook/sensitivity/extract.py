"""Fact sheets from the text of judgments by rules, each fact with its place, and their scores.

The rules are tables of words and patterns in ``words.yml``, which this module
combines. They know acts, parties and procedure of India and Singapore. Negation of evidence
follows NegEx (Chapman et al., 2001): a trigger before or after a term, within the same clause and
a few words, takes the term away.
"""

import dataclasses
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import pydantic

from casebook.errors import InputError
from casebook.sensitivity import citations, facts
from casebook.sensitivity.citations import alternatives, pattern
from casebook.sensitivity.domain import SHIPPED_DOMAIN, matches
from casebook.stats.intervals import clustered_wilson
from casebook.stats.samples import generator
from casebook.text import fold, sentences

CASE_WORDS = citations.word_lists()
LONGEST_REGION = 12_000  # characters of the documented system
SHORT_TEXT = 4_000  # texts up to here are read whole: a fifth of them is a sentence or two
FACTS_SHARE = 0.2  # of a text without a heading that is read
PARTIAL_COVERAGE = (
    "coverage is partial: the rules know acts, parties and procedure of India and Singapore, and {}"
)
_WHY_PARTIAL = {
    citations.ELSEWHERE: "this text shows marks of other countries",
    None: "nothing in this text tells its country; it is read as India's",
}


class TextFact(NamedTuple):
    """One fact, found at ``text[start:end]``."""

    fact: object
    start: int
    end: int


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
    method: str = "rules"
    notes: tuple = ()


def extract_sheet(text, case_id="case", country=None, domain=SHIPPED_DOMAIN):
    """Extract the fact sheet of a judgment by rules.

    Parameters
    ----------
    text : str
        Judgment, or a passage that tells facts.
    case_id : str
        Name of the case.
    country : {"IN", "SG", "elsewhere"}, optional
        Country whose acts are meant; guessed from the text by default.
    domain : Domain, optional
        Acts and fact types of the user's own, as
        ``casebook.sensitivity.domain.read_domain("facts.yml")`` gives them.

    Returns
    -------
    Extraction
        ``sheet``; ``spans``, the place of each fact; ``region``, start and end of the part that
        was read; ``notes`` on coverage.

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
    country = country or citations.country_of(folded, domain)
    notes = []
    if country not in (citations.INDIA, citations.SINGAPORE):
        notes.append(PARTIAL_COVERAGE.format(_WHY_PARTIAL[country]))
    start, end = facts_region(folded)
    part = folded[start:end]
    lists, notes_on_lists = _fact_lists(part, country, domain)
    notes += notes_on_lists
    sides = {} if "PartyType" in domain.types else parties(folded, start, end)
    ending = outcome(folded)
    by_field = {f"parties.{side}_type": fact for side, fact in sides.items()}
    for name, listed in lists.items():
        by_field |= {f"{name}.{at}": fact for at, fact in enumerate(listed)}
    spans = [
        FactSpan(field, start + fact.start, start + fact.end) for field, fact in by_field.items()
    ]
    if ending:
        spans.append(FactSpan("outcome", ending.start, ending.end))
    values = {name: tuple(fact.fact for fact in listed) for name, listed in lists.items()}
    sheet = facts.FactSheet(
        case_id=case_id,
        parties=facts.Parties(**{f"{side}_type": fact.fact for side, fact in sides.items()}),
        evidence_items=values["evidence_items"],
        sections_cited=values["sections_cited"],
        numerical_facts=facts.NumericalFacts(
            amounts=values["numerical_facts.amounts"],
            ages=values["numerical_facts.ages"],
            durations=values["numerical_facts.durations"],
        ),
        outcome=ending.fact if ending else None,
        further_facts=values["further_facts"],
    )
    return Extraction(sheet, tuple(spans), (start, end), notes=tuple(notes))


def _fact_lists(text, country, domain):
    """Find the facts of a passage by field of the sheet, and what must be said of them.

    A type of the user's own stands in the place of one of the same name; words that tell a fact of
    the user's own tell no evidence and no number besides.
    """
    sections, n_unknown = _sections(text, country, domain)
    further, notes = further_facts(text, domain)
    if n_unknown:
        notes.insert(0, f"{n_unknown} provisions of acts that are not known are left out")
    numbers = {
        "amounts": _distinct(amounts(text, country), "context"),
        "ages": _distinct(ages(text), "descriptor"),
        "durations": _distinct(durations(text), "context"),
    }
    if "Section" in domain.types:
        sections = []
    if "Numerical" in domain.types:
        numbers = dict.fromkeys(numbers, ())
    lists = {"evidence_items": [], "sections_cited": sections}
    if "Evidence" not in domain.types:
        lists["evidence_items"] = _not_among(evidence(text), further)
    for kind, listed in numbers.items():
        lists[f"numerical_facts.{kind}"] = _not_among(listed, further)
    return lists | {"further_facts": further}, notes


def _sections(text, country, domain):
    """Find the provisions of acts that are known, and count those of other acts."""
    sections = {}
    unknown = set()
    for citation in citations.find_provisions(text, country, domain):
        if citation.act == citations.UNKNOWN:
            unknown.add(citation.id)
        else:
            fact = TextFact(citation.id, citation.start, citation.end)
            sections.setdefault(citation.id, fact)
    return list(sections.values()), len(unknown)


def _distinct(numbers, field):
    """Tell repeated contexts apart by a number: facts of one context must not differ."""
    counts = Counter()
    result = []
    for number in numbers:
        subject = getattr(number.fact, field)
        counts[subject] += 1
        if subject and counts[subject] > 1:
            fact = replace(number.fact, **{field: f"{subject} {counts[subject]}"})
            number = number._replace(fact=fact)
        result.append(number)
    return result


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


def amounts(text, country="IN"):
    """Find sums of money; ``$`` alone is Singapore's in Singapore."""
    sums = {}
    for match in pattern("amount").finditer(text):
        value = quantity(match["figure"] or match["words"])
        unit = _unit(match["before"] or match["after"], "currencies")
        if unit == "dollars" and country == citations.SINGAPORE:
            unit = "Singapore dollars"
        if value <= facts.LARGEST_NUMBER and not _set_by_law(text, match.start()):
            fact = facts.Amount(value, unit, _about(text, match, "amounts"))
            sums.setdefault((value, unit), TextFact(fact, *match.span()))
    return list(sums.values())


def ages(text):
    """Find ages, each with the person noun nearest before or inside it."""
    by_value = {}
    for match in pattern("age").finditer(text):
        people = pattern("person").findall(text[max(0, match.start() - 50) : match.end() + 25])
        person = match["who"] or match["who2"] or (people[-1] if people else "")
        number = next(match[f"n{form}"] for form in range(1, 7) if match[f"n{form}"])
        further = re.findall(r"\w+", match["more"] or "")
        values = [quantity(number), *(int(word) for word in further if word.isdigit())]
        for value in values:
            if 1 <= value <= OLDEST_READ and value == int(value):
                fact = facts.Age(int(value), person.lower())
                by_value.setdefault(value, TextFact(fact, *match.span()))
    return list(by_value.values())


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
    by_length = {}
    for value, unit, match in lengths:
        fact = facts.Duration(value, unit, _about(text, match, "durations"))
        by_length.setdefault(facts.in_days(value, unit), TextFact(fact, *match.span()))
    return list(by_length.values())


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


# ---- evidence that a text says was given, and how the proceeding ended

_SCOPE = 6  # words between trigger and term
_EVIDENCE = {
    name: alternatives(CASE_WORDS["evidence"][name], r"(?<!\w)(?:", r")(?!\w)")
    for name in facts.EVIDENCE_TYPES
}
_VERDICTS = {
    name: rf"(?P<v{at}>\b(?:{'|'.join(forms)})\b)"
    for at, (name, forms) in enumerate(CASE_WORDS["verdicts"].items())
}
_VERDICT = alternatives(_VERDICTS.values())
OUTCOME_TAIL = 12_000  # characters at the end of a judgment in which it ends


def evidence(text):
    """Find the types of evidence that a text says were given, not those that are missing."""
    by_type = {}
    for start, end in sentences(text):
        for name, forms in _EVIDENCE.items():
            for match in forms.finditer(text, start, end):
                if name not in by_type and not _negated(text, match, start, end):
                    item = facts.EvidenceItem(name, match.group())
                    by_type[name] = TextFact(item, *match.span())
    return sorted(by_type.values(), key=attrgetter("start"))


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
        by_value = {}
        out_of_bounds = set()
        for value, match in _further_values(text, kind, sentence_spans):
            if kind.problem(value):
                out_of_bounds.add(value)
            else:
                fact = facts.FurtherFact(kind.name, value, kind.unit)
                by_value.setdefault(value, TextFact(fact, *match.span()))
        if out_of_bounds:
            notes.append(
                f"{len(out_of_bounds)} numbers of {kind.name!r} are not between {kind.least:g} and "
                f"{kind.most:g}, and are left out"
            )
        listed += sorted(by_value.values(), key=attrgetter("start"))
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


def outcome(text):
    """Find the outcome of the last proceeding: the last verdict that is stated of one."""
    last = None
    skipped = max(0, len(text) - OUTCOME_TAIL)
    for start_in_tail, end_in_tail in sentences(text[skipped:]):
        start = skipped + start_in_tail
        end = skipped + end_in_tail
        for match in _VERDICT.finditer(text, start, end):
            negated = pattern("negated_verdict").search(text, start, match.start())
            if pattern("proceeding").search(text, start, end) and not negated:
                verdict = list(_VERDICTS)[int(match.lastgroup[1:])]
                last = TextFact(verdict, *match.span())
    return last


# ---- kinds of both sides: by cause title and procedure, or by description in a short text

_HEAD = 4_000  # characters in which a cause title stands
_GOVERNMENT = ("State", "UnionOfIndia", "PublicSector")
_NAMED = {kind: alternatives(forms) for kind, forms in CASE_WORDS["named"].items()}
_DESCRIBED = {kind: alternatives(forms) for kind, forms in CASE_WORDS["described"].items()}
_ORDER = list(_DESCRIBED)
_CALLED = {word: kind for kind, names in CASE_WORDS["called"].items() for word in names}
_COMPOUND = {"petitioner": "(?:appellant|petitioner)s?", "respondent": "respondents?"}


def parties(text, start=0, end=None):
    """Find the kinds of both sides of ``text[start:end]``, a part of a judgment."""
    in_judgment = _sides(text) if len(text) > SHORT_TEXT else cause_title(text)
    sides = {
        side: TextFact(fact.fact, fact.start - start, fact.end - start)
        for side, fact in in_judgment.items()
    }
    if len(sides) == 2:
        return sides
    return _described_sides(text[start:end]) | sides


def cause_title(text):
    """Find both sides in the cause title (``A ... Appellant Versus B ... Respondent``)."""
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


def _sides(text):
    """Find both sides of a whole judgment.

    In this order: title, compounds, who filed, conviction, taxation, law officers, counsel.
    """
    title = cause_title(text)
    if len(title) == 2:
        return title
    sides = {side: _most_called(text, role) for side, role in _COMPOUND.items()}

    def fill(side, kind, match):
        if not sides[side]:
            sides[side] = TextFact(kind, *match.span())

    filed = pattern("filed").search(text[:_HEAD])
    if filed:
        sides["petitioner"] = TextFact(_kind_of_name(filed["w"] or filed["w2"]), *filed.span())
    convicted = pattern("convicted").search(text[: 3 * _HEAD])
    if convicted:
        fill("petitioner", "Individual", convicted)
    taxed = pattern("assessee").search(text)
    if taxed:  # the other side of an assessee is the Revenue
        role = (taxed["role"] or taxed["role2"]).lower()
        fill("petitioner" if role == "respondent" else "respondent", "UnionOfIndia", taxed)
    solicitor = pattern("solicitor").search(text)
    if solicitor:
        is_respondent = solicitor["role"].lower() == "respondent"
        fill("respondent" if is_respondent else "petitioner", "UnionOfIndia", solicitor)
    kind = sides["petitioner"].fact if sides["petitioner"] else None
    counsel = pattern("counsel").search(text)
    if not sides["respondent"] and kind != "State" and counsel:
        client = counsel["w"]
        is_revenue = client.lower() == "department"
        respondent = "UnionOfIndia" if is_revenue else _kind_of_name(client)
        if respondent != kind:
            fill("respondent", respondent, counsel)
    if convicted:  # who appeals against a conviction was accused, and the State opposes
        fill("respondent", "Individual" if kind in _GOVERNMENT else "State", convicted)
    return {side: fact for side, fact in sides.items() if fact}


def _most_called(text, role):
    """Give the kind that a side is most often called next to its role, at its first mention."""
    spans = defaultdict(list)
    for match in pattern("called", ROLE=role).finditer(text):
        word = match["w"] or match["w2"] or match["w3"]
        spans[_CALLED[word.lower()]].append(match.span())
    if not spans:
        return None
    kind = max(spans, key=lambda kind: len(spans[kind]))
    return TextFact(kind, *spans[kind][0])


def _described_sides(text):
    """Find the kinds of both sides in their descriptions; a role in the dispute precedes a form."""
    petitioner = _described(text, CASE_WORDS["roles"]["petitioner"])
    respondent = _described(text, CASE_WORDS["roles"]["respondent"])
    owner = _first_kind(text, "owner", "mover")
    if owner and (petitioner is None or owner.fact != petitioner.fact):
        if respondent is None or respondent.fact == owner.fact:
            respondent = petitioner
        petitioner = owner
    respondent = respondent or _other_side(text, petitioner)
    if respondent and petitioner and respondent.start == petitioner.start:
        respondent = None  # one description cannot be of both
    sides = {"petitioner": petitioner, "respondent": respondent}
    return {side: fact for side, fact in sides.items() if fact}


def _other_side(text, petitioner):
    """Give the respondent by what it does, or by whose counterpart it is."""
    opposer = _first_kind(text, "opposer", "against")
    governs = opposer and opposer.fact in _GOVERNMENT
    if petitioner is None or governs:
        return opposer if governs else None
    counterpart = f"counterpart_{petitioner.fact}"
    for match in (
        pattern(counterpart).finditer(text) if counterpart in CASE_WORDS["patterns"] else ()
    ):
        respondent = _kind(match["who"], match.start("who"))
        if respondent and respondent.fact != petitioner.fact:
            return respondent
    spouses = {match.group().lower(): match for match in pattern("spouses").finditer(text)}
    if petitioner.fact == "Individual" and len(spouses) > 1:
        return TextFact("Individual", *list(spouses.values())[-1].span())
    return opposer if opposer and opposer.fact != "Individual" else None


def _first_kind(text, *names):
    for name in names:
        for match in pattern(name).finditer(text):
            who = match["who"]
            if pattern("nobodys_kind").search(who):
                continue
            kind = _kind(who, match.start("who"))
            if kind:
                return kind
    return None


def _described(text, roles):
    """Give the kind of the side with some roles: as introduced, as named, or by what it does."""
    role = rf"(?:{'|'.join(roles)})\b(?:\sNo\.?\s?1\b)?"
    windows = [citations.fill_pattern(window, ROLE=role) for window in CASE_WORDS["windows"]]
    not_individual = set(_ORDER) - {"Individual"}
    choices = [
        (windows[:2], {"Individual"}),
        (windows[2:4], {"Individual"}),
        (windows[:4], ()),
        (windows[4:], not_individual),
    ]
    for window_choice, excluded in choices:
        kind = _best(text, window_choice, excluded)
        if kind:
            return kind
    return None


def _best(text, windows, excluded):
    kinds = []
    for window in windows:
        for match in re.finditer(window, text, re.IGNORECASE):
            kind = _kind(match["w"], match.start("w"), excluded)
            if kind:
                kinds.append(kind)
    return min(kinds, key=_rank, default=None)


def _rank(kind):
    return _ORDER.index(kind.fact), kind.start


def _kind(text, offset, excluded=()):
    for kind, forms in _DESCRIBED.items():
        match = kind not in excluded and forms.search(text)
        if match:
            return TextFact(kind, offset + match.start(), offset + match.end())
    return None


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
    """Extract a fact sheet with a language model; after two unusable answers, by the rules."""
    by_rules = extract_sheet(text, case_id, domain=domain)
    part = text[slice(*by_rules.region)]
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
        spans = _spans_in_text(sheet, part, by_rules, domain)
        missing = len(list(facts.fact_fields(sheet))) - len(spans)
        if missing:
            notes.append(f"{missing} facts of {name} were not found in the text")
        return Extraction(sheet, tuple(spans), by_rules.region, name, tuple(notes))
    notes.append(f"{name} gave no usable fact sheet: the rules were used")
    return replace(by_rules, notes=(*by_rules.notes, *notes))


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


def _spans_in_text(sheet, part, by_rules, domain):
    """Give the spans of those facts of a model's sheet that are in the text."""
    offset = by_rules.region[0]
    span_of_fact = {}
    for provision in citations.find_provisions(part, domain=domain):
        span = (offset + provision.start, offset + provision.end)
        span_of_fact.setdefault(("Section", provision.id), span)
    for span in by_rules.spans:
        span_of_fact[facts.fact_key(by_rules.sheet, span.field)] = (span.start, span.end)
    spans = []
    for field in facts.fact_fields(sheet):
        span = span_of_fact.get(facts.fact_key(sheet, field))
        if not span and field.startswith("evidence_items"):
            quotation = facts.fact_at(sheet, field).description
            at = part.casefold().find(quotation.casefold()) if quotation else -1
            if at >= 0:
                span = (offset + at, offset + at + len(quotation))
        if span:
            spans.append(FactSpan(field, *span))
    return spans


# ---- how well facts are read: precision, recall and F1 against sheets that somebody wrote

SCORED_TYPES = CASE_WORDS["scored"]["sheets"]
"""Rows of the table: kinds of fact that each pools; the outcome is no fact."""
PASSAGE_TYPES = CASE_WORDS["scored"]["passages"]
"""Rows for passages of real judgments, whose sides and outcome are not annotated."""
N_SHUFFLES = 200


def extraction_scores(gold, extract=extract_sheet, types=SCORED_TYPES, *, seed=0):
    """Score an extractor by split and type of fact; sheets of other texts are the control.

    Facts are compared as sets per text, without contexts and descriptions; texts are the clusters
    of the intervals.
    """
    if not gold:
        raise InputError("there are no annotated texts to measure extraction with")
    texts = [
        (text.split, _keys(extract(text.text, text.id).sheet), _keys(text.sheet)) for text in gold
    ]
    rows = []
    for split in dict.fromkeys(text.split for text in gold):
        of_split = [(extracted, written) for name, extracted, written in texts if name == split]
        for name, kinds in types.items():
            extracted = [_of_kinds(keys, kinds) for keys, _ in of_split]
            written = [_of_kinds(keys, kinds) for _, keys in of_split]
            for row in _scores(extracted, written, seed):
                rows.append({"split": split, "type": name, **row})
    return pd.DataFrame(rows)


def _of_kinds(keys, kinds):
    return {key for key in keys if key[0] in kinds}


def extraction_errors(gold, extract=extract_sheet):
    """List every fact that was missed or made up."""
    rows = []
    for text in gold:
        extracted = _keys(extract(text.text, text.id).sheet)
        written = _keys(text.sheet)
        errors = {"missed": written - extracted, "extra": extracted - written}
        for error, keys in errors.items():
            for kind, value in sorted(keys, key=str):
                fact = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
                rows.append((text.id, text.split, kind, error, fact))
    return pd.DataFrame(rows, columns=["id", "split", "type", "error", "fact"])


def _keys(sheet):
    return frozenset(facts.fact_key(sheet, field) for field in facts.fact_fields(sheet))


def _scores(extracted, written, seed):
    """Yield precision, recall and F1 with their intervals and controls."""
    controls = _controls(extracted, written, seed) if len(written) > 1 else {}
    for measure, (hits, units) in _shares(*_counts(extracted, written).T).items():
        share = clustered_wilson(hits, units)
        yield {
            "measure": measure,
            "value": share.estimate,
            "low": share.low,
            "high": share.high,
            "n": share.n,
            "texts": int((units > 0).sum()),
            "control": controls.get(measure),
            "reason": share.reason,
        }


def _controls(extracted, written, seed):
    """Score against the sheets of other texts, mean over random cycles through all."""
    rng = generator(seed, "shuffled sheets")
    draws = []
    for _ in range(N_SHUFFLES):
        order = rng.permutation(len(written))
        moved = np.empty_like(order)
        moved[order] = np.roll(order, 1)  # one cycle through all: no sheet stays
        shuffled = [written[at] for at in moved]
        draws.append(_counts(extracted, shuffled).sum(axis=0))
    hits, n_extracted, n_written = map(float, np.mean(draws, axis=0))
    controls = {}
    for measure, (wins, units) in _shares(hits, n_extracted, n_written).items():
        controls[measure] = wins / units if units else None
    return controls


def _counts(extracted, written):
    """Give hits, extracted and written facts of each text."""
    pairs = zip(extracted, written, strict=True)
    return np.array([(len(ours & gold), len(ours), len(gold)) for ours, gold in pairs])


def _shares(hits, extracted, written):
    """Give numerator and denominator of each measure."""
    return {
        "precision": (hits, extracted),
        "recall": (hits, written),
        "F1": (2 * hits, extracted + written),
    }
