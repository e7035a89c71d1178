"""Settings of the fact-checking pipeline, checked once."""

from dataclasses import dataclass, field

from casebook.errors import InputError
from casebook.factcheck.credibility import GATES
from casebook.factcheck.queries import MOST, documented_queries, queries
from casebook.factcheck.verdict import DOCUMENTED, Rule
from casebook.stats.samples import check_choice

QUERY_WRITERS = {"diverse": queries, "documented": documented_queries}


@dataclass(frozen=True)
class PipelineConfig:
    """Settings of the pipeline."""

    decomposition: str = "rules"
    queries: str = "diverse"
    k: int = 3
    documents: int | None = 3
    three_stage: bool = True
    gate: str = "low"
    passages: int = 2
    rule: Rule = field(default_factory=Rule)
    parity: bool = False

    def __post_init__(self):
        for name, known in (("queries", QUERY_WRITERS), ("gate", GATES)):
            check_choice(name, getattr(self, name), known)
        for name in ("k", "documents", "passages"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InputError(f"{name} must be a whole number from 1, got {value!r}")
        if self.k > MOST:
            raise InputError(f"k must be at most {MOST}, got {self.k}")


DOCUMENTED_CONFIG = PipelineConfig(
    decomposition="documented",
    queries="documented",
    documents=None,
    gate="medium",
    passages=3,
    rule=DOCUMENTED,
    parity=True,
)
