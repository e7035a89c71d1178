"""What passes through fact-checking: claims, queries, evidence, verdicts."""

from dataclasses import asdict, dataclass, field

SUPPORTED, NOT_SUPPORTED = "SUPPORTED", "NOT_SUPPORTED"
INSUFFICIENT = "INSUFFICIENT_EVIDENCE"
VERDICTS = (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT)
SUPPORTS, REFUTES, NEUTRAL = "supports", "refutes", "neutral"
STANCES = (SUPPORTS, REFUTES, NEUTRAL)
LEVELS = ("high", "medium", "low")
VERIFIABLE, OPINION, VAGUE = "verifiable", "opinion", "vague"
PREDICTION = "future_prediction"
VERIFIABILITY = (VERIFIABLE, OPINION, VAGUE, PREDICTION)


@dataclass(frozen=True)
class SubClaim:
    """One atomic claim."""

    id: str
    text: str
    logical_form: str = ""
    verifiability: str = VERIFIABLE
    entities: tuple = ()
    properties: tuple = ()


@dataclass(frozen=True)
class Query:
    """A search text for one sub-claim."""

    subclaim_id: str
    text: str


@dataclass(frozen=True)
class Evidence:
    """One passage that speaks to one sub-claim."""

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


@dataclass(frozen=True)
class SubclaimVerdict:
    """Verdict on one sub-claim."""

    subclaim_id: str
    verdict: str
    confidence: float | None
    score: float | None
    evidence_count: int
    high_credibility_count: int
    reason: str | None = None


@dataclass(frozen=True)
class VerdictResult:
    """Everything that is known of one checked claim."""

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

    def evidence_of(self, subclaim_id):
        """Give the evidence of one sub-claim, tuple of Evidence."""
        return tuple(e for e in self.evidence if e.subclaim_id == subclaim_id)

    def as_dict(self):
        """Give everything as plain values for JSON."""
        return asdict(self)
