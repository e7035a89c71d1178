"""Execute a plan: needs first, failures kept apart, one summary at the end."""

import contextlib

from casebook.batch.backends import backend
from casebook.batch.bookkeeping import keep, keep_planned
from casebook.batch.progress import Progress, summary
from casebook.batch.tasks import Limits, Outcome
from casebook.errors import BatchFailed, InputError
from casebook.files import locked
from casebook.folders import scratch
from casebook.grid import EVERY
from casebook.paths import run_dir
from casebook.runs.outputs import merge_numbers


def run_batch(planned, run, workers=1, scheduler=None, report=print, limits=None, show=None):
    """Execute what is not cached, each notebook in one process of its own kind."""
    for item in planned:
        if item.status == "cached":
            report(f"cached  {item.cell.name}: unchanged, content key {item.key[:12]}")
    waiting = {p.cell.name: p for p in planned if p.status != "cached"}
    outcomes = []
    with sole_writer(run):
        keep_planned(run, planned)
        try:
            if waiting:
                place = backend(run, limits or Limits(), workers, scheduler)
                encoders = _shared_encoders(waiting, scheduler)
                with scratch(), encoders, place as opened:
                    progress = Progress(run, waiting, report, show, opened.slots)
                    _work(waiting, opened, outcomes, progress)
        finally:  # also when interrupted: what is done counts
            keep(run, outcomes)
            conflict = _merged(run)
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed or len(outcomes) > 1:
        report(summary(outcomes))
    if failed:
        lines = "; ".join(f"{o.cell}: {o.failure}" for o in failed)
        lines += f"; {conflict}" if conflict else ""
        raise BatchFailed(f"{len(failed)} of {len(planned)} failed: {lines}")
    if conflict:
        raise conflict
    return {outcome.cell: outcome.seconds for outcome in outcomes}


def _merged(run):
    """Join the numbers of all cells; give what keeps them apart, if anything does."""
    try:
        merge_numbers(run)
    except InputError as conflict:  # which must not hide why a cell failed
        return conflict
    return None


def _shared_encoders(waiting, scheduler):
    """Load encoders once for all cells that run here; one cell loads its own."""
    return contextlib.nullcontext()


def _work(waiting, place, outcomes, progress):
    """Keep the backend busy until nothing is left."""
    running, failures = set(), {}
    while waiting or running:
        for outcome in lost_needs(waiting, failures):
            outcomes.append(outcome)
            progress.ended(outcome)
        ready = ready_cells(waiting, running)
        for item in ready[: max(place.slots - len(running), 0)]:
            running.add(item.cell.name)
            del waiting[item.cell.name]
            progress.started(item)
            place.submit(item)
        if not running:
            continue
        for outcome in place.wait():
            running.discard(outcome.cell)
            outcomes.append(outcome)
            if outcome.failure:
                failures[outcome.cell] = outcome.failure
            progress.ended(outcome)


def ready_cells(waiting, running):
    """Take the cells whose needs are met."""
    left = set(waiting) | running
    if any(EVERY not in waiting[name].cell.needs for name in waiting) or running:
        left.add(EVERY)
    ready = [p for p in waiting.values() if not set(p.cell.needs) & left]
    if waiting and not ready and not running:
        raise InputError(f"{', '.join(waiting)}: need each other in a circle")
    return ready


def lost_needs(waiting, failures):
    """Fail the cells that need a failed one; they leave ``waiting``."""
    lost = []
    for name, item in list(waiting.items()):
        missing = [need for need in item.cell.needs if need in failures]
        if missing:
            failures[name] = f"needs {', '.join(missing)}, which failed"
            lost.append(Outcome(name, failures[name], cause="needs"))
            del waiting[name]
    return lost


def sole_writer(run):
    """Hold the lock of a run, so that nobody else writes it; it ends with its owner."""

    def refusal(owner):
        return f"run {run!r} is being written by another batch ({owner}): wait for it, or give another name with --run"

    return locked(run_dir(run) / ".batch", refusal)
