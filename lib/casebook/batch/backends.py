"""Where cells are executed: in this process, in worker processes, on a Dask cluster.

A backend has ``slots`` (cells that it works on at a time), ``submit(planned)`` and
``wait()``, which gives the outcomes that have come in since it was asked last.
"""

import contextlib
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import Pipe, get_context

from casebook.batch.tasks import Outcome, run_cell
from casebook.kernels import end_with

LOST = "the worker process was lost (killed, or out of memory)"


class Serial:
    """One cell after the other, here."""

    slots = 1

    def __init__(self, run, limits):
        self._run, self._limits, self._next = run, limits, None

    def submit(self, planned):
        """Take the next cell."""
        self._next = planned

    def wait(self):
        """Execute it and give its outcome."""
        return [run_cell(self._next, self._run, self._limits)]

    def close(self):
        """Leave nothing behind: there is no worker."""


class Processes:
    """Worker processes on this machine."""

    def __init__(self, run, limits, workers):
        self.slots = workers
        self._run, self._limits = run, limits
        self._theirs, self._leash = Pipe(duplex=False)
        self._pool, self._cells, self._lost = self._new_pool(), {}, {}

    def _new_pool(self):
        start = get_context("spawn")
        return ProcessPoolExecutor(self.slots, start, end_with, (self._theirs,))

    def submit(self, planned):
        """Hand a cell to the pool."""
        try:
            future = self._pool.submit(run_cell, planned, self._run, self._limits)
        except BrokenProcessPool:
            self._renew()
            future = self._pool.submit(run_cell, planned, self._run, self._limits)
        self._cells[future] = (planned, time.perf_counter())

    def wait(self):
        """Give the outcomes of the cells that ended."""
        done, _ = wait(self._cells, return_when=FIRST_COMPLETED)
        results = [self._outcome(future, *self._cells.pop(future)) for future in done]
        return [outcome for outcome in results if outcome]

    def _outcome(self, future, planned, started):
        """Give the outcome of a cell, or None if it starts again."""
        name = planned.cell.name
        try:
            result = future.result()
        except BrokenProcessPool:
            self._lost[name] = self._lost.get(name, 0) + 1
            if self._lost[name] <= self._limits.retries:
                self.submit(planned)
                return None
            seconds = time.perf_counter() - started
            return Outcome(name, LOST, seconds, cause="worker lost")
        before = ("worker lost",) * self._lost.get(name, 0)
        return replace(result, attempts=before + result.attempts)

    def _renew(self):
        """Make a pool in place of a broken one, whose other workers end first."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._new_pool()

    def close(self):
        """End the workers and whatever they still do."""
        self._leash.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._theirs.close()


@contextlib.contextmanager
def backend(run, limits, workers=1, scheduler=None):
    """Open the place where cells run."""
    if scheduler:
        from casebook.batch.cluster import Cluster

        place = Cluster(run, limits, scheduler)
    elif workers > 1:
        place = Processes(run, limits, workers)
    else:
        place = Serial(run, limits)
    try:
        yield place
    finally:
        place.close()
