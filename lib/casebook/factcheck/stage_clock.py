"""Seconds of every stage of one claim, and the stage in which it failed."""

from contextlib import contextmanager
from time import perf_counter

STAGES = ("decomposition", "queries", "search", "credibility", "extraction", "stance", "verdict")


class StageFailed(Exception):
    """A stage of one claim failed; carries the name of the stage."""

    def __init__(self, stage, cause):
        super().__init__(f"{stage}: {cause}")
        self.stage = stage


class StageClock:
    """Seconds of every stage of one claim, and where it failed."""

    def __init__(self):
        self.seconds = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def stage(self, name):
        """Time a block; seconds that a memo reports are added by `charge` instead."""
        start, self._charged, self._spent = perf_counter(), 0.0, 0.0
        try:
            yield
        except Exception as error:
            kind = getattr(error, "cause", None) or type(error).__name__
            raise StageFailed(name, f"{kind}: {error}") from error
        finally:
            own = max(0.0, perf_counter() - start - self._spent)
            self.seconds[name] += own + self._charged

    def charge(self, call, *arguments):
        """Call a memo; count what the result cost at first, not the look-up."""
        start = perf_counter()
        result, seconds = call(*arguments)
        self._spent += perf_counter() - start
        self._charged += seconds
        return result
