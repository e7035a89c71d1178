"""Threads and processes of this machine that work as a cluster's workers do. Nothing listens for them.

Threads need no connection, and processes are reached by pipes: no other user of the machine can send them work.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from tqdm import tqdm

from casebook.errors import CasebookError

POLL = 0.5  # seconds between two looks at what else there is to do
KEPT = "what is finished is kept: the same command again carries on"
_THREADS = {"MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


class Workers:
    """An executor of `concurrent.futures`, with the methods of `casebook.run.Cluster`."""

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
