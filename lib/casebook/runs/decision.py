"""Whether the best run should become the active one."""

import math
from dataclasses import dataclass

from casebook.errors import Incomparable, InputError
from casebook.runs.artifact import now
from casebook.runs.evidence import FAIL, INCOMPARABLE, PAIRED, PASS, SAME, Evidence, weigh
from casebook.runs.metrics import canonical
from casebook.runs.ordering import best, order, score_of
from casebook.runs.promotion import Reason, active, check_place, promote

EPSILON = 1e-6
PROMOTE, KEEP = "Promote", "KeepActive"


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


def decide(listing, metric, *, runs=None, run=None, profile=None, **options):
    """Decide whether a run should become the active one."""
    eps = options.pop("eps", EPSILON)
    if not 0 <= eps < math.inf:
        raise InputError(f"eps must be at least 0 and finite, not {eps}")
    force = options.get("force", False)
    pool = listing.runs if runs is None else runs
    present = active(listing.root, metric, profile)
    standing = _standing(listing, present, metric)
    candidate, competing = _candidate(pool, run, standing, metric, force)
    if candidate is not None:
        check_place(listing.root, candidate)
    evidence = _evidence(listing, candidate, (present, standing), metric, eps, options)
    if competing > 1 and evidence.basis == PAIRED:
        evidence.notes.append(
            f"the candidate is the best of {competing} runs: the interval does not correct for that choice"
        )
    return Decision(
        metric=canonical(metric),
        profile=profile,
        epsilon=eps,
        created=f"{now():%Y-%m-%dT%H:%M:%SZ}",
        candidate=candidate,
        active=present and present | {"score": _score(standing, present, metric)},
        action=PROMOTE if evidence.verdict == PASS else KEEP,
        evidence=evidence,
        competing=competing,
        total=len(listing.runs),
    )


def _standing(listing, present, metric):
    """Give the active run as it is now, or None if it has gone."""
    if present is None:
        return None
    found = (run for run in listing.runs if run.path == present["path"])
    run = next(found, None)
    return run if run and score_of(run, metric) is not None else None


def _score(standing, present, metric):
    return score_of(standing, metric) if standing else present["score"]


def _candidate(pool, run, standing, metric, force):
    """Choose what may replace the active run, and count what it was chosen from."""
    if run is not None:
        return run, 1
    if standing is not None and not force:
        pool = [r for r in pool if r.key == standing.key]
    competing = [r for r in order(pool, metric) if score_of(r, metric) is not None]
    if not competing and standing is not None:
        return None, 0
    return best(competing or pool, metric, force), len(competing)


def _evidence(listing, candidate, active_run, metric, eps, options):
    present, standing = active_run
    if candidate is None:
        why = "no run was measured on the same data"
        return Evidence(INCOMPARABLE, incomparable=True, notes=[why])
    if score_of(candidate, metric) is None:
        return Evidence(FAIL, notes=["MISSING: it failed or does not hold the metric"])
    if present is None:
        return Evidence(PASS, "first", notes=["no run was active"])
    if candidate.path == present["path"]:
        why = f"{candidate.run_id} is active already: nothing to promote"
        return Evidence(SAME, "same_run", 0.0, notes=[why])
    if standing is None:
        raise Incomparable(
            f"the active run {present['path']} is gone or lost the metric; promote another by name, or roll back"
        )
    return weigh(listing, candidate, standing, metric, eps, **options)


def apply(listing, decision, reason=None, gate_sha256=None):
    """Promote exactly the candidate of a decision, if it says so."""
    if decision.action != PROMOTE:
        return None
    evidence = decision.evidence.as_dict() | {
        "action": decision.action,
        "epsilon": decision.epsilon,
        "totalRunsFound": decision.total,
    }
    basis = decision.evidence.basis
    plain = "no run was active" if basis == "first" else f"decided by {basis}"
    text = reason or plain
    why = Reason(text, evidence, gate_sha256, decision.evidence.incomparable)
    after = decision.active["seq"] if decision.active else 0
    return promote(listing, decision.candidate, decision.metric, why, decision.profile, after)
