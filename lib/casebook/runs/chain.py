"""An append-only log in which every line holds the hash of the line before it.

The hash of the last line, the head, is kept in a folder of its own, so that a log that
lost its end, or is gone, does not look like a shorter one. A writer adds the line, then
moves the head: killed between the two, it leaves a head that is one line behind, and
that is no fault.

The log shows changes that were made to it afterwards; it does not prevent them
(tamper-evident, not tamper-proof): who can rewrite every line and every copy of the
last hash can rewrite history.
"""

import contextlib
import errno
import hashlib
import json
import os

from casebook.errors import InputError
from casebook.files import locked, write_json
from casebook.readers import parse_json

NO_LINE = "0" * 64
"""Stands for the line before the first one."""

HEADS = "_heads"

PATIENCE = 60.0  # seconds to wait for another writer


def writing(folder):
    """Hold the writers' lock of a folder."""
    path = folder / ".lock"

    def refusal(owner):
        return f"{path}: held by {owner}; try again later"

    return locked(path, refusal, PATIENCE)


def line_hash(line):
    """Hash one line of a log."""
    return hashlib.sha256(line).hexdigest()


def read_lines(path):
    """Read the complete lines of a log."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return data.split(b"\n")[:-1]


def head_path(path):
    """Give the place of a log's head: in a folder beside that of the log."""
    return path.parent.parent / HEADS / f"{path.stem}.json"


def append(path, entry):
    """Append one entry and move the head; the caller holds the lock."""
    lines = read_lines(path)
    previous = line_hash(lines[-1]) if lines else NO_LINE
    entry = {"seq": len(lines) + 1, "previous": previous, **entry}
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        end = sum(len(line) + 1 for line in lines)
        os.ftruncate(handle, end)  # drops the rest of a line that was never completed
        if os.pwrite(handle, line, end) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(handle)
    finally:
        os.close(handle)
    head = {"seq": entry["seq"], "lineSha256": line_hash(line[:-1])}
    write_json(head_path(path), head)
    return entry


def read_entries(path):
    """Read the entries of a log."""
    entries = []
    for number, line in enumerate(read_lines(path), 1):
        entry = _parsed(line)
        if entry is None:
            raise InputError.at(path, number, "damaged; see 'casebook runs verify'")
        entries.append(entry)
    return entries


def faults(path, witnesses=()):
    """Walk the chain and name every fault."""
    witnesses, before = list(witnesses), _head(path)
    lines = read_lines(path)
    after = _head(path)  # other writers may have moved it meanwhile
    found, previous = [], NO_LINE
    for number, line in enumerate(lines, 1):
        entry = _parsed(line)
        if entry is None:
            found.append(f"line {number}: not an entry")
        elif entry.get("seq") != number:
            found.append(f"line {number}: sequence number {entry.get('seq')}")
        elif entry.get("previous") != previous:
            found.append(f"line {number}: does not follow from the line before it")
        previous = line_hash(line)
    name = head_path(path)
    if "damaged" in (before, after):
        return [*found, f"{name}: not the head of a log"]
    heads = [(f"{HEADS}/{name.name}", *before)] if before else []
    last = max((seq for _, seq, _ in [*heads, *witnesses]), default=0)
    for who, seq, digest in (*heads, *witnesses):
        if seq > len(lines):
            found.append(f"{who}: line {seq} of the log is missing")
        elif line_hash(lines[seq - 1]) != digest:
            found.append(f"{who}: line {seq} of the log was changed")
    if len(lines) > max(last, after[0] if after else 0) + 1:
        found.append(f"{name}: does not know the last lines of the log")
    return found


def _head(path):
    """Read the recorded head: number and hash of a line, None, or ``"damaged"``."""
    try:
        head = parse_json(head_path(path).read_text(encoding="utf-8"))
        seq, digest = head["seq"], head["lineSha256"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return "damaged"
    return (seq, digest) if isinstance(seq, int) and seq > 0 else "damaged"


def _parsed(line):
    with contextlib.suppress(ValueError):
        entry = parse_json(line)
        if isinstance(entry, dict):
            return entry
    return None
