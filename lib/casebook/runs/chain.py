"""An append-only log in which every line holds the hash of the line before it.

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
from casebook.files import locked
from casebook.plain_json import parse_json

NO_LINE = "0" * 64
"""Stands for the line before the first one."""

PATIENCE = 60.0  # seconds to wait for another writer


def writing(folder):
    """Hold the writers' lock of a folder.

    Parameters
    ----------
    folder : pathlib.Path
        Created if need be; the lock is ``.lock`` in it.

    Returns
    -------
    context manager
        From `casebook.files.locked`; it waits `PATIENCE` seconds for another writer.
    """
    path = folder / ".lock"

    def refusal(owner):
        return f"{path}: held by {owner}; try again later"

    return locked(path, refusal, PATIENCE)


def line_hash(line):
    """Hash one line of a log.

    Parameters
    ----------
    line : bytes
        The line without its newline.

    Returns
    -------
    str
        SHA-256 as 64 hexadecimal digits.
    """
    return hashlib.sha256(line).hexdigest()


def read_lines(path):
    """Read the complete lines of a log.

    Parameters
    ----------
    path : pathlib.Path
        The log; a missing one is empty.

    Returns
    -------
    list of bytes
        Without newlines. What follows the last newline was never committed: a writer
        died in the middle, or is still writing.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return data.split(b"\n")[:-1]


def append(path, entry):
    """Append one entry; the caller holds the lock.

    Parameters
    ----------
    path : pathlib.Path
        The log.
    entry : dict
        What to record; ``seq``, ``previous`` are added.

    Returns
    -------
    dict
        The entry as written.

    Raises
    ------
    OSError
        If the disk is full or cannot be written.
    """
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
    return entry


def read_entries(path):
    """Read the entries of a log.

    Parameters
    ----------
    path : pathlib.Path
        The log.

    Returns
    -------
    list of dict
        In order.

    Raises
    ------
    InputError
        If a line is not an entry.
    """
    entries = []
    for number, line in enumerate(read_lines(path), 1):
        entry = _parsed(line)
        if entry is None:
            raise InputError.at(path, number, "damaged; see 'casebook runs verify'")
        entries.append(entry)
    return entries


def faults(path):
    """Walk the chain and name every fault.

    Parameters
    ----------
    path : pathlib.Path
        The log.

    Returns
    -------
    list of str
        One line per fault; none if the chain holds.
    """
    found, previous = [], NO_LINE
    for number, line in enumerate(read_lines(path), 1):
        entry = _parsed(line)
        if entry is None:
            found.append(f"line {number}: not an entry")
        elif entry.get("seq") != number:
            found.append(f"line {number}: sequence number {entry.get('seq')}")
        elif entry.get("previous") != previous:
            found.append(f"line {number}: does not follow from the line before it")
        previous = line_hash(line)
    return found


def _parsed(line):
    with contextlib.suppress(ValueError):
        entry = parse_json(line)
        if isinstance(entry, dict):
            return entry
    return None
