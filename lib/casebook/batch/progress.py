"""What a batch says while it works: what starts and ends, and a summary."""


class Progress:
    """A line as a cell starts and ends, and the bar of `rich` that a terminal shows below them."""

    def __init__(self, n_cells, report, bar=None):
        self._report = report
        self._bar = bar
        self._n_cells = n_cells
        self._n_ended = 0
        self._running = []
        self._task = bar.add_task("", total=n_cells) if bar else None

    def started(self, item):
        """Announce a cell."""
        why = ""
        if item.changed == ("forced",):
            why = " (forced)"
        elif item.changed:
            why = f" ({', '.join(item.changed)} changed)"
        self._report(f"running {item.cell.name}{why}")
        self._running.append(item.cell.name)
        self._redraw()

    def ended(self, outcome):
        """Report a cell's end."""
        self._n_ended += 1
        if outcome.cell in self._running:
            self._running.remove(outcome.cell)
        state = "FAILED " if outcome.failure else "done   "
        attempts = f", after: {', '.join(outcome.attempts)}" if outcome.attempts else ""
        duration = f"({outcome.seconds:.0f} s{attempts})"
        self._report(f"{state} {outcome.cell} {duration} [{self._n_ended}/{self._n_cells}]")
        self._redraw()

    def _redraw(self):
        if self._bar:
            names = ", ".join(self._running)
            self._bar.update(self._task, completed=self._n_ended, description=names)


def summary(outcomes):
    """A table of what became of each cell, failures first."""
    lines = [f"{'state':12} {'seconds':>8} {'attempts':>8}  cell"]
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.failure is None, outcome.cell)):
        reason = f": {outcome.failure}" if outcome.failure else ""
        state = f"{outcome.cause:12} {outcome.seconds:8.1f} {outcome.tries:8}"
        lines.append(f"{state}  {outcome.cell}{reason}")
        lines += [f"    | {line}" for line in outcome.last_lines]
    return "\n".join(lines)
