"""Where work is done: threads and processes of this machine, or the workers of a Dask scheduler.

Nothing listens for the threads and processes: threads need no connection, and processes are reached by pipes, so that
no other user of the machine can send them work.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as WaitTimeout
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tqdm import tqdm

from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.runs import record as records

PATIENCE_VARIABLE = (
    "CASEBOOK_WORKER_PATIENCE"  # seconds without a living worker, or without the scheduler
)
POLL = 0.5  # seconds between two looks at what else there is to do
KEPT = "what is finished is kept: the same command again carries on"
_THREADS = {"MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


class Workers:
    """An executor of `concurrent.futures`, with the methods of `Cluster`."""

    expected = None

    def __init__(self, executor, slots):
        self._executor, self.slots = executor, slots

    def submit(self, function, *arguments):
        """Begin a piece of work; gives its future."""
        return self._executor.submit(function, *arguments)

    def wait(self, futures, meanwhile=lambda: None):
        """Wait until one has ended; give those that have."""
        while not wait(futures, POLL, FIRST_COMPLETED).done:
            meanwhile()
        return [future for future in futures if future.done()]

    def lost(self, future):
        """Say in one line why there is no result, or give None."""
        error = future.exception()
        return f"{type(error).__name__}: {error}" if error else None

    def gather(self, futures):
        """Give the results in order."""
        return [future.result() for future in futures]


@contextlib.contextmanager
def threads(number):
    """Work in threads of this process."""
    with ThreadPoolExecutor(number) as executor:
        yield Workers(executor, number)


class _Processes(ProcessPoolExecutor):
    """Processes of one thread each. A library reads the number of threads when it is loaded, so before `_begin`."""

    def submit(self, *work):
        missing = _THREADS - os.environ.keys()
        os.environ.update(dict.fromkeys(missing, "1"))
        try:
            return super().submit(*work)  # which starts a process while there are too few
        finally:
            for name in missing:
                del os.environ[name]


@contextlib.contextmanager
def processes(number):
    """Work in processes of this machine, which end with the block and with this process."""
    spawn = multiprocessing.get_context("spawn")
    with _Processes(number, spawn, _begin) as executor:
        try:
            yield Workers(executor, number)
        except BrokenProcessPool:
            raise CasebookError(
                f"part of the work is lost: a worker process died (memory?); {KEPT}"
            ) from None
        except BaseException:  # an interrupt too: nobody waits for what they are at
            for process in multiprocessing.active_children():  # of which a command has no others
                process.kill()
            raise


def _begin():
    """Leave interrupts to the process that started this one, and end when it does, even if it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The bars' lock is the system's, for bars of several processes: a killed process would be said to leak it.
    tqdm.set_lock(threading.RLock())


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


# --- the workers of a scheduler


@contextlib.contextmanager
def connected(scheduler, shared=None):
    """Reach a scheduler whose workers have this library and lock, and see a shared file if one is named."""
    from distributed import Client

    patience = _patience()
    try:
        client = Client(scheduler, timeout=max(10.0, patience / 6))
    except (OSError, RuntimeError, TypeError, ValueError, WaitTimeout) as error:
        reason = without_secrets(
            " ".join(str(error).split()), scheduler
        )  # Dask repeats the address
        remedy = (
            "start 'dask scheduler', and 'dask worker' in this folder; for TLS see the page Scaling"
        )
        raise InputError(f"no Dask scheduler at {scheduler} ({reason}): {remedy}") from error
    try:
        try:
            client.wait_for_workers(1, timeout=patience)
        except WaitTimeout:
            why = f"no worker within {patience:.0f} s: start 'dask worker' in this folder"
            raise InputError(f"{scheduler}: {why}") from None
        shared_file = (str(shared), shared.read_text()) if shared else ()
        expected = (records.library_digest(), records.lock_digest(), *shared_file)
        answers = client.run(difference, expected)
        wrong = [f"{worker} {why}" for worker, why in answers.items() if why]
        if wrong:
            raise InputError(f"refused: {'; '.join(sorted(wrong))}")
        yield Cluster(client, scheduler, expected)
    finally:
        client.close(timeout=2)


class Cluster:
    """A client that does not wait for ever for workers or a scheduler that are gone."""

    def __init__(self, client, address, expected=None):
        self.client, self.address, self.expected = client, address, expected
        self._alone_since = None

    @property
    def slots(self):
        """Cells that are worked on at a time: one a worker."""
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))

    def submit(self, function, *arguments):
        """Begin a piece of work, also one that was done before; gives its future."""
        return self.client.submit(function, *arguments, pure=False)

    def lost(self, future):
        """Say in one line why there is no result, or give None."""
        return None if future.status == "finished" else _lost(future)

    def wait(self, futures, meanwhile=lambda: None):
        """Wait until one has ended; give those that have."""
        from distributed import wait
        from distributed.client import FuturesCancelledError

        while True:
            with contextlib.suppress(WaitTimeout, FuturesCancelledError):
                wait(list(futures), POLL, "FIRST_COMPLETED")
            done = [future for future in futures if future.done()]
            if any(
                future.cancelled() for future in done
            ):  # Dask gave up reconnecting before we did
                raise CasebookError(f"{self.address}: scheduler gone; {KEPT}")
            if done:
                return done
            meanwhile()
            self._check()

    def gather(self, futures):
        """Give the results in order."""
        left = list(futures)
        while left:
            done = self.wait(left)
            left = [future for future in left if future not in done]
        for future in futures:
            error = future.exception() if future.status == "error" else None
            if error and type(error).__name__ != "KilledWorker":
                raise error
            if future.status != "finished":
                raise CasebookError(f"part of the work is lost: {_lost(future)}")
        return self.client.gather(futures)

    def _check(self):
        """Raise CasebookError if scheduler or all workers were gone for longer than the patience."""
        with contextlib.suppress(OSError):
            if (
                self.client.status == "running"
                and self.client.scheduler_info(n_workers=-1)["workers"]
            ):
                self._alone_since = None
                return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > _patience():
            raise CasebookError(
                f"{self.address}: scheduler or last worker gone for {_patience():.0f} s; {KEPT}"
            )


def _patience():
    text = os.environ.get(PATIENCE_VARIABLE, 60.0)
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{PATIENCE_VARIABLE}={text}: give a number of seconds") from None


def difference(expected):
    """Say what a worker has that the client has not; runs on the worker."""
    library, lock, *shared = expected
    faults = {
        "has another version of the library": records.library_digest() != library,
        "has another requirements.lock": records.lock_digest() != lock,
    }
    if shared:
        path, token = shared
        content = None
        with contextlib.suppress(OSError):
            content = Path(path).read_text(encoding="utf-8")
        faults[f"does not see the folder of {path}"] = content != token
    return " and ".join(fault for fault, holds in faults.items() if holds)


def _lost(future):
    """Say in one line why Dask gave up."""
    if future.status in ("cancelled", "lost"):
        return "the scheduler lost it; the same command again carries on"
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        return f"{error.allowed_failures + 1} workers in a row died while they ran it (memory?)"
    return without_secrets(f"{type(error).__name__}: {error}")
