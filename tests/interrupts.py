"""Commands to interrupt."""

import signal
import subprocess


def interruptible(command):
    """Start a command in a group of its own that heeds interrupts.

    What a shell runs in the background, the tests perhaps, inherits to ignore them.
    """
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
