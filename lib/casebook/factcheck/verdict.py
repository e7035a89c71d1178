"""From the stances of evidence to the verdict on a claim: documented rule and corrected one."""

from collections import namedtuple
from typing import NamedTuple

from casebook.measures.classification import NOT_SUPPORTED, SUPPORTED

INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"
EVIDENCE_STANCES = ("supports", "refutes", "neutral")
SUPPORTS, REFUTES, NEUTRAL = EVIDENCE_STANCES
LEVEL_WEIGHTS = {"high": 1.0, "medium": 0.6, "low": 0.3}
EQUAL_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 1.0}
BINARY_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 0.3}
DOCUMENTED_DOUBT = 0.3  # the constant confidence of every documented NOT_SUPPORTED

#: A passage about a part of a claim, its source, and what the judge makes of it.
Evidence = namedtuple(
    "Evidence",
    "id subclaim_id doc_id source url passage start end credibility level stance probability",
    defaults=[NEUTRAL, None],
)
SubclaimVerdict = namedtuple(
    "SubclaimVerdict", "subclaim_id verdict confidence score evidence_count"
)
#: One checked claim; a claim that crashed has an error and no verdict.
VerdictResult = namedtuple(
    "VerdictResult",
    "claim_id claim verdict confidence support subclaims dropped queries evidence subverdicts "
    "timings error remarks",
    defaults=[None, None, (), (), (), (), (), {}, None, ()],
)


class Rule(NamedTuple):
    """How evidence becomes a verdict: weights of the levels, and inclusive thresholds of the score.

    In a ``documented`` rule neutral evidence counts against a claim, and a claim is NOT_SUPPORTED
    unless all of its parts are SUPPORTED.
    """

    weights: dict = LEVEL_WEIGHTS
    upper: float = 0.7
    lower: float = 0.3
    documented: bool = False

    def weight(self, item):
        return self.weights[item.level]

    def counted(self, evidence):
        return [item for item in evidence if self.documented or item.stance != NEUTRAL]


DOCUMENTED_RULE = Rule(documented=True)


def names_of_parts(result):
    return [part.id for part in result.subclaims]


def evidence_for(evidence, subclaim_id):
    return [item for item in evidence if item.subclaim_id == subclaim_id]


def decide_claim(subclaim_ids, evidence, rule):
    """Verdicts on the parts, verdict on the claim and its confidence, from all evidence."""
    parts = tuple(judge_subclaim(part, evidence, rule) for part in subclaim_ids)
    confidences = [part.confidence for part in parts]
    refuted = [part.confidence for part in parts if part.verdict == NOT_SUPPORTED]
    holds = {part.verdict for part in parts} == {SUPPORTED}
    if holds and rule.documented:
        return parts, SUPPORTED, sum(confidences) / len(confidences)
    if holds:
        return parts, SUPPORTED, min(confidences)
    if rule.documented:
        return parts, NOT_SUPPORTED, DOCUMENTED_DOUBT if parts else 0.0
    if refuted:
        return parts, NOT_SUPPORTED, max(refuted)
    return parts, INSUFFICIENT_EVIDENCE, None


def judge_subclaim(subclaim_id, evidence, rule):
    """Verdict on a part by its score, the weighted share of support; None if nothing counts."""
    evidence = evidence_for(evidence, subclaim_id)
    counted = rule.counted(evidence)
    score = None
    if counted:
        support = sum(rule.weight(item) for item in counted if item.stance == SUPPORTS)
        # Rounding, or 0.3 / 0.3 of three items would miss a threshold of exactly 1.
        score = round(support / sum(map(rule.weight, counted)), 12)
    verdict = INSUFFICIENT_EVIDENCE
    confidence = score
    if score is None and rule.documented:
        verdict = NOT_SUPPORTED
        confidence = 0.0
    elif score is not None and score >= rule.upper:
        verdict = SUPPORTED
    elif score is not None and score <= rule.lower:
        verdict = NOT_SUPPORTED
        confidence = score if rule.documented else 1 - score
    return SubclaimVerdict(subclaim_id, verdict, confidence, score, len(evidence))


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
