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
    """One atomic claim.

    Attributes
    ----------
    id : str
        ``SC1``, ``SC2``, ... within its claim.
    text : str
        A sentence that can be judged alone.
    logical_form : str
        Predicate over its parts, such as ``pays(insurer, rent)``.
    verifiability : str
        One of ``VERIFIABILITY``; only verifiable parts are checked.
    entities, properties : tuple of str
        Names, and values such as amounts and dates.
    """

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
    """One passage that speaks to one sub-claim.

    Attributes
    ----------
    id : str
        ``EV1``, ``EV2``, ... over the whole claim; per sub-claim in parity mode, as
        documented, where two passages may then have one id.
    subclaim_id : str
        The sub-claim it was found for.
    doc_id, source, url : str
        Document, its name, its address (empty if it has none).
    passage : str
        The text between ``start`` and ``end`` of the document.
    start, end : int
        Characters.
    credibility : float
        In [0, 1].
    level : str
        One of ``LEVELS``.
    stance : str
        One of ``STANCES``.
    probability : float or None
        That it supports rather than refutes; None if it does neither.
    """

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
    """Verdict on one sub-claim.

    Attributes
    ----------
    subclaim_id : str
        The sub-claim.
    verdict : str
        One of ``VERDICTS``.
    confidence : float or None
        In the verdict, in [0, 1]; None where nothing speaks for or against.
    score : float or None
        Weighted share of supporting evidence.
    evidence_count, high_credibility_count : int
        Items found, and those of level high.
    reason : str or None
        Why the score is None: ``"no_evidence"`` or ``"only_neutral_evidence"``.
    """

    subclaim_id: str
    verdict: str
    confidence: float | None
    score: float | None
    evidence_count: int
    high_credibility_count: int
    reason: str | None = None


@dataclass(frozen=True)
class VerdictResult:
    """Everything that is known of one checked claim.

    Attributes
    ----------
    claim_id, claim : str
        The claim.
    verdict : str or None
        One of ``VERDICTS``; None if checking crashed, which is an outcome of its own
        and never a negative.
    confidence : float or None
        In the verdict.
    support : float or None
        Degree of support in [0, 1] for calibration: the least of the sub-claims'
        weighted mean probabilities.
    subclaims, dropped : tuple of SubClaim
        The parts that were checked, and those that cannot be verified.
    queries, evidence, subverdicts : tuple
        What each stage gave.
    timings : dict of str to float
        Seconds of each stage.
    reason : str or None
        Why the verdict is what it is where no evidence decided it.
    error : str or None
        What crashed, and in which stage.
    """

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
