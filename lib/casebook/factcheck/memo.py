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

    def get_many(self, keys, compute):
        """Give several results; those that are not known are computed at once.

        Parameters
        ----------
        keys : sequence of hashable
            What each result depends on.
        compute : callable
            Maps a list of positions in ``keys`` to the list of their results.

        Returns
        -------
        results : list
            In the order of the keys.
        seconds : float
            Of all of them; those computed together bear equal shares.
        """
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        new = [place for key, place in first.items() if key not in self._found]
        new.sort()
        if new:
            start = time.perf_counter()
            results = compute(new)
            share = (time.perf_counter() - start) / len(new)
            for place, result in zip(new, results, strict=True):
                self._found[keys[place]] = result, share
        found = [self._found[key] for key in keys]
        return [result for result, _ in found], sum(cost for _, cost in found)
