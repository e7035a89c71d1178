"""What an explanation and a source name alike, and what one turns round.

`agreement` compares numbers, dates, provisions and parties; `find_flip` finds negation and
modality that a sentence and its source do not share: a rule of thumb over words, not an
entailment model, whose rate is reported beside that of mismatched sources.
"""

import calendar
import itertools
import re
from functools import lru_cache

from casebook.text import STOP_LIST, content_words, fold, sentences, tokens

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: day of)? (?P<m>{_MONTH})\.?,? "
    r"(?P<y>\d{4})\b"
    rf"|\b(?P<m2>{_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{4}})\b"
    r"|\b(?P<y3>\d{4})-(?P<m3>\d\d)-(?P<d3>\d\d)\b"
    r"|\b(?P<d4>\d{1,2})[./-](?P<m4>\d{1,2})[./-](?P<y4>\d{4})\b",
    re.IGNORECASE,
)
_MULTIPLIERS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_MULTIPLIERS |= dict.fromkeys(("crore", "crores"), 10**7)
_MULTIPLIERS |= dict.fromkeys(("lakh", "lakhs", "lac"), 10**5)
_SMALL = """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty"""
_SPELLED = {word: value for value, word in enumerate(_SMALL.split(), start=2)}
_SPELLED |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<percent> ?(?:%|per ?cent))?"
    rf"(?: (?P<scale>{'|'.join(_MULTIPLIERS)})\b)?(?![\w(])"
    rf"|\b(?P<word>{'|'.join(_SPELLED)})\b(?: (?P<scale2>{'|'.join(_MULTIPLIERS)})\b)?",
    re.IGNORECASE,
)
#: One side of a case name: capitalised words, small ones between them.
_PARTY = r"[A-Z(][\w'&.)]*(?: (?:(?:of|the|and|for|de) ){0,2}[A-Z(][\w'&.)]*)*"
_PARTIES = re.compile(rf"(?P<a>{_PARTY}) (?:v|vs)\.? (?:the )?(?P<b>{_PARTY})")


# Citations of cases and provisions: their numbers are no numbers of the case.

_YEAR = r"(?:1[6-9]|20)\d\d"
_DIVISION = r"(?: ?\((?:[A-Z][A-Za-z]*|[A-Z])\))?"
_SERIES = r"[A-Z][A-Za-z.]*(?: ?(?:\([A-Z][A-Za-z]*\)|&|[A-Z][A-Za-z.]*)){0,3}"
_COURT = r"[A-Z]{2,8}(?: (?:Civ|Crim|Admin|Ch|Comm|Fam|Pat|TCC|\([A-Z][A-Za-z]*\)))?"
_PINPOINT = (
    r"(?:,? ?(?:at )?(?:\[\d{1,3}\](?: ?(?:-|to|and|,) ?\[\d{1,3}\])*"
    r"|(?:paras?\.?|paragraphs?|¶+) ?\d{1,4}(?: ?(?:-|to|and|,) ?\d{1,4})*"
    r"|(?:p|pp|pages?)\.? ?\d{1,4}[A-H]?(?: ?- ?\d{1,4}[A-H]?)?"
    r"|(?<=at )\d{1,4}[A-H]?))?"
)
_CASES = (
    rf"\[{_YEAR}\] (?:\d{{1,3}} )?{_SERIES} ?\d{{1,5}}{_DIVISION}",
    rf"\({_YEAR}\) (?:\d{{1,3}} )?{_SERIES} ?\d{{1,5}}",
    rf"A\.? ?I\.? ?R\.? {_YEAR} [A-Z][A-Za-z&. ]*? \d{{1,5}}",
    rf"\b{_YEAR} {_COURT} \d{{1,5}}",
    r"\b\d{1,3} (?:U\. ?S\.|F\. ?[23]d|S\. ?Ct\.|C\. ?L\. ?R\.) \d{1,5}(?: \(\d{4}\))?",
)
_UNIT = (
    r"(?:[Ss]ections?|[Ss]ecs?\.?|[Ss]s?\.?|[Aa]rticles?|[Aa]rts?\.?|[Rr]egulations?"
    r"|[Rr]egs?\.?|[Oo]rder|[Rr]ules?|[Cc]lauses?|[Cc]ls?\.?)"
)
_PROVISION = r"\d{1,4}[A-Z]{0,3}(?: ?\((?:\d{1,3}|[a-z]{1,4}|[A-Z]{1,2})\))*"
_SECTION = re.compile(
    rf"(?<![\w.])(?P<unit>{_UNIT}) ?(?P<numbers>{_PROVISION}"
    rf"(?:(?:, ?| and | or | ?- ?| to |, and ){_PROVISION})*)(?![\d])"
    rf"(?: Rules? (?P<rule>{_PROVISION}))?"
)
_PROVISION_KINDS = {"a": "article", "o": "order", "r": "rule", "c": "clause", "s": "section"}


def provisions(text):
    """Provisions that a text cites, such as *section 12(3)*, in order; not the cases it cites.

    Cases are neutral citations (``[2019] UKSC 41``) and reports (``[1932] AC 562``,
    ``AIR 1973 SC 1461``, ``410 U.S. 113``), with the pinpoint that follows (``at [50]-[52]``).
    """
    found = []
    for match in _SECTION.finditer(_without_cases(_plain(text))):
        name = match["unit"].lower()
        unit = "regulation" if name.startswith("reg") else _PROVISION_KINDS.get(name[0], "section")
        rule = f" rule {match['rule'].replace(' ', '')}" if match["rule"] else ""
        for number in re.findall(_PROVISION, match["numbers"]):
            found.append(f"{unit} {number.replace(' ', '')}{rule}")
    return found


def _plain(text):
    return re.sub(r"\s", " ", fold(text))


def _blank(match):
    return " " * len(match.group())


def _without_cases(text):
    for pattern in _CASES:
        text = re.sub(pattern + _PINPOINT, _blank, text)
    return text


# What is named alike.


@lru_cache(maxsize=256)
def mentions(text):
    """Distinct numbers, dates, provisions and parties of a text."""
    plain = _plain(text)
    dates = [match for match in _DATES.finditer(plain) if _date(match)]
    remainder = _DATES.sub(lambda match: _blank(match) if _date(match) else match.group(), plain)
    remainder = _SECTION.sub(_blank, _without_cases(remainder))
    parties = set()
    for start, end in sentences(plain):
        for side in itertools.chain(*_PARTIES.findall(remainder[start:end])):
            parties.add(side.removeprefix("In ").removeprefix("See ").strip(" .,").casefold())
    return {
        "number": set(map(_value, _NUMBER.finditer(remainder))),
        "date": set(map(_date, dates)),
        "provision": set(provisions(text)),
        "party": parties,
    }


def _date(match):
    """A date as YYYY-MM-DD, None if there is no such month or day."""
    parts = {group[0]: text for group, text in match.groupdict().items() if text}
    month = _MONTHS.get(parts["m"].lower()) or int(parts["m"])
    is_date = 1 <= month <= 12 and 1 <= int(parts["d"]) <= 31
    return f"{parts['y']}-{month:02d}-{int(parts['d']):02d}" if is_date else None


def _value(match):
    """A number as text, without separators and multiplied out."""
    parts = {group[0]: text for group, text in match.groupdict("").items() if text}
    scale = _MULTIPLIERS.get(parts.get("s", "").lower(), 1)
    if "w" in parts:
        return str(_SPELLED[parts["w"].lower()] * scale)
    value = float(parts["d"].replace(",", "")) * scale
    number = f"{value:.6f}".rstrip("0").rstrip(".")
    return number + ("%" if "p" in parts else "")


def agreement(explanation, source):
    """What an explanation names, by kind: what a source names too, and what it lacks."""
    in_source = mentions(source)
    text = _spaced(source)
    kinds = {}
    for kind, named in mentions(explanation).items():
        missing = named - in_source[kind]
        if kind == "party":
            missing = {side for side in missing if _spaced(side) not in text}
        kinds[kind] = (sorted(named - missing), sorted(missing))
    return kinds


def share_named(explanation, source):
    """Share of what an explanation names that a source names too, None where it names nothing."""
    kinds = agreement(explanation, source).values()
    missing = sum(len(missing) for _, missing in kinds)
    total = sum(len(shared) for shared, _ in kinds) + missing
    return 1 - missing / total if total else None


def _spaced(text):
    """The words of a text, one space around each."""
    words = re.findall(r"\w+", fold(text).casefold())
    return f" {' '.join(words)} "


# Negation and modality.

LEAST_OVERLAP = 0.5
SCOPE = 4
_NEGATORS = frozenset(("not", "no", "never", "neither", "nor", "without", "cannot"))
_MODAL = re.compile(
    r"(?<!\S)(?:(?P<prohibition>(?:shall|must|may) not)|(?P<obligation>must|shall|required|obliged)"
    r"|(?P<permission>may|permitted|allowed|entitled))(?!\S)"
)


def find_flip(sentence, source_sentences):
    """What a sentence turns round of the source sentence that shares most content with it.

    Words and a modality; none where nothing is turned, None where no sentence shares half.
    """
    words = content_words(sentence)
    if not words or not source_sentences:
        return None
    shares = [len(words & content_words(s)) / len(words) for s in source_sentences]
    nearest = shares.index(max(shares))
    if shares[nearest] < LEAST_OVERLAP:
        return None
    source_sentence = source_sentences[nearest]
    in_source = _negated(source_sentence)
    turned = [word for word, state in _negated(sentence) if (word, not state) in in_source]
    modalities = (modality(source_sentence), modality(sentence))
    if None not in modalities and modalities[0] != modalities[1]:
        turned.append(" to ".join(modalities))
    return sorted(turned)


def _negated(sentence):
    """Each content word and whether an odd number of negators precede it where it is first."""
    words = ["not" if word.endswith("n't") else word for word in tokens(sentence)]
    negated = {}
    for position, word in enumerate(words):
        if word not in STOP_LIST and word not in _NEGATORS:
            before = words[max(0, position - SCOPE) : position]
            negated.setdefault(word, sum(w in _NEGATORS for w in before) % 2 == 1)
    return negated.items()


def modality(sentence):
    """Modality of the first modal phrase of a sentence."""
    match = _MODAL.search(" ".join(re.sub("n't$", " not", word) for word in tokens(sentence)))
    return match and match.lastgroup
