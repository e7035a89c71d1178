"""Kernels of notebooks: no open port, and an end that takes all they started along."""

import contextlib
import os
import signal
import subprocess
import threading

from jupyter_client import AsyncKernelManager
from traitlets import default

_LONGEST_PLACE = 80  # a local socket has a name of about 100 characters at most


class LocalKernel(AsyncKernelManager):
    """Kernel that is reached through a local socket: no port is open."""

    pid = None  # of the kernel that this process started last
    launching = False  # it may be there, and have no pid here yet
    doomed = None  # how to end it as soon as it is there

    async def _async_launch_kernel(self, kernel_cmd, **kw):
        LocalKernel.launching = True
        try:
            # Cells print through messages; what is left is talk of the kernel's end.
            await super()._async_launch_kernel(kernel_cmd, **kw, stderr=subprocess.DEVNULL)
            LocalKernel.pid = self.provisioner.pid
        finally:
            LocalKernel.launching = False
            if LocalKernel.doomed:
                LocalKernel.doomed()

    @default("transport")
    def _local_socket(self):
        short = len(os.environ["IPYTHONDIR"]) < _LONGEST_PLACE
        return "ipc" if os.name == "posix" and short else "tcp"

    @default("connection_file")
    def _file_of_its_own(self):
        # By default one in the folder for temporary files that nothing removes.
        return f"{os.environ['IPYTHONDIR']}/connection.json"

    @default("ip")
    def _own_place(self):
        # The default name is the same for all kernels of a folder: two collide.
        local = self.transport == "ipc"
        return f"{os.environ['IPYTHONDIR']}/kernel" if local else "127.0.0.1"


def kill():
    """Kill the kernel that this process started last, with all that it started."""
    with contextlib.suppress(ProcessLookupError, TypeError):
        os.killpg(LocalKernel.pid, signal.SIGKILL)


def _end(how):
    """End the kernel now, or once it is there if it is being started."""
    LocalKernel.doomed = how
    if not LocalKernel.launching:
        how()


def end_with(leash):
    """Let this worker process and its kernel end with the process that started it."""

    def end():
        kill()
        os._exit(128 + signal.SIGINT)

    def watch():
        with contextlib.suppress(EOFError, OSError):
            leash.recv_bytes()
        _end(end)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _end(end))
    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def watched(timeout):
    """Kill the kernel's process group when the time is over, or at Ctrl-C."""
    late = threading.Event()

    def end():
        late.set()
        _end(kill)

    LocalKernel.pid = LocalKernel.doomed = None
    watch = threading.Timer(timeout, end) if timeout else None
    if watch:
        watch.daemon = True
        watch.start()
    try:
        with _killed_at_interrupt():
            yield late
    finally:
        if watch:
            watch.cancel()


@contextlib.contextmanager
def _killed_at_interrupt():
    """Let Ctrl-C end the kernel before it can write of its own end; workers do."""
    alone = threading.current_thread() is threading.main_thread()
    if not alone or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def end():
        kill()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, lambda *_: _end(end))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
