"""The batch: skip what is unchanged, execute the rest, say what happened.

What is unchanged is decided in `casebook.batch.plan`. The order of the cells, and what follows from
a failure, is decided here; the cells are executed by threads of this process, or by Dask on the
workers of a scheduler (`casebook.batch.cluster`).
"""

import contextlib
import functools
import os
import time
from pathlib import Path

from casebook.batch import kernel
from casebook.batch.cluster import scheduler_workers, threads
from casebook.batch.execute import QUIET, REFUSED, Outcome, run_cell
from casebook.batch.grid import EVERY
from casebook.batch.progress import Progress, summary
from casebook.batch.run_folder import check_writable, sole_writer, write_outcomes, write_planned
from casebook.errors import BatchFailed, InputError
from casebook.files import write_text
from casebook.paths import run_dir
from casebook.runs.outputs import merge_numbers


def run_batch(
    planned, run, workers=1, scheduler=None, report=print, bar=None, *, timeout=None, retries=1
):
    """Execute what is not cached: needs first, failures kept apart, one summary at the end.

    Interrupted or killed at any time it leaves a run that the same call completes. Gives the
    seconds of each cell; raises `BatchFailed` if part of it failed, and `InputError` if a single
    cell refused what it was given.
    """
    for item in planned:
        if item.status == "cached":
            report(f"cached  {item.cell.name}: unchanged, content key {item.key[:12]}")
    waiting = {item.cell.name: item for item in planned if item.status != "cached"}
    outcomes = []
    conflict = None
    check_writable(run)
    with sole_writer(run):
        write_planned(run, planned)
        try:
            if waiting:
                opened = _workers(run, list(waiting.values()), workers, scheduler)
                with opened as (cluster, kernels):
                    progress = Progress(len(waiting), report, bar)
                    execute = functools.partial(
                        _execute_on_worker,
                        run=run,
                        folder=str(Path.cwd()),
                        timeout=timeout,
                        retries=retries,
                        expected=cluster.expected,
                        kernels=kernels,
                    )
                    _work(waiting, outcomes, execute, cluster, progress)
        finally:  # also when interrupted: what is done counts
            write_outcomes(run, outcomes, planned)
            try:
                merge_numbers(run)
            except InputError as error:  # which must not hide why a cell failed
                conflict = error
    failed = [outcome for outcome in outcomes if outcome.failure]
    reasons = [f"{outcome.cell}: {outcome.failure}" for outcome in failed]
    n_refused = sum(outcome.cause == REFUSED for outcome in failed)
    if n_refused == len(planned) == 1:
        raise InputError(reasons[0])
    if failed or len(outcomes) > 1:
        report(summary(outcomes))
    if failed:
        if conflict:
            reasons.append(str(conflict))
        raise BatchFailed(f"{len(failed)} of {len(planned)} failed: {'; '.join(reasons)}")
    if conflict:
        raise conflict
    return {outcome.cell: outcome.seconds for outcome in outcomes}


@contextlib.contextmanager
def _workers(run, waiting, workers, scheduler):
    """Open what executes the cells: threads and their kernels, or a scheduler's workers."""
    with contextlib.ExitStack() as stack:
        if scheduler:
            shared_file = write_text(run_dir(run) / ".handshake", os.urandom(16).hex())
            stack.callback(shared_file.unlink, missing_ok=True)
            yield stack.enter_context(scheduler_workers(scheduler, shared_file)), None
            return
        os.environ.update(QUIET | os.environ)
        kernel.start_server(_shared_modules(waiting))
        kernels = []
        cluster = stack.enter_context(threads(min(workers, len(waiting))))
        try:
            yield cluster, kernels
        finally:  # before the threads are waited for, which wait for kernels
            for each in kernels:
                each.kill()


def _shared_modules(waiting):
    """Give what the kernels of the cells share; see `casebook.batch.kernel`."""
    if len(waiting) <= 2:
        return ()
    if all(item.settings.device == "cpu" for item in waiting):
        return kernel.SHARED
    # A fork of what has asked for a GPU cannot use it.
    return [name for name in kernel.SHARED if name not in ("torch", "sentence_transformers")]


# --- the order of cells


def _work(waiting, outcomes, execute, cluster, progress):
    """Keep the workers busy until nothing is left; ``outcomes`` grows as cells end."""
    running = {}  # future to its cell and when it was submitted
    failures = {}
    while waiting or running:
        ended = fail_dependents(waiting, failures)
        names = {item.cell.name for item, _ in running.values()}
        free = max(cluster.slots - len(running), 0)
        for item in ready_cells(waiting, names)[:free]:
            del waiting[item.cell.name]
            progress.started(item)
            running[cluster.submit(execute, item)] = item, time.perf_counter()
        if running and not ended:
            for future in cluster.wait(running):
                item, submitted = running.pop(future)
                ended.append(_outcome(future, item, submitted, cluster))
        for outcome in ended:
            outcomes.append(outcome)
            if outcome.failure:
                failures[outcome.cell] = outcome.failure
            progress.ended(outcome)


def _outcome(future, item, submitted, cluster):
    why_lost = cluster.why_lost(future)
    if why_lost is None:
        return future.result()
    seconds = time.perf_counter() - submitted
    return Outcome(item.cell.name, why_lost, seconds, cause="worker lost")


def _execute_on_worker(planned, run, folder, timeout, retries, expected, kernels):
    """Execute a cell; a worker that came after the others were checked is checked here."""
    difference = expected and expected.difference()
    if difference:
        failure = f"refused: the worker {difference}"
        return Outcome(planned.cell.name, failure, cause="failed")
    return run_cell(planned, run, folder, timeout=timeout, retries=retries, kernels=kernels)


def ready_cells(waiting, running):
    """Give the cells whose needs are met."""
    unfinished = set(waiting) | running
    if running or any(EVERY not in item.cell.needs for item in waiting.values()):
        unfinished.add(EVERY)
    ready = [item for item in waiting.values() if not unfinished.intersection(item.cell.needs)]
    if waiting and not ready and not running:
        raise InputError(f"{', '.join(waiting)}: need each other in a circle")
    return ready


def fail_dependents(waiting, failures):
    """Fail the cells that need a failed one; they leave ``waiting``."""
    outcomes = []
    for name, item in list(waiting.items()):
        failed = [need for need in item.cell.needs if need in failures]
        if failed:
            failures[name] = f"needs {', '.join(failed)}, which failed"
            outcomes.append(Outcome(name, failures[name], cause="needs"))
            del waiting[name]
    return outcomes


def check_order(planned):
    """Refuse cells that need each other in a circle."""
    waiting = {item.cell.name: item for item in planned if item.status != "cached"}
    while waiting:
        for item in ready_cells(waiting, set()):
            del waiting[item.cell.name]
