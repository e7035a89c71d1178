"""Quotations of an explanation, and whether its sources hold them.

A quotation is *verbatim* if a source has the same characters up to typographic variants,
*repaired* if it has the same words once editorial brackets, ellipses, case and punctuation are seen
through, else *absent*.
"""

import re
from functools import lru_cache

from casebook.text import fold, tokens

LEAST_WORDS = 3
LONGEST_GAP = 80
_DOUBLE = re.compile(r"[“„«](?P<curly>[^“”„«»]+)[”»“]|\"(?P<plain>[^\"]+)\"")
# A single mark opens after a space or bracket and closes before one: else it is an
# apostrophe, as in "the PM's advice" or "the judges' duty".
_SINGLE = re.compile(r"(?<![\w’'])[‘'](?P<single>\S[^“”\"]*?[\w.,;!?\])])[’'](?![\w])")
_ALTERED = re.compile(r"\[([A-Za-z]?)\]")
_LEFT_OUT = r"\[?\s*(?:\.\s?){3,}\]?|\[?…\]?"
_CUT = re.compile(rf"{_LEFT_OUT}|\[[^\]]*[A-Za-z][^\]]*\]")  # or inserted


def find_quotes(text):
    """Spans of the quotations of a text."""
    spans = []
    for pattern in (_DOUBLE, _SINGLE):
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup)
            inside = any(a <= start and end <= b for a, b in spans)
            if not inside and len(tokens(text[start:end])) >= LEAST_WORDS:
                spans.append((start, end))
    return sorted(spans)


def quote_states(explanation, sources):
    """Quotations of an explanation, each with its state in the sources."""
    quotes = [explanation[start:end] for start, end in find_quotes(explanation)]
    return [(quote, _state(quote, sources)) for quote in quotes]


def share_quoted_rightly(explanation, sources):
    """Share of the quotations of an explanation that a source has, None without a quotation."""
    found = [state != "absent" for _, state in quote_states(explanation, sources)]
    return sum(found) / len(found) if found else None


def _state(quote, sources):
    if any(_is_verbatim(quote, source) for source in sources):
        return "verbatim"
    return (
        "repaired"
        if any(_is_repaired(quote, source) for source in sources)
        else "absent"
    )


def _is_verbatim(quote, source):
    """Whether the source has the same characters, but for typography and the last mark."""
    plain = _squeezed(quote).rstrip(".,;:")
    return re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", _squeezed(source)) is not None


@lru_cache(maxsize=512)
def _squeezed(text):
    return re.sub(r"\s+", " ", fold(text)).strip()


def _is_repaired(quote, source):
    """Whether the source has the words in order, with marked changes and short gaps at these."""
    # An altered initial is undone.
    pieces = _CUT.split(_ALTERED.sub(r"\1", fold(quote)))
    pieces = [re.escape(" ".join(words)) for words in map(tokens, pieces) if words]
    gap = rf" (?:\S+ ){{0,{LONGEST_GAP}}}?"
    pattern = rf"(?<!\S){gap.join(pieces)}(?!\S)"
    return bool(pieces) and re.search(pattern, " ".join(tokens(source))) is not None


# Passage numbers as a public scorer reads them, for answers that cite passages by number.


def bracket_references(text):
    """Passage numbers in square brackets, as ALCE reads them."""
    return [int(number) - 1 for number in re.findall(r"\[(\d+)", text)]
