"""What one check of an audit found."""

import json
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

FLAGGED, PASSED, NOT_APPLICABLE = "flagged", "passed", "not applicable"
SHOWN = 5  # pieces of evidence kept
ALPHA = 0.01
EXCESS = 0.25  # of a statistic over chance, before labels are flagged
ROUNDED = 1e-12
TOLERATED = 0.05  # share of units that may be wrong before labels are flagged


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes
    ----------
    check : str
        Name of the check.
    verdict : str
        ``"flagged"``, ``"passed"`` or ``"not applicable"``.
    statistic : str
        What `value` is.
    value, low, high : float or None
        The statistic and its 95 % interval.
    n : int
        Number of units it is over.
    chance : float or None
        Its value if labels were assigned at random.
    p : float or None
        p-value against chance, on the side that the check names.
    evidence : tuple of str
        Counts and examples.
    reason : str or None
        Why the check does not apply.
    """

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
    """Give the finding of a check that cannot be made.

    Parameters
    ----------
    check, statistic : str
        As in `Finding`.
    reason : str
        Why.
    n : int
        Units there were.

    Returns
    -------
    Finding
    """
    return Finding(check, NOT_APPLICABLE, statistic, n=n, reason=reason)


def above_chance(check, statistic, interval, draws, evidence):
    """Flag what chance does not make and what is large enough to matter.

    Parameters
    ----------
    check, statistic, evidence
        As in `Finding`.
    interval : casebook.inference.intervals.Interval
        Of the statistic.
    draws : numpy.ndarray
        The statistic under random labels.

    Returns
    -------
    Finding
        Flagged if p is at most `ALPHA` and the excess over chance at least `EXCESS`.
    """
    chance = float(draws.mean())
    # Sums of the same shares in another order may differ by rounding.
    p = (1 + np.sum(draws >= interval.estimate - ROUNDED)) / (len(draws) + 1)
    flagged = p <= ALPHA and interval.estimate - chance >= EXCESS
    verdict = FLAGGED if flagged else PASSED
    bounds = interval.estimate, interval.low, interval.high, interval.n
    return Finding(
        check, verdict, statistic, *bounds, chance, float(p), tuple(evidence)
    )


def above_tolerance(check, statistic, interval, evidence, draws=None):
    """Flag a share of wrong units that is surely above what is tolerated.

    Parameters
    ----------
    check, statistic, evidence
        As in `Finding`.
    interval : casebook.inference.intervals.Interval
        Of the share.
    draws : numpy.ndarray, optional
        The share under random labels; p is that of a share as low as this.

    Returns
    -------
    Finding
        Flagged if the lower bound lies above `TOLERATED`.
    """
    chance = p = None
    if draws is not None:
        chance = float(draws.mean())
        low = np.sum(draws <= interval.estimate + ROUNDED)
        p = float((1 + low) / (len(draws) + 1))
    verdict = FLAGGED if interval.low > TOLERATED else PASSED
    bounds = interval.estimate, interval.low, interval.high, interval.n
    return Finding(check, verdict, statistic, *bounds, chance, p, tuple(evidence))


@dataclass(frozen=True)
class Audit:
    """All findings about one thing.

    Attributes
    ----------
    name : str
        What was audited.
    findings : tuple of Finding
        One per check.
    """

    name: str
    findings: tuple

    @property
    def verdict(self):
        """``"flagged"`` if a check is, ``"passed"`` if one passed and none is flagged.

        Otherwise ``"not applicable"``.
        """
        verdicts = {finding.verdict for finding in self.findings}
        return next((v for v in (FLAGGED, PASSED) if v in verdicts), NOT_APPLICABLE)

    def finding(self, check):
        """Give the finding of one check.

        Parameters
        ----------
        check : str
            Its name.

        Returns
        -------
        Finding
        """
        return next(f for f in self.findings if f.check == check)

    def frame(self):
        """Give the findings as a table.

        Returns
        -------
        pandas.DataFrame
            One row per check; evidence joined by semicolons.
        """
        rows = [
            {"audited": self.name, **asdict(f), "evidence": "; ".join(f.evidence)}
            for f in self.findings
        ]
        return pd.DataFrame(rows)

    def as_json(self):
        """Give the audit as JSON text.

        Returns
        -------
        str
            With ``name``, ``verdict`` and ``findings``.
        """
        values = {
            "name": self.name,
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
        }
        return json.dumps(values, indent=2, allow_nan=False, ensure_ascii=False)
