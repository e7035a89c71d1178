"""Results that many configurations share, each with what it cost the first time."""

import time


class Memo:
    """Remember results by key."""

    def __init__(self):
        self._found = {}

    def __len__(self):
        return len(self._found)

    def get(self, key, compute):
        """Give a result, computed on first use."""
        if key not in self._found:
            start = time.perf_counter()
            result = compute()
            self._found[key] = result, time.perf_counter() - start
        return self._found[key]
