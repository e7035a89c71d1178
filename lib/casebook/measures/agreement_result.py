"""What is reported of an agreement coefficient, and what may be chosen."""

from dataclasses import asdict, dataclass, field

from casebook.stats.samples import check_count, check_share


@dataclass(frozen=True)
class Settings:
    """How intervals are made."""

    n_boot: int = 1000
    seed: int = 0
    confidence: float = 0.95

    def __post_init__(self):
        check_count("n_boot", self.n_boot, least=0)
        check_count("seed", self.seed, least=0)
        check_share("confidence", self.confidence)

    @property
    def tails(self):
        """The two tail probabilities that an interval leaves out or reaches."""
        return (1 - self.confidence) / 2, (1 + self.confidence) / 2


@dataclass(frozen=True)
class Agreement:
    """One coefficient with everything that belongs beside it."""

    coefficient: str
    estimate: float | None
    se: float | None = None
    se_method: str | None = None
    interval: tuple | None = None
    statistic: tuple | None = None
    p_greater: float | None = None
    p_two_sided: float | None = None
    panel_ci: tuple | None = None
    new_panel_ci: tuple | None = None
    n_items: int = 0
    n_raters: int = 0
    n_ratings: int = 0
    n_left_out: int = 0
    percent_agreement: float | None = None
    observed: float | None = None
    expected: float | None = None
    reasons: dict = field(default_factory=dict)

    @property
    def reason(self):
        """Why the estimate is None, else which intervals are None and why."""
        if "estimate" in self.reasons:
            return self.reasons["estimate"]
        listed = [f"{name}: {code}" for name, code in self.reasons.items()]
        return "; ".join(listed) or None

    def as_dict(self):
        """Give all fields, and `reason`, as plain values."""
        return asdict(self) | {"reason": self.reason}
