"""What a batch says while it works and at its end."""

import time
from dataclasses import dataclass

from casebook.batch.bookkeeping import read_timings


@dataclass(frozen=True)
class State:
    """Where a batch stands."""

    done: int
    total: int
    running: tuple
    seconds_left: float | None


class Progress:
    """Say what starts and ends, and how long the rest will take."""

    def __init__(self, run, waiting, report, show=None, slots=1):
        self._total, self._done, self._report = len(waiting), 0, report
        self._left, self._running = dict.fromkeys(waiting), {}
        known = read_timings(run)
        self._expected = {name: known.get(name) for name in waiting}
        self._start = time.monotonic()
        self._show, self._slots = show or (lambda state: None), slots

    def started(self, item):
        """Announce a cell."""
        why = f" ({', '.join(item.changed)} changed)" if item.changed else ""
        self._report(f"running {item.cell.name}{why}")
        self._running[item.cell.name] = None
        self._show(self._state())

    def ended(self, outcome):
        """Report a cell's end and the time left."""
        self._done += 1
        self._left.pop(outcome.cell, None)
        self._running.pop(outcome.cell, None)
        word = "FAILED " if outcome.failure else "done   "
        again = f", after: {', '.join(outcome.attempts)}" if outcome.attempts else ""
        count = f"[{self._done}/{self._total}]"
        line = f"{word} {outcome.cell} ({outcome.seconds:.0f} s{again}) {count}"
        left = f", about {clock(self._seconds_left())} left" if self._left else ""
        self._report(line + left)
        self._show(self._state())

    def _state(self):
        left = self._seconds_left()
        return State(self._done, self._total, tuple(self._running), left)

    def _seconds_left(self):
        """Extrapolate: by recorded durations where all are known, else by cells."""
        passed = time.monotonic() - self._start
        known = [s for name in self._left if (s := self._expected[name]) is not None]
        done = [s for n, s in self._expected.items() if n not in self._left and s]
        if len(known) == len(self._left) and (done or not self._done):
            return sum(known) * passed / sum(done) if done else sum(known) / self._slots
        return passed / self._done * len(self._left) if self._done else None


def clock(seconds):
    """Write a duration."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02} s"


def summary(outcomes):
    """Say in one table what became of each cell."""
    lines = [f"{'state':12} {'seconds':>8} {'attempts':>8}  cell"]
    for outcome in sorted(outcomes, key=lambda o: (o.failure is None, o.cell)):
        reason = f": {outcome.failure}" if outcome.failure else ""
        lines.append(f"{outcome.cause:12} {outcome.seconds:8.1f} {outcome.tries:8}  {outcome.cell}{reason}")
        lines += [f"    | {line}" for line in outcome.last_lines]
    return "\n".join(lines)
