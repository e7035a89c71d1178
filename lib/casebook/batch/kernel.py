"""Kernels of notebooks, forked from one process that has imported what chapters share.

Importing torch, transformers, pandas and seaborn takes a chapter six seconds of a processor:
`multiprocessing`'s fork server does it once. Kernels talk over sockets in a folder that no other
user can open, and end with the process that started them. This module imports nothing of the
library that knows folders: the environment of a kernel says where they are.
"""

import contextlib
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

SHARED = (
    "pandas",
    "scipy.stats",
    "matplotlib.pyplot",
    "seaborn",
    "torch",
    "sentence_transformers",
)
KERNEL = (
    "ipykernel.kernelapp",
    "ipykernel.debugger",
    "psutil",
    "tornado.platform.asyncio",
)

_groups = set()  # processes of this process's kernels, each of which leads its group
_stopped = threading.Event()  # from here on kernels end as soon as they start


def manager_class(folder, environment, base=AsyncKernelManager):
    """A class of kernel managers whose kernels have this working folder and these variables."""
    names = {"folder": str(folder), "environment": environment}
    return type("Manager", (_Forking, base), names)


def kill_all():
    """Kernels of this process and all that they started, now and until there is a new server."""
    _stopped.set()
    for pid in list(_groups):
        _kill(pid)


def _kill(pid):
    for kill in (os.killpg, os.kill):  # it may not lead its group yet
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def start_server(modules):
    """Begin to import what kernels share, unless there is a server already."""
    _stopped.clear()
    if can_fork():
        forkserver.set_forkserver_preload(["__main__", *KERNEL, *modules])
        forkserver.ensure_running()


def can_fork():
    """Whether sockets can be beside our files, and this process may start others."""
    is_daemon = multiprocessing.current_process().daemon  # as workers of Dask are
    # The path of a socket has at most 107 characters.
    fits = len(util.get_temp_dir()) < 70
    # Elsewhere a fork of what has loaded the system's libraries may crash.
    return sys.platform == "linux" and fits and not is_daemon


class Fork(multiprocessing.get_context("forkserver").Process):
    """A forked kernel, with what jupyter_client asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def poll(self):
        return self.exitcode

    wait = multiprocessing.Process.join


def become_kernel(arguments, environment, folder):
    os.setpgid(0, 0)  # what it starts is killed with it
    # Where it says that it was interrupted, at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)
    for module in [
        name for name in sys.modules if name.partition(".")[0] == "casebook"
    ]:
        del sys.modules[module]  # with the folders of the process that forks
    os.chdir(folder)
    sys.path.insert(0, "")  # as `python -m ipykernel_launcher` has it
    from ipykernel.kernelapp import IPKernelApp

    parent = f"--IPKernelApp.parent_handle={os.getppid()}"
    IPKernelApp.launch_instance([*arguments, parent, "--HistoryManager.enabled=False"])


def _end_with_parent():
    # A kernel and what it started end when whoever started it is gone, even killed; so do sockets.
    multiprocessing.parent_process().join()
    shutil.rmtree(util.get_temp_dir(), ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


class _Provisioner(LocalProvisioner):
    async def launch_kernel(self, cmd, **options):
        variables = self.parent.environment | {"IPYTHONDIR": util.get_temp_dir()}
        options |= {"cwd": self.parent.folder, "env": options["env"] | variables}
        if self.parent.transport == "ipc" and "ipykernel_launcher" in cmd:
            arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
            settings = (arguments, options["env"], options["cwd"])
            self.process = Fork(target=become_kernel, args=settings)
            self.process.start()
            self.pid = self.pgid = self.process.pid
        else:
            await super().launch_kernel(cmd, **options)
        _groups.add(self.pid)
        if _stopped.is_set():
            _kill(self.pid)
        return self.connection_info

    async def cleanup(self, restart=False):
        if self.pid in _groups:
            _kill(self.pid)  # what a dead kernel started lives on
            _groups.discard(self.pid)
        await super().cleanup(restart)


class _Forking:
    def __init__(self, *arguments, **settings):
        name = f"{util.get_temp_dir()}/{secrets.token_hex(8)}.json"
        super().__init__(*arguments, connection_file=name, **settings)
        self.transport = "ipc" if can_fork() else "tcp"
        # Otherwise everybody who connects to its port on loopback gets what it prints.
        self.transport_encryption = "disabled" if can_fork() else "auto"
        self.provisioner = _Provisioner(kernel_spec=self.kernel_spec, parent=self)
