"""Where work is done: threads and processes of this machine, or the workers of a Dask scheduler.

All of them are executors of `concurrent.futures`; ``slots()`` is how much they do at a time.
Nothing listens for the threads and processes: threads need no connection, and processes are reached
by pipes, so that no other user of the machine can send them work.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitTimeout
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tqdm import tqdm

from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.models.device import check_device, model_settings
from casebook.runs import record as records

PATIENCE_VARIABLE = "CASEBOOK_WORKER_PATIENCE"
"""Environment: seconds that a batch waits for the scheduler and its first worker."""


@contextlib.contextmanager
def threads(number):
    """Work in threads of this process."""
    with ThreadPoolExecutor(number) as executor:
        executor.slots = lambda: number
        yield executor


@contextlib.contextmanager
def processes(number):
    """Work in processes of this machine, which end with the block and with this process."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, spawn, _begin_process) as executor:
        executor.slots = lambda: number
        try:
            yield executor
        except BrokenProcessPool:
            why = "a worker process died (memory?): the same command again carries on"
            raise CasebookError(why) from None
        except BaseException:  # an interrupt too: nobody waits for what they are at
            for process in multiprocessing.active_children():  # of which a command has no others
                process.kill()
            raise


def _begin_process():
    # Interrupts are for the parent process, with which this one ends, even if it was killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The lock that bars have by default is a semaphore, which a killed process is said to leak.
    tqdm.set_lock(threading.RLock())


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


@contextlib.contextmanager
def scheduler_workers(scheduler, shared_file=None):
    """The workers of a scheduler, which have this library and lock, and see a shared file."""
    from distributed import Client

    patience = float(os.environ.get(PATIENCE_VARIABLE, "60"))
    try:
        client = Client(scheduler, timeout=max(10.0, patience / 6))
    except (OSError, RuntimeError, TypeError, ValueError, WaitTimeout) as error:
        # Dask repeats the address, which may hold a password.
        reason = without_secrets(" ".join(str(error).split()), scheduler)
        remedy = "start 'dask scheduler', and 'dask worker' in this folder"
        raise InputError(f"no Dask scheduler at {scheduler} ({reason}): {remedy}") from error
    with contextlib.closing(client):
        try:
            client.wait_for_workers(1, timeout=patience)
        except WaitTimeout:
            why = f"no worker within {patience:.0f} s: start 'dask worker' in this folder"
            raise InputError(f"{scheduler}: {why}") from None
        expected = expectations(shared_file)
        differences = client.run(difference, expected)
        for worker, fault in differences.items():
            if fault:
                raise InputError(f"refused: {worker} {fault}")
        executor = client.get_executor(pure=False)
        executor.slots = lambda: max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        executor.expected = expected
        yield executor


def expectations(shared_file=None):
    """What workers must have: this library, these pins, the device, and a view of a file."""
    content = shared_file and shared_file.read_text()
    common = records.library_digest(), records.lock_digest(), model_settings().device
    return *common, str(shared_file), content


def difference(expected):
    """What a worker has that is not expected; runs on the worker."""
    library, lock, device, shared_file, content = expected
    if records.library_digest() != library:
        return "has another version of the library"
    if records.lock_digest() != lock:
        return "has another requirements.lock"
    try:
        check_device(device)
    except InputError as error:
        return f"cannot run models ({error})"
    if content is None:
        return ""
    path = Path(shared_file)
    is_seen = path.is_file() and path.read_text(encoding="utf-8") == content
    return "" if is_seen else f"does not see the folder of {shared_file}"
