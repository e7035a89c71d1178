"""From the stances of evidence to the verdict on a claim: documented rule and corrected one."""

from collections import namedtuple
from dataclasses import dataclass, field

from casebook.errors import InputError
from casebook.measures.classification import NOT_SUPPORTED, SUPPORTED

INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"
CLAIM_VERDICTS = (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT_EVIDENCE)
EVIDENCE_STANCES = ("supports", "refutes", "neutral")
SUPPORTS, REFUTES, NEUTRAL = EVIDENCE_STANCES
LEVEL_WEIGHTS = {"high": 1.0, "medium": 0.6, "low": 0.3}
EQUAL_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 1.0}
BINARY_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 0.3}
NO_EVIDENCE = "no_evidence"
ONLY_NEUTRAL = "only_neutral_evidence"
DOCUMENTED_DOUBT = 0.3  # the constant confidence of every documented NOT_SUPPORTED

#: A passage that speaks to a part of a claim; ``together`` counts those that it was judged with.
Evidence = namedtuple(
    "Evidence",
    "id subclaim_id doc_id source url passage start end credibility level "
    "stance probability together",
    defaults=[NEUTRAL, None, 1],
)
SubclaimVerdict = namedtuple(
    "SubclaimVerdict", "subclaim_id verdict confidence score evidence_count reason"
)
_RESULT = namedtuple(
    "VerdictResult",
    "claim_id claim verdict confidence support subclaims dropped queries evidence subverdicts "
    "timings reason error remarks",
    defaults=[None, None, (), (), (), (), (), {}, None, None, ()],
)


class VerdictResult(_RESULT):
    """One checked claim; a claim that crashed has an error and no verdict."""

    @property
    def parts(self):
        return [part.id for part in self.subclaims]


@dataclass(frozen=True)
class Rule:
    """How evidence becomes a verdict: weights of the levels, and inclusive thresholds of the score.

    In a ``documented`` rule neutral evidence counts against a claim, and a claim is NOT_SUPPORTED
    unless all of its parts are SUPPORTED.
    """

    weights: dict = field(default_factory=LEVEL_WEIGHTS.copy)
    upper: float = 0.7
    lower: float = 0.3
    documented: bool = False

    def __post_init__(self):
        if not 0 <= self.lower < self.upper <= 1:
            stated = f"got {self.lower} and {self.upper}"
            raise InputError(f"thresholds must satisfy 0 <= lower < upper <= 1, {stated}")

    def weight(self, item):
        return self.weights[item.level]

    def counted(self, evidence):
        return [item for item in evidence if self.documented or item.stance != NEUTRAL]


DOCUMENTED_RULE = Rule(documented=True)


def evidence_for(evidence, subclaim_id):
    return [item for item in evidence if item.subclaim_id == subclaim_id]


def decide_claim(subclaim_ids, evidence, rule):
    """Verdicts on the parts, verdict on the claim and its confidence, from all evidence."""
    subverdicts = []
    for subclaim_id in subclaim_ids:
        of_part = evidence_for(evidence, subclaim_id)
        subverdicts.append(judge_subclaim(subclaim_id, of_part, rule))
    verdicts = {part.verdict for part in subverdicts}
    confidences = [part.confidence for part in subverdicts]
    refuted = [part.confidence for part in subverdicts if part.verdict == NOT_SUPPORTED]
    verdict = INSUFFICIENT_EVIDENCE
    confidence = None
    if verdicts == {SUPPORTED}:
        verdict = SUPPORTED
        confidence = min(confidences)
        if rule.documented:
            confidence = sum(confidences) / len(confidences)
    elif rule.documented:
        verdict = NOT_SUPPORTED
        confidence = DOCUMENTED_DOUBT if subverdicts else 0.0
    elif refuted:
        verdict = NOT_SUPPORTED
        confidence = max(refuted)
    return tuple(subverdicts), verdict, confidence


def support_score(evidence, rule):
    """Weighted share of support in [0, 1] for one part, and why there is none."""
    counted = rule.counted(evidence)
    if not counted:
        return None, ONLY_NEUTRAL if evidence else NO_EVIDENCE
    total = sum(map(rule.weight, counted))
    support = sum(rule.weight(item) for item in counted if item.stance == SUPPORTS)
    # Rounding, or 0.3 / 0.3 of three items would miss a threshold of exactly 1.
    return round(support / total, 12), None


def judge_subclaim(subclaim_id, evidence, rule):
    """Verdict on one part of a claim from its evidence."""
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


def degree_of_support(subclaim_ids, evidence, rule):
    """Degree to which the evidence supports a claim: the smallest weighted mean of its parts."""
    degrees = []
    for subclaim_id in subclaim_ids:
        of_part = evidence_for(evidence, subclaim_id)
        sided = [item for item in of_part if item.probability is not None]
        if not sided:
            return None
        weighted = sum(rule.weight(item) * item.probability for item in sided)
        degrees.append(weighted / sum(map(rule.weight, sided)))
    return min(degrees, default=None)
