"""Kernels of notebooks, forked from one process that has imported what chapters share.

Importing torch, transformers, pandas and seaborn takes a chapter six seconds of a processor. The nursery, a process of
its own without threads, does it once; every kernel is a fork of it, in a process group of its own. It holds the
kernels' temporary folder, with their sockets, which no other user can open. When its input ends, because whoever
started it is done or was killed, it kills the kernels and removes the folder.
"""

import contextlib
import gc
import importlib
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from casebook.paths import ROOT

SHARED = ("pandas", "scipy.stats", "matplotlib.pyplot", "seaborn", "torch", "sentence_transformers")
"""What a batch of several notebooks has imported before the first starts; a single notebook imports what it needs."""
if sys.platform != "linux":  # elsewhere a fork of what has loaded the system's libraries may crash
    SHARED = ()


class Nursery:
    """The process that forks kernels, started when the first is asked for."""

    def __init__(self, modules=()):
        self.modules, self.closed = list(modules), False
        self._lock, self._process, self.place = threading.Lock(), None, None

    def start(self):
        """Start the process, unless it runs; gives the temporary folder of its kernels."""
        with self._lock:
            return self._started()

    def _started(self):
        if self.closed:
            raise RuntimeError("the batch is being ended")
        self.place = self.place or Path(tempfile.mkdtemp(prefix="casebook-"))
        if self._process is None or self._process.poll() is not None:  # not yet, or it was killed
            pipes = {
                "stdin": subprocess.PIPE,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.DEVNULL,
            }
            command = [sys.executable, "-m", "casebook.batch.kernel", str(self.place)]
            # A session of its own: Ctrl-C is for the batch, which ends this.
            self._process = subprocess.Popen(command, **pipes, text=True, start_new_session=True)
        return self.place

    def fork(self, arguments, environment):
        """Give the process id of a new kernel; a nursery that was killed meanwhile is started again once."""
        ask = {
            "modules": self.modules,
            "arguments": arguments,
            "environment": environment,
            "folder": str(ROOT),
        }
        with self._lock:
            for _ in range(2):
                self._started()
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.write(json.dumps(ask) + "\n")
                    self._process.stdin.flush()
                    if answer := self._process.stdout.readline():
                        return int(answer)
                self._end()
        raise RuntimeError("the process that forks kernels was killed")

    def _end(self):
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def close(self):
        """Kill all kernels; no other starts."""
        self.closed = True
        if self._process is not None:
            self._end()
            shutil.rmtree(self.place, ignore_errors=True)


nursery = Nursery()
_mine = threading.local()  # the watch over the kernel that this thread starts


@contextlib.contextmanager
def batch_nursery(modules):
    """Let the notebooks of a batch share imports; their kernels end with the block."""
    global nursery
    outer, nursery = nursery, Nursery(modules)
    try:
        yield nursery
    finally:
        nursery.close()
        nursery = outer


@contextlib.contextmanager
def watched(timeout, environment=()):
    """Kill the kernel that is started in the block when the time is over, and in any case at the block's end."""
    _mine.watch = watch = Watch(environment)
    timer = threading.Timer(timeout, watch.end) if timeout else None
    try:
        if timer:
            timer.daemon = True
            timer.start()
        yield watch
    finally:
        if timer:
            timer.cancel()
        watch.kill()


class Watch:
    """One kernel, and whether it was ended because its time was over."""

    def __init__(self, environment=()):
        self.process, self.late, self.environment = None, False, dict(environment)

    def end(self):
        """Kill the kernel, also one that is being started."""
        self.late = True
        self.kill()

    def kill(self):
        """Kill the kernel with all that it started."""
        if self.process and self.process.poll() is None:
            self.process.kill()


class Forked:
    """A kernel of the nursery, with what jupyter_client asks of a process."""

    stdin = stdout = stderr = returncode = None

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        """Give None while it lives; how it ended is not known."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            self.returncode = 1
        return self.returncode

    def wait(self, timeout=None):
        """Wait until it has ended."""
        while self.poll() is None:
            time.sleep(0.02)
        return self.returncode

    def send_signal(self, number):
        """Send a signal to it and to all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self):
        """Kill it with all that it started."""
        self.send_signal(signal.SIGKILL)

    terminate = kill


def manager_class():
    """Give the kernel manager for papermill: jupyter_client's, with kernels from the nursery."""
    from jupyter_client import AsyncKernelManager
    from traitlets import default

    class ForkedKernelManager(AsyncKernelManager):
        @default("connection_file")
        def _in_the_nurserys_folder(self):
            return f"{nursery.start()}/{secrets.token_hex(8)}.json"

        @default("transport")
        def _sockets_in_that_folder(self):
            return "ipc" if _holds_socket(f"{self.connection_file}-ipc-10") else "tcp"

        @default("transport_encryption")
        def _for_who_has_the_keys_of_the_file(self):
            # Whatever a kernel prints goes to everybody who connects to its port on loopback.
            return "auto" if self.transport == "tcp" else "disabled"

        async def _async_launch_kernel(self, kernel_cmd, **options):
            watch = getattr(_mine, "watch", None) or Watch()
            environment = {**(options.get("env") or os.environ), **watch.environment}
            if (
                "ipykernel_launcher" not in kernel_cmd
            ):  # a kernel of another language, or of the user's own
                options |= {"cwd": str(ROOT), "env": environment}
                return await super()._async_launch_kernel(kernel_cmd, **options)
            arguments = kernel_cmd[kernel_cmd.index("ipykernel_launcher") + 1 :]
            process = Forked(nursery.fork(arguments, environment))
            provisioner = self.provisioner
            provisioner.process, provisioner.pid, provisioner.pgid = (
                process,
                process.pid,
                process.pid,
            )
            self._reconcile_connection_info(provisioner.connection_info)
            watch.process = process
            if watch.late:
                watch.kill()

    return ForkedKernelManager


def _holds_socket(path):
    """Say whether a socket can be there: a path may have about 100 bytes, and not every file system has sockets."""
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.bind(path)
        except OSError:
            return False
    Path(path).unlink()
    return True


def __getattr__(name):
    """Make the manager when papermill asks for it by name: jupyter_client is not needed before."""
    if name != "ForkedKernelManager":
        raise AttributeError(name)
    globals()[name] = manager_class()
    return globals()[name]


# --- the nursery's side


def main():
    """Fork a kernel for every line of standard input."""
    kernels = set()

    def reap():
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                kernels.discard(pid)

    place = sys.argv[1]
    os.environ["MPLBACKEND"] = (
        "module://matplotlib_inline.backend_inline"  # as kernels set it, before the import
    )
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what imports print is no answer
    gc.set_threshold(
        1_000_000
    )  # a tenth of the time goes to looking for garbage otherwise, much of it among modules
    while True:
        # No handler of SIGCHLD: a signal that comes just before the read would be handled only after it.
        while not select.select([sys.stdin], [], [], 0.05)[0]:
            reap()
        if not (line := sys.stdin.readline()):
            break
        ask = json.loads(line)
        os.environ.update(
            ask["environment"] | {"MPLBACKEND": os.environ["MPLBACKEND"]}
        )  # some of which is read on import
        for module in ask["modules"]:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        gc.freeze()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            answers.close()
            _become_kernel(ask, place, parent)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        kernels.add(pid)
        print(pid, file=answers, flush=True)
    while kernels:
        reap()
        for pid in list(kernels):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)
    shutil.rmtree(place, ignore_errors=True)


def _become_kernel(ask, place, parent):
    """Turn this fork into a kernel, which ends with the nursery."""
    try:
        with contextlib.suppress(PermissionError):
            os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = os.fdopen(0)
        os.environ.clear()
        os.environ.update(ask["environment"] | {"IPYTHONDIR": place})
        os.chdir(ask["folder"])
        if "" not in sys.path:
            sys.path.insert(0, "")  # as `python -m ipykernel_launcher` has it
        from ipykernel.kernelapp import IPKernelApp

        options = [f"--IPKernelApp.parent_handle={parent}", "--HistoryManager.enabled=False"]
        IPKernelApp.launch_instance([*ask["arguments"], *options])
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
