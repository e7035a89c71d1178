"""Fact sheets from the text of judgments by rules, each fact with the place that tells it, and how well they are read.

The rules are tables of words and patterns in ``data/counterfactual/words.yml``; what stands here is how they are put
together. They know acts, parties and procedure of India and Singapore. Negation of evidence follows NegEx (Chapman et
al., 2001): a trigger before or after a term, within the same clause and a few words, takes the term away.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.sensitivity import citations, facts
from casebook.sensitivity.citations import alternatives, pattern
from casebook.stats.intervals import clustered_wilson
from casebook.stats.samples import stream
from casebook.text import fold, sentences

WORD_LISTS = citations.word_lists()
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


def extract_sheet(text, case_id="case", country=None):
    """Extract the fact sheet of a judgment by rules.

    Parameters
    ----------
    text : str
        Judgment, or a passage that tells facts.
    case_id : str
        Name of the case.
    country : {"IN", "SG", "elsewhere"}, optional
        Country whose acts are meant; guessed from the text by default.

    Returns
    -------
    Extraction
        ``sheet``; ``spans``, the place of each fact; ``region``, start and end of what was read; ``notes`` on coverage.

    Raises
    ------
    InputError
        If there is no text.

    Examples
    --------
    >>> found = extract_sheet("The appellant, a farmer aged 40, was fined Rs. 5,000 under section 302 IPC.")
    >>> found.sheet.sections_cited, found.sheet.numerical_facts.amounts[0].value
    (('IPC-302',), 5000)
    """
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{case_id}: has no text to extract facts from")
    folded = fold(text)
    country = country or citations.country_of(folded)
    notes = (
        []
        if country in (citations.INDIA, citations.SINGAPORE)
        else [PARTIAL_COVERAGE.format(_WHY_PARTIAL[country])]
    )
    start, end = facts_region(folded)
    part = folded[start:end]
    sections = {}
    unknown = set()
    for one in citations.find_citations(part, country):
        if one.act == citations.UNKNOWN:
            unknown.add(one.id)
        else:
            sections.setdefault(one.id, TextFact(one.id, one.start, one.end))
    if unknown:
        notes.append(f"{len(unknown)} provisions of acts that are not known are left out")
    found = {
        "evidence_items": evidence(part),
        "sections_cited": list(sections.values()),
        "numerical_facts.amounts": _distinct(amounts(part, country), "context"),
        "numerical_facts.ages": _distinct(ages(part), "descriptor"),
        "numerical_facts.durations": _distinct(durations(part), "context"),
    }
    sides = parties(folded, start, end)
    ended = outcome(folded)
    placed = {f"parties.{side}_type": one for side, one in sides.items()}
    placed |= {f"{name}.{at}": one for name, these in found.items() for at, one in enumerate(these)}
    spans = [FactSpan(field, start + one.start, start + one.end) for field, one in placed.items()]
    if ended:
        spans.append(FactSpan("outcome", ended.start, ended.end))
    items, cited, *numbers = (tuple(one.fact for one in these) for these in found.values())
    told = facts.Parties(**{f"{side}_type": one.fact for side, one in sides.items()})
    sheet = facts.FactSheet(
        case_id, told, items, cited, facts.NumericalFacts(*numbers), ended.fact if ended else None
    )
    return Extraction(sheet, tuple(spans), (start, end), notes=tuple(notes))


def _distinct(found, field):
    """Tell repeated contexts apart: facts of one context must not differ."""
    seen = Counter()
    result = []
    for one in found:
        about = getattr(one.fact, field)
        seen[about] += 1
        if about and seen[about] > 1:
            one = one._replace(fact=replace(one.fact, **{field: f"{about} {seen[about]}"}))
        result.append(one)
    return result


def facts_region(text):
    """Find the part of a judgment that tells the facts: under a heading, from the words on, else the first fifth."""
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

_TENS = {word: 10 * tens for tens, word in enumerate(WORD_LISTS["numbers"][20:], 2)}
_SPELLED = {word: value for value, word in enumerate(WORD_LISTS["numbers"][:20])} | _TENS
_REACH = 70  # characters in which a word says what a number is for
OLDEST_READ = 110


def quantity(text):
    """Give the value of a quantity as judgments write it: 5,00,000, 2.5 lakh, two and a half."""
    total = current = 0.0
    half = 0.0
    scales = WORD_LISTS["scales"]
    for figure, word in pattern("number_or_word").findall(text.lower()):
        word = word if word in scales or word in _SPELLED else word.rstrip("s")
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
    """Say what a quantity is for: the nearest of the known purposes in its sentence, clauses apart."""
    before = re.split(r"[.;]\s", text[max(0, match.start() - _REACH) : match.start()])[-1].lower()
    after = re.split(r"[.;]\s", text[match.end() : match.end() + _REACH])[0].lower()
    near = []
    for word in WORD_LISTS["purposes"][kind]:
        known = re.compile(rf"\b{re.escape(word)}")
        gaps = [before[m.end() :] for m in known.finditer(before)] + [
            after[: m.start()] for m in known.finditer(after)
        ]
        near += [
            (len(gap) + (_REACH if pattern("clause_end").search(gap) else 0), word) for gap in gaps
        ]
    return min(near)[1] if near else ""


def _unit(written, table):
    return next(
        name
        for name, forms in WORD_LISTS[table].items()
        if re.fullmatch("|".join(forms), written, re.IGNORECASE)
    )


def amounts(text, country="IN"):
    """Find sums of money; ``$`` alone is Singapore's in Singapore."""
    found = {}
    for match in pattern("amount").finditer(text):
        value = quantity(match["figure"] or match["words"])
        unit = _unit(match["before"] or match["after"], "currencies")
        unit = "Singapore dollars" if unit == "dollars" and country == citations.SINGAPORE else unit
        if value <= facts.LARGEST_NUMBER and not _set_by_law(text, match.start()):
            fact = facts.Amount(value, unit, _about(text, match, "amounts"))
            found.setdefault((value, unit), TextFact(fact, *match.span()))
    return list(found.values())


def ages(text):
    """Find ages, each with the person noun nearest before or inside it."""
    found = {}
    for match in pattern("age").finditer(text):
        people = pattern("person").findall(text[max(0, match.start() - 50) : match.end() + 25])
        who = match["who"] or match["who2"] or (people[-1] if people else "")
        written = next(match[f"n{place}"] for place in range(1, 7) if match[f"n{place}"])
        more = [int(word) for word in re.findall(r"\w+", match["more"] or "") if word.isdigit()]
        for value in [quantity(written), *more]:
            if 1 <= value <= OLDEST_READ and value == int(value):
                found.setdefault(value, TextFact(facts.Age(int(value), who.lower()), *match.span()))
    return list(found.values())


def durations(text):
    """Find lengths of time; ages and limits set by law are none."""
    taken = [match.span() for match in pattern("age").finditer(text)]
    lengths = [
        (int(value), _unit(match["unit"], "time_units"), match)
        for match in pattern("durations").finditer(text)
        for value in re.findall(r"\d+", match["all"])
    ]
    for match in pattern("duration").finditer(text):
        inside = any(low < match.end() and match.start() < high for low, high in taken)
        value, unit = _length(match)
        if value and not inside and not _set_by_law(text, match.start()):
            lengths.append((value, unit, match))
    found = {}
    for value, unit, match in lengths:
        fact = facts.Duration(value, unit, _about(text, match, "durations"))
        found.setdefault(facts.in_days(value, unit), TextFact(fact, *match.span()))
    return list(found.values())


def _length(match):
    """Value and unit; mixed lengths are told in the smaller unit."""
    value = 1 if match["value"].lower() == "a" else quantity(match["value"])
    value += 0.5 if match["half"] else 0
    unit = _unit(match["unit"], "time_units")
    smaller = _unit(match["unit2"], "time_units") if match["value2"] else unit
    if facts.IN_DAYS[smaller] >= facts.IN_DAYS[unit]:
        return value, unit
    return facts.as_integer(
        value * facts.IN_DAYS[unit] / facts.IN_DAYS[smaller] + quantity(match["value2"])
    ), smaller


# ---- evidence that a text says was given, and how the proceeding ended

_SCOPE = 6  # words between trigger and term
_EVIDENCE = {
    name: alternatives(WORD_LISTS["evidence"][name], r"(?<!\w)(?:", r")(?!\w)")
    for name in facts.EVIDENCE_TYPES
}
_VERDICTS = {
    name: rf"(?P<v{at}>\b(?:{'|'.join(forms)})\b)"
    for at, (name, forms) in enumerate(WORD_LISTS["verdicts"].items())
}
_VERDICT = alternatives(_VERDICTS.values())
OUTCOME_TAIL = 12_000  # characters at the end of a judgment in which it ends


def evidence(text):
    """Find the types of evidence that a text says were given, not those that are missing."""
    found = {}
    for start, end in sentences(text):
        for name, forms in _EVIDENCE.items():
            for match in forms.finditer(text, start, end):
                if name not in found and not _negated(text, match, start, end):
                    found[name] = TextFact(facts.EvidenceItem(name, match.group()), *match.span())
    return sorted(found.values(), key=lambda one: one.start)


def _negated(text, match, start, end):
    lead = pattern("clause").split(text[start : match.start()])[-1].split()[-_SCOPE:]
    tail = pattern("clause").split(text[match.end() : end])[0].split()[:_SCOPE]
    after = [" ".join(tail), match.group()]
    return bool(
        pattern("negated_before").search(" ".join(lead))
        or any(map(pattern("negated_after").search, after))
    )


def outcome(text):
    """Find the outcome of the last proceeding: the last verdict that is stated of one."""
    last = None
    skipped = max(0, len(text) - OUTCOME_TAIL)
    for first, stop in sentences(text[skipped:]):
        start = skipped + first
        end = skipped + stop
        for match in _VERDICT.finditer(text, start, end):
            negated = pattern("negated_verdict").search(text, start, match.start())
            if pattern("proceeding").search(text, start, end) and not negated:
                last = TextFact(list(_VERDICTS)[int(match.lastgroup[1:])], *match.span())
    return last


# ---- kinds of both sides: by cause title and procedure of a whole judgment, or by what a short text says of them

_HEAD = 4_000  # characters in which a cause title stands
_GOVERNMENT = ("State", "UnionOfIndia", "PublicSector")
_NAMED = {kind: alternatives(forms) for kind, forms in WORD_LISTS["named"].items()}
_DESCRIBED = {kind: alternatives(forms) for kind, forms in WORD_LISTS["described"].items()}
_ORDER = list(_DESCRIBED)
_CALLED = {word: kind for kind, names in WORD_LISTS["called"].items() for word in names}
_COMPOUND = {"petitioner": "(?:appellant|petitioner)s?", "respondent": "respondents?"}


def parties(text, start=0, end=None):
    """Find the kinds of both sides of ``text[start:end]``, a part of a judgment."""
    whole_text = _sides(text) if len(text) > SHORT_TEXT else cause_title(text)
    found = {
        side: TextFact(one.fact, one.start - start, one.end - start)
        for side, one in whole_text.items()
    }
    return found if len(found) == 2 else _told(text[start:end]) | found


def cause_title(text):
    """Find both sides in the cause title at the head of a judgment (``A ... Appellant Versus B ... Respondent``)."""
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
    """Find both sides of a whole judgment: by title, compounds, who filed, counsel and the kind of proceeding."""
    title = cause_title(text)
    if len(title) == 2:
        return title
    found = {side: _most_called(text, role) for side, role in _COMPOUND.items()}

    def lacking(side, kind, match):
        found[side] = found[side] or TextFact(kind, *match.span())

    if filed := pattern("filed").search(text[:_HEAD]):
        found["petitioner"] = TextFact(_kind_of_name(filed["w"] or filed["w2"]), *filed.span())
    taxed, general, counsel = (
        pattern(name).search(text) for name in ("assessee", "solicitor", "counsel")
    )
    convicted = pattern("convicted").search(text[: 3 * _HEAD])
    if convicted:
        lacking("petitioner", "Individual", convicted)
    if taxed:  # the other side of an assessee is the Revenue
        role = (taxed["role"] or taxed["role2"]).lower()
        lacking("petitioner" if role == "respondent" else "respondent", "UnionOfIndia", taxed)
    if general:
        lacking(
            "respondent" if general["role"].lower() == "respondent" else "petitioner",
            "UnionOfIndia",
            general,
        )
    kind = found["petitioner"] and found["petitioner"].fact
    if not found["respondent"] and kind != "State" and counsel:
        other = (
            "UnionOfIndia" if counsel["w"].lower() == "department" else _kind_of_name(counsel["w"])
        )
        found["respondent"] = TextFact(other, *counsel.span()) if other != kind else None
    if convicted:  # who appeals against a conviction was accused, and the State opposes
        lacking("respondent", "Individual" if kind in _GOVERNMENT else "State", convicted)
    return {side: one for side, one in found.items() if one}


def _most_called(text, role):
    """Give the kind that a side is called most often beside its role, at its first mention."""
    matches = pattern("called", ROLE=role).finditer(text)
    hits = [(_CALLED[(m["w"] or m["w2"] or m["w3"]).lower()], m.span()) for m in matches]
    if not hits:
        return None
    kind = Counter(kind for kind, _ in hits).most_common(1)[0][0]
    return TextFact(kind, *next(span for other, span in hits if other == kind))


def _told(text):
    """Find the kinds of both sides in what is said of them; a role in the dispute goes before a legal form."""
    petitioner, respondent = (
        _described(text, WORD_LISTS["roles"][side]) for side in facts.PARTY_SIDES
    )
    owner = _first_kind(text, "owner", "mover")
    if owner and (petitioner is None or owner.fact != petitioner.fact):
        swapped = respondent is None or respondent.fact == owner.fact
        respondent = petitioner if swapped else respondent
        petitioner = owner
    respondent = respondent or _other_side(text, petitioner)
    if respondent and petitioner and respondent.start == petitioner.start:
        respondent = None  # one description cannot be of both
    return {
        side: one
        for side, one in zip(facts.PARTY_SIDES, (petitioner, respondent), strict=True)
        if one
    }


def _other_side(text, petitioner):
    """Give the respondent by what it does, or by whose counterpart it is."""
    opposer = _first_kind(text, "opposer", "against")
    governs = opposer and opposer.fact in _GOVERNMENT
    if petitioner is None or governs:
        return opposer if governs else None
    counterpart = f"counterpart_{petitioner.fact}"
    for match in (
        pattern(counterpart).finditer(text) if counterpart in WORD_LISTS["patterns"] else ()
    ):
        found = _kind(match["who"], match.start("who"))
        if found and found.fact != petitioner.fact:
            return found
    spouses = {match.group().lower(): match for match in pattern("spouses").finditer(text)}
    if petitioner.fact == "Individual" and len(spouses) > 1:
        return TextFact("Individual", *list(spouses.values())[-1].span())
    return opposer if opposer and opposer.fact != "Individual" else None


def _first_kind(text, *names):
    for name in names:
        for match in pattern(name).finditer(text):
            nobodys = pattern("nobodys_kind").search(match["who"])
            if found := None if nobodys else _kind(match["who"], match.start("who")):
                return found
    return None


def _described(text, roles):
    """Give the kind of the side that is called by some roles: introduced, named as, or by what it does."""
    role = rf"(?:{'|'.join(roles)})\b(?:\sNo\.?\s?1\b)?"
    windows = [citations.filled(window, ROLE=role) for window in WORD_LISTS["windows"]]
    person = set(_ORDER) - {"Individual"}
    choices = (
        (windows[:2], {"Individual"}),
        (windows[2:4], {"Individual"}),
        (windows[:4], ()),
        (windows[4:], person),
    )
    return next(filter(None, (_best(text, *choice) for choice in choices)), None)


def _best(text, windows, excluded):
    matches = [match for window in windows for match in re.finditer(window, text, re.IGNORECASE)]
    found = [_kind(match["w"], match.start("w"), excluded) for match in matches]
    return min(
        filter(None, found), key=lambda one: (_ORDER.index(one.fact), one.start), default=None
    )


def _kind(text, offset, excluded=()):
    for kind, forms in _DESCRIBED.items():
        match = kind not in excluded and forms.search(text)
        if match:
            return TextFact(kind, offset + match.start(), offset + match.end())
    return None


# ---- by a language model, held to the schema and to the text

_PROMPT = """Read the judgment below and write down the facts of the case as a fact
sheet. Use only what the text says. Leave out limits that a statute sets, dates and
docket numbers. Copy the words that name an item of evidence into its description.
Cite sections as in IPC-302, Constitution-Article-21, CPC-Order-7-Rule-11, PDPA-13.
Leave lists empty, and types Unknown, where the text says nothing.
{again}
Judgment:
{text}
"""


def extract_with_model(text, model, case_id="case"):
    """Extract a fact sheet with a language model; after two unusable answers the rules are used, and it is said."""
    by_rules = extract_sheet(text, case_id)
    part = text[slice(*by_rules.region)]
    name = getattr(model, "name", "") or type(model).__name__
    schema = json.loads(json.dumps(facts.sheet_schema()))
    del schema["properties"]["case_id"]
    schema["required"] = []
    schema["$defs"]["EvidenceItem"]["properties"]["evidence_type"]["enum"] = list(
        facts.EVIDENCE_TYPES
    )
    again = ""
    notes = []
    for attempt in (1, 2):
        try:
            answer = model.complete_json(_PROMPT.format(text=part, again=again), schema)
        except InputError as problem:  # the model has tried again by itself
            notes.append(f"attempt {attempt}: {problem}")
            break
        try:
            sheet = facts.from_dict({**answer, "case_id": case_id}, name, empty=True)
        except (InputError, TypeError) as problem:
            notes.append(f"attempt {attempt}: {problem}")
            again = f"The last answer was refused: {problem}\n"
            continue
        spans = _placed(sheet, part, by_rules)
        if missing := len(list(facts.fact_fields(sheet))) - len(spans):
            notes.append(f"{missing} facts of {name} were not found in the text")
        return Extraction(sheet, tuple(spans), by_rules.region, name, tuple(notes))
    notes.append(f"{name} gave no usable fact sheet: the rules were used")
    return replace(by_rules, notes=(*by_rules.notes, *notes))


def _placed(sheet, part, by_rules):
    """Give the spans of those facts of a model's sheet that the text shows."""
    offset = by_rules.region[0]
    spans = []
    cited = reversed(citations.find_citations(part))
    known = {("Section", one.id): (offset + one.start, offset + one.end) for one in cited}
    known |= {
        facts.fact_key(by_rules.sheet, span.field): (span.start, span.end)
        for span in by_rules.spans
    }
    for field in facts.fact_fields(sheet):
        span = known.get(facts.fact_key(sheet, field))
        quoted = (
            facts.fact_at(sheet, field).description if field.startswith("evidence_items") else ""
        )
        at = part.casefold().find(quoted.casefold()) if quoted and not span else -1
        if at >= 0:
            span = offset + at, offset + at + len(quoted)
        if span:
            spans.append(FactSpan(field, *span))
    return spans


# ---- how well facts are read: precision, recall and F1 against sheets that somebody wrote

_NUMBERS = ("Amount", "Age", "Duration")
SCORED_TYPES = {name: (name,) for name in _NUMBERS} | {"Numerical": _NUMBERS}
SCORED_TYPES |= {name: (name,) for name in ("Section", "PartyType", "Evidence", "Outcome")}
SCORED_TYPES |= {"all facts": (*_NUMBERS, "Section", "PartyType", "Evidence")}
"""Rows of the table: kinds of fact that each pools; the outcome is no fact."""
PASSAGE_TYPES = {
    name: kinds for name, kinds in SCORED_TYPES.items() if name not in ("PartyType", "Outcome")
}
PASSAGE_TYPES |= {"all facts": (*_NUMBERS, "Section", "Evidence")}
"""Rows for passages of real judgments, whose sides and outcome are not annotated."""
N_SHUFFLES = 200


def extraction_scores(gold, extract=extract_sheet, types=SCORED_TYPES, *, seed=0):
    """Score an extractor by split and type of fact, beside the sheets of other texts as control.

    Facts are compared as sets per text, without contexts and descriptions; texts are the clusters of the intervals.
    """
    if not gold:
        raise InputError("there are no annotated texts to measure extraction with")
    keys = [(one.split, _keys(extract(one.text, one.id).sheet), _keys(one.sheet)) for one in gold]
    rows = []
    for split in dict.fromkeys(one.split for one in gold):
        for name, kinds in types.items():
            part = [sides for of, *sides in keys if of == split]
            found, true = (
                [{key for key in one[side] if key[0] in kinds} for one in part] for side in (0, 1)
            )
            rows += [{"split": split, "type": name, **row} for row in _scores(found, true, seed)]
    return pd.DataFrame(rows)


def extraction_errors(gold, extract=extract_sheet):
    """List every fact that was missed or made up."""
    rows = []
    for one in gold:
        found = _keys(extract(one.text, one.id).sheet)
        true = _keys(one.sheet)
        for error, wrong in (("missed", true - found), ("extra", found - true)):
            for kind, value in sorted(wrong, key=str):
                shown = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
                rows.append((one.id, one.split, kind, error, shown))
    return pd.DataFrame(rows, columns=["id", "split", "type", "error", "fact"])


def _keys(sheet):
    return frozenset(facts.fact_key(sheet, field) for field in facts.fact_fields(sheet))


def _scores(found, true, seed):
    counts = _counts(found, true)
    control = {}
    if len(true) > 1:
        rng = np.random.Generator(stream(seed, "shuffled sheets"))
        draws = []
        for _ in range(N_SHUFFLES):
            order = rng.permutation(len(true))
            moved = np.empty_like(order)
            moved[order] = np.roll(order, 1)  # one cycle through all: nobody stays
            draws.append(_counts(found, [true[at] for at in moved]).sum(axis=0))
        shares = _shares(*map(float, np.mean(draws, axis=0)))
        control = {name: wins / units if units else None for name, (wins, units) in shares.items()}
    for measure, (wins, units) in _shares(*counts.T).items():
        share = clustered_wilson(wins, units)
        yield {
            "measure": measure,
            "value": share.estimate,
            "low": share.low,
            "high": share.high,
            "n": share.n,
            "texts": int((units > 0).sum()),
            "control": control.get(measure),
            "reason": share.reason,
        }


def _counts(found, true):
    """Give hits, extracted and written facts of each text."""
    return np.array(
        [(len(mine & own), len(mine), len(own)) for mine, own in zip(found, true, strict=True)]
    )


def _shares(hits, extracted, written):
    return {
        "precision": (hits, extracted),
        "recall": (hits, written),
        "F1": (2 * hits, extracted + written),
    }
