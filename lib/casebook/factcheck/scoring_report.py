"""The report of scored verdicts, as text and as plain values."""

from dataclasses import dataclass

import pandas as pd

from casebook.factcheck.joining import Joined
from casebook.measures.calibration import Calibration
from casebook.measures.classification import Scores, documented_metrics
from casebook.stats.intervals import bounds_text

PARITY_NOTE = (
    "documented formulas: exact comparison, positive class SUPPORTED, a missing "
    "verdict counts as NOT_SUPPORTED, a zero denominator gives 0"
)


@dataclass(frozen=True, eq=False)
class FactcheckReport:
    """Everything that is said of one system's verdicts."""

    joined: Joined
    scores: Scores
    calibration: Calibration | None
    comparisons: pd.DataFrame

    def as_dict(self):
        """Give the sections ``parity`` and ``corrected`` as plain values for JSON."""
        scores = self.scores
        parity = scores.parity["S"] | scores.parity | {"note": PARITY_NOTE}
        parity["zipped"] = documented_metrics(*self.joined.zipped)
        corrected = {
            "n": scores.n,
            "policy": scores.policy,
            "join": self.joined.account,
            "measures": scores.numbers(),
            "confusion": scores.counts.to_dict(orient="index"),
            "excluded": scores.excluded,
            "parse_rate": plain(scores.parse_rate),
            "off_label": scores.foreign,
            "policies": _nested(scores.policies),
            "baselines": _nested(scores.baselines),
            "groups": {name: _nested(g) for name, g in scores.groups.items()},
            "comparisons": _records(self.comparisons),
        }
        if self.calibration is not None:
            corrected["calibration"] = {
                "n": self.calibration.n,
                "missing": self.calibration.missing,
                "measures": {k: plain(v) for k, v in self.calibration.measures.items()},
                "controls": self.calibration.controls,
            }
        return {"parity": parity, "corrected": corrected}

    def as_text(self):
        """Give the report as lines for a terminal."""
        return "\n".join(_lines(self))


def plain(interval):
    """Give an interval as plain values."""
    return {"value": interval.estimate, "ci": [interval.low, interval.high], "n": interval.n, "reason": interval.reason}


def _records(frame):
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in frame.astype(object).to_dict(orient="records")
    ]


def _nested(parts):
    return {name: {measure: plain(found) for measure, found in part.items()} for name, part in parts.items()}


def _lines(report):
    scores, account = report.scores, report.joined.account
    yield (
        f"rows: {scores.n} gold, {account['matched']} with a prediction, "
        f"{account['missing']} missing, {account['extra']} extra, "
        f"{account['doubled_gold']} + {account['doubled_predictions']} doubled ids"
    )
    for name, ids in account["listed"].items():
        if ids:
            yield f"  {name}: {', '.join(ids)}"
    s = scores.parity["S"]
    yield "documented (S): " + ", ".join(f"{k} {s[k]:.4f}" if isinstance(s[k], float) else f"{k} {s[k]}" for k in s)
    rule = ", ".join(f"{k}={v}" for k, v in scores.policy.items())
    yield f"corrected ({rule}); excluded: {scores.excluded}"
    rate = scores.parse_rate
    if rate.estimate is not None:
        bounds = bounds_text(rate.low, rate.high)
        yield f"  {'parse rate':24} {rate.estimate:.4f}  {bounds}  n={rate.n}"
    majority = scores.baselines["majority"]
    for name, found in scores.measures.items():
        control = majority[name].estimate
        beside = "undefined" if control is None else f"{control:.4f}"
        if found.estimate is None:
            yield f"  {name:24} undefined ({found.reason})"
            continue
        bounds = bounds_text(found.low, found.high)
        yield (f"  {name:24} {found.estimate:.4f}  {bounds}  n={found.n}  majority {beside}")
    for spelling, count in list(scores.foreign.items())[:5]:
        yield f"  off-label {spelling!r}: {count}"
    yield "gold by outcome:"
    yield scores.counts.to_string()
