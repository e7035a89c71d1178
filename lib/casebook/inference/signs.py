"""Sign vectors of a randomisation test: a random sample of them, or every one."""

import numpy as np

from casebook.errors import InputError
from casebook.inference.samples import stream

BLOCK_ELEMENTS = 2**18
LEAST_BLOCK_ROWS = 16
MOST_EXACT_UNITS = 24


def is_exact(n, n_resamples, exact):
    """Decide whether all sign vectors are enumerated."""
    if exact == "auto":
        return n <= MOST_EXACT_UNITS and 2**n <= n_resamples
    if exact and n > MOST_EXACT_UNITS:
        raise InputError(
            f"{n} units have too many sign vectors to enumerate: at most {MOST_EXACT_UNITS} with exact=True"
        )
    return bool(exact)


def random_signs(n, n_resamples, seed):
    """Draw sign vectors."""
    rows = max(LEAST_BLOCK_ROWS, BLOCK_ELEMENTS // n)
    for block, start in enumerate(range(0, n_resamples, rows)):
        size = min(rows, n_resamples - start)
        words = stream(seed, "signs", block).random_raw((size, -(-n // 64)))
        yield np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=n)


def all_signs(n):
    """Enumerate the ``2**n`` sign vectors."""
    rows = max(LEAST_BLOCK_ROWS, BLOCK_ELEMENTS // n)
    for start in range(0, 2**n, rows):
        codes = np.arange(start, min(start + rows, 2**n), dtype="<u8")[:, None]
        octets = codes.view(np.uint8)
        yield np.unpackbits(octets, axis=1, count=n, bitorder="little")
