"""Whether a statement can be checked against documents, by rules on whole words."""

import re

from casebook.factcheck.model import OPINION, PREDICTION, VAGUE, VERIFIABLE
from casebook.factcheck.words import listed, numbers, words

_OPINION = listed(
    "believe believes feel feels think thinks opinion best worst unfair terrible awful "
    "horrible excellent wonderful great bad badly good better worse beautiful ugly "
    "outrageous disappointing rude lazy ashamed ought deserve deserves generous stupid "
    "shameful disgraceful"
)
# Words of judgement that are measured things in front of these.
_MEASURED = listed("estimate endeavours efforts evidence practice faith")
_VAGUE = listed(
    "some many few several various often sometimes usually generally mostly certain "
    "lot lots rather quite most things"
)
_LIKELY = listed("probably likely expected forecast predict predicts soon presumably")
_COMING = re.compile(
    r"\b(?:next|coming|following) (?:year|month|decade|week|century)s?\b|"
    r"\bby 20[3-9]\d\b|\bgoing to\b",
    re.IGNORECASE,
)


def verifiability(text):
    """Say whether a text can be checked against documents.

    Parameters
    ----------
    text : str
        Atomic claim.

    Returns
    -------
    str
        ``opinion``, ``future_prediction``, ``vague`` or ``verifiable``, the first that
        fits. Whole words decide: "William" is no "will", and an obligation ("will pay",
        "may cancel") is no prediction.
    """
    found = words(text)
    if _is_opinion(found):
        return OPINION
    if _is_prediction(text, found):
        return PREDICTION
    if set(found) & _VAGUE and not numbers(text) and not _exact_quantity(found):
        return VAGUE
    return VERIFIABLE


def _is_opinion(found):
    for place, word in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else ""
        if word in _OPINION and following not in _MEASURED:
            return True
    return False


def _is_prediction(text, found):
    if "would" in found:
        return "have" not in found
    if "might" in found or "could" in found:
        return True
    return bool(_COMING.search(text) or set(found) & _LIKELY)


def _exact_quantity(found):
    return "least" in found or "at most" in " ".join(found)
