"""The batch: skip what is unchanged, execute the rest, say what happened.

What is unchanged is decided in `casebook.batch.plan`. The order of the cells, and what follows from
a failure, is decided here; the cells are executed by threads of this process, or by Dask on the
workers of a scheduler (`casebook.batch.cluster`).
"""

import contextlib
import functools
import os
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from pathlib import Path

from tqdm import tqdm

from casebook.batch import kernel
from casebook.batch.cluster import difference, scheduler_workers, threads
from casebook.batch.execute import QUIET, REFUSED, Outcome, run_cell
from casebook.batch.grid import EVERY
from casebook.batch.run_folder import check_writable, read_timings, sole_writer
from casebook.credentials import without_secrets
from casebook.errors import BatchFailed, InputError
from casebook.files import write_json, write_text
from casebook.paths import run_dir
from casebook.runs.outputs import merge_numbers


def run_batch(planned, run, workers=1, scheduler=None, report=print, *, timeout=None, retries=1):
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
    quiet = bool(os.environ.get("TQDM_DISABLE")) or None  # None: unless on a terminal
    check_writable(run)
    with sole_writer(run):
        try:
            if waiting:
                bar = tqdm(total=len(waiting), leave=False, disable=quiet)
                opened = _workers(run, list(waiting.values()), workers, scheduler)
                with bar, opened as (executor, options):
                    options |= {"run": run, "timeout": timeout, "retries": retries}
                    execute = functools.partial(_execute, folder=str(Path.cwd()), **options)
                    _work(waiting, outcomes, execute, executor, report, bar)
        finally:  # also when interrupted: what is done counts
            seconds = {each.cell: round(each.seconds, 1) for each in outcomes if not each.failure}
            write_json(run_dir(run) / "timings.json", read_timings(run) | seconds)
            conflict = _conflict(run)
    failed = [outcome for outcome in outcomes if outcome.failure]
    reasons = [f"{outcome.cell}: {outcome.failure}" for outcome in failed]
    if [outcome.cause for outcome in failed] == [REFUSED] and len(planned) == 1:
        raise InputError(reasons[0])
    if failed or len(outcomes) > 1:
        report(summary(outcomes))
    if failed:
        reasons += filter(None, [conflict])
        raise BatchFailed(f"{len(failed)} of {len(planned)} failed: {'; '.join(reasons)}")
    if conflict:
        raise InputError(conflict)
    return {outcome.cell: outcome.seconds for outcome in outcomes}


def _conflict(run):
    try:
        merge_numbers(run)
    except InputError as error:
        return str(error)
    return None


def summary(outcomes):
    """A table of what became of each cell, failures first."""
    lines = [f"{'state':12} {'seconds':>8}  cell"]
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.failure is None, outcome.cell)):
        reason = f": {outcome.failure}" if outcome.failure else ""
        lines.append(f"{outcome.cause:12} {outcome.seconds:8.1f}  {outcome.cell}{reason}")
        lines += [f"    | {line}" for line in outcome.last_lines]
    return "\n".join(lines)


@contextlib.contextmanager
def _workers(run, waiting, workers, scheduler):
    """What executes the cells: threads and their kernels, or a scheduler's workers."""
    if scheduler:
        shared_file = write_text(run_dir(run) / ".handshake", os.urandom(16).hex())
        try:
            with scheduler_workers(scheduler, shared_file) as executor:
                yield executor, {"expected": executor.expected}
        finally:
            shared_file.unlink(missing_ok=True)
        return
    os.environ.update(QUIET | os.environ)
    on_cpu = all(item.settings.device == "cpu" for item in waiting)
    modules = kernel.SHARED if on_cpu else kernel.WITHOUT_MODELS
    kernel.start_server(modules if len(waiting) > 2 else ())
    kernels = []
    with threads(min(workers, len(waiting))) as executor:
        try:
            yield executor, {"kernels": kernels}
        finally:  # before the threads are waited for, which wait for kernels
            for each in kernels:
                each.kill()


# --- the order of cells


def _work(waiting, outcomes, execute, executor, report, bar):
    """Keep the workers busy until nothing is left; ``outcomes`` grows as cells end."""
    running = {}
    failures = {}
    while waiting or running:
        ended = fail_dependents(waiting, failures)
        names = {item.cell.name for item in running.values()}
        free = max(executor.slots() - len(running), 0)
        for item in ready_cells(waiting, names)[:free]:
            del waiting[item.cell.name]
            why = f" ({', '.join(item.changed)})" if item.changed else ""
            report(f"running {item.cell.name}{why}")
            running[executor.submit(execute, item)] = item
        if running and not ended:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                ended.append(_outcome(future, running.pop(future)))
        for outcome in ended:
            outcomes.append(outcome)
            bar.update()
            state = "done   "
            if outcome.failure:
                state = "FAILED "
                failures[outcome.cell] = outcome.failure
            after = "".join(f", after: {attempt}" for attempt in outcome.attempts)
            left = len(waiting) + len(running)
            report(f"{state} {outcome.cell} ({outcome.seconds:.0f} s{after}), {left} left")


def _outcome(future, item):
    try:
        return future.result()
    except CancelledError:
        why = "the scheduler lost it; the same command again carries on"
    except Exception as error:  # a worker's, or Dask's of a worker that died
        why = without_secrets(f"{type(error).__name__}: {error}")
    return Outcome(item.cell.name, why, cause="worker lost")


def _execute(planned, expected=None, **options):
    # A worker that came after the others were checked is checked here.
    fault = expected and difference(expected)
    if fault:
        return Outcome(planned.cell.name, f"refused: the worker {fault}", cause="failed")
    os.environ.update(QUIET | os.environ)
    return run_cell(planned, **options)


def ready_cells(waiting, running):
    """The cells whose needs are met."""
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
