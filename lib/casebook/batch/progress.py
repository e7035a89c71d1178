"""What a batch says while it works: what starts and ends, the time left, and a summary."""

import time

from casebook.batch.run_folder import progress_path, read_timings
from casebook.progress import duration_text, progress_text

_LINE_EVERY = 20.0  # seconds between two lines on how far a cell is


class Progress:
    """Say what starts and ends, and how long the rest will take.

    ``report`` prints a line; ``show``, where there is one, redraws the bar of a terminal from the
    number of cells done, of all cells, the running cells and the seconds left.
    """

    def __init__(self, run, waiting, report, show=None, slots=1):
        self._run = run
        self._report = report
        self._show = show
        self._slots = slots
        self._total = len(waiting)
        self._unfinished = set(waiting)
        self._running = {}  # how far each cell is, in words
        self._reported = {}  # when a line last spoke of a cell
        timings = read_timings(run)
        self._seconds = {name: timings[name] for name in waiting if name in timings}

    @property
    def _done(self):
        return self._total - len(self._unfinished)

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
        self._redraw()

    def look(self):
        """Read how far the running cells are; without a bar, print a line a cell now and then."""
        texts = {name: progress_text(progress_path(self._run, name)) for name in self._running}
        if texts == self._running:
            return
        self._running = texts
        self._redraw()
        if self._show is not None:
            return
        for name, text in texts.items():
            if text and time.monotonic() - self._reported[name] > _LINE_EVERY:
                self._reported[name] = time.monotonic()
                self._report(f"        {name}: {text}")

    def ended(self, outcome):
        """Report a cell's end and the time left."""
        self._unfinished.discard(outcome.cell)
        self._seconds[outcome.cell] = outcome.seconds
        self._running.pop(outcome.cell, None)
        state = "FAILED " if outcome.failure else "done   "
        attempts = f", after: {', '.join(outcome.attempts)}" if outcome.attempts else ""
        duration = f"({outcome.seconds:.0f} s{attempts})"
        left = ""
        if self._unfinished:
            left = f", about {duration_text(self._seconds_left())} left"
        self._report(f"{state} {outcome.cell} {duration} [{self._done}/{self._total}]{left}")
        self._redraw()

    def _redraw(self):
        if self._show is None:
            return
        running = []
        for name, text in self._running.items():
            running.append(f"{name}: {text}" if text else name)
        self._show(self._done, self._total, tuple(running), self._seconds_left())

    def _seconds_left(self):
        """Extrapolate: each cell takes what it took the last time, or the mean of the others."""
        if not self._seconds:
            return None
        mean = sum(self._seconds.values()) / len(self._seconds)
        total = sum(self._seconds.get(name, mean) for name in self._unfinished)
        return total / self._slots


def summary(outcomes):
    """Say in one table what became of each cell, failures first."""
    lines = [f"{'state':12} {'seconds':>8} {'attempts':>8}  cell"]
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.failure is None, outcome.cell)):
        reason = f": {outcome.failure}" if outcome.failure else ""
        state = f"{outcome.cause:12} {outcome.seconds:8.1f} {outcome.tries:8}"
        lines.append(f"{state}  {outcome.cell}{reason}")
        lines += [f"    | {line}" for line in outcome.last_lines]
    return "\n".join(lines)
