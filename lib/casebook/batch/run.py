"""The batch: skip what is unchanged, execute the rest, say what happened.

What is unchanged is decided in `casebook.batch.plan`. The order of the cells, and what follows from
a failure, is decided here; the cells are executed by threads of this process, or by Dask on the
workers of a scheduler (`casebook.batch.cluster`).
"""

import contextlib
import os
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from casebook.batch import kernel
from casebook.batch.cluster import scheduler_workers
from casebook.batch.execute import QUIET, REFUSED, Outcome, run_cell
from casebook.batch.grid import EVERY
from casebook.batch.plan import sole_writer
from casebook.credentials import without_secrets
from casebook.errors import BatchFailed, InputError
from casebook.files import write_text
from casebook.paths import run_dir
from casebook.runs.outputs import merge_numbers


def run_batch(planned, run, workers=1, scheduler=None, report=print, *, timeout=None):
    """Execute what is not cached: needs first, failures kept apart, one summary at the end.

    Interrupted or killed at any time it leaves a run that the same call completes. Gives the
    seconds of each cell; raises `BatchFailed` if part of it failed, and `InputError` if a single
    cell refused what it was given.
    """
    waiting = {item.cell.name: item for item in planned if item.status != "cached"}
    for item in planned:
        if item.status == "cached":
            report(f"cached  {item.cell.name}: unchanged, content key {item.key[:12]}")
    outcomes = []
    with sole_writer(run):
        try:
            if waiting:
                with _workers(
                    run, list(waiting.values()), workers, scheduler
                ) as executor:
                    options = {
                        "run": run,
                        "folder": str(Path.cwd()),
                        "timeout": timeout,
                    }
                    execute = partial(run_cell, **options)
                    _work(waiting, outcomes, execute, executor, report)
        finally:  # also when interrupted: what is done counts
            done = {each.cell: each.seconds for each in outcomes if not each.failure}
            with contextlib.suppress(InputError):
                merge_numbers(run)
        failed = [outcome for outcome in outcomes if outcome.failure]
        reasons = "; ".join(f"{outcome.cell}: {outcome.failure}" for outcome in failed)
        if [outcome.cause for outcome in failed] == [REFUSED] and len(planned) == 1:
            raise InputError(reasons)
        if failed:
            raise BatchFailed(f"{len(failed)} of {len(planned)} failed: {reasons}")
        merge_numbers(run)
    return done


@contextlib.contextmanager
def _workers(run, waiting, workers, scheduler):
    """An executor: threads with kernels of their own, or the workers of a scheduler."""
    if scheduler:
        shared_file = write_text(run_dir(run) / ".handshake", os.urandom(16).hex())
        try:
            with scheduler_workers(scheduler, shared_file) as executor:
                yield executor
        finally:
            shared_file.unlink(missing_ok=True)
        return
    os.environ.update(QUIET | os.environ)
    on_cpu = all(item.settings.device == "cpu" for item in waiting)
    # A single notebook imports its own; a fork of what has asked for a GPU cannot use it.
    kernel.start_server(kernel.SHARED if on_cpu and len(waiting) > 2 else ())
    number = min(workers, len(waiting))
    with ThreadPoolExecutor(number) as executor:
        executor.slots = lambda: number
        try:
            yield executor
        finally:  # before the threads are waited for, which wait for kernels
            kernel.kill_all()


# --- the order of cells


def in_order(waiting):
    others = [name for name, item in waiting.items() if EVERY not in item.cell.needs]
    sorter = TopologicalSorter()
    for name, item in waiting.items():
        needs = others if EVERY in item.cell.needs else item.cell.needs
        sorter.add(name, *(need for need in needs if need in waiting))
    try:
        sorter.prepare()
    except CycleError as error:
        raise InputError(
            f"{', '.join(error.args[1])}: need each other in a circle"
        ) from None
    return sorter


def _work(waiting, outcomes, execute, executor, report):
    """Keep the workers busy until nothing is left; ``outcomes`` grows as cells end."""
    sorter = in_order(waiting)
    ready = []
    running = {}
    while sorter.is_active():
        ready += sorter.get_ready()
        while ready and len(running) < executor.slots():
            item = waiting[ready.pop(0)]
            name = item.cell.name
            failures = {outcome.cell for outcome in outcomes if outcome.failure}
            failed = [need for need in item.cell.needs if need in failures]
            if failed:
                why = f"needs {', '.join(failed)}, which failed"
                future = Future()
                future.set_result(Outcome(name, why, cause="needs"))
            else:
                why = f" ({', '.join(item.changed)})" if item.changed else ""
                report(f"running {name}{why}")
                future = executor.submit(execute, item)
            running[future] = name
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            outcome = _outcome(future, running.pop(future))
            outcomes.append(outcome)
            sorter.done(outcome.cell)
            left = f"{outcome.seconds:.0f} s, {len(waiting) - len(outcomes)} left"
            why = f": {outcome.failure}" if outcome.failure else ""
            report(f"{outcome.cause:7} {outcome.cell} ({left}){why}")
            for line in outcome.last_lines:
                report(f"    | {line}")


def _outcome(future, name):
    try:
        return future.result()
    except CancelledError:
        why = "the scheduler lost it; the same command again carries on"
    except Exception as error:  # a worker's, or Dask's of a worker that died
        why = without_secrets(f"{type(error).__name__}: {error}")
    return Outcome(name, why, cause="worker lost")
