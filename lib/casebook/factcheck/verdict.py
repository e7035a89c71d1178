"""From the stances of evidence to the verdict on a claim."""

from dataclasses import dataclass, field

from casebook.errors import InputError
from casebook.factcheck.model import INSUFFICIENT, LEVELS, NEUTRAL, NOT_SUPPORTED, SUPPORTED, SUPPORTS, SubclaimVerdict

WEIGHTS = {"high": 1.0, "medium": 0.6, "low": 0.3}
EQUAL_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 1.0}
BINARY_WEIGHTS = {"high": 1.0, "medium": 1.0, "low": 0.3}
NO_EVIDENCE, ONLY_NEUTRAL = "no_evidence", "only_neutral_evidence"
DOCUMENTED_DOUBT = 0.3  # the constant confidence of every documented NOT_SUPPORTED
_CHOICES = {"denominator": ("weight", "count"), "neutral": ("against", "ignored"), "claim": ("three_way", "documented")}


@dataclass(frozen=True)
class Rule:
    """How evidence becomes a verdict."""

    weights: dict = field(default_factory=lambda: dict(WEIGHTS))
    upper: float = 0.7
    lower: float = 0.3
    denominator: str = "weight"
    neutral: str = "ignored"
    claim: str = "three_way"

    def __post_init__(self):
        if not 0 <= self.lower < self.upper <= 1:
            raise InputError(f"thresholds must satisfy 0 <= lower < upper <= 1, got {self.lower} and {self.upper}")
        if set(self.weights) != set(LEVELS) or min(self.weights.values()) <= 0:
            raise InputError(f"weights above 0 are needed for {', '.join(LEVELS)}")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}")

    def weight(self, level):
        """Give the weight of a level of credibility, float."""
        return self.weights.get(level, self.weights["low"])


DOCUMENTED = Rule(neutral="against", claim="documented")


def support_score(evidence, rule):
    """Weigh the evidence of one sub-claim."""
    if not evidence:
        return None, NO_EVIDENCE
    counted = [e for e in evidence if rule.neutral == "against" or e.stance != NEUTRAL]
    if not counted:
        return None, ONLY_NEUTRAL
    weights = [rule.weight(item.level) for item in counted]
    total = sum(weights) if rule.denominator == "weight" else len(counted)
    pairs = zip(weights, counted, strict=True)
    score = sum(weight for weight, item in pairs if item.stance == SUPPORTS) / total
    # Rounding, or 0.3 / 0.3 of three items would miss a threshold of exactly 1.
    return round(score, 12), None


def judge_subclaim(subclaim_id, evidence, rule):
    """Decide one sub-claim."""
    documented = rule.claim == "documented"
    score, reason = support_score(evidence, rule)
    if score is None:
        verdict = NOT_SUPPORTED if documented else INSUFFICIENT
        confidence = 0.0 if documented else None
    else:
        verdict = _by_threshold(score, rule)
        against = verdict == NOT_SUPPORTED and not documented
        confidence = 1 - score if against else score
    high = sum(item.level == "high" for item in evidence)
    return SubclaimVerdict(subclaim_id, verdict, confidence, score, len(evidence), high, reason)


def _by_threshold(score, rule):
    if score >= rule.upper:
        return SUPPORTED
    return NOT_SUPPORTED if score <= rule.lower else INSUFFICIENT


def judge_claim(subverdicts, rule):
    """Decide a claim from its sub-claims."""
    verdicts = [part.verdict for part in subverdicts]
    if rule.claim == "documented":
        if not verdicts:
            return NOT_SUPPORTED, 0.0
        if set(verdicts) == {SUPPORTED}:
            return SUPPORTED, sum(p.confidence for p in subverdicts) / len(verdicts)
        return NOT_SUPPORTED, DOCUMENTED_DOUBT
    if NOT_SUPPORTED in verdicts:
        certain = [p.confidence for p in subverdicts if p.verdict == NOT_SUPPORTED]
        return NOT_SUPPORTED, max(certain)
    if verdicts and set(verdicts) == {SUPPORTED}:
        return SUPPORTED, min(part.confidence for part in subverdicts)
    return INSUFFICIENT, None


def decide(subclaim_ids, evidence, rule):
    """Decide a claim from all of its evidence."""
    parts = tuple(judge_subclaim(name, [e for e in evidence if e.subclaim_id == name], rule) for name in subclaim_ids)
    return parts, *judge_claim(parts, rule)


def degree_of_support(subclaim_ids, evidence, rule):
    """Say how far the evidence supports a claim, for calibration and ranking."""
    degrees = []
    for name in subclaim_ids:
        sided = [item for item in evidence if item.subclaim_id == name and item.probability is not None]
        if not sided:
            return None
        weights = [rule.weight(item.level) for item in sided]
        pairs = zip(weights, sided, strict=True)
        degrees.append(sum(w * item.probability for w, item in pairs) / sum(weights))
    return min(degrees, default=None)
