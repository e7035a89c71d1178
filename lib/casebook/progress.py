"""How far a slow stage is: `casebook run` shows it. No output depends on it."""

import contextlib
import json
import os
import time
from pathlib import Path

FILE_VARIABLE = "CASEBOOK_PROGRESS"  # set for a kernel by the batch: the file that the batch reads
_EVERY = 0.5  # seconds between two writes
_stages = []  # those under way, the outermost first
_written = 0.0  # when a line or the file was last written
_terminal = None  # function that shows a line, if a command shows how far it is


@contextlib.contextmanager
def on_terminal(show, every=5.0):
    """Show a line at most every so many seconds, for a command that works without a kernel."""
    global _terminal, _EVERY, _written
    usual = _EVERY
    _terminal = show
    _EVERY = every
    _written = time.monotonic()
    try:
        yield
    finally:
        _terminal = None
        _EVERY = usual


def track(items, stage, total=None):
    """Yield the items, and write down the stage, how many are done and when the first was."""
    if FILE_VARIABLE not in os.environ and _terminal is None:
        yield from items
        return
    state = {"stage": stage, "done": 0, "total": len(items) if total is None else total}
    _stages.append(state)
    try:
        for item in items:
            _write()
            yield item
            state["done"] += 1
            state.setdefault("first_done", time.time())
    finally:
        _stages.remove(state)
        _write()


def _write():
    global _written
    recent = time.monotonic() - _written < _EVERY
    if recent and (_stages or _terminal):
        return
    _written = time.monotonic()
    if _terminal is None:
        _write_file(Path(os.environ[FILE_VARIABLE]))
    elif _stages:
        _terminal(_text(_stages))


def _write_file(path):
    temporary = path.with_suffix(".new")
    with contextlib.suppress(OSError):  # a full disk must not end a notebook
        temporary.write_text(json.dumps(_stages), encoding="utf-8")
        temporary.replace(path)


def progress_text(path):
    """Say how far a kernel is; empty if unknown.

    For example ``systems 3 of 13, encoding 128 of 400, about 0 min 40 s left``.
    """
    try:
        stages = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return _text(stages)


def _text(stages):
    parts = [f"{state['stage']} {state['done']:,} of {state['total']:,}" for state in stages]
    # The first item also pays for what all share, such as an index: it is left out of the estimate.
    if stages and stages[0]["done"] > 1:
        outermost = stages[0]
        later = outermost["done"] - 1
        elapsed = time.time() - outermost["first_done"]
        seconds = elapsed / later * (outermost["total"] - outermost["done"])
        parts.append(f"about {duration_text(max(seconds, 0))} left")
    return ", ".join(parts)


def duration_text(seconds):
    """Write a duration."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02} s"
