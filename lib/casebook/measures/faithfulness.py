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
from casebook.measures.legal_text import content_words, passages, sentences

THRESHOLD = 0.4
PASSAGE_WORDS = 200


@dataclass(frozen=True)
class Support:
    """How far one sentence is supported.

    Attributes
    ----------
    text : str
        The sentence.
    n_words : int
        Number of distinct words counted.
    share : float or None
        Share of them, weighted if weights were given, in the best single passage, 0 to
        1; None if there is no word to count.
    passage : int or None
        Number of that passage, the first of equals.
    grounded : bool or None
        Whether the share reaches the threshold; None if undefined.
    """

    text: str
    n_words: int
    share: float | None
    passage: int | None
    grounded: bool | None


@dataclass(frozen=True)
class Faithfulness:
    """Faithfulness of one explanation.

    Attributes
    ----------
    score : float or None
        Share of claims that are grounded, 0 to 1; None if there is none.
    mean_share : float or None
        Mean share of the claims, which needs no threshold.
    n_sentences, n_claims, n_grounded : int
        Sentences; those with a word to count; those grounded.
    n_passages, longest_passage : int
        Number of passages, and words in the longest: long ones support anything.
    reason : str or None
        Why there is no score: ``"no_claim"`` or ``"no_source"``.
    sentences : tuple of Support
        One per sentence.
    """

    score: float | None
    mean_share: float | None
    n_sentences: int
    n_claims: int
    n_grounded: int
    n_passages: int
    longest_passage: int
    reason: str | None
    sentences: tuple


def faithfulness(
    explanation, sources, *, threshold=THRESHOLD, max_words=PASSAGE_WORDS, weights=None
):
    """Share of an explanation's claims that one bounded passage supports.

    Parameters
    ----------
    explanation : str
        Text to judge.
    sources : str or sequence of str
        Source texts. Templates that the explanation was made from are no sources, and
        metadata are to be scored apart from text.
    threshold : float, default 0.4
        Share of content words that grounds a claim, inclusive, in (0, 1].
    max_words : int or None, default 200
        Sources are cut into overlapping passages of at most so many words.
    weights : dict of str to float, optional
        Weight of each content word, such as `inverse_frequency`; words not in it have
        the weight ``weights[None]``.

    Returns
    -------
    Faithfulness

    Raises
    ------
    InputError
        If a text is not text or an option is out of range.

    Notes
    -----
    Content words are those of `casebook.measures.legal_text.content_words`: no function
    words, but numbers and section ids. Sentences without any are no claims: they are
    counted and left out, and an explanation without a claim has no score.
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie in (0, 1], not {threshold}")
    cut = [p for source in source_texts(sources) for p in passages(source, max_words)]
    vocabularies = [content_words(passage) for passage in cut]
    found = [
        _support(explanation[start:end], vocabularies, threshold, weights)
        for start, end in sentences(explanation)
    ]
    return _summary(found, cut)


def source_texts(sources):
    """Give sources as a list of texts.

    Parameters
    ----------
    sources : str or sequence of str
        A single text is one source.

    Returns
    -------
    list of str
        Texts.

    Raises
    ------
    InputError
        If a source is no text.
    """
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
    """Weigh words by how few texts hold them.

    Parameters
    ----------
    texts : sequence of str
        Passages of a collection, at least one.

    Returns
    -------
    dict
        Content word to ``ln((N + 1) / (df + 1)) + 1``; under None the weight of a word
        that none holds.

    Raises
    ------
    InputError
        If there is no text.
    """
    texts = list(texts)
    if not texts:
        raise InputError("word weights need at least one passage")
    frequency = Counter(word for text in texts for word in content_words(text))
    weights = {
        word: math.log((len(texts) + 1) / (count + 1)) + 1
        for word, count in frequency.items()
    }
    return weights | {None: math.log(len(texts) + 1) + 1}
