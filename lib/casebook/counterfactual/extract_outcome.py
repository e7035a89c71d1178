"""How the last proceeding of a judgment ended, by the last verdict that it states."""

import re

from casebook.counterfactual.spans import Found
from casebook.text import sentences

_VERDICTS = (
    (
        "Partly Allowed",
        r"part(?:ly|ially) allowed|allowed (?:only )?(?:in part|partly|partially)"
        r"|allowed to the extent|succeeds? in part|partly succeeds?"
        r"|part(?:ly|ially) affirmed",
    ),
    ("Disposed", r"disposed of|stands? disposed"),
    (
        "Dismissed",
        r"dismiss(?:ed|es)?|(?:appeal|petition|revision)\w* (?:\w+ ){0,3}(?:fails?"
        r"|is rejected|was rejected|meets the same fate)|rejected by the|no merit",
    ),
    (
        "Allowed",
        r"allow(?:ed|s)?|(?:appeal|petition)\w* (?:\w+ ){0,2}succeeds?"
        r"|(?:is|are|was|were|stands?) (?:hereby )?(?:quashed|acquitted)",
    ),
)
_ANY = re.compile("|".join(rf"(?P<v{at}>\b(?:{words})\b)" for at, (_, words) in enumerate(_VERDICTS)), re.IGNORECASE)
_PROCEEDING = re.compile(
    r"\b(?:appeals?|petitions?|revisions?|application|suits?|writ|leave|it|bail|claim"
    r"|set-off|which we|case)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never|cannot be|should be|to be|may be)\W+(?:\w+\W+)?$", re.I)
TAIL = 12_000  # characters at the end of a judgment in which it ends


def outcome(text):
    """Find the outcome of the last proceeding."""
    last, skipped = None, max(0, len(text) - TAIL)
    for first, stop in sentences(text[skipped:]):
        start, end = skipped + first, skipped + stop
        for match in _ANY.finditer(text, start, end):
            if _PROCEEDING.search(text, start, end) and not _NOT.search(text, start, match.start()):
                at = int(match.lastgroup[1:])
                last = Found(_VERDICTS[at][0], match.start(), match.end())
    return last
