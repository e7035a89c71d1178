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


def track(items, stage, total=None):
    """Yield the items, and tell the batch the stage, how many are done and since when."""
    if PLACE not in os.environ:
        yield from items
        return
    state = {"stage": stage, "done": 0, "total": len(items) if total is None else total, "started": time.time()}
    _open.append(state)
    try:
        for item in items:
            _write()
            yield item
            state["done"] += 1
    finally:
        _open.remove(state)
        _write()


def _write():
    global _written
    if time.monotonic() - _written < _EVERY and _open:
        return
    _written = time.monotonic()
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
    words = [f"{state['stage']} {state['done']:,} of {state['total']:,}" for state in stages]
    if stages and stages[0]["done"]:
        first = stages[0]
        seconds = (time.time() - first["started"]) / first["done"] * (first["total"] - first["done"])
        words.append(f"about {clock(max(seconds, 0))} left")
    return ", ".join(words)


def clock(seconds):
    """Write a duration."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02} s"
