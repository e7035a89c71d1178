"""Gates: whether a run is not worse than a reference by more than a margin.

A gate file holds ``{"rules": [{"metric": "ndcg@3", "margin": 0.005}, ...]}`` as YAML or
JSON. Its hash goes into the verdict and into the promotion that follows from it.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.readers import read_yaml
from casebook.runs.evidence import FAIL, INCOMPARABLE, PASS, UNDECIDED, weigh
from casebook.runs.metrics import canonical

MARGIN = 0.005
_RULE = {"metric", "margin"}


@dataclass(frozen=True)
class Gate:
    """Margins per metric."""

    rules: dict
    sha256: str | None = None


@dataclass(frozen=True)
class GateResult:
    """Outcome of a gate."""

    verdict: str
    notes: list
    evidence: dict = field(default_factory=dict)

    @property
    def passed(self):
        """Whether every rule holds."""
        return self.verdict == PASS


def read_gate(path):
    """Read a gate file."""
    path = Path(path)
    content = read_yaml(path, "gate file")
    rules = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(rules, list) or not rules:
        raise InputError(f"{path}: a gate file holds rules: a list of metric and margin")
    margins = {}
    for number, rule in enumerate(rules, 1):
        metric, margin = _rule(f"{path}: rule {number}", rule)
        if metric in margins:
            raise InputError(f"{path}: rule {number}: {metric!r} has a rule already")
        margins[metric] = margin
    return Gate(margins, sha256_file(path))


def _rule(where, rule):
    """Check one rule; give its metric and margin."""
    unknown = sorted(set(map(str, rule)) - _RULE) if isinstance(rule, dict) else None
    if unknown is None or unknown or not isinstance(rule.get("metric"), str):
        found = f", not {', '.join(unknown)}" if unknown else ""
        raise InputError(f"{where}: expected metric (a name) and margin{found}")
    margin = rule.get("margin", MARGIN)
    number = isinstance(margin, int | float) and not isinstance(margin, bool)
    if not number or not 0 <= margin < math.inf:
        raise InputError(f"{where}: margin must be a number of at least 0, not {margin!r}")
    return canonical(rule["metric"]), float(margin)


def apply_gate(listing, candidate, reference, gate, **options):
    """Test that a run is not worse than a reference."""
    found = {
        metric: weigh(listing, candidate, reference, metric, -margin, inclusive=True, **options)
        for metric, margin in gate.rules.items()
    }
    notes = []
    for metric, evidence in found.items():
        word = "OK" if evidence.verdict == PASS else evidence.verdict.upper()
        notes.append(f"{word}: {metric}{_figures(evidence, gate.rules[metric])}")
        notes += [f"{metric}: {note}" for note in evidence.notes]
    verdicts = {evidence.verdict for evidence in found.values()}
    order = (FAIL, INCOMPARABLE, UNDECIDED, PASS)
    return GateResult(next(v for v in order if v in verdicts), notes, found)


def _figures(evidence, margin):
    if evidence.improvement is None:
        return ""
    bounds = ""
    if evidence.low is not None:
        bounds = f" [{evidence.low:+z.4f}, {evidence.high:+z.4f}]"
    n = "" if evidence.n is None else f" n={evidence.n}"
    return f" {evidence.improvement:+z.4f}{bounds}{n} against -{margin:g}"
