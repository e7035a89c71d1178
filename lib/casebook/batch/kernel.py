"""Kernels of notebooks, forked from one process that has imported what chapters share.

Importing torch, transformers, pandas and seaborn takes a chapter six seconds of a processor:
`multiprocessing`'s fork server does it once. Kernels talk over sockets in a folder that no other
user can open, and end with the process that started them. This module imports nothing of the
library that knows folders: the environment of a kernel says where they are.
"""

import contextlib
import gc
import multiprocessing
import os
import secrets
import shutil
import signal
import sys
import threading
from multiprocessing import forkserver
from multiprocessing.util import get_temp_dir
from pathlib import Path

SHARED = ("pandas", "scipy.stats", "matplotlib.pyplot", "seaborn", "torch", "sentence_transformers")
"""What is imported before the first notebook of several starts; a single one imports its own."""
MODEL_LIBRARIES = ("torch", "sentence_transformers")
"""Not shared unless models run on the CPU: a fork of what has asked for a GPU cannot use it."""
KERNEL = ("ipykernel.kernelapp", "ipykernel.debugger", "psutil", "tornado.platform.asyncio")
"""What every kernel imports as it starts."""
if sys.platform != "linux":  # elsewhere a fork of what has loaded the system's libraries may crash
    SHARED = KERNEL = ()

_LONGEST = 70  # characters of a folder in which a socket can be: its path has at most 107
_forks = multiprocessing.get_context("forkserver")


class Fork(_forks.Process):
    """A forked kernel, with what jupyter_client asks of a `subprocess.Popen`."""

    stdin = None
    stdout = None
    stderr = None

    def __init__(self, arguments, environment, folder):
        super().__init__()
        self.arguments = arguments
        self.environment = environment
        self.folder = folder

    def run(self):
        """Become a kernel, which leads a process group."""
        os.setpgid(0, 0)
        threading.Thread(target=_end_with_parent, args=[self.environment], daemon=True).start()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.environ.clear()
        os.environ.update(self.environment)
        for module in [name for name in sys.modules if name.partition(".")[0] == "casebook"]:
            del sys.modules[module]  # with the folders of the process that forks
        os.chdir(self.folder)
        sys.path.insert(0, "")  # as `python -m ipykernel_launcher` has it
        gc.freeze()
        gc.set_threshold(1_000_000)  # a tenth of the time goes to looking for garbage otherwise
        from ipykernel.kernelapp import IPKernelApp

        options = [f"--IPKernelApp.parent_handle={os.getppid()}", "--HistoryManager.enabled=False"]
        IPKernelApp.launch_instance([*self.arguments, *options])

    def poll(self):
        """None while it lives."""
        return self.exitcode

    def wait(self):
        """The exit code, in the end."""
        self.join()
        return self.exitcode


def _end_with_parent(environment):
    """End a kernel and what it started when whoever started it is gone, even killed."""
    multiprocessing.parent_process().join()
    shutil.rmtree(environment["IPYTHONDIR"], ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def can_fork():
    """Whether sockets can be where our files are, and this process may start others.

    Dask's workers may not.
    """
    return len(get_temp_dir()) < _LONGEST and not multiprocessing.current_process().daemon


def start_server(modules):
    """Begin to import what the kernels share, unless there is a server already."""
    before = os.environ.get("MPLBACKEND")
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as kernels set it
    _forks.set_forkserver_preload(["__main__", *KERNEL, *modules])
    forkserver.ensure_running()
    os.environ.pop("MPLBACKEND")
    if before is not None:
        os.environ["MPLBACKEND"] = before


class Kernel:
    """The kernel of one notebook: its variables, its working folder, and its end."""

    def __init__(self, timeout=None, environment=(), folder="."):
        self.timeout = timeout
        self.environment = dict(environment)
        self.folder = str(Path(folder).absolute())
        self.pid = None
        self.killed = False
        self.late = False

    def started(self, pid):
        """Remember its process; one that comes too late is killed."""
        self.pid = pid
        if self.killed:
            self.kill()

    def kill(self):
        """Kill it with all that it started."""
        self.killed = True
        for kill in (os.killpg, os.kill) if self.pid else ():
            with contextlib.suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)

    def end(self):
        """Kill it because its time is over."""
        self.late = True
        self.kill()

    def manager_class(self, base=None):
        """A kernel manager of jupyter_client that starts it; papermill needs the asynchronous."""
        from jupyter_client import AsyncKernelManager
        from jupyter_client.provisioning import LocalProvisioner
        from traitlets import default

        kernel = self
        sockets = get_temp_dir()
        forks = can_fork()

        class Provisioner(LocalProvisioner):
            async def launch_kernel(self, cmd, **options):
                own = {"IPYTHONDIR": sockets, **kernel.environment}
                options |= {"cwd": kernel.folder, "env": options["env"] | own}
                if forks and "ipykernel_launcher" in cmd:
                    arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
                    self.process = Fork(arguments, options["env"], kernel.folder)
                    self.process.start()
                    self.pid = self.pgid = self.process.pid
                else:
                    await super().launch_kernel(cmd, **options)
                kernel.started(self.pid)
                return self.connection_info

        class Manager(base or AsyncKernelManager):
            def __init__(self, *arguments, **settings):
                super().__init__(*arguments, **settings)
                self.provisioner = Provisioner(kernel_spec=self.kernel_spec, parent=self)

            @default("connection_file")
            def _file_among_sockets(self):
                return f"{sockets}/{secrets.token_hex(8)}.json"

            @default("transport")
            def _sockets_in_that_folder(self):
                return "ipc" if forks else "tcp"

            @default("transport_encryption")
            def _with_keys_of_the_file(self):
                # Otherwise everybody who connects to its port on loopback gets what it prints.
                return "disabled" if forks else "auto"

        return Manager


class Kernels:
    """The kernels of a batch, which share imports and end with its block."""

    def __init__(self, modules=None):
        self.closed = False
        self._kernels = set()
        if modules is not None and can_fork():
            start_server(modules)

    @contextlib.contextmanager
    def one(self, timeout=None, **settings):
        """A kernel that is killed when its time is over, or the block ends."""
        if self.closed:
            raise RuntimeError("the batch is being ended")
        kernel = Kernel(timeout, **settings)
        self._kernels.add(kernel)
        timer = threading.Timer(timeout or 0, kernel.end)
        timer.daemon = True
        if timeout:
            timer.start()
        try:
            yield kernel
        finally:
            timer.cancel()
            kernel.kill()
            self._kernels.discard(kernel)

    def close(self):
        """Kill all kernels; no other starts."""
        self.closed = True
        for kernel in list(self._kernels):
            kernel.kill()
