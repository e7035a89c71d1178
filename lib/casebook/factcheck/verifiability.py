"""Whether a statement can be checked against documents, by rules on whole words."""

import re

from casebook.factcheck.model import OPINION, PREDICTION, VAGUE, VERIFIABLE
from casebook.factcheck.words import listed, numbers, words

# Words that judge wherever they stand, and what a speaker says of his own mind.
_JUDGEMENT = listed(
    "unfair terrible awful horrible beautiful ugly outrageous disappointing rude lazy "
    "ashamed ought deserve deserves stupid shameful disgraceful"
)
_OWN_MIND = re.compile(r"\b(?:I|we) (?:\w+ )?(?:believe|feel|think)\b|\bopinion\b", re.I)
# Words that judge only what they are said of: "is the best", not "Best Actor".
_SAID_OF = re.compile(
    r"\b(?:is|are|was|were|be|been|seems?) (?:(?:a|an|the|far|much|very|really|too) )*"
    r"(?:good|great|bad|better|best|worse|worst|excellent|wonderful|generous)\b"
    r"(?! (?:known|selling|estimate|endeavours|efforts|evidence|practice|faith|to date"
    r"|remembered|ranked|preserved|understood|described)\b)"
    r"|\bshould\b.*\bbetter\b",
    re.IGNORECASE,
)
_VAGUE = listed(
    "some many few several various often sometimes usually generally mostly certain lot lots rather quite most things"
)
_COMING = re.compile(
    r"\b(?:next|coming|following) (?:year|month|decade|week|century)s?\b|"
    r"\b(?:will|might|may|could|expected|likely|going)\b.*\b(?:soon|by 20[3-9]\d)\b|"
    r"\b(?:is|are) going to\b",
    re.IGNORECASE,
)


def verifiability(text):
    """Say whether a text can be checked against documents."""
    found = words(text)
    if set(found) & _JUDGEMENT or _OWN_MIND.search(text) or _SAID_OF.search(text):
        return OPINION
    if _COMING.search(text):
        return PREDICTION
    if sum(word in _VAGUE for word in found) > 1 and not numbers(text):
        return VAGUE
    return VERIFIABLE
