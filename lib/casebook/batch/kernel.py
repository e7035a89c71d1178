"""Kernels of notebooks, forked from one process that has imported what chapters share.

Importing torch, transformers, pandas and seaborn takes a chapter six seconds of a processor. The
nursery, a process of its own without threads, does it once; every kernel is a fork of it, in a
process group of its own. It holds the kernels' temporary folder, with their sockets, which no other
user can open. When its input ends, because whoever started it is done or was killed, it kills the
kernels and removes the folder.
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
"""What is imported before the first notebook of several starts; a single one imports its own."""
MODEL_LIBRARIES = ("torch", "sentence_transformers")
"""Not shared unless models run on the CPU: a fork of what has asked for a GPU cannot use it."""
KERNEL = ("ipykernel.kernelapp", "ipykernel.debugger", "psutil", "tornado.platform.asyncio")
"""What every kernel imports as it starts."""
if sys.platform != "linux":  # elsewhere a fork of what has loaded the system's libraries may crash
    SHARED = KERNEL = ()


class Nursery:
    """The process that forks kernels, started when the first is asked for."""

    def __init__(self, modules=()):
        self.modules = list(modules)
        self.folder = None
        self.closed = False
        self._lock = threading.Lock()
        self._process = None

    def start(self):
        """Start the process, unless it runs; gives the temporary folder of its kernels."""
        with self._lock:
            self._start()
            return self.folder

    def _start(self):
        if self.closed:
            raise RuntimeError("the batch is being ended")
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="casebook-"))
        if self._process is None or self._process.poll() is not None:  # not yet, or it was killed
            self._process = subprocess.Popen(
                [sys.executable, "-m", "casebook.batch.kernel", str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # Ctrl-C is for the batch, which ends this
            )

    def fork(self, arguments, environment, folder=ROOT):
        """Give the process id of a new kernel, which works in a folder.

        A nursery that was killed is started again once.
        """
        request = {
            "modules": self.modules,
            "arguments": arguments,
            "environment": environment,
            "folder": str(folder),
        }
        with self._lock:
            for _ in range(2):
                self._start()
                pid = self._ask(request)
                if pid is not None:
                    return pid
                self._end()
        raise RuntimeError("the process that forks kernels was killed")

    def _ask(self, request):
        """Send a request; gives the process id of the kernel, or None if the nursery is gone."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
            if answer:
                return int(answer)
        return None

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
            shutil.rmtree(self.folder, ignore_errors=True)


nursery = Nursery()
_thread = threading.local()  # its `watch` is over the kernel that this thread starts


@contextlib.contextmanager
def batch_nursery(modules):
    """Let the notebooks of a batch share imports; their kernels end with the block."""
    global nursery
    outer = nursery
    nursery = Nursery(modules)
    try:
        yield nursery
    finally:
        nursery.close()
        nursery = outer


@contextlib.contextmanager
def watched(timeout, environment=()):
    """Kill the kernel that is started in the block when the time is over, or the block ends."""
    watch = Watch(environment)
    _thread.watch = watch
    timer = None
    try:
        if timeout:
            timer = threading.Timer(timeout, watch.end)
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
        self.process = None
        self.late = False
        self.environment = dict(environment)

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

    stdin = None
    stdout = None
    stderr = None

    def __init__(self, pid):
        self.pid = pid
        self.returncode = None

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


def manager_class(base=None, folder=ROOT):
    """Give a kernel manager of jupyter_client, with kernels from the nursery.

    Papermill needs the default ``base``, which is asynchronous. The kernels work in ``folder``.
    """
    from jupyter_client import AsyncKernelManager
    from traitlets import default

    class ForkedKernelManager(base or AsyncKernelManager):
        @default("connection_file")
        def _file_in_folder_of_nursery(self):
            return f"{nursery.start()}/{secrets.token_hex(8)}.json"

        @default("transport")
        def _sockets_in_that_folder(self):
            return "ipc" if _holds_socket(f"{self.connection_file}-ipc-10") else "tcp"

        @default("transport_encryption")
        def _with_keys_of_the_file(self):
            # Otherwise everybody who connects to its port on loopback gets what a kernel prints.
            return "auto" if self.transport == "tcp" else "disabled"

        async def _async_launch_kernel(self, kernel_cmd, **options):
            watch = getattr(_thread, "watch", None) or Watch()
            environment = {**(options.get("env") or os.environ), **watch.environment}
            if "ipykernel_launcher" not in kernel_cmd:  # of another language, or the user's own
                options |= {"cwd": str(folder), "env": environment}
                return await super()._async_launch_kernel(kernel_cmd, **options)
            arguments = kernel_cmd[kernel_cmd.index("ipykernel_launcher") + 1 :]
            process = Forked(nursery.fork(arguments, environment, folder))
            self.provisioner.process = process
            self.provisioner.pid = process.pid
            self.provisioner.pgid = process.pid
            self._reconcile_connection_info(self.provisioner.connection_info)
            watch.process = process
            if watch.late:
                watch.kill()

    return ForkedKernelManager


def _holds_socket(path):
    """Say whether a socket can be at a path.

    A path may have about 100 bytes, and not every file system has sockets.
    """
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
    folder = sys.argv[1]
    # As kernels set it, before the import.
    backend = "module://matplotlib_inline.backend_inline"
    os.environ["MPLBACKEND"] = backend
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what imports print is no answer
    # A tenth of the time goes to looking for garbage otherwise, much of it among modules.
    gc.set_threshold(1_000_000)
    kernels = set()
    while True:
        # No handler of SIGCHLD: a signal just before the read would be handled only after it.
        while not select.select([sys.stdin], [], [], 0.05)[0]:
            _forget_ended(kernels)
        line = sys.stdin.readline()
        if not line:
            break
        request = json.loads(line)
        # Some of it is read on import.
        os.environ.update(request["environment"] | {"MPLBACKEND": backend})
        for module in (*KERNEL, *request["modules"]):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        gc.freeze()
        pid = _fork_kernel(request, folder, answers)
        kernels.add(pid)
        print(pid, file=answers, flush=True)
    _kill(kernels)
    shutil.rmtree(folder, ignore_errors=True)


def _fork_kernel(request, folder, answers):
    """Give the process id of a new kernel, which leads a process group."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        answers.close()
        _become_kernel(request, folder, parent)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    return pid


def _forget_ended(kernels):
    with contextlib.suppress(ChildProcessError):
        pid, _ = os.waitpid(-1, os.WNOHANG)
        while pid:
            kernels.discard(pid)
            pid, _ = os.waitpid(-1, os.WNOHANG)


def _kill(kernels):
    """Kill the kernels with all that they started, and wait until they have ended."""
    while kernels:
        _forget_ended(kernels)
        for pid in list(kernels):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)


def _become_kernel(request, folder, parent):
    """Turn this fork into a kernel, which ends with the nursery."""
    try:
        with contextlib.suppress(PermissionError):
            os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = os.fdopen(0)
        os.environ.clear()
        os.environ.update(request["environment"] | {"IPYTHONDIR": folder})
        # The folders of the library are those that this environment names.
        for module in [name for name in sys.modules if name.partition(".")[0] == "casebook"]:
            del sys.modules[module]
        os.chdir(request["folder"])
        if "" not in sys.path:
            sys.path.insert(0, "")  # as `python -m ipykernel_launcher` has it
        from ipykernel.kernelapp import IPKernelApp

        options = [f"--IPKernelApp.parent_handle={parent}", "--HistoryManager.enabled=False"]
        IPKernelApp.launch_instance([*request["arguments"], *options])
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
