"""Quotations and citations of an explanation, and whether its sources hold them.

States of a quotation: *verbatim*, the same characters up to typographic variants; *repaired*, the
same words once editorial brackets, ellipses, case and punctuation are seen through;
*misattributed*, one of these in a source other than the one cited beside it; *stitched*, every part
stands somewhere, but not together; *absent*. States of a citation: *verbatim*, written as the
source is; *repaired*, the same in another spelling; *misattributed*, a source other than the one
expected; *stitched*, parts of several sources in one, or one case's name with another's citation;
*absent*.

Citations are neutral ones (``[2019] UKSC 41``), reports (``[1932] AC 562``, ``AIR 1973 SC 1461``,
``410 U.S. 113``), provisions with their Act where it stands beside them, and the pinpoint that
follows (``at [50]-[52]``, ``para 42``).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from casebook.errors import InputError
from casebook.measures.faithfulness import source_texts
from casebook.text import STOP_LIST, fold, sentences

STATES = ("verbatim", "repaired", "misattributed", "stitched", "absent")
LEAST_WORDS = 3
LEAST_PIECE = 3
LONGEST_GAP = 80
_DOUBLE = re.compile(r"[“„«](?P<curly>[^“”„«»]+)[”»“]|\"(?P<plain>[^\"]+)\"")
# A single mark opens after a space or bracket and closes before one: else it is an
# apostrophe, as in "the PM's advice" or "the judges' duty".
_SINGLE = re.compile(r"(?<![\w’'])[‘'](?P<single>\S[^“”\"]*?[\w.,;!?\])])[’'](?![\w])")
_ELLIPSIS = re.compile(r"\[?\s*(?:\.\s?){3,}\]?|\[?…\]?")
_ALTERED = re.compile(r"\[([A-Za-z]?)\]")
_INSERTED = re.compile(r"\[[^\]]*[A-Za-z][^\]]*\]")
_WORD = re.compile(r"\w+(?:'\w+)*")


@dataclass(frozen=True)
class Quote:
    """One quotation and its state."""

    text: str
    state: str
    source: object
    cited: object
    start: int
    end: int


def find_quotes(text, least_words=LEAST_WORDS):
    """Find the quotations of a text."""
    spans = []
    for pattern in (_DOUBLE, _SINGLE):
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup)
            inside = any(a <= start and end <= b for a, b in spans)
            if not inside and len(_WORD.findall(fold(text[start:end]))) >= least_words:
                spans.append((start, end))
    return sorted(spans)


def quote_states(explanation, sources, citations=None, *, least_words=LEAST_WORDS):
    """Say of every quotation of an explanation whether the sources hold it."""
    unknown = set((citations or {}).values()) - set(sources)
    if unknown:
        raise InputError(f"citations name unknown sources: {sorted(map(str, unknown))}")
    quotes = []
    for start, end in find_quotes(explanation, least_words):
        text = explanation[start:end]
        cited = _cited_source(explanation, start, end, citations or {})
        state, source = _quote_state(text, sources, cited)
        quotes.append(Quote(text, state, source, cited, start, end))
    return quotes


def share_quoted_rightly(explanation, sources):
    """Share of the quotations of an explanation that a source has, None without a quotation."""
    states = [quote.state for quote in quote_states(explanation, sources)]
    if not states:
        return None
    return sum(state in ("verbatim", "repaired") for state in states) / len(states)


def _cited_source(text, start, end, citations):
    """Key of the source cited in the sentence of a quotation, or None."""
    spans = [span for span in sentences(text) if span[0] < end and span[1] > start]
    left = 0
    right = len(text)
    if spans:
        left = spans[0][0]
        right = spans[-1][1]
    before = None
    for citation in find_citations(text[left:right]):
        if citation.canonical not in citations:
            continue
        source = citations[citation.canonical]
        if citation.start + left >= end:
            return source  # the first after the quotation
        if citation.start + left < start:
            before = source  # else the last before it
    return before


def _quote_state(quote, sources, cited):
    """State of a quotation, and the source that has it."""
    keys = list(sources)
    if cited in sources:
        keys.remove(cited)
        keys.insert(0, cited)
    for state, is_in in [("verbatim", _is_verbatim), ("repaired", _is_repaired)]:
        for key in keys:
            if is_in(quote, sources[key]):
                misattributed = cited is not None and key != cited
                return ("misattributed" if misattributed else state), key
    if _is_stitched(quote, sources.values()):
        return "stitched", None
    return "absent", None


def _is_verbatim(quote, source):
    """Whether the source has the same characters, but for typography and the last mark."""
    plain = _squeezed(quote).rstrip(".,;:")
    return re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", _squeezed(source)) is not None


@lru_cache(maxsize=512)
def _squeezed(text):
    return re.sub(r"\s+", " ", fold(text)).strip()


def _is_repaired(quote, source):
    """Whether the source has the words in order, with marked changes and short gaps at these."""
    pieces = []
    for piece in _pieces(quote):
        words = _folded_words(piece)
        if words:
            pieces.append(re.escape(" ".join(words)))
    if not pieces:
        return False
    gap = rf" (?:\S+ ){{0,{LONGEST_GAP}}}?"
    pattern = rf"(?<!\S){gap.join(pieces)}(?!\S)"
    return re.search(pattern, " ".join(_folded_words(source))) is not None


def _pieces(quote):
    """Cut a quotation at its ellipses and insertions; undo changed initials."""
    plain = _ALTERED.sub(r"\1", fold(quote))
    return re.split(rf"{_ELLIPSIS.pattern}|{_INSERTED.pattern}", plain)


@lru_cache(maxsize=512)
def _folded_words(text):
    return tuple(w.casefold() for w in _WORD.findall(fold(text)))


def _is_stitched(quote, sources):
    """Whether runs of words from the sources cover the quote, but for joining words."""
    words = []
    for piece in _pieces(quote):
        words.extend(_folded_words(piece))
    texts = [f" {' '.join(_folded_words(source))} " for source in sources]
    position = 0
    n_runs = 0
    while position < len(words):
        end = _end_of_run(words, position, texts)
        if end is not None:
            position = end
            n_runs += 1
        elif n_runs and words[position] in STOP_LIST:
            position += 1
        else:
            return False
    return n_runs > 0


def _end_of_run(words, start, texts):
    """End of the longest run of words from `start` that a text has; None if all are too short."""
    for end in range(len(words), start + LEAST_PIECE - 1, -1):
        run = f" {' '.join(words[start:end])} "
        if any(run in text for text in texts):
            return end
    return None


# Citations, written in one canonical way.

_YEAR = r"(?:1[6-9]|20)\d\d"
_DIVISION = r"(?: ?\((?:[A-Z][A-Za-z]*|[A-Z])\))?"
_SERIES = r"[A-Z][A-Za-z.]*(?: ?(?:\([A-Z][A-Za-z]*\)|&|[A-Z][A-Za-z.]*)){0,3}"
_COURT = r"[A-Z]{2,8}(?: (?:Civ|Crim|Admin|Ch|Comm|Fam|Pat|TCC|\([A-Z][A-Za-z]*\)))?"
_PINPOINT = (
    r"(?:,? ?(?:at )?(?P<pin>\[\d{1,3}\](?: ?(?:-|to|and|,) ?\[\d{1,3}\])*"
    r"|(?:paras?\.?|paragraphs?|¶+) ?\d{1,4}(?: ?(?:-|to|and|,) ?\d{1,4})*"
    r"|(?:p|pp|pages?)\.? ?\d{1,4}[A-H]?(?: ?- ?\d{1,4}[A-H]?)?"
    r"|(?<=at )\d{1,4}[A-H]?))?"
)
_CASES = [
    rf"\[(?P<year>{_YEAR})\] (?P<volume>\d{{1,3}} )?(?P<series>{_SERIES}) ?"
    rf"(?P<page>\d{{1,5}})(?P<division>{_DIVISION})",
    rf"\((?P<year>{_YEAR})\) (?P<volume>\d{{1,3}} )?(?P<series>{_SERIES}) ?"
    rf"(?P<page>\d{{1,5}})",
    rf"(?P<series>A\.? ?I\.? ?R\.?) (?P<year>{_YEAR}) (?P<volume>[A-Z][A-Za-z&. ]*?) "
    rf"(?P<page>\d{{1,5}})",
    rf"\b(?P<year>{_YEAR}) (?P<series>{_COURT}) (?P<page>\d{{1,5}})",
    r"\b(?P<volume>\d{1,3} )(?P<series>U\. ?S\.|F\. ?[23]d|S\. ?Ct\.|C\. ?L\. ?R\.)"
    r" (?P<page>\d{1,5})(?: \((?P<year>\d{4})\))?",
]
_UNIT = (
    r"(?:[Ss]ections?|[Ss]ecs?\.?|[Ss]s?\.?|[Aa]rticles?|[Aa]rts?\.?|[Rr]egulations?"
    r"|[Rr]egs?\.?|[Oo]rder|[Rr]ules?|[Cc]lauses?|[Cc]ls?\.?)"
)
_NUMBER = r"\d{1,4}[A-Z]{0,3}(?: ?\((?:\d{1,3}|[a-z]{1,4}|[A-Z]{1,2})\))*"
_ACT = (
    r"(?:I\.?P\.?C\.?|Cr\.?P\.?C\.?|C\.?P\.?C\.?|PDPA|GDPR|POCSO|NDPS|BNSS?|BSA"
    r"|Constitution|Evidence Act|Penal Code)"
)
_SECTION = re.compile(
    rf"(?<![\w.])(?:(?P<before>{_ACT}),? ?)?(?P<unit>{_UNIT}) ?(?P<numbers>{_NUMBER}"
    rf"(?:(?:, ?| and | or | ?- ?| to |, and ){_NUMBER})*)(?![\d])"
    rf"(?: Rules? (?P<rule>{_NUMBER}))?"
    rf"(?:,? (?:of )?(?:the )?(?P<after>{_ACT})\b)?"
)
_PROVISION_KINDS = {"a": "article", "o": "order", "r": "rule", "c": "clause", "s": "section"}


@dataclass(frozen=True)
class Citation:
    """One citation of a text."""

    kind: str
    text: str
    canonical: str
    parts: tuple
    pinpoint: str | None
    start: int
    end: int


def find_citations(text):
    """Find the citations of a text."""
    plain = re.sub(r"\s", " ", fold(text))
    citations = []
    for pattern in _CASES:
        for match in re.finditer(pattern + _PINPOINT, plain):
            citations.append(_case(match, text))
    for match in _SECTION.finditer(plain):
        citations += _provisions(match, text)
    apart = []
    for citation in sorted(citations, key=_reading_order):
        if not apart or citation.start >= apart[-1].end:
            apart.append(citation)
    return apart


def _reading_order(citation):
    """Sort citations by their start, cases before provisions, long before short ones."""
    return citation.start, citation.kind != "case", -citation.end


def _case(match, text):
    """Citation of a case."""
    parts = match.groupdict()
    end = match.start("pin") if parts.get("pin") else match.end()
    year = parts["year"] or ""
    series = re.sub(r"[. ]", "", parts["series"])
    volume = re.sub(r"[. ]", "", parts.get("volume") or "")
    division = re.sub(r"[ ()]", "", parts.get("division") or "")
    name = f"AIR {volume}" if series == "AIR" else f"{volume} {series}{division}".strip()
    written = re.sub(r"[, ]+(?:at)?$", "", text[match.start() : end].rstrip(" ,"))
    case_parts = (year, name, parts["page"])
    return Citation(
        kind="case",
        text=written,
        canonical=" ".join(filter(None, case_parts)),
        parts=case_parts,
        pinpoint=parts.get("pin"),
        start=match.start(),
        end=match.end(),
    )


def _provisions(match, text):
    """Citations of the provisions of one Act."""
    parts = match.groupdict()
    act = re.sub("[. ]", "", parts["before"] or parts["after"] or "")
    name = parts["unit"].lower()
    unit = "regulation" if name.startswith("reg") else _PROVISION_KINDS.get(name[0], "section")
    rule = f" rule {parts['rule'].replace(' ', '')}" if parts["rule"] else ""
    for number in re.finditer(_NUMBER, parts["numbers"]):
        value = number.group().replace(" ", "") + rule
        start = match.start("numbers") + number.start()
        end = match.start("numbers") + number.end()
        yield Citation(
            kind="provision",
            text=text[start:end],
            canonical=f"{act} {unit} {value}".strip(),
            parts=(act, unit, value),
            pinpoint=None,
            start=start,
            end=end,
        )


def canonical(text):
    """Write a single citation in the canonical way."""
    citations = find_citations(text)
    return citations[0].canonical if citations else None


# States of citations.

PARTY = r"[A-Z(][\w'&.)]*(?: (?:(?:of|the|and|for|de) ){0,2}[A-Z(][\w'&.)]*)*"
"""Pattern of one side of a case name: capitalised words, small ones between them."""
_NAME = re.compile(rf"{PARTY} (?:v|vs)\.? (?:the )?{PARTY}[,:;]? ?$")
_NO_NAME = {"and", "anr", "co", "de", "for", "ltd", "of", "ors", "pvt", "r", "state"}
_NO_NAME |= {"the", "union", "v", "vs"}


@dataclass(frozen=True)
class CitationState:
    """One citation and its state."""

    citation: object
    state: str
    source: object


def citation_states(explanation, sources, *, names=None, expected=None):
    """Say of every citation of an explanation which source it names."""
    cited_sources = _cited_sources(sources)
    states = []
    for citation in find_citations(explanation):
        state, source = _citation_state(citation, explanation, cited_sources, names, expected)
        states.append(CitationState(citation, state, source))
    return states


def _cited_sources(sources):
    """Give canonical citation to (key, ways it is written, parts)."""
    cited_sources = {}
    for written, key in sources.items():
        citations = find_citations(written)
        if not citations:
            raise InputError(f"source {written!r} is not written as a citation")
        name = citations[0].canonical
        earlier_key, spellings, _ = cited_sources.get(name, (key, set(), None))
        if earlier_key != key:
            raise InputError(f"{written!r} names both {earlier_key!r} and {key!r}")
        spellings = spellings | {fold(citations[0].text)}
        cited_sources[name] = key, spellings, citations[0].parts
    return cited_sources


def _citation_state(citation, text, cited_sources, names, expected):
    """State of one citation, and the source that it names."""
    if citation.canonical not in cited_sources:
        parts_of_sources = [parts for _, _, parts in cited_sources.values()]
        return ("stitched" if _mixed(citation, parts_of_sources) else "absent"), None
    key, spellings, _ = cited_sources[citation.canonical]
    if _names_another(text[: citation.start], key, names or {}):
        return "stitched", None
    if expected is not None and key != expected:
        return "misattributed", key
    return ("verbatim" if fold(citation.text) in spellings else "repaired"), key


def _mixed(citation, parts_of_sources):
    """Whether each part of a case citation stands in some source, but not together."""
    if citation.kind != "case":
        return False
    columns = zip(*parts_of_sources, strict=True) if parts_of_sources else ()
    return all(part in column for part, column in zip(citation.parts, columns, strict=False))


def _names_another(before, key, names):
    """Whether the case name right before a citation fits other sources only."""
    match = _NAME.search(fold(before).replace("\n", " "))
    if not match:
        return False
    words = _words_of_name(match.group())
    fits = [source for source, name in names.items() if words & _words_of_name(name)]
    return bool(fits) and key not in fits


def _words_of_name(name):
    """Words that tell one case name from another."""
    return set(re.findall(r"\w+", fold(name).lower())) - _NO_NAME


# Quotations and citations as two public scorers read them: parity only. Both were made for answers
# that cite passages by number; legal text has square brackets and apostrophes of its own.

_BRACKET = re.compile(r"\[(\d+)")
_MARKS = "\"'`´"
_SPAN = re.compile(f"[{_MARKS}](.*?)[{_MARKS}]")


def bracket_references(text):
    """Read passage numbers in square brackets as ALCE does."""
    return [int(number) - 1 for number in _BRACKET.findall(text)]


def quoted_span_alignment(answer, sources):
    """Give the share of quoted spans that stand in the sources, as ragas does."""
    source_text = _lowered(" ".join(source_texts(sources)))
    inner = (match.strip() for match in _SPAN.findall(answer))
    spans = [span for span in inner if len(span.split()) >= LEAST_WORDS]
    matched = sum(_lowered(span) in source_text for span in spans)
    return {
        "citation_alignment_quoted_spans": matched / len(spans) if spans else 0.0,
        "matched": float(matched),
        "total": float(len(spans)),
    }


def _lowered(text):
    return " ".join(text.split()).lower()
