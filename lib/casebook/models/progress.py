"""When a long computation shows a progress bar."""

import os
import sys

LONG = 512


def wants_progress(n_items):
    """Decide whether to show a progress bar.

    Parameters
    ----------
    n_items : int
        Items to be computed.

    Returns
    -------
    bool
        True for more than ``LONG`` items, on a terminal, unless ``TQDM_DISABLE`` is
        set.
    """
    terminal = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    return n_items > LONG and terminal
