"""When a long computation shows a progress bar."""

import os
import sys

LONG = 512


def wants_progress(n_items):
    """Decide whether to show a progress bar."""
    terminal = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    return n_items > LONG and terminal
