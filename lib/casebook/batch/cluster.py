"""Where work is done: threads and processes of this machine, or the workers of a Dask scheduler.

Nothing listens for the threads and processes: threads need no connection, and processes are reached
by pipes, so that no other user of the machine can send them work.
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
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.models.device import ModelSettings, check_device, model_settings
from casebook.runs import record as records

PATIENCE_VARIABLE = "CASEBOOK_WORKER_PATIENCE"
"""Environment: seconds that a batch waits without a living worker, or without the scheduler."""

_LOOK_EVERY = 0.5  # seconds between two looks at whether the scheduler is there
_CARRY_ON = "what is finished is kept: the same command again carries on"
_THREAD_VARIABLES = {"MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


# --- threads and processes of this machine


class LocalWorkers:
    """An executor of `concurrent.futures`, with the methods of `Cluster`."""

    expected = None

    def __init__(self, executor, slots):
        self._executor = executor
        self.slots = slots

    def submit(self, function, *arguments):
        """Begin a piece of work; gives its future."""
        return self._executor.submit(function, *arguments)

    def wait(self, futures):
        """Wait until one has ended; give those that have."""
        return list(wait(futures, return_when=FIRST_COMPLETED).done)

    def why_lost(self, future):
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
        yield LocalWorkers(executor, number)


@contextlib.contextmanager
def processes(number):
    """Work in processes of this machine, which end with the block and with this process."""
    spawn = multiprocessing.get_context("spawn")
    with _SingleThreadedProcesses(number, spawn, _begin_process) as executor:
        try:
            yield LocalWorkers(executor, number)
        except BrokenProcessPool:
            raise CasebookError(
                f"part of the work is lost: a worker process died (memory?); {_CARRY_ON}"
            ) from None
        except BaseException:  # an interrupt too: nobody waits for what they are at
            for process in multiprocessing.active_children():  # of which a command has no others
                process.kill()
            raise


class _SingleThreadedProcesses(ProcessPoolExecutor):
    """Processes of one thread each, unless the environment says how many.

    A library reads the number of threads when it is loaded, which is before `_begin_process`.
    """

    def submit(self, *work):
        missing = _THREAD_VARIABLES - os.environ.keys()
        os.environ.update(dict.fromkeys(missing, "1"))
        try:
            return super().submit(*work)  # which starts a process while there are too few
        finally:
            for name in missing:
                del os.environ[name]


def _begin_process():
    """Leave interrupts to the parent process, and end when it does, even if it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The bars' lock is the system's, for bars of several processes: a killed process would be said
    # to leak it.
    tqdm.set_lock(threading.RLock())


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


# --- the workers of a scheduler


@contextlib.contextmanager
def scheduler_workers(scheduler, shared_file=None):
    """Reach a scheduler whose workers have this library and lock, and see a shared file."""
    client = _client(scheduler)
    try:
        expected = Expected.here(shared_file)
        differences = client.run(expected.difference)
        wrong = [f"{worker} {text}" for worker, text in differences.items() if text]
        if wrong:
            raise InputError(f"refused: {'; '.join(sorted(wrong))}")
        yield Cluster(client, scheduler, expected)
    finally:
        client.close(timeout=2)


def _client(scheduler):
    from distributed import Client

    patience = _patience()
    try:
        client = Client(scheduler, timeout=max(10.0, patience / 6))
    except (OSError, RuntimeError, TypeError, ValueError, WaitTimeout) as error:
        reason = " ".join(str(error).split())
        reason = without_secrets(reason, scheduler)  # Dask repeats the address
        raise InputError(
            f"no Dask scheduler at {scheduler} ({reason}): start 'dask scheduler', and "
            "'dask worker' in this folder; for TLS see the page Scaling"
        ) from error
    try:
        client.wait_for_workers(1, timeout=patience)
        return client
    except WaitTimeout:
        client.close(timeout=2)
        why = f"no worker within {patience:.0f} s: start 'dask worker' in this folder"
        raise InputError(f"{scheduler}: {why}") from None


def _patience():
    text = os.environ.get(PATIENCE_VARIABLE, "60")
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{PATIENCE_VARIABLE}={text}: give a number of seconds") from None


@dataclass(frozen=True)
class Expected:
    """What workers must have: this library, these pins, the device, and a view of a file."""

    library: str
    lock: str | None
    settings: ModelSettings
    shared_file: str | None = None
    content: str | None = None

    @classmethod
    def here(cls, shared_file=None):
        """Describe this process."""
        common = records.library_digest(), records.lock_digest(), model_settings()
        if shared_file is None:
            return cls(*common)
        return cls(*common, str(shared_file), shared_file.read_text())

    def difference(self):
        """Say what a worker has that is not expected; runs on the worker."""
        faults = []
        if records.library_digest() != self.library:
            faults.append("has another version of the library")
        if records.lock_digest() != self.lock:
            faults.append("has another requirements.lock")
        try:
            check_device(self.settings.device)
        except InputError as error:
            faults.append(f"cannot run models ({error})")
        if self.shared_file is not None:
            content = None
            with contextlib.suppress(OSError):
                content = Path(self.shared_file).read_text(encoding="utf-8")
            if content != self.content:
                faults.append(f"does not see the folder of {self.shared_file}")
        return " and ".join(faults)


class Cluster:
    """A Dask client that does not wait for ever for workers or a scheduler that are gone."""

    def __init__(self, client, address, expected=None):
        self.client = client
        self.address = address
        self.expected = expected
        self._alone_since = None

    @property
    def slots(self):
        """Pieces of work at a time: one a worker."""
        return max(1, self._n_workers())

    def _n_workers(self):
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def submit(self, function, *arguments):
        """Begin a piece of work, also one that was done before; gives its future."""
        return self.client.submit(function, *arguments, pure=False)

    def why_lost(self, future):
        """Say in one line why there is no result, or give None."""
        if future.status == "finished":
            return None
        if future.status in ("cancelled", "lost"):
            return "the scheduler lost it; the same command again carries on"
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            return f"{error.allowed_failures + 1} workers in a row died while they ran it (memory?)"
        return without_secrets(f"{type(error).__name__}: {error}")

    def wait(self, futures):
        """Wait until one has ended; give those that have."""
        from distributed import wait
        from distributed.client import FuturesCancelledError

        while True:
            with contextlib.suppress(WaitTimeout, FuturesCancelledError):
                wait(list(futures), _LOOK_EVERY, "FIRST_COMPLETED")
            done = [future for future in futures if future.done()]
            if any(future.cancelled() for future in done):  # Dask gave up before we did
                raise CasebookError(f"{self.address}: scheduler gone; {_CARRY_ON}")
            if done:
                return done
            self._check_connection()

    def gather(self, futures):
        """Give the results in order."""
        unfinished = list(futures)
        while unfinished:
            done = self.wait(unfinished)
            unfinished = [future for future in unfinished if future not in done]
        for future in futures:
            error = future.exception() if future.status == "error" else None
            if error and type(error).__name__ != "KilledWorker":
                raise error
            if future.status != "finished":
                raise CasebookError(f"part of the work is lost: {self.why_lost(future)}")
        return self.client.gather(futures)

    def _check_connection(self):
        """Raise CasebookError if scheduler or all workers are gone for longer than the patience."""
        with contextlib.suppress(OSError):
            if self.client.status == "running" and self._n_workers():
                self._alone_since = None
                return
        if self._alone_since is None:
            self._alone_since = time.monotonic()
        patience = _patience()
        if time.monotonic() - self._alone_since > patience:
            raise CasebookError(
                f"{self.address}: scheduler or last worker gone for {patience:.0f} s; {_CARRY_ON}"
            )
