"""What an explanation and a source name alike, and what one turns round.

`share_named` compares numbers, dates, provisions and parties; `find_flip` finds negation and
modality that a sentence and its source do not share: a rule of thumb over words, not an
entailment model, whose rate is reported beside that of mismatched sources.
"""

import itertools
import re
from functools import lru_cache
from pathlib import Path

from casebook.readers import read_yaml
from casebook.text import STOP_LIST, content_words, fold, sentences, tokens

_WORDS = read_yaml(Path(__file__).with_name("mentions.yml"))
_MONTH = "|".join(sorted(_WORDS["months"], key=len, reverse=True))
_DATES = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: day of)? (?P<m>{_MONTH})\.?,? "
    r"(?P<y>\d{4})\b"
    rf"|\b(?P<m2>{_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{4}})\b"
    r"|\b(?P<y3>\d{4})-(?P<m3>\d\d)-(?P<d3>\d\d)\b"
    r"|\b(?P<d4>\d{1,2})[./-](?P<m4>\d{1,2})[./-](?P<y4>\d{4})\b",
    re.IGNORECASE,
)
_SCALE = "|".join(_WORDS["multipliers"])
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<percent> ?(?:%|per ?cent))?"
    rf"(?: (?P<scale>{_SCALE})\b)?(?![\w(])"
    rf"|\b(?P<word>{'|'.join(_WORDS['numbers'])})\b(?: (?P<scale2>{_SCALE})\b)?",
    re.IGNORECASE,
)
_PARTIES = re.compile(rf"({_WORDS['party']}) (?:v|vs)\.? (?:the )?({_WORDS['party']})")
# Numbers of cited cases and provisions are no numbers of the case.
_CASES = re.compile(f"(?:{'|'.join(_WORDS['cases'])}){_WORDS['pinpoint']}")
_PROVISION = _WORDS["provision"]
_SECTION = re.compile(
    rf"(?<![\w.])(?P<unit>{_WORDS['unit']}) ?(?P<numbers>{_PROVISION}"
    rf"(?:(?:, ?| and | or | ?- ?| to |, and ){_PROVISION})*)(?![\d])"
    rf"(?: Rules? (?P<rule>{_PROVISION}))?"
)


def provisions(text):
    """Provisions that a text cites, such as *section 12(3)*, in order; not the cases it cites.

    Cases are neutral citations (``[2019] UKSC 41``) and reports (``[1932] AC 562``,
    ``AIR 1973 SC 1461``, ``410 U.S. 113``), with the pinpoint that follows (``at [50]-[52]``).
    """
    found = []
    for match in _SECTION.finditer(_CASES.sub(_blank, _plain(text))):
        name = match["unit"].lower()
        unit = (
            "regulation"
            if name.startswith("reg")
            else _WORDS["provisions"].get(name[0])
        )
        rule = f" rule {match['rule'].replace(' ', '')}" if match["rule"] else ""
        for number in re.findall(_PROVISION, match["numbers"]):
            found.append(f"{unit} {number.replace(' ', '')}{rule}")
    return found


def _plain(text):
    return re.sub(r"\s", " ", fold(text))


def _blank(match):
    return " " * len(match.group())


# What is named alike.


@lru_cache(maxsize=256)
def mentions(text):
    """Distinct numbers, dates, provisions and parties of a text."""
    plain = _plain(text)
    dates = set()
    remainder = plain
    for match in _DATES.finditer(plain):
        date = _date(match)
        if date:
            dates.add(date)
            remainder = (
                remainder[: match.start()] + _blank(match) + remainder[match.end() :]
            )
    remainder = _CASES.sub(_blank, remainder)
    remainder = _SECTION.sub(_blank, remainder)
    parties = set()
    for start, end in sentences(plain):
        sides = _PARTIES.findall(remainder[start:end])
        for side in itertools.chain(*sides):
            name = side.removeprefix("In ").removeprefix("See ")
            parties.add(name.strip(" .,").casefold())
    numbers = set(map(_value, _NUMBER.finditer(remainder)))
    return {
        "number": numbers,
        "date": dates,
        "provision": set(provisions(text)),
        "party": parties,
    }


def _date(match):
    """A date as YYYY-MM-DD, None if there is no such month or day."""
    parts = {group[0]: text for group, text in match.groupdict().items() if text}
    name = parts["m"].lower()
    month = _WORDS["months"].get(name) or int(name)
    day = int(parts["d"])
    if month not in range(1, 13) or day not in range(1, 32):
        return None
    return f"{parts['y']}-{month:02d}-{day:02d}"


def _value(match):
    """A number as text, without separators and multiplied out."""
    parts = {group[0]: text for group, text in match.groupdict("").items() if text}
    unit = parts.get("s", "").lower()
    scale = _WORDS["multipliers"].get(unit, 1)
    if "w" in parts:
        word = parts["w"].lower()
        return str(_WORDS["numbers"][word] * scale)
    digits = parts["d"].replace(",", "")
    number = f"{float(digits) * scale:.6f}".rstrip("0").rstrip(".")
    return f"{number}%" if "p" in parts else number


def share_named(explanation, source):
    """Share of what an explanation names that a source names too, None where it names nothing."""
    in_source = mentions(source)
    text = _spaced(source)
    n_shared = 0
    n_named = 0
    for kind, named in mentions(explanation).items():
        shared = named & in_source[kind]
        if kind == "party":
            shared |= {side for side in named if _spaced(side) in text}
        n_shared += len(shared)
        n_named += len(named)
    return n_shared / n_named if n_named else None


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
    shares = [
        len(words & content_words(text)) / max(len(words), 1)
        for text in source_sentences
    ]
    if max(shares, default=0.0) < LEAST_OVERLAP:
        return None
    nearest = source_sentences[shares.index(max(shares))]
    in_source = _negated(nearest)
    turned = [
        word for word, state in _negated(sentence) if (word, not state) in in_source
    ]
    modalities = [modality(nearest), modality(sentence)]
    if None not in modalities and len(set(modalities)) == 2:
        turned.append(" to ".join(modalities))
    return sorted(turned)


def _negated(sentence):
    """Each content word and whether an odd number of negators precede it where it is first."""
    words = ["not" if word.endswith("n't") else word for word in tokens(sentence)]
    negated = {}
    for position, word in enumerate(words):
        if word not in STOP_LIST and word not in _NEGATORS:
            before = words[max(0, position - SCOPE) : position]
            negators = [each for each in before if each in _NEGATORS]
            negated.setdefault(word, len(negators) % 2 == 1)
    return negated.items()


def modality(sentence):
    """Modality of the first modal phrase of a sentence."""
    words = [re.sub("n't$", " not", word) for word in tokens(sentence)]
    match = _MODAL.search(" ".join(words))
    return match and match.lastgroup
