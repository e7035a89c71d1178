"""The batch: skip what is unchanged, execute the rest, say what happened.

What is unchanged (`casebook.batch.plan`), what failed and what is tried again is decided here; the tasks are carried by
threads of this process, or by Dask to the workers of a scheduler (`casebook.batch.cluster`).
"""

import contextlib
import os
import time

from casebook.batch import kernel
from casebook.batch.cluster import connected, difference, threads
from casebook.batch.execute import QUIET, Outcome, run_cell
from casebook.batch.grid import EVERY
from casebook.batch.progress import Progress, summary
from casebook.batch.run_folder import check_place, keep, keep_planned, sole_writer
from casebook.errors import BatchFailed, InputError
from casebook.files import write_text
from casebook.paths import run_dir
from casebook.runs.outputs import merge_numbers


def run_batch(
    planned, run, workers=1, scheduler=None, report=print, show=None, *, timeout=None, retries=1
):
    """Execute what is not cached: needs first, failures kept apart, one summary at the end.

    Interrupted or killed at any time it leaves a run that the same call completes. Gives the seconds of each cell;
    raises `BatchFailed` if part of it failed.
    """
    for item in planned:
        if item.status == "cached":
            report(f"cached  {item.cell.name}: unchanged, content key {item.key[:12]}")
    waiting = {p.cell.name: p for p in planned if p.status != "cached"}
    outcomes = []
    conflict = None
    check_place(run)
    with sole_writer(run):
        keep_planned(run, planned)
        try:
            if waiting:
                with _workers(run, len(waiting), workers, scheduler) as cluster:
                    progress = Progress(run, waiting, report, show, cluster.slots)
                    _work(
                        waiting,
                        cluster,
                        (run, timeout, retries, cluster.expected),
                        outcomes,
                        progress,
                    )
        finally:  # also when interrupted: what is done counts
            keep(run, outcomes)
            try:
                merge_numbers(run)
            except InputError as error:  # which must not hide why a cell failed
                conflict = error
    failed = [outcome for outcome in outcomes if outcome.failure]
    if failed or len(outcomes) > 1:
        report(summary(outcomes))
    if failed:
        lines = [f"{o.cell}: {o.failure}" for o in failed] + ([str(conflict)] if conflict else [])
        raise BatchFailed(f"{len(failed)} of {len(planned)} failed: {'; '.join(lines)}")
    if conflict:
        raise conflict
    return {outcome.cell: outcome.seconds for outcome in outcomes}


def _work(waiting, cluster, task, outcomes, progress):
    """Keep the workers busy until nothing is left."""
    running, failures = {}, {}
    while waiting or running:
        ended = lost_needs(waiting, failures)
        names = {item.cell.name for item, _ in running.values()}
        for item in ready_cells(waiting, names)[: max(cluster.slots - len(running), 0)]:
            del waiting[item.cell.name]
            progress.started(item)
            running[cluster.submit(_on_worker, item, *task)] = item, time.perf_counter()
        for future in cluster.wait(running, progress.look) if running and not ended else ():
            item, started = running.pop(future)
            lost = cluster.lost(future)
            if lost:
                seconds = time.perf_counter() - started
                ended.append(Outcome(item.cell.name, lost, seconds, cause="worker lost"))
            else:
                ended.append(future.result())
        for outcome in ended:
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


def check_order(planned):
    """Refuse cells that need each other in a circle."""
    waiting = {item.cell.name: item for item in planned if item.status != "cached"}
    while waiting:
        for item in ready_cells(waiting, set()):
            del waiting[item.cell.name]


# --- where cells are executed: threads of this process, each with a kernel of its own, or a scheduler's workers


@contextlib.contextmanager
def _workers(run, count, workers, scheduler):
    """Open the place for a batch: the cluster, and what its workers must agree on."""
    with contextlib.ExitStack() as stack:
        if scheduler:
            path = write_text(run_dir(run) / ".handshake", os.urandom(16).hex())
            stack.callback(path.unlink, missing_ok=True)
            yield stack.enter_context(connected(scheduler, path))
            return
        os.environ.update(QUIET | os.environ)
        nursery = stack.enter_context(kernel.batch_nursery(kernel.SHARED if count > 2 else ()))
        nursery.start()
        cluster = stack.enter_context(threads(min(workers, count)))
        stack.callback(nursery.close)  # before the threads are waited for, which wait for kernels
        yield cluster


def _on_worker(planned, run, timeout, retries, expected):
    """Execute a cell; a worker that came after the handshake is asked too."""
    wrong = expected and difference(expected)
    if wrong:
        return Outcome(planned.cell.name, f"refused: the worker {wrong}", cause="failed")
    return run_cell(planned, run, timeout, retries)
