"""Kernels of notebooks: no open port, and an end that takes all they started along."""

import contextlib
import os
import signal
import threading

from jupyter_client import AsyncKernelManager
from traitlets import default

_LONGEST_PLACE = 80  # a local socket has a name of about 100 characters at most


class LocalKernel(AsyncKernelManager):
    """Kernel that is reached through a local socket: no port is open.

    It leads a process group of its own, so that it can be ended with all it started.
    """

    pid = None  # of the kernel that this process started last

    async def _async_launch_kernel(self, kernel_cmd, **kw):
        await super()._async_launch_kernel(kernel_cmd, **kw)
        LocalKernel.pid = self.provisioner.pid

    @default("transport")
    def _local_socket(self):
        short = len(os.environ["IPYTHONDIR"]) < _LONGEST_PLACE
        return "ipc" if os.name == "posix" and short else "tcp"

    @default("ip")
    def _own_place(self):
        # The default name is the same for all kernels of a folder: two collide.
        local = self.transport == "ipc"
        return f"{os.environ['IPYTHONDIR']}/kernel" if local else "127.0.0.1"


def kill():
    """Kill the kernel that this process started last, with all that it started."""
    with contextlib.suppress(ProcessLookupError, TypeError):
        os.killpg(LocalKernel.pid, signal.SIGKILL)


def end_on_interrupt():
    """Let Ctrl-C end this worker process and its kernel at once, without a word."""

    def end(*_):
        kill()
        os._exit(128 + signal.SIGINT)

    signal.signal(signal.SIGINT, end)


@contextlib.contextmanager
def watched(timeout):
    """Kill the kernel's process group when the time is over.

    Parameters
    ----------
    timeout : float or None
        Wall seconds from now; None for no end.

    Yields
    ------
    threading.Event
        Set once the kernel was killed for being late.
    """
    late = threading.Event()

    def end():
        late.set()
        kill()

    LocalKernel.pid = None
    watch = threading.Timer(timeout, end) if timeout else None
    if watch:
        watch.daemon = True
        watch.start()
    try:
        yield late
    finally:
        if watch:
            watch.cancel()
