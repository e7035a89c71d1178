"""What speaks for a candidate against a reference: pass, fail, undecided, incomparable.

With rows per query the verdict rests on the interval of the paired mean difference,
over groups of queries where the rows name them: it passes if the whole interval lies
above the margin, fails if all of it lies below, and is undecided if the margin lies
inside or there is no interval (fewer than six groups). Two runs that give every query
the same score are the same: there is nothing to decide. Without rows only the two
scores are left, which cannot be undecided and say nothing about chance; the notes then
say so.
"""

from dataclasses import asdict, dataclass, field

from casebook.errors import CheckFailed, Incomparable, InputError, Undecided
from casebook.runs.metrics import higher_is_better
from casebook.runs.ordering import score_of, short_key
from casebook.runs.rows import NoRows

PASS, FAIL, UNDECIDED, INCOMPARABLE = "pass", "fail", "undecided", "incomparable"
SAME = "same"
PAIRED = "paired_randomisation"
_ERRORS = {FAIL: CheckFailed, UNDECIDED: Undecided, INCOMPARABLE: Incomparable}
_SHARED = (*("low", "high", "level", "n", "groups", "p_value", "mde"), *("gained", "lost", "unchanged"))
_UNKNOWN = "neither run holds a fingerprint: that both were measured on the same data is taken on trust"


@dataclass
class Evidence:
    """A verdict on one metric and what it rests on."""

    verdict: str
    basis: str | None = None
    improvement: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    n: int | None = None
    groups: int | None = None
    p_value: float | None = None
    mde: float | None = None
    gained: int | None = None
    lost: int | None = None
    unchanged: int | None = None
    incomparable: bool = False
    notes: list = field(default_factory=list)

    def as_dict(self):
        """Give all fields as a JSON-serialisable dict."""
        return asdict(self)


def judge(low, high, margin, inclusive=False):
    """Compare an interval with a margin."""
    if low is None or high is None:
        return UNDECIDED
    if low > margin or (inclusive and low == margin):
        return PASS
    if high < margin or (not inclusive and high == margin):
        return FAIL
    return UNDECIDED


def weigh(listing, candidate, reference, metric, margin, **options):
    """Weigh one run against another on one metric."""
    inclusive, force = options.pop("inclusive", False), options.pop("force", False)
    result = Evidence(INCOMPARABLE)
    if candidate.key != reference.key:
        result.notes.append(f"measured on different data ({short_key(candidate.key)} and {short_key(reference.key)})")
        result.incomparable = True
        if not force:
            return result
    elif candidate.key is None:
        result.notes.append(_UNKNOWN)
    scores = score_of(candidate, metric), score_of(reference, metric)
    if None in scores:
        result.verdict = FAIL
        result.notes.append("MISSING: a run failed or does not hold the metric")
        return result
    _fill(result, listing, (candidate, reference), metric, {"force": force, **options})
    if result.basis == "eps":
        sign = 1 if higher_is_better(metric) else -1
        result.improvement = sign * (scores[0] - scores[1])
        result.verdict = judge(*[result.improvement] * 2, margin, inclusive)
    elif result.basis:
        result.verdict = judge(result.low, result.high, margin, inclusive)
    unequal = result.improvement if result.basis == "eps" else result.gained or result.lost
    if result.basis and not unequal:
        # Not worse by any margin, and nothing to promote.
        result.verdict = PASS if inclusive else SAME
        result.notes.append("the two runs have the same scores")
    return result


def _fill(result, listing, runs, metric, options):
    """Add the paired comparison, or the reason why there is none."""
    # pandas and the tests are needed here only: listing runs must stay quick.
    from casebook.runs.pairing import compare_runs

    folders = [listing.folder(run) for run in runs]
    force = options.pop("force")
    try:
        try:
            pairs = compare_runs(*folders, metric, **options)
        except Incomparable as reason:
            result.incomparable = True
            result.notes.append(str(reason))
            if not force:
                return
            pairs = compare_runs(*folders, metric, force=True, **options)
    except NoRows as reason:
        result.basis = "eps"
        result.notes.append(f"no interval, only the two scores: {reason}")
        return
    result.basis = PAIRED
    result.improvement = pairs.difference
    for name in _SHARED:
        setattr(result, name, getattr(pairs, name))
    if pairs.reason:
        result.notes.append(f"interval: {pairs.reason.replace('_', ' ')}")


def settle(verdict, message):
    """End a command with the exit code of its verdict."""
    if verdict in _ERRORS:
        raise _ERRORS[verdict](message)
    if verdict not in (PASS, SAME):
        raise InputError(f"unknown verdict {verdict!r}")
