"""Faithfulness as documented: sentences by shared words."""

import re

from casebook.measures.faithfulness import THRESHOLD, source_texts

_DOCUMENTED_BREAK = re.compile(r"(?<=[.!?])\s+")
_DOCUMENTED_TOKEN = re.compile(r"[a-z][a-z0-9]+")


def documented_faithfulness(explanation, sources, *, threshold=THRESHOLD):
    """Documented faithfulness: 40 % of a sentence's words stand in one source.

    Parameters
    ----------
    explanation : str
        Text to judge.
    sources : str or sequence of str
        Source texts, of any length.
    threshold : float, default 0.4
        Share that grounds a sentence, inclusive.

    Returns
    -------
    float
        Grounded sentences over sentences, in [0, 1].

    Notes
    -----
    Kept as documented and implemented: sentences end after ``.``, ``!`` or ``?`` and
    white space, abbreviations or not; the "content words" are all runs of
    ``[a-z][a-z0-9]+``, function words included and numbers left out; a sentence without
    such a word is grounded; an explanation without a sentence scores 1; without any
    source only such wordless sentences are grounded. Sources are not bounded in length,
    so a long one grounds nearly everything.
    """
    shares = [share for share, _ in documented_shares(explanation, sources)]
    if not shares:
        return 1.0
    return sum(share >= threshold for share in shares) / len(shares)


def documented_shares(explanation, sources):
    """Give each sentence's best share of words under the documented rule.

    Parameters
    ----------
    explanation, sources
        As in `documented_faithfulness`.

    Returns
    -------
    list of (float, str)
        Share in [0, 1] and sentence; the share is 1 for a sentence without a word.
    """
    vocabularies = [documented_words(source) for source in source_texts(sources)]
    found = []
    for sentence in _DOCUMENTED_BREAK.split(explanation.strip()):
        words = documented_words(sentence)
        if sentence and not words:
            found.append((1.0, sentence))
        elif sentence:
            common = max((len(words & known) for known in vocabularies), default=0)
            found.append((common / len(words), sentence))
    return found


def documented_words(text):
    """Give what the documented rule counts as words.

    Parameters
    ----------
    text : str
        Text.

    Returns
    -------
    frozenset of str
        Runs of ``[a-z][a-z0-9]+`` in the lower-case text, function words too.
    """
    return frozenset(_DOCUMENTED_TOKEN.findall(text.lower()))
