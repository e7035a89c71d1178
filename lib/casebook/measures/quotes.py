"""Quotations in an explanation, and whether its sources hold them.

States: *verbatim*, the same characters up to typographic variants; *repaired*, the same
words once editorial brackets, ellipses, case and punctuation are seen through;
*misattributed*, one of these in another source than the one cited beside it;
*stitched*, every part stands somewhere, but not together; *absent*, none of these.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from casebook.errors import InputError
from casebook.measures.citations import find_citations
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
    found = []
    for pattern in (_DOUBLE, _SINGLE):
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup)
            inside = any(a <= start and end <= b for a, b in found)
            if not inside and len(_WORD.findall(fold(text[start:end]))) >= least_words:
                found.append((start, end))
    return sorted(found)


def quote_states(explanation, sources, citations=None, *, least_words=LEAST_WORDS):
    """Say of every quotation of an explanation whether the sources hold it."""
    unknown = set((citations or {}).values()) - set(sources)
    if unknown:
        raise InputError(f"citations name unknown sources: {sorted(map(str, unknown))}")
    return [
        _state(explanation[start:end], sources, _cited(explanation, start, end, citations or {}), (start, end))
        for start, end in find_quotes(explanation, least_words)
    ]


def _cited(text, start, end, citations):
    """Key of the source cited in the sentence of a quotation, or None."""
    spans = [span for span in sentences(text) if span[0] < end and span[1] > start]
    left = min((a for a, _ in spans), default=0)
    right = max((b for _, b in spans), default=len(text))
    known = [
        (c.start + left, citations[c.canonical]) for c in find_citations(text[left:right]) if c.canonical in citations
    ]
    after = [key for place, key in known if place >= end]
    before = [key for place, key in known if place < start]
    return after[0] if after else before[-1] if before else None


def _state(quote, sources, cited, place):
    order = sorted(sources, key=lambda key: key != cited)  # the cited source first
    for state, holds in (("verbatim", _holds_verbatim), ("repaired", _holds_repaired)):
        holder = next((key for key in order if holds(quote, sources[key])), None)
        if holder is not None:
            moved = cited is not None and holder != cited
            return Quote(quote, "misattributed" if moved else state, holder, cited, *place)
    state = "stitched" if _is_stitched(quote, sources.values()) else "absent"
    return Quote(quote, state, None, cited, *place)


def _holds_verbatim(quote, source):
    """Tell whether the characters stand there, but for typography and the last mark."""
    plain = _squeezed(quote).rstrip(".,;:")
    return re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", _squeezed(source)) is not None


@lru_cache(maxsize=512)
def _squeezed(text):
    return re.sub(r"\s+", " ", fold(text)).strip()


def _holds_repaired(quote, source):
    """Tell whether the words stand there in order, with marked changes only."""
    pieces = [words for words in map(_words, _pieces(quote)) if words]
    return bool(pieces) and _in_order(pieces, _words(source))


def _pieces(quote):
    """Cut a quotation at its ellipses and insertions; undo changed initials."""
    plain = _ALTERED.sub(r"\1", fold(quote))
    return re.split(rf"{_ELLIPSIS.pattern}|{_INSERTED.pattern}", plain)


@lru_cache(maxsize=512)
def _words(text):
    return tuple(w.casefold() for w in _WORD.findall(fold(text)))


def _in_order(pieces, words):
    """Whether the pieces follow each other in the words, with short gaps."""
    first = pieces[0]
    for start in _places(first, words):
        end = start + len(first)
        for piece in pieces[1:]:
            window = words[end : end + LONGEST_GAP + len(piece)]
            place = next(iter(_places(piece, window)), None)
            if place is None:
                break
            end += place + len(piece)
        else:
            return True
    return False


def _places(piece, words):
    size = len(piece)
    return (i for i in range(len(words) - size + 1) if words[i : i + size] == piece)


def _is_stitched(quote, sources):
    """Whether runs of words from the sources cover the quote, but for joining words."""
    words = tuple(w for piece in _pieces(quote) for w in _words(piece))
    texts = [f" {' '.join(_words(source))} " for source in sources]
    done = runs = 0
    while done < len(words):
        end = len(words)
        while end - done >= LEAST_PIECE and not _stands(words[done:end], texts):
            end -= 1
        if end - done >= LEAST_PIECE:
            done, runs = end, runs + 1
        elif runs and words[done] in STOP_LIST:
            done += 1
        else:
            return False
    return runs > 0


def _stands(words, texts):
    run = f" {' '.join(words)} "
    return any(run in text for text in texts)
