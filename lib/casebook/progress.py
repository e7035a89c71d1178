"""How far a slow stage is: `casebook run` shows it while a notebook works, and no output depends on it."""

import contextlib
import json
import os
import time
from pathlib import Path

PLACE = "CASEBOOK_PROGRESS"  # set for a kernel by the batch: the file that the batch reads
_EVERY = 0.5  # seconds between two writes
_open = []  # stages that are under way, the outermost first
_written = 0.0
_terminal = None  # function that shows a line, if a command shows how far it is


@contextlib.contextmanager
def on_terminal(show, every=5.0):
    """Show a line at most every so many seconds, for a command that works without a kernel."""
    global _terminal, _EVERY, _written
    usual, _terminal, _EVERY, _written = _EVERY, show, every, time.monotonic()
    try:
        yield
    finally:
        _terminal, _EVERY = None, usual


def track(items, stage, total=None):
    """Yield the items, and tell the batch the stage, how many are done and when the first was."""
    if PLACE not in os.environ and _terminal is None:
        yield from items
        return
    state = {"stage": stage, "done": 0, "total": len(items) if total is None else total}
    _open.append(state)
    try:
        for item in items:
            _write()
            yield item
            state["done"] += 1
            state.setdefault("first_done", time.time())
    finally:
        _open.remove(state)
        _write()


def _write():
    global _written
    if time.monotonic() - _written < _EVERY and (_open or _terminal):
        return
    _written = time.monotonic()
    if _terminal is not None:
        if _open:
            _terminal(_words(_open))
        return
    path = Path(os.environ[PLACE])
    with contextlib.suppress(OSError):  # a full disk must not end a notebook
        path.with_suffix(".new").write_text(json.dumps(_open), encoding="utf-8")
        path.with_suffix(".new").replace(path)


def progress_text(path):
    """Say how far a kernel is, as ``systems 3 of 13, encoding 128 of 400, about 0 min 40 s left``; empty if unknown."""
    try:
        stages = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return _words(stages)


def _words(stages):
    words = [f"{state['stage']} {state['done']:,} of {state['total']:,}" for state in stages]
    # The first item also pays for what all share, such as an index: its time says nothing of the others.
    if stages and stages[0]["done"] > 1:
        outermost = stages[0]
        later = outermost["done"] - 1
        elapsed = time.time() - outermost["first_done"]
        seconds = elapsed / later * (outermost["total"] - outermost["done"])
        words.append(f"about {clock(max(seconds, 0))} left")
    return ", ".join(words)


def clock(seconds):
    """Write a duration."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02} s"
