"""Verdicts: their words, and the rules by which an interval and a margin give them.

What is judged decides on the words:

- A **contrast** of two systems (`casebook.contrasts`, ``contrasts.json``, tables of chapters):
  *better*, *worse*, *equivalent*, *no difference*, *undecided*, *cannot be measured*, by
  `verdict_of`.
- A **headline**, the answer to a question (front page, first sentences of a chapter): *helps*,
  *hurts*, *no effect*, *no difference*, *undecided*, *cannot be measured*, by `EFFECTS` from the
  verdict of its contrast; its sentence opens with the words of `ANSWERS`.
- A **gate** (``runs gate``, ``runs decide``, gates of shifts and of assistants): *pass*, *fail*,
  *undecided*, *incomparable*, *same*, by `gate_verdict`. Each has an exit code of its own. A
  decision on a pass is the documented action *Promote*, on anything else *KeepActive*.
- A **statement of a document** (the book's page of statements): *confirmed*, *contradicted*,
  *not contradicted*, *reproduced*, *by construction*, by the rules of ``book/stated.yml``
  (`casebook.book.stated`).
- A **preference** of raters (`casebook.raters.preference`): the words of contrasts, for a win rate
  beside 1/2.

*Undecided*, *no difference* and *cannot be measured* are the same words in all of them. Two systems
that read the same cannot be measured against each other; two that read something else and score the
same on every unit show no difference on these units; that does not make them equivalent.
"""

import math

# --- contrasts

BETTER = "better"
WORSE = "worse"
EQUIVALENT = "equivalent"
NO_DIFFERENCE = "no difference"
UNDECIDED = "undecided"
NOT_MEASURED = "cannot be measured"

# Of a measure of which nobody here says whether more is better, such as a score in a log.
HIGHER = "higher"
LOWER = "lower"
NEUTRAL = {BETTER: HIGHER, WORSE: LOWER}

# Verdict on a contrast to that on the same pair in the other direction, where it differs.
OPPOSITE = {BETTER: WORSE, WORSE: BETTER, HIGHER: LOWER, LOWER: HIGHER}

# Reasons: equal scores on every unit, from different input; too few clusters to resample.
NO_UNIT_DIFFERS = "no_unit_differs"
INTERVAL_BY_UNIT = "interval_by_unit"


def verdict_of(
    low, high, margin=0.0, *, reason=None, difference=None, p_adjusted=None, level=0.95
):
    """Verdict on a difference from its interval; without an interval, from its test.

    Bounds are None or NaN where there is no interval. Then the difference is decided only if
    `p_adjusted` is given and rejects, as where it is the same in all clusters.
    """
    if reason == NO_UNIT_DIFFERS:
        return NO_DIFFERENCE
    if any(bound is None or math.isnan(bound) for bound in (low, high)):
        if p_adjusted is None or p_adjusted > 1 - level:
            return UNDECIDED
        low = high = difference
    if -margin < low and high < margin:
        return EQUIVALENT
    if low > 0:
        return BETTER
    if high < 0:
        return WORSE
    return UNDECIDED


# Largest difference that does not matter, by measure without its cutoff; of others none is stated.
# All go from 0 to 1.
# Of nDCG, .01 is one question in 37 whose only right document moves from the second rank to the
# first, and of RR one in 50; in AUROC one pair in twenty changes its order; of shares and of
# accuracy one row in twenty changes.
MARGINS = {
    "nDCG": 0.01,
    "original:ndcg": 0.01,
    "RR": 0.01,
    "original:map": 0.01,  # the documented name of mean reciprocal rank
    "AUROC": 0.05,
    "accuracy": 0.05,
    "share": 0.05,
}


def margin_of(measure):
    """Largest difference in a measure that does not matter; 0 where none is stated."""
    return MARGINS.get(measure.partition("@")[0], 0.0)


# --- headlines

HELPS = "helps"
HURTS = "hurts"
NO_EFFECT = "no effect"

# Verdict on a contrast to that of a headline.
EFFECTS = {
    BETTER: HELPS,
    WORSE: HURTS,
    EQUIVALENT: NO_EFFECT,
    NO_DIFFERENCE: NO_DIFFERENCE,
    UNDECIDED: UNDECIDED,
    NOT_MEASURED: NOT_MEASURED,
}

# Verdict of a headline to the opening words of its sentence.
ANSWERS = {
    HELPS: "Yes",
    HURTS: "No, it is worse",
    NO_EFFECT: "No, the difference is too small to matter",
    NO_DIFFERENCE: "No difference",
    UNDECIDED: UNDECIDED.capitalize(),
    NOT_MEASURED: "Cannot be measured here",
}

# --- gates

PASS = "pass"
FAIL = "fail"
INCOMPARABLE = "incomparable"
SAME = "same"

PROMOTE = "Promote"
KEEP_ACTIVE = "KeepActive"


def gate_verdict(low, high, margin, inclusive=False):
    """Compare an interval with a margin.

    Parameters
    ----------
    low, high : float or None
        The interval; None if there is none.
    margin : float
        What it must lie above, in the same unit.
    inclusive : bool
        Whether touching the margin from above suffices.

    Returns
    -------
    str
        ``"pass"``, ``"fail"`` or ``"undecided"``.

    Examples
    --------
    >>> gate_verdict(0.01, 0.05, 0.0), gate_verdict(-0.02, 0.05, 0.0), gate_verdict(-0.02, -0.01, 0)
    ('pass', 'undecided', 'fail')
    """
    if low is None or high is None:
        return UNDECIDED
    if low > margin or (inclusive and low == margin):
        return PASS
    if high < margin or (not inclusive and high == margin):
        return FAIL
    return UNDECIDED


def worst_verdict(verdicts):
    """The verdict of a gate with several rules."""
    return next(
        (word for word in (FAIL, INCOMPARABLE, UNDECIDED) if word in verdicts), PASS
    )
