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
from multiprocessing import forkserver, util

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

# Imported before the first notebook of several starts; a single one imports its own. Elsewhere a
# fork of what has loaded the system's libraries may crash, and one that asked for a GPU cannot
# use it.
WITHOUT_MODELS = ("pandas", "scipy.stats", "matplotlib.pyplot", "seaborn")
SHARED = (*WITHOUT_MODELS, "torch", "sentence_transformers")
KERNEL = ("ipykernel.kernelapp", "ipykernel.debugger", "psutil", "tornado.platform.asyncio")
if sys.platform != "linux":
    WITHOUT_MODELS = SHARED = KERNEL = ()
_LONGEST = 70  # characters of a folder in which a socket can be: its path has at most 107


_started = set()  # kernels of this process that nobody has killed


class Kernel:
    """The kernel of one notebook: its working folder, its variables, and its end."""

    def __init__(self, folder, environment=()):
        self.folder = str(folder)
        self.environment = dict(environment)
        self.pid = None
        self.killed = False
        _started.add(self)

    def manager_class(self, base=AsyncKernelManager):
        """A class of kernel managers that start it; papermill needs the asynchronous base."""
        return type("Manager", (ForkingManager, base), {"kernel": self})

    def kill(self):
        """Kill it with all that it started."""
        self.killed = True
        for kill in (os.killpg, os.kill) if self.pid else ():
            with contextlib.suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)
        if self.pid:  # which may soon be another's
            _started.discard(self)


def kill_all():
    """Kill the kernels of this process."""
    for kernel in list(_started):
        kernel.kill()


def can_fork():
    """Whether sockets can be beside our files, and this process may start others."""
    is_daemon = multiprocessing.current_process().daemon  # as workers of Dask are
    return len(util.get_temp_dir()) < _LONGEST and not is_daemon


def start_server(modules):
    """Begin to import what kernels share, unless there is a server already."""
    if can_fork():
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as kernels set it
        forkserver.set_forkserver_preload(["__main__", *KERNEL, *modules])
        forkserver.ensure_running()


class Fork(multiprocessing.get_context("forkserver").Process):
    """A forked kernel, with what jupyter_client asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def poll(self):
        return self.exitcode

    def wait(self):
        self.join()
        return self.exitcode


def become_kernel(arguments, environment, folder):
    """Turn a fork into a kernel, which leads a process group."""
    os.setpgid(0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it says there that it was interrupted at its end
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)
    for module in [name for name in sys.modules if name.partition(".")[0] == "casebook"]:
        del sys.modules[module]  # with the folders of the process that forks
    os.chdir(folder)
    sys.path.insert(0, "")  # as `python -m ipykernel_launcher` has it
    gc.set_threshold(1_000_000)  # a tenth of the time goes to looking for garbage otherwise
    from ipykernel.kernelapp import IPKernelApp

    options = [f"--IPKernelApp.parent_handle={os.getppid()}", "--HistoryManager.enabled=False"]
    IPKernelApp.launch_instance([*arguments, *options])


def _end_with_parent():
    # A kernel and what it started end when whoever started it is gone, even killed; so do sockets.
    multiprocessing.parent_process().join()
    shutil.rmtree(util.get_temp_dir(), ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


class Provisioner(LocalProvisioner):
    """Starts the kernel of a notebook as a fork where it can, else as Jupyter does."""

    async def launch_kernel(self, cmd, **options):
        kernel = self.parent.kernel
        options |= {"cwd": kernel.folder, "env": options["env"] | kernel.environment}
        if self.parent.transport == "ipc" and "ipykernel_launcher" in cmd:
            arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
            self.process = Fork(
                target=become_kernel, args=(arguments, options["env"], kernel.folder)
            )
            self.process.start()
            self.pid = self.pgid = self.process.pid
        else:
            await super().launch_kernel(cmd, **options)
        kernel.pid = self.pid
        if kernel.killed:  # while it started
            kernel.kill()
        return self.connection_info


class ForkingManager:
    """What a manager of jupyter_client has besides: the `kernel` that it starts."""

    def __init__(self, *arguments, **settings):
        sockets = util.get_temp_dir()
        forks = can_fork()
        super().__init__(
            *arguments, connection_file=f"{sockets}/{secrets.token_hex(8)}.json", **settings
        )
        self.transport = "ipc" if forks else "tcp"
        # Otherwise everybody who connects to its port on loopback gets what it prints.
        self.transport_encryption = "disabled" if forks else "auto"
        self.kernel.environment["IPYTHONDIR"] = sockets
        self.provisioner = Provisioner(kernel_spec=self.kernel_spec, parent=self)
