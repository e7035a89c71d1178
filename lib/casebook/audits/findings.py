"""What one check of an audit found."""

import json
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

FLAGGED, PASSED, NOTED = "flagged", "passed", "noted"
NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    check: str
    verdict: str
    statistic: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    chance: float | None = None
    p: float | None = None
    evidence: tuple = ()
    reason: str | None = None


def not_applicable(check, statistic, reason, n=0):
    """Give the finding of a check that cannot be made."""
    return Finding(check, NOT_APPLICABLE, statistic, n=n, reason=reason)


def judged(check, flagged, statistic, interval, evidence, draws=None, side="above"):
    """Give the finding of a check; draws of the statistic at random give chance and p."""
    chance = p = None
    if draws is not None:
        chance, p = float(np.mean(draws)), p_value(draws, interval.estimate, side)
    bounds = interval.estimate, interval.low, interval.high, interval.n
    verdict = FLAGGED if flagged else PASSED
    return Finding(check, verdict, statistic, *bounds, chance, p, tuple(evidence))


def p_value(draws, value, side="above"):
    """Give the p-value of a Monte Carlo test, never 0."""
    draws = np.asarray(draws)
    as_far = draws >= value - 1e-12 if side == "above" else draws <= value + 1e-12
    return float((1 + as_far.sum()) / (len(draws) + 1))


@dataclass(frozen=True)
class Audit:
    """All findings about one thing."""

    name: str
    findings: tuple

    @property
    def verdict(self):
        """``"flagged"`` if a check is, ``"passed"`` if one passed and none is flagged."""
        verdicts = {finding.verdict for finding in self.findings}
        return next((v for v in (FLAGGED, PASSED) if v in verdicts), NOT_APPLICABLE)

    def finding(self, check):
        """Give the finding of one check."""
        return next(f for f in self.findings if f.check == check)

    def frame(self):
        """Give the findings as a table, one row per check; evidence is joined."""
        rows = [{"audited": self.name, **asdict(f), "evidence": "; ".join(f.evidence)} for f in self.findings]
        return pd.DataFrame(rows)

    def as_json(self):
        """Give the audit as JSON text with ``name``, ``verdict`` and ``findings``."""
        values = {
            "name": self.name,
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
        }
        return json.dumps(values, indent=2, allow_nan=False, ensure_ascii=False)
