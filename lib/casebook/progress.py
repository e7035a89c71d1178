"""How far a slow stage is, on a terminal. No output depends on it."""

from functools import partial

from tqdm import tqdm

# Of items, the name of the stage and the number of items.
track = partial(tqdm, leave=False, disable=None)
