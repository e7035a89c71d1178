"""Workers of a Dask scheduler: reached, checked, and watched for as long as it takes.

Dask itself waits for ever for a worker, and takes any worker that comes.
"""

import os
import time
from concurrent.futures import TimeoutError as WaitTimeout
from pathlib import Path

from casebook.errors import CasebookError, InputError
from casebook.runs import record as fingerprint

PATIENCE_VARIABLE = "CASEBOOK_WORKER_PATIENCE"
_PATIENCE = 60.0  # seconds without any living worker, or without the scheduler
POLL = 0.5


def open_client(scheduler):
    """Reach a scheduler."""
    from distributed import Client

    try:
        return Client(scheduler, timeout=max(10.0, _patience() / 6))
    except (OSError, ValueError, WaitTimeout) as error:
        raise InputError(
            f"no Dask scheduler at {scheduler}: start 'dask scheduler', and 'dask worker' in this folder"
        ) from error


class Watch:
    """Whether scheduler and workers still live."""

    def __init__(self, client, address):
        self._client, self._address = client, address
        self._alone_since = None
        _patience()  # what is no number is refused before anything waits
        # Its clock says when a worker was heard of, and may differ from the one here.
        self._ahead = client.run_on_scheduler(time.time) - time.monotonic()

    def living(self):
        """Give the addresses of the workers that were heard of lately."""
        workers = self._client.scheduler_info(n_workers=-1).get("workers", {})
        now = self._ahead + time.monotonic()
        return [address for address, worker in workers.items() if now - worker.get("last_seen", now) < _patience()]

    def wait_for_one(self):
        """Wait for a worker; InputError if none comes in time."""
        start = time.monotonic()
        while not self.living():
            if time.monotonic() - start > _patience():
                raise InputError(
                    f"{self._address}: no worker within {_patience():.0f} s: start 'dask worker' in this folder"
                )
            time.sleep(POLL)

    def check(self):
        """Raise CasebookError if all were gone for longer than the patience."""
        if self._client.status == "running" and self._heard():
            self._alone_since = None
            return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > _patience():
            raise CasebookError(
                f"{self._address}: scheduler or last worker gone for "
                f"{_patience():.0f} s; what is finished is kept: the same command "
                "again carries on"
            )

    def _heard(self):
        try:
            return bool(self.living())
        except OSError:
            return False


def _patience():
    text = os.environ.get(PATIENCE_VARIABLE, _PATIENCE)
    try:
        return float(text)
    except ValueError:
        why = f"{PATIENCE_VARIABLE}={text}: give a number of seconds"
        raise InputError(why) from None


def identity():
    """Give the hashes of library and lock that decide about numbers."""
    return fingerprint.library_digest(), fingerprint.lock_digest()


def refuse_others(client, expected):
    """Refuse workers that would give other numbers."""
    answers = client.run(difference, expected)
    wrong = [f"{worker} {why}" for worker, why in answers.items() if why]
    if wrong:
        raise InputError(f"refused: {'; '.join(sorted(wrong))}")


def difference(expected):
    """Say what a worker has that the client has not; runs on the worker."""
    library, lock, path, token = expected
    found = identity()
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


def reason(future):
    """Say in one line why Dask gave up."""
    if future.status in ("cancelled", "lost"):
        return "the scheduler lost it; the same command again carries on"
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        tries = error.allowed_failures + 1
        return f"{tries} workers in a row died while they ran it (memory?)"
    return f"{type(error).__name__}: {error}"
