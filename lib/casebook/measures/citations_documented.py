"""Quotations and citations as two public scorers read them: parity only.

Both were made for answers that cite passages by number. Legal text has square brackets
and apostrophes of its own, which `quotes` and `citations` tell apart.

References
----------
.. [1] Gao, Yen, Yu and Chen (2023), Enabling large language models to generate text
   with citations, EMNLP (ALCE).
.. [2] Es, James, Espinosa-Anke and Schockaert (2024), RAGAs: automated evaluation of
   retrieval augmented generation, EACL demonstrations; the quoted spans are those of
   release 0.4.3.
"""

import re

from casebook.measures.faithfulness import source_texts

_BRACKET = re.compile(r"\[(\d+)")
_MARKS = "\"'`´"
_SPAN = re.compile(f"[{_MARKS}](.*?)[{_MARKS}]")
_LEAST_WORDS = 3


def bracket_references(text):
    """Read passage numbers in square brackets as ALCE does [1]_."""
    return [int(number) - 1 for number in _BRACKET.findall(text)]


def quoted_span_alignment(answer, sources):
    """Give the share of quoted spans that stand in the sources, as ragas does [2]_."""
    held = _squeezed(" ".join(source_texts(sources)))
    inner = (match.strip() for match in _SPAN.findall(answer))
    spans = [span for span in inner if len(span.split()) >= _LEAST_WORDS]
    matched = sum(_squeezed(span) in held for span in spans)
    return {
        "citation_alignment_quoted_spans": matched / len(spans) if spans else 0.0,
        "matched": float(matched),
        "total": float(len(spans)),
    }


def _squeezed(text):
    return " ".join(text.split()).lower()
