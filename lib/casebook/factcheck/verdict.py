"""From the stances of evidence to the verdict on a claim: the documented rule and the corrected one."""

from collections import Counter
from dataclasses import dataclass, field, replace

from casebook.errors import InputError

SUPPORTED, NOT_SUPPORTED, INSUFFICIENT = VERDICTS = (
    "SUPPORTED",
    "NOT_SUPPORTED",
    "INSUFFICIENT_EVIDENCE",
)
SUPPORTS, REFUTES, NEUTRAL = STANCES = ("supports", "refutes", "neutral")
LEVELS = ("high", "medium", "low")
WEIGHTS = {"high": 1.0, "medium": 0.6, "low": 0.3}
EQUAL_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 1.0}
BINARY_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 0.3}
NO_EVIDENCE, ONLY_NEUTRAL = "no_evidence", "only_neutral_evidence"
DOCUMENTED_DOUBT = 0.3  # the constant confidence of every documented NOT_SUPPORTED


@dataclass(frozen=True)
class Evidence:
    """One passage that speaks to one sub-claim; ``together``: of how many passages its stance speaks."""

    id: str
    subclaim_id: str
    doc_id: str
    source: str
    url: str
    passage: str
    start: int
    end: int
    credibility: float
    level: str
    stance: str = NEUTRAL
    probability: float | None = None
    together: int = 1


def overlap(one, other):
    """Whether two spans of a document share characters."""
    return one.start < other.end and other.start < one.end


def read_together(items):
    """Evidence of one part by a judge that reads passages jointly: those that it read as one have one probability."""
    counts = Counter(
        (item.stance, item.probability) for item in items if item.probability is not None
    )
    return [replace(item, together=counts[item.stance, item.probability] or 1) for item in items]


@dataclass(frozen=True)
class SubclaimVerdict:
    subclaim_id: str
    verdict: str
    confidence: float | None
    score: float | None
    evidence_count: int
    reason: str | None = None


@dataclass(frozen=True)
class VerdictResult:
    """Everything that is known of one checked claim; a crashed one has an error and no verdict."""

    claim_id: str
    claim: str
    verdict: str | None
    confidence: float | None = None
    support: float | None = None
    subclaims: tuple = ()
    dropped: tuple = ()
    queries: tuple = ()
    evidence: tuple = ()
    subverdicts: tuple = ()
    timings: dict = field(default_factory=dict)
    reason: str | None = None
    error: str | None = None

    @property
    def parts(self):
        """Ids of the sub-claims that were judged."""
        return [part.id for part in self.subclaims]

    def evidence_of(self, subclaim_id):
        return tuple(item for item in self.evidence if item.subclaim_id == subclaim_id)


@dataclass(frozen=True)
class Rule:
    """How evidence becomes a verdict: weights of the levels, and thresholds on the score that are both inclusive.

    ``per_item`` divides by the number of items and not by their weight; ``neutral_against`` counts neutral evidence
    against the claim; a ``documented`` claim is NOT_SUPPORTED unless it is SUPPORTED throughout.
    """

    weights: dict = field(default_factory=lambda: dict(WEIGHTS))
    upper: float = 0.7
    lower: float = 0.3
    per_item: bool = False
    neutral_against: bool = False
    documented: bool = False

    def __post_init__(self):
        if not 0 <= self.lower < self.upper <= 1:
            raise InputError(
                f"thresholds must satisfy 0 <= lower < upper <= 1, got {self.lower} and {self.upper}"
            )

    def weight(self, item):
        return self.weights[item.level]

    def counted(self, evidence):
        return [item for item in evidence if self.neutral_against or item.stance != NEUTRAL]


DOCUMENTED = Rule(neutral_against=True, documented=True)


def decide(subclaim_ids, evidence, rule):
    """Verdicts on the parts, verdict on the claim and its confidence, from all evidence."""
    parts = tuple(
        judge_subclaim(name, [e for e in evidence if e.subclaim_id == name], rule)
        for name in subclaim_ids
    )
    return parts, *_judge_claim(parts, rule)


def support_score(evidence, rule):
    """Weighted share of support in [0, 1] for one sub-claim, and why there is none."""
    counted = rule.counted(evidence)
    if not counted:
        return None, ONLY_NEUTRAL if evidence else NO_EVIDENCE
    total = len(counted) if rule.per_item else sum(map(rule.weight, counted))
    support = sum(rule.weight(item) for item in counted if item.stance == SUPPORTS)
    # Rounding, or 0.3 / 0.3 of three items would miss a threshold of exactly 1.
    return round(support / total, 12), None


def judge_subclaim(subclaim_id, evidence, rule):
    score, reason = support_score(evidence, rule)
    if score is None:
        verdict, confidence = (NOT_SUPPORTED, 0.0) if rule.documented else (INSUFFICIENT, None)
    elif score >= rule.upper:
        verdict, confidence = SUPPORTED, score
    elif score <= rule.lower:
        verdict, confidence = NOT_SUPPORTED, score if rule.documented else 1 - score
    else:
        verdict, confidence = INSUFFICIENT, score
    return SubclaimVerdict(subclaim_id, verdict, confidence, score, len(evidence), reason)


def _judge_claim(parts, rule):
    """Verdict and confidence of a claim from the verdicts on its parts."""
    verdicts = {part.verdict for part in parts}
    if verdicts == {SUPPORTED}:
        sure = [part.confidence for part in parts]
        return SUPPORTED, sum(sure) / len(sure) if rule.documented else min(sure)
    if rule.documented:
        return NOT_SUPPORTED, DOCUMENTED_DOUBT if parts else 0.0
    if NOT_SUPPORTED in verdicts:
        return NOT_SUPPORTED, max(
            part.confidence for part in parts if part.verdict == NOT_SUPPORTED
        )
    return INSUFFICIENT, None


def degree_of_support(subclaim_ids, evidence, rule):
    """How far the evidence supports a claim, for calibration: the least weighted mean probability of its parts."""
    degrees = []
    for name in subclaim_ids:
        sided = [
            item for item in evidence if item.subclaim_id == name and item.probability is not None
        ]
        if not sided:
            return None
        weighted = sum(rule.weight(item) * item.probability for item in sided)
        degrees.append(weighted / sum(map(rule.weight, sided)))
    return min(degrees, default=None)
