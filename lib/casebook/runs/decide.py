"""Whether one run is better than another: evidence, gates, decisions, and their documented reports.

With rows per query a verdict rests on the interval of the paired mean difference over groups of queries: it passes if
the whole interval lies above the margin, fails if all of it lies below, and is undecided if the margin lies inside or
there is no interval (fewer than six groups). Two runs that give every query the same score are the same: there is
nothing to decide. Without rows only the two scores are left, which cannot be undecided and say nothing about chance;
the notes then say so.
"""

import datetime
import math
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from casebook.errors import CheckFailed, Incomparable, InputError, Undecided
from casebook.files import sha256_file, write_json, write_text
from casebook.readers import read_json, read_yaml
from casebook.runs.promotions import Reason, active, check_place, promote
from casebook.runs.record import canonical, cell, file_part, higher_is_better, label, now
from casebook.runs.registry import UNKNOWN, NoRows, best, figure, order, score_of, short_key

PASS, FAIL, UNDECIDED, INCOMPARABLE, SAME = "pass", "fail", "undecided", "incomparable", "same"
PAIRED = "paired_randomisation"
PROMOTE, KEEP = "Promote", "KeepActive"
EPSILON, MARGIN = 1e-6, 0.005
_ERRORS = {FAIL: CheckFailed, UNDECIDED: Undecided, INCOMPARABLE: Incomparable}

# --- what speaks for a candidate


@dataclass
class Evidence:
    """A verdict on one metric and what it rests on."""

    verdict: str
    basis: str | None = None
    improvement: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    n: int | None = None
    groups: int | None = None
    p_value: float | None = None
    mde: float | None = None
    gained: int | None = None
    lost: int | None = None
    unchanged: int | None = None
    incomparable: bool = False
    notes: list = field(default_factory=list)

    def as_dict(self):
        """Give all fields as a JSON-serialisable dict."""
        return asdict(self)


def judge(low, high, margin, inclusive=False):
    """Compare an interval with a margin.

    Parameters
    ----------
    low, high : float or None
        The interval; None if there is none.
    margin : float
        What it must lie above, in the same unit.
    inclusive : bool
        Whether touching the margin from above suffices.

    Returns
    -------
    str
        ``"pass"``, ``"fail"`` or ``"undecided"``.

    Examples
    --------
    >>> judge(0.01, 0.05, 0.0), judge(-0.02, 0.05, 0.0), judge(-0.02, -0.01, 0.0)
    ('pass', 'undecided', 'fail')
    """
    if low is None or high is None:
        return UNDECIDED
    if low > margin or (inclusive and low == margin):
        return PASS
    if high < margin or (not inclusive and high == margin):
        return FAIL
    return UNDECIDED


def weigh(listing, candidate, reference, metric, margin, *, inclusive=False, force=False, **options):
    """Weigh one run against another on one metric; `options` go to `compare_runs`."""
    result = Evidence(INCOMPARABLE)
    if candidate.key != reference.key:
        result.notes.append(f"measured on different data ({short_key(candidate.key)} and {short_key(reference.key)})")
        result.incomparable = True
        if not force:
            return result
    elif candidate.key is None:
        result.notes.append("neither run holds a fingerprint: that both were measured on the same data is on trust")
    scores = score_of(candidate, metric), score_of(reference, metric)
    if None in scores:
        result.verdict = FAIL
        result.notes.append("MISSING: a run failed or does not hold the metric")
        return result
    folders = listing.folder(candidate), listing.folder(reference)
    try:
        pairs = _paired(result, folders, metric, force, options)
    except NoRows as reason:
        result.notes.append(f"no interval, only the two scores: {reason}")
        result.basis = "eps"
        result.improvement = (1 if higher_is_better(metric) else -1) * (scores[0] - scores[1])
        result.verdict = judge(result.improvement, result.improvement, margin, inclusive)
        differ = result.improvement
    else:
        if pairs is None:
            return result
        result.basis, result.improvement = PAIRED, pairs.difference
        for name in ("low", "high", "level", "n", "groups", "p_value", "mde", "gained", "lost", "unchanged"):
            setattr(result, name, getattr(pairs, name))
        if pairs.reason:
            result.notes.append(f"interval: {pairs.reason.replace('_', ' ')}")
        result.verdict = judge(result.low, result.high, margin, inclusive)
        differ = result.gained or result.lost
    if not differ:  # not worse by any margin, and nothing to promote
        result.verdict = PASS if inclusive else SAME
        result.notes.append("the two runs have the same scores")
    return result


def _paired(result, folders, metric, force, options):
    """Compare by query; None for other queries or groups, unless by force, which is stamped."""
    from casebook.runs.pairing import compare_runs  # with pandas and the tests: ranking runs must stay quick

    try:
        return compare_runs(*folders, metric, **options)
    except Incomparable as reason:
        result.incomparable = True
        result.notes.append(str(reason))
        return compare_runs(*folders, metric, force=True, **options) if force else None


def settle(verdict, message):
    """End a command with the exit code of its verdict."""
    if verdict in _ERRORS:
        raise _ERRORS[verdict](message)
    if verdict not in (PASS, SAME):
        raise InputError(f"unknown verdict {verdict!r}")


# --- gates


@dataclass(frozen=True)
class Gate:
    """Margins per metric: how much worse than a reference a run may be."""

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
    """Read a gate file: ``{"rules": [{"metric": "ndcg@3", "margin": 0.005}, ...]}`` as YAML or JSON."""
    path = Path(path)
    content = read_yaml(path, "gate file")
    rules = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(rules, list) or not rules:
        raise InputError(f"{path}: a gate file holds rules: a list of metric and margin")
    margins = {}
    for number, rule in enumerate(rules, 1):
        where = f"{path}: rule {number}"
        if not isinstance(rule, dict) or set(rule) - {"metric", "margin"} or not isinstance(rule.get("metric"), str):
            raise InputError(f"{where}: expected metric (a name) and margin, not {rule!r}")
        margin = rule.get("margin", MARGIN)
        if not isinstance(margin, int | float) or isinstance(margin, bool) or not 0 <= margin < math.inf:
            raise InputError(f"{where}: margin must be a number of at least 0, not {margin!r}")
        if canonical(rule["metric"]) in margins:
            raise InputError(f"{where}: {rule['metric']!r} has a rule already")
        margins[canonical(rule["metric"])] = float(margin)
    return Gate(margins, sha256_file(path))


def apply_gate(listing, candidate, reference, gate, **options):
    """Test that a run is not worse than a reference by more than the margins."""
    found, notes = {}, []
    for metric, margin in gate.rules.items():
        evidence = weigh(listing, candidate, reference, metric, -margin, inclusive=True, **options)
        found[metric] = evidence
        shown = ""
        if evidence.improvement is not None:
            bounds = "" if evidence.low is None else f" [{evidence.low:+z.4f}, {evidence.high:+z.4f}]"
            n = "" if evidence.n is None else f" n={evidence.n}"
            shown = f" {evidence.improvement:+z.4f}{bounds}{n} against -{margin:g}"
        notes.append(f"{'OK' if evidence.verdict == PASS else evidence.verdict.upper()}: {metric}{shown}")
        notes += [f"{metric}: {note}" for note in evidence.notes]
    verdicts = {evidence.verdict for evidence in found.values()}
    worst = next(v for v in (FAIL, INCOMPARABLE, UNDECIDED, PASS) if v in verdicts)
    return GateResult(worst, notes, found)


# --- decisions


@dataclass(frozen=True)
class Decision:
    """A decision and all that is needed to reproduce it."""

    metric: str
    profile: str | None
    epsilon: float
    created: str
    candidate: object
    active: dict | None
    action: str
    evidence: Evidence
    competing: int
    total: int

    @property
    def delta(self):
        """Plain difference of the two scores, or None."""
        if self.candidate is None or self.active is None:
            return None
        before, after = self.active["score"], score_of(self.candidate, self.metric)
        return None if None in (before, after) else after - before


def decide(listing, metric, *, runs=None, run=None, profile=None, eps=EPSILON, force=False, **options):
    """Decide whether the best of some runs, or one that is named, should become the active one."""
    if not 0 <= eps < math.inf:
        raise InputError(f"eps must be at least 0 and finite, not {eps}")
    present = active(listing.root, metric, profile)
    standing = None  # the active run as it is now, unless it has gone
    if present is not None:
        standing = next((r for r in listing.runs if r.path == present["path"]), None)
        standing = standing if standing and score_of(standing, metric) is not None else None
    candidate, competing = run, 1
    if run is None:
        candidate, competing = _best_of(listing.runs if runs is None else runs, standing, metric, force)
    if candidate is not None:
        check_place(listing.root, candidate)
    evidence = _evidence(listing, candidate, present, standing, metric, eps, force, options)
    if competing > 1 and evidence.basis == PAIRED:
        why = f"the candidate is the best of {competing} runs: the interval does not correct for that choice"
        evidence.notes.append(why)
    score = score_of(standing, metric) if standing else present and present["score"]
    return Decision(
        metric=canonical(metric),
        profile=profile,
        epsilon=eps,
        created=f"{now():%Y-%m-%dT%H:%M:%SZ}",
        candidate=candidate,
        active=present and present | {"score": score},
        action=PROMOTE if evidence.verdict == PASS else KEEP,
        evidence=evidence,
        competing=competing,
        total=len(listing.runs),
    )


def _best_of(pool, standing, metric, force):
    """Choose what may replace the active run, and count what it was chosen from."""
    if standing is not None and not force:
        pool = [r for r in pool if r.key == standing.key]
    competing = [r for r in order(pool, metric) if score_of(r, metric) is not None]
    if not competing and standing is not None:
        return None, 0
    return best(competing or pool, metric, force), len(competing)


def _evidence(listing, candidate, present, standing, metric, eps, force, options):
    if candidate is None:
        return Evidence(INCOMPARABLE, incomparable=True, notes=["no run was measured on the same data"])
    if score_of(candidate, metric) is None:
        return Evidence(FAIL, notes=["MISSING: it failed or does not hold the metric"])
    if present is None:
        return Evidence(PASS, "first", notes=["no run was promoted before"])
    if candidate.path == present["path"]:
        return Evidence(SAME, "same_run", 0.0, notes=[f"{candidate.run_id} is promoted already: nothing to promote"])
    if standing is None:
        raise Incomparable(
            f"the promoted run {present['path']} is gone or lost the metric; promote another by name, or roll back"
        )
    return weigh(listing, candidate, standing, metric, eps, force=force, **options)


def apply(listing, decision, reason=None, gate_sha256=None):
    """Promote exactly the candidate of a decision, if it says so."""
    if decision.action != PROMOTE:
        return None
    evidence = decision.evidence
    kept = {"action": decision.action, "epsilon": decision.epsilon, "totalRunsFound": decision.total}
    plain = "no run was promoted before" if evidence.basis == "first" else f"decided by {evidence.basis}"
    why = Reason(reason or plain, evidence.as_dict() | kept, gate_sha256, evidence.incomparable)
    after = decision.active["seq"] if decision.active else 0
    return promote(listing, decision.candidate, decision.metric, why, decision.profile, after)


# --- the documented files of compare, best and decide, as JSON and as Markdown


def ranking(listing, metric, runs=None, top=20):
    """Rank runs on a metric, each group of comparable ones by itself; ``*`` in the metric stands for anything."""
    pattern = canonical(metric)
    spread = [(run, pattern) for run in (listing.runs if runs is None else runs)]
    if "*" in metric:  # a copy of a run per metric that fits, holding it under the pattern
        fits = re.compile(".*".join(map(re.escape, pattern.split("*")))).fullmatch
        held = [(run, key, value) for run, _ in spread for key, value in run.metrics.items() if fits(key)]
        spread = [(replace(run, metrics=run.metrics | {pattern: value}), key) for run, key, value in held]
    names = {id(run): key for run, key in spread}
    places, rows = {}, []
    for run in order([run for run, _ in spread], metric):
        score, rank = score_of(run, metric), None
        if score is not None:
            rank = places[run.key] = places.get(run.key, 0) + 1
        if len(rows) < max(1, top):
            rows.append(_ranked(listing, run, rank, score, names[id(run)]))
    return rows


def _ranked(listing, run, rank, score, metric):
    folder = listing.folder(run)
    missing = UNKNOWN | {"reason": "the run does not hold the metric"}
    return {
        "rank": rank,
        "score": score,
        "metric": metric,
        **(missing if score is None else figure(folder, metric)),
        "map1": run.metrics.get("map@1"),
        "ndcg3": run.metrics.get("ndcg@3"),
        "workflowName": run.workflow,
        "runId": run.run_id,
        "completedUtc": run.completed,
        "success": run.success,
        "comparability": short_key(run.key),
        "runDirectory": str(folder),
    }


def comparison_report(listing, metric, rows):
    """Put a ranking into its documented form."""
    return _head(listing, metric) | {"totalRuns": len(listing.runs), "top": rows, "unreadable": listing.unreadable}


def best_report(listing, metric, run, incomparable=False):
    """Put the winner into its documented form."""
    counts = {"totalRunsFound": len(listing.runs), "incomparable": incomparable}
    return _head(listing, metric) | counts | _target(listing, run, metric) | figure(listing.folder(run), metric)


def decision_report(listing, decision):
    """Put a decision into its documented form."""
    old, run = decision.active, decision.candidate
    return _head(listing, decision.metric) | {
        "createdUtc": decision.created,
        "profile": decision.profile,
        "epsilon": decision.epsilon,
        "totalRunsFound": decision.total,
        "competing": decision.competing,
        "candidate": run and _target(listing, run, decision.metric),
        "active": old and _place(listing.root, old["workflow"], old["runId"], old["score"], old["path"]),
        "action": decision.action,
        "delta": decision.delta,
        "reason": "; ".join(decision.evidence.notes),
        "evidence": decision.evidence.as_dict(),
    }


def _head(listing, metric):
    return {"metricKey": canonical(metric), "createdUtc": f"{now():%Y-%m-%dT%H:%M:%SZ}", "runsRoot": str(listing.root)}


def _target(listing, run, metric):
    return _place(listing.root, run.workflow, run.run_id, score_of(run, metric), run.path)


def _place(root, workflow, run_id, score, path):
    """Name a run with its score and its folder, as the documented files do."""
    return {
        "workflowName": workflow,
        "runId": run_id,
        "score": score,
        "runDirectory": str(root / path),
        "runJsonPath": str(root / path / "run.json"),
    }


def stamp():
    """Give the present time as it stands in file names."""
    moment = datetime.datetime.now(datetime.UTC)
    return f"{moment:%Y%m%d_%H%M%S}_{moment.microsecond // 1000:03d}"


def write_report(root, kind, report, out=None, stamped=True):
    """Write a report as ``_<kind>/<name>.json`` with a Markdown twin."""
    folder = Path(out) if out else root / {"decision": "_decisions"}.get(kind, f"_{kind}")
    stem = name = f"{kind}_{file_part(report['metricKey'])}"
    if stamped:
        stem = name = f"{stem}_{stamp()}"
        number = 1
        while (folder / f"{name}.json").exists():  # this millisecond has used it
            number += 1
            name = f"{stem}-{number}"
    write_text(folder / f"{name}.md", markdown(kind, report))
    return write_json(folder / f"{name}.json", report)


def markdown(kind, report):
    """Write a report as Markdown: a line per entry, and the table of a ranking."""
    lines = [f"# {kind}: {label(report['metricKey'])}", ""]
    lines += [f"- {n}: {'n/a' if v in (None, {}, []) else v}" for n, v in report.items() if n != "top"]
    if "top" in report:
        columns = ("rank", "score", "map1", "ndcg3", "workflowName", "runId")
        lines += ["", " | ".join(columns), " | ".join("---" for _ in columns)]
        lines += [" | ".join(cell(row[c]) for c in columns) for row in report["top"]]
    return "\n".join(lines) + "\n"


def kept_decisions(root):
    """List the decisions that were kept as files below a registry, also those that promoted nothing, latest first."""
    import pandas as pd

    numbers = ["difference", "difference low", "difference high", "n"]
    columns = ["when", "metric", "profile", "candidate", "action", "verdict", *numbers, "why"]
    rows = []
    for path in (root / "_decisions").glob("decision_*.json"):
        try:
            report = read_json(path)
            evidence = report["evidence"]
            rows.append(
                [
                    report["createdUtc"][:16].replace("T", " "),
                    *(report["metricKey"], report["profile"], (report["candidate"] or {}).get("runId")),
                    *(report["action"], evidence["verdict"], evidence["improvement"]),
                    *(evidence["low"], evidence["high"], evidence["n"], report["reason"]),
                ]
            )
        except (InputError, KeyError, TypeError, AttributeError) as error:
            why = str(error) if isinstance(error, InputError) else f"{path.name}: not a decision of this registry"
            rows.append([*[None] * 5, "unreadable", *[None] * 4, why])
    rows.sort(key=lambda row: (str(row[0]), str(row[-1])), reverse=True)
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))
