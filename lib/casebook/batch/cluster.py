"""Cells on a Dask cluster whose workers share the results folder with this process.

Dask carries the tasks and nothing else: what is unchanged, what failed and what is
tried again is decided here. Workers with another library or lock would give other
numbers under the same name, so they are refused.
"""

import os
import time

from casebook.batch.tasks import Outcome, run_cell
from casebook.batch.workers import POLL, Watch, difference, identity, open_client, reason, refuse_others
from casebook.files import write_text
from casebook.paths import run_dir

_HANDSHAKE = ".handshake"


class Cluster:
    """The workers of one scheduler."""

    def __init__(self, run, limits, scheduler):
        self._run, self._limits = run, limits
        self._client = open_client(scheduler)
        self._watch = Watch(self._client, scheduler)
        self._cells, self._identity = {}, None
        try:
            self._shake_hands()
        except BaseException:
            self.close()
            raise

    @property
    def slots(self):
        """One cell a worker; more would wait for each other in its process."""
        return max(len(self._watch.living()), 1)

    def _shake_hands(self):
        """Wait for a worker, and refuse the workers that would give other numbers."""
        self._watch.wait_for_one()
        token = os.urandom(16).hex()
        path = write_text(run_dir(self._run) / _HANDSHAKE, token)
        self._identity = (*identity(), str(path), token)
        refuse_others(self._client, self._identity)

    def submit(self, planned):
        """Hand a cell to the cluster."""
        future = self._client.submit(_on_worker, planned, self._run, self._limits, self._identity, pure=False)
        self._cells[future] = (planned, time.perf_counter())

    def wait(self):
        """Give the outcomes of the cells that ended."""
        while True:
            done = [future for future in self._cells if future.done()]
            if done:
                return [self._outcome(f, *self._cells.pop(f)) for f in done]
            self._watch.check()
            time.sleep(POLL)

    def _outcome(self, future, planned, started):
        seconds = time.perf_counter() - started
        if future.status == "finished":
            return future.result()
        why = reason(future)
        return Outcome(planned.cell.name, why, seconds, cause="worker lost")

    def close(self):
        """Forget what is unfinished and leave the cluster."""
        (run_dir(self._run) / _HANDSHAKE).unlink(missing_ok=True)
        self._client.close(timeout=2)


def _on_worker(planned, run, limits, expected):
    """Execute a cell on a worker that may have come after the handshake."""
    wrong = difference(expected)
    if wrong:
        return Outcome(planned.cell.name, f"refused: the worker {wrong}", cause="failed")
    return run_cell(planned, run, limits)
