"""How far a slow stage is, on a terminal. No output depends on it."""

import os

from tqdm import tqdm


def track(items, stage, total=None):
    """The items, with tqdm's bar on a terminal unless ``TQDM_DISABLE`` is set."""
    quiet = bool(os.environ.get("TQDM_DISABLE")) or None
    return tqdm(items, stage, total, leave=False, disable=quiet)
