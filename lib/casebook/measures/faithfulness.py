"""Faithfulness: how much of an explanation its sources support.

`documented_faithfulness` is the documented rule with all its properties, and
`faithfulness` the corrected one. Neither understands language: they count shared words,
and mean something only beside the same count against sources that have nothing to do
with the explanation (`casebook.measures.faithfulness_controls`).
"""

import math
from collections import Counter
from dataclasses import dataclass

from casebook.errors import InputError
from casebook.text import content_words, passages, sentences

THRESHOLD = 0.4
PASSAGE_WORDS = 200


@dataclass(frozen=True)
class Support:
    """How far one sentence is supported."""

    text: str
    n_words: int
    share: float | None
    passage: int | None
    grounded: bool | None


@dataclass(frozen=True)
class Faithfulness:
    """Faithfulness of one explanation."""

    score: float | None
    mean_share: float | None
    n_sentences: int
    n_claims: int
    n_grounded: int
    n_passages: int
    longest_passage: int
    reason: str | None
    sentences: tuple


def faithfulness(explanation, sources, *, threshold=THRESHOLD, max_words=PASSAGE_WORDS, weights=None):
    """Share of an explanation's claims that one bounded passage supports."""
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie in (0, 1], not {threshold}")
    cut = [p for source in source_texts(sources) for p in passages(source, max_words)]
    vocabularies = [content_words(passage) for passage in cut]
    found = [
        _support(explanation[start:end], vocabularies, threshold, weights) for start, end in sentences(explanation)
    ]
    return _summary(found, cut)


def source_texts(sources):
    """Give sources as a list of texts."""
    texts = [sources] if isinstance(sources, str) else list(sources)
    wrong = [type(text).__name__ for text in texts if not isinstance(text, str)]
    if wrong:
        raise InputError(f"a source is {wrong[0]}, not text")
    return texts


def _support(sentence, vocabularies, threshold, weights):
    words = content_words(sentence)
    if not words or not vocabularies:
        return Support(sentence, len(words), None, None, None)
    shares = [_share(words, known, weights) for known in vocabularies]
    best = max(range(len(shares)), key=shares.__getitem__)
    grounded = shares[best] >= threshold - 1e-12
    return Support(sentence, len(words), shares[best], best, grounded)


def _share(words, known, weights):
    if weights is None:
        return len(words & known) / len(words)
    other = weights[None]
    # Summed in one order, so that equal sets give equal shares.
    total = math.fsum(weights.get(word, other) for word in words)
    return math.fsum(weights.get(word, other) for word in words & known) / total


def _summary(found, cut):
    claims = [support for support in found if support.share is not None]
    grounded = sum(support.grounded for support in claims)
    reason = None
    if not claims:
        reason = "no_claim" if not any(s.n_words for s in found) else "no_source"
    return Faithfulness(
        grounded / len(claims) if claims else None,
        math.fsum(s.share for s in claims) / len(claims) if claims else None,
        len(found),
        len(claims),
        grounded,
        len(cut),
        max((len(passage.split()) for passage in cut), default=0),
        reason,
        tuple(found),
    )


def inverse_frequency(texts):
    """Weigh words by how few texts hold them."""
    texts = list(texts)
    if not texts:
        raise InputError("word weights need at least one passage")
    frequency = Counter(word for text in texts for word in content_words(text))
    weights = {word: math.log((len(texts) + 1) / (count + 1)) + 1 for word, count in frequency.items()}
    return weights | {None: math.log(len(texts) + 1) + 1}
