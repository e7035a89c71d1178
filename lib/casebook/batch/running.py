"""Execute a plan: needs first, failures kept apart, one summary at the end."""

import contextlib
import fcntl
import os
import time

from casebook.batch.backends import backend
from casebook.batch.bookkeeping import keep, keep_planned, read_timings
from casebook.batch.tasks import Limits, Outcome
from casebook.errors import BatchFailed, InputError
from casebook.models.hosting import encoder_host
from casebook.paths import run_dir
from casebook.runs.outputs import merge_numbers


def run_batch(planned, run, workers=1, scheduler=None, report=print, limits=None):
    """Execute what is not cached, each notebook in one process of its own kind.

    Parameters
    ----------
    planned : list of casebook.batch.planning.Planned
        From `casebook.batch.planning.plan`.
    run : str
        Name of the run.
    workers : int
        Processes on this machine; 1 runs the notebooks one after another here.
    scheduler : str, optional
        Address of a Dask scheduler whose workers share this folder.
    report : callable
        Takes one line of progress.
    limits : casebook.batch.tasks.Limits, optional
        Time and attempts that each cell may take.

    Returns
    -------
    dict
        Cell name to wall seconds, of the cells executed.

    Raises
    ------
    InputError
        If another batch works on this run now.
    BatchFailed
        If any cell failed; all others are complete and kept.
    """
    for item in planned:
        if item.status == "cached":
            report(f"cached  {item.cell.name}: unchanged, content key {item.key[:12]}")
    waiting = {p.cell.name: p for p in planned if p.status != "cached"}
    outcomes = []
    with _sole_writer(run):
        keep_planned(run, planned)
        try:
            if waiting:
                place = backend(run, limits or Limits(), workers, scheduler)
                with _shared_encoders(waiting, scheduler), place as opened:
                    _work(waiting, opened, outcomes, Progress(run, waiting, report))
        finally:  # also when interrupted: what is done counts
            keep(run, outcomes)
            merge_numbers(run)
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed:
        report(summary(outcomes))
        lines = "; ".join(f"{o.cell}: {o.failure}" for o in failed)
        raise BatchFailed(f"{len(failed)} of {len(planned)} failed: {lines}")
    return {outcome.cell: outcome.seconds for outcome in outcomes}


def _shared_encoders(waiting, scheduler):
    """Load encoders once for all cells that run here; one cell loads its own."""
    alone = scheduler or len(waiting) < 2
    return contextlib.nullcontext() if alone else encoder_host()


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
    """Take the cells whose needs are met.

    Parameters
    ----------
    waiting : dict
        Name to plan of the cells not yet started.
    running : set of str
        Cells at work.

    Returns
    -------
    list of casebook.batch.planning.Planned
        Cells that can start.

    Raises
    ------
    InputError
        If the cells left need each other.
    """
    left = set(waiting) | running
    ready = [p for p in waiting.values() if not set(p.cell.needs) & left]
    if waiting and not ready and not running:
        raise InputError(f"{', '.join(waiting)}: need each other in a circle")
    return ready


def lost_needs(waiting, failures):
    """Fail the cells that need a failed one; they leave ``waiting``.

    Parameters
    ----------
    waiting : dict
        Name to plan of the cells not yet started; changed in place.
    failures : dict
        Name to reason of the failed ones; the lost ones are added.

    Returns
    -------
    list of casebook.batch.tasks.Outcome
        Of the cells lost.
    """
    lost = []
    for name, item in list(waiting.items()):
        missing = [need for need in item.cell.needs if need in failures]
        if missing:
            failures[name] = f"needs {', '.join(missing)}, which failed"
            lost.append(Outcome(name, failures[name], cause="needs"))
            del waiting[name]
    return lost


class Progress:
    """Say what starts and ends, and how long the rest will take.

    Parameters
    ----------
    run : str
        Name of the run, whose recorded durations make the estimate.
    waiting : dict
        Name to plan of the cells to run.
    report : callable
        Takes one line.
    """

    def __init__(self, run, waiting, report):
        self._total, self._done, self._report = len(waiting), 0, report
        self._left = dict.fromkeys(waiting)
        known = read_timings(run)
        self._expected = {name: known.get(name) for name in waiting}
        self._start = time.monotonic()

    def started(self, item):
        """Announce a cell."""
        why = f" ({', '.join(item.changed)} changed)" if item.changed else ""
        self._report(f"running {item.cell.name}{why}")

    def ended(self, outcome):
        """Report a cell's end and the time left."""
        self._done += 1
        self._left.pop(outcome.cell, None)
        word = "FAILED " if outcome.failure else "done   "
        again = f", after: {', '.join(outcome.attempts)}" if outcome.attempts else ""
        count = f"[{self._done}/{self._total}]"
        line = f"{word} {outcome.cell} ({outcome.seconds:.0f} s{again}) {count}"
        self._report(line + self._remaining())

    def _remaining(self):
        if not self._left:
            return ""
        passed = time.monotonic() - self._start
        known = [s for name in self._left if (s := self._expected[name]) is not None]
        done = [s for n, s in self._expected.items() if n not in self._left and s]
        if len(known) == len(self._left) and done:
            seconds = sum(known) * passed / sum(done)
        else:
            seconds = passed / self._done * len(self._left)
        minutes, seconds = divmod(round(seconds), 60)
        return f", about {minutes} min {seconds:02} s left"


def summary(outcomes):
    """Say in one table what became of each cell.

    Parameters
    ----------
    outcomes : list of casebook.batch.tasks.Outcome
        Of the cells executed.

    Returns
    -------
    str
        One line a cell: state, seconds, attempts, name, reason.
    """
    lines = [f"{'state':12} {'seconds':>8} {'attempts':>8}  cell"]
    for outcome in sorted(outcomes, key=lambda o: (o.failure is None, o.cell)):
        reason = f": {outcome.failure}" if outcome.failure else ""
        lines.append(
            f"{outcome.cause:12} {outcome.seconds:8.1f} {outcome.tries:8}  "
            f"{outcome.cell}{reason}"
        )
    return "\n".join(lines)


@contextlib.contextmanager
def _sole_writer(run):
    """Refuse a second batch on one run; the lock ends with its owner."""
    folder = run_dir(run)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".batch", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(handle, run)
        os.truncate(handle, 0)
        os.pwrite(handle, f"pid {os.getpid()}".encode(), 0)
        yield
    finally:
        os.close(handle)


def _lock(handle, run):
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(handle, 100, 0).decode(errors="replace")
        raise InputError(
            f"run {run!r} is being written by another batch ({owner}): wait for it, or "
            "give another name with --run"
        ) from None
