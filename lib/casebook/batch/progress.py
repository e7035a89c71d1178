"""What a batch says while it works: what starts and ends, how long the rest will take, and a summary."""

import time

from casebook.batch.run_folder import progress_path, read_timings
from casebook.progress import clock, progress_text

_LINE_EVERY = 20.0  # seconds between two lines on how far a cell is


class Progress:
    """Say what starts and ends, and how long the rest will take."""

    def __init__(self, run, waiting, report, show=None, slots=1):
        self._run = run
        self._report = report
        self._show = show
        self._slots = slots
        self._total = len(waiting)
        self._left = set(waiting)
        self._running = {}  # how far each cell is, in words
        self._reported = {}  # when a line last spoke of a cell
        self._seconds = {
            name: seconds for name, seconds in read_timings(run).items() if name in waiting
        }

    @property
    def _done(self):
        return self._total - len(self._left)

    def started(self, item):
        """Announce a cell."""
        why = ""
        if item.changed == ("forced",):
            why = " (forced)"
        elif item.changed:
            why = f" ({', '.join(item.changed)} changed)"
        self._report(f"running {item.cell.name}{why}")
        self._running[item.cell.name] = ""
        self._reported[item.cell.name] = time.monotonic()
        self._tell()

    def look(self):
        """Read how far the running cells are; without a bar, print a line a cell now and then."""
        texts = {name: progress_text(progress_path(self._run, name)) for name in self._running}
        if texts == self._running:
            return
        self._running = texts
        self._tell()
        for name, text in texts.items() if self._show is None else ():
            if text and time.monotonic() - self._reported[name] > _LINE_EVERY:
                self._reported[name] = time.monotonic()
                self._report(f"        {name}: {text}")

    def ended(self, outcome):
        """Report a cell's end and the time left."""
        self._left.discard(outcome.cell)
        self._seconds[outcome.cell] = outcome.seconds
        self._running.pop(outcome.cell, None)
        word = "FAILED " if outcome.failure else "done   "
        again = f", after: {', '.join(outcome.attempts)}" if outcome.attempts else ""
        seconds = self._seconds_left()
        left = f", about {clock(seconds)} left" if self._left and seconds is not None else ""
        self._report(
            f"{word} {outcome.cell} ({outcome.seconds:.0f} s{again}) [{self._done}/{self._total}]{left}"
        )
        self._tell()

    def _tell(self):
        if self._show:
            running = tuple(
                f"{name}: {text}" if text else name for name, text in self._running.items()
            )
            self._show(self._done, self._total, running, self._seconds_left())

    def _seconds_left(self):
        """Extrapolate: each cell by its duration the last time, others by the mean of those known."""
        if not self._seconds:
            return None
        mean = sum(self._seconds.values()) / len(self._seconds)
        return sum(self._seconds.get(name, mean) for name in self._left) / self._slots


def summary(outcomes):
    """Say in one table what became of each cell."""
    lines = [f"{'state':12} {'seconds':>8} {'attempts':>8}  cell"]
    for outcome in sorted(outcomes, key=lambda o: (o.failure is None, o.cell)):
        reason = f": {outcome.failure}" if outcome.failure else ""
        lines.append(
            f"{outcome.cause:12} {outcome.seconds:8.1f} {outcome.tries:8}  {outcome.cell}{reason}"
        )
        lines += [f"    | {line}" for line in outcome.last_lines]
    return "\n".join(lines)
