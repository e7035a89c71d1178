"""Results that many configurations share, each with what it cost the first time."""

import time


class Memo:
    """Remember results by key.

    A remembered result reports the seconds of its first computation, so that the cost
    of a configuration is the same whether it ran alone or shared work with others.
    Failures are not remembered.
    """

    def __init__(self):
        self._found = {}

    def __len__(self):
        return len(self._found)

    def get(self, key, compute):
        """Give a result, computed on first use.

        Parameters
        ----------
        key : hashable
            What the result depends on.
        compute : callable
            Gives it, without arguments.

        Returns
        -------
        result : object
            As computed.
        seconds : float
            Of the computation, now or then.
        """
        if key not in self._found:
            start = time.perf_counter()
            result = compute()
            self._found[key] = result, time.perf_counter() - start
        return self._found[key]
