"""The acceptance gate: is a shift not worse than no shift, beyond doubt."""

import math
from dataclasses import asdict, dataclass

from casebook.errors import InputError
from casebook.files import write_json
from casebook.inference.samples import check_choice
from casebook.runs.decide import FAIL, PASS, UNDECIDED
from casebook.runs.decide import judge as weigh_bounds
from casebook.runs.record import now
from casebook.shift.evaluators import COSINE, MRR, NDCG
from casebook.stats.intervals import FEWEST, too_few
from casebook.stats.tests import difference_intervals

FILE = "acceptance_gate.json"
DOCUMENTED_EPS = 0.005
_STRICT_EPS = 1e-6
PROFILES = {
    "documented": {NDCG: DOCUMENTED_EPS, MRR: DOCUMENTED_EPS},
    "documented+cosine": {NDCG: DOCUMENTED_EPS, MRR: DOCUMENTED_EPS, COSINE: 0.0},
    "rank": {NDCG: _STRICT_EPS, MRR: _STRICT_EPS},
    "rank+cosine": dict.fromkeys((NDCG, MRR, COSINE), _STRICT_EPS),
}
_ALIASES = {"rankcosine": "rank+cosine", "rank-cosine": "rank+cosine"}
DECISIONS = ("bound", "point")


@dataclass(frozen=True)
class Check:
    """One rule of a gate and how it came out."""

    metric: str
    delta: float | None
    low: float | None
    high: float | None
    n: int
    eps: float
    verdict: str
    reason: str | None = None

    @property
    def note(self):
        """The rule's outcome in one line, str."""
        head = {PASS: "OK:", FAIL: "FAIL:", UNDECIDED: "UNDECIDED:"}[self.verdict]
        if self.delta is None:
            return f"MISSING: {self.metric} ({self.reason})"
        tail = f" ({self.reason})" if self.reason else ""
        bounds = "" if self.low is None else f" [{self.low:+z.4f}, {self.high:+z.4f}]"
        return f"{head} {self.metric}={self.delta:+z.4f}{bounds}{tail}"


@dataclass(frozen=True)
class GateReport:
    """Outcome of a gate."""

    profile: str
    decision: str
    checks: list

    @property
    def verdict(self):
        """``fail`` if any rule fails, else ``undecided`` if any is, else ``pass``."""
        found = {check.verdict for check in self.checks}
        return next((v for v in (FAIL, UNDECIDED) if v in found), PASS)

    @property
    def passed(self):
        """Whether every rule holds, bool."""
        return self.verdict == PASS


def profile_rules(name, eps=None):
    """Give the rules of a profile."""
    profile = _ALIASES.get(name, name)
    check_choice("gate profile", profile, PROFILES)
    rules = PROFILES[profile]
    if eps is None:
        return rules
    if not 0 <= eps < math.inf:
        raise InputError(f"the gate's eps must be at least 0 and finite, not {eps}")
    return dict.fromkeys(rules, float(eps))


def judge(result, profile="documented", *, eps=None, decision="bound", **draws):
    """Judge a shift by its evaluator run."""
    rules = profile_rules(profile, eps)
    check_choice("decision", decision, DECISIONS)
    checks = [_check(result, name, threshold, decision, draws) for name, threshold in rules.items()]
    return GateReport(profile, decision, checks)


def _check(result, name, eps, decision, draws):
    metric, deltas = f"{name}.delta", result.deltas
    delta = result.metrics.get(metric)
    n = 0 if deltas is None else len(deltas)
    if deltas is None or delta is None or not math.isfinite(delta):
        reason = "no baseline" if deltas is None else "not a number"
        return Check(metric, None, None, None, n, eps, FAIL, reason)
    [interval] = difference_intervals(deltas[name], **draws)
    bounds = interval.low, interval.high
    if result.degenerate:
        reason = f"{len(result.degenerate)} degenerate vectors"
        return Check(metric, delta, *bounds, n, eps, FAIL, reason)
    clusters = draws.get("clusters")
    groups = n if clusters is None else len(set(clusters))
    reason = too_few(groups, clusters) or interval.reason
    lowest, highest = (delta, delta) if decision == "point" else bounds
    verdict = weigh_bounds(lowest, highest, -eps, inclusive=True)
    if decision == "bound" and groups < FEWEST:
        verdict = UNDECIDED  # not even equal scores of so few speak for others
    return Check(metric, delta, *bounds, n, eps, verdict, reason)


def write_gate(path, report, metrics, **context):
    """Write ``acceptance_gate.json`` under the documented names."""
    values = {
        **context,
        "CreatedUtc": now().isoformat().replace("+00:00", "Z"),
        "GateProfile": report.profile,
        "Decision": report.decision,
        "Passed": report.passed,
        "Verdict": report.verdict,
        "Epsilon": max(check.eps for check in report.checks),
        "Notes": [check.note for check in report.checks],
        "Checks": [asdict(check) for check in report.checks],
        "Metrics": metrics,
    }
    return write_json(path, values)
