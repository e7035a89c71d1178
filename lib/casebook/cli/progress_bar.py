"""A bar on the terminal while a batch works; plain lines where there is none."""

import contextlib
import os
import sys
import time

import typer


@contextlib.contextmanager
def batch_progress():
    """Open the place where a batch tells how far it is: always standard error."""
    if not sys.stderr.isatty() or os.environ.get("TQDM_DISABLE", "0") not in ("", "0"):
        yield _say, None
        return
    with _bar() as progress:
        task = progress.add_task("", start=True, total=None)

        def line(text):
            progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

        def show(state):
            end = state.seconds_left and time.monotonic() + state.seconds_left
            progress.update(
                task, completed=state.done, total=state.total, description=", ".join(state.running), end=end
            )

        yield line, show


def _say(line):
    typer.echo(line, err=True)


def _bar():
    """Make a bar whose estimate counts down while a long cell works."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    from casebook.run import clock

    class Left(ProgressColumn):
        """Time left, by the batch's own estimate."""

        def render(self, task):
            """Write it."""
            end = task.fields.get("end")
            if end is None:
                return Text("time left not known yet")
            return Text(f"about {clock(max(end - time.monotonic(), 0))} left")

    columns = (
        MofNCompleteColumn(),
        BarColumn(),
        TimeElapsedColumn(),
        Left(),
        TextColumn("{task.description}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
