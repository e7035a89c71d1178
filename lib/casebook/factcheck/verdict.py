"""From the stances of evidence to the verdict on a claim: documented rule and corrected one."""

from collections import Counter
from dataclasses import dataclass, field, replace

from casebook.errors import InputError
from casebook.measures.classification import NOT_SUPPORTED, SUPPORTED

INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"
CLAIM_VERDICTS = (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT_EVIDENCE)
SUPPORTS = "supports"
REFUTES = "refutes"
NEUTRAL = "neutral"
EVIDENCE_STANCES = (SUPPORTS, REFUTES, NEUTRAL)
LEVEL_WEIGHTS = {"high": 1.0, "medium": 0.6, "low": 0.3}
EQUAL_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 1.0}
BINARY_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 0.3}
NO_EVIDENCE = "no_evidence"
ONLY_NEUTRAL = "only_neutral_evidence"
DOCUMENTED_DOUBT = 0.3  # the constant confidence of every documented NOT_SUPPORTED


@dataclass(frozen=True)
class Evidence:
    """A passage that speaks to a sub-claim, and how many passages its stance was judged with."""

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


def overlap(left, right):
    """Whether two spans of a document share characters."""
    return left.start < right.end and right.start < left.end


def count_joint_passages(evidence):
    """Give evidence with the number of passages that a joint judge gave the same probability."""
    counts = Counter(
        (item.stance, item.probability) for item in evidence if item.probability is not None
    )
    return [replace(item, together=counts[item.stance, item.probability] or 1) for item in evidence]


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
    """One checked claim; a claim that crashed has an error and no verdict."""

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
    remarks: tuple = ()

    @property
    def parts(self):
        """Ids of the sub-claims that were judged."""
        return [part.id for part in self.subclaims]

    def evidence_of(self, subclaim_id):
        return evidence_for(self.evidence, subclaim_id)


def evidence_for(evidence, subclaim_id):
    """Evidence of one sub-claim."""
    return tuple(item for item in evidence if item.subclaim_id == subclaim_id)


@dataclass(frozen=True)
class Rule:
    """How evidence becomes a verdict: weights of the levels, and inclusive thresholds of the score.

    ``per_item`` divides by the number of items and not by their weight; ``neutral_against`` counts
    neutral evidence against the claim; a ``documented`` claim is NOT_SUPPORTED unless all of its
    parts are SUPPORTED.
    """

    weights: dict = field(default_factory=LEVEL_WEIGHTS.copy)
    upper: float = 0.7
    lower: float = 0.3
    per_item: bool = False
    neutral_against: bool = False
    documented: bool = False

    def __post_init__(self):
        if not 0 <= self.lower < self.upper <= 1:
            raise InputError(
                "thresholds must satisfy 0 <= lower < upper <= 1, "
                f"got {self.lower} and {self.upper}"
            )

    def weight(self, item):
        return self.weights[item.level]

    def counted(self, evidence):
        return [item for item in evidence if self.neutral_against or item.stance != NEUTRAL]


DOCUMENTED_RULE = Rule(neutral_against=True, documented=True)


def decide_claim(subclaim_ids, evidence, rule):
    """Verdicts on the parts, verdict on the claim and its confidence, from all evidence."""
    subverdicts = tuple(
        judge_subclaim(subclaim_id, evidence_for(evidence, subclaim_id), rule)
        for subclaim_id in subclaim_ids
    )
    verdict, confidence = _judge_claim(subverdicts, rule)
    return subverdicts, verdict, confidence


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
    confidence = score
    if score is None:
        verdict = NOT_SUPPORTED if rule.documented else INSUFFICIENT_EVIDENCE
        confidence = 0.0 if rule.documented else None
    elif score >= rule.upper:
        verdict = SUPPORTED
    elif score > rule.lower:
        verdict = INSUFFICIENT_EVIDENCE
    else:
        verdict = NOT_SUPPORTED
        if not rule.documented:
            confidence = 1 - score
    return SubclaimVerdict(subclaim_id, verdict, confidence, score, len(evidence), reason)


def _judge_claim(subverdicts, rule):
    """Verdict and confidence of a claim from the verdicts on its parts."""
    verdicts = {part.verdict for part in subverdicts}
    if verdicts == {SUPPORTED}:
        confidences = [part.confidence for part in subverdicts]
        if rule.documented:
            return SUPPORTED, sum(confidences) / len(confidences)
        return SUPPORTED, min(confidences)
    if rule.documented:
        return NOT_SUPPORTED, DOCUMENTED_DOUBT if subverdicts else 0.0
    refuted = [part.confidence for part in subverdicts if part.verdict == NOT_SUPPORTED]
    if refuted:
        return NOT_SUPPORTED, max(refuted)
    return INSUFFICIENT_EVIDENCE, None


def degree_of_support(subclaim_ids, evidence, rule):
    """Degree to which the evidence supports a claim: the smallest weighted mean of its parts."""
    degrees = []
    for subclaim_id in subclaim_ids:
        sided = [
            item for item in evidence_for(evidence, subclaim_id) if item.probability is not None
        ]
        if not sided:
            return None
        weighted = sum(rule.weight(item) * item.probability for item in sided)
        degrees.append(weighted / sum(map(rule.weight, sided)))
    return min(degrees, default=None)
