"""Cells on a Dask cluster whose workers share the results folder with this process.

Dask carries the tasks and nothing else: what is unchanged, what failed and what is
tried again is decided here. Workers with another library or lock would give other
numbers under the same name, so they are refused.
"""

import contextlib
import os
import time
from concurrent.futures import TimeoutError as WaitTimeout
from pathlib import Path

from casebook.batch.tasks import Outcome, run_cell
from casebook.errors import CasebookError, InputError
from casebook.files import write_text
from casebook.paths import run_dir
from casebook.runs import fingerprint

PATIENCE_VARIABLE = "CASEBOOK_WORKER_PATIENCE"
_PATIENCE = 60.0  # seconds without any living worker, or without the scheduler
_POLL = 0.5
_HANDSHAKE = ".handshake"


class Cluster:
    """The workers of one scheduler.

    Parameters
    ----------
    run : str
        Name of the run.
    limits : casebook.batch.tasks.Limits
        What each cell may take.
    scheduler : str
        Address such as ``tcp://host:8786``.

    Raises
    ------
    InputError
        If the scheduler cannot be reached, no worker comes, or a worker has another
        library, another lock, or does not see the results folder.
    """

    def __init__(self, run, limits, scheduler):
        self._run, self._limits, self._address = run, limits, scheduler
        self._patience, self._client = _patience(), _client(scheduler)
        self._cells, self._alone_since, self._identity = {}, None, None
        try:
            self._shake_hands()
        except BaseException:
            self.close()
            raise

    @property
    def slots(self):
        """One cell a worker; more would wait for each other in its process."""
        return max(len(self._living()), 1)

    def _shake_hands(self):
        """Wait for a worker, and refuse the workers that would give other numbers."""
        _wait_for_one(self._living, self._address, self._patience)
        token = os.urandom(16).hex()
        path = write_text(run_dir(self._run) / _HANDSHAKE, token)
        self._identity = (*_identity(), str(path), token)
        _refuse_others(self._client, self._identity)

    def _living(self):
        """Give the workers that were heard of lately."""
        return _heard_lately(self._client, self._patience)

    def submit(self, planned):
        """Hand a cell to the cluster."""
        future = self._client.submit(
            _on_worker, planned, self._run, self._limits, self._identity, pure=False
        )
        self._cells[future] = (planned, time.perf_counter())

    def wait(self):
        """Give the outcomes of the cells that ended.

        Raises
        ------
        CasebookError
            If the scheduler or the last worker is gone for longer than the patience.
        """
        while True:
            done = [future for future in self._cells if future.done()]
            if done:
                return [self._outcome(f, *self._cells.pop(f)) for f in done]
            self._check_alive()
            time.sleep(_POLL)

    def _check_alive(self):
        if self._client.status == "running" and self._heard():
            self._alone_since = None
            return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > self._patience:
            raise CasebookError(
                f"{self._address}: scheduler or last worker gone for "
                f"{self._patience:.0f} s; finished cells are kept: the same command "
                "again carries on"
            )

    def _heard(self):
        try:
            return bool(self._living())
        except OSError:
            return False

    def _outcome(self, future, planned, started):
        seconds = time.perf_counter() - started
        if future.status == "finished":
            return future.result()
        why = _reason(future)
        return Outcome(planned.cell.name, why, seconds, cause="worker lost")

    def close(self):
        """Forget what is unfinished and leave the cluster."""
        (run_dir(self._run) / _HANDSHAKE).unlink(missing_ok=True)
        self._client.close(timeout=2)


@contextlib.contextmanager
def connected(scheduler):
    """Open a cluster for work that needs no shared folder.

    Parameters
    ----------
    scheduler : str
        Address such as ``tcp://host:8786``.

    Yields
    ------
    distributed.Client
        With at least one worker; all have this library and this lock.

    Raises
    ------
    InputError
        If the scheduler cannot be reached, no worker comes, or a worker has another
        library or lock.
    """
    patience = _patience()
    with contextlib.closing(_client(scheduler)) as client:
        _wait_for_one(lambda: _heard_lately(client, patience), scheduler, patience)
        _refuse_others(client, (*_identity(), None, None))
        yield client


def _patience():
    return float(os.environ.get(PATIENCE_VARIABLE, _PATIENCE))


def _client(scheduler):
    from distributed import Client

    try:
        return Client(scheduler, timeout="10s")
    except (OSError, ValueError, WaitTimeout) as error:
        raise InputError(
            f"no Dask scheduler at {scheduler}: start 'dask scheduler', and "
            "'dask worker' in this folder"
        ) from error


def _heard_lately(client, patience):
    workers = client.scheduler_info(n_workers=-1).get("workers", {})
    now = time.time()
    return [
        address
        for address, worker in workers.items()
        if now - worker.get("last_seen", now) < patience
    ]


def _wait_for_one(living, address, patience):
    """Wait for a worker, but not for ever."""
    until = time.monotonic() + patience
    while not living():
        if time.monotonic() > until:
            raise InputError(
                f"{address}: no worker within {patience:.0f} s: start 'dask worker' "
                "in this folder"
            )
        time.sleep(_POLL)


def _refuse_others(client, identity):
    answers = client.run(_difference, identity)
    wrong = [f"{worker} {why}" for worker, why in answers.items() if why]
    if wrong:
        raise InputError(f"refused: {'; '.join(sorted(wrong))}")


def _reason(future):
    """Say in one line why Dask gave a cell up."""
    if future.status in ("cancelled", "lost"):
        return "the scheduler lost it; the same command again carries on"
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        tries = error.allowed_failures + 1
        return f"{tries} workers in a row died while they ran it (memory?)"
    return f"{type(error).__name__}: {error}"


def _identity():
    return fingerprint.library_digest(), fingerprint.lock_digest()


def _difference(expected):
    """Say what a worker has that the client has not, or nothing; runs on a worker."""
    library, lock, path, token = expected
    found = _identity()
    try:
        shared = path is None or Path(path).read_text(encoding="utf-8") == token
    except OSError:
        shared = False
    faults = []
    if found[0] != library:
        faults.append("has another version of the library")
    if found[1] != lock:
        faults.append("has another requirements.lock")
    if not shared:
        faults.append(f"does not see the folder of {path}")
    return " and ".join(faults)


def _on_worker(planned, run, limits, identity):
    """Execute a cell on a worker that may have come after the handshake."""
    wrong = _difference(identity)
    if wrong:
        return Outcome(
            planned.cell.name, f"refused: the worker {wrong}", cause="failed"
        )
    return run_cell(planned, run, limits)
