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
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as WaitTimeout
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tqdm import tqdm

from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.runs.record import library_digest, lock_digest

# Seconds that a batch waits for the scheduler and its first worker.
PATIENCE_VARIABLE = "CASEBOOK_WORKER_PATIENCE"


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
            # A command has no other child processes.
            for process in multiprocessing.active_children():
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
        raise InputError(
            f"no Dask scheduler at {scheduler} ({reason}): {remedy}"
        ) from error
    with contextlib.closing(client):
        try:
            client.wait_for_workers(1, timeout=patience)
        except WaitTimeout:
            why = (
                f"no worker within {patience:.0f} s: start 'dask worker' in this folder"
            )
            raise InputError(f"{scheduler}: {why}") from None
        faults = client.run(difference, fingerprint(shared_file), shared_file)
        for worker, fault in faults.items():
            if fault:
                raise InputError(f"refused: {worker} {fault}")
        executor = client.get_executor(pure=False)
        executor.slots = lambda: max(
            1, len(client.scheduler_info(n_workers=-1)["workers"])
        )
        yield executor


def fingerprint(shared_file=None):
    """What workers must have in common: this library, its pins, and a view of a file."""
    path = Path(shared_file or os.devnull)
    content = path.read_text(encoding="utf-8") if path.exists() else None
    return {
        "version of the library": library_digest(),
        "requirements.lock": lock_digest(),
        "folder of results": content,
    }


def difference(expected, shared_file=None):
    """What a worker has that is not expected; runs on the worker."""
    found = fingerprint(shared_file)
    names = [name for name in expected if found[name] != expected[name]]
    return f"has another {names[0]}" if names else ""
