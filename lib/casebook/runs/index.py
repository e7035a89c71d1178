"""An index of run records, which spares reading unchanged files again.

It is a copy in the user's cache folder and holds nothing that the files do not: it is
checked against the state of every file, and made anew whenever it cannot be read.
"""

import contextlib
import hashlib
import json

from casebook.errors import InputError
from casebook.files import write_text
from casebook.paths import cache_dir

_VERSION = 1


def read_through_index(root, files, summarise, use_index=True):
    """Give the summary of every file, from the index where the file is unchanged."""
    place = _place(root)
    known = _load(place) if use_index else {}
    fresh, changed = {}, False
    for path, entry in files.items():
        try:
            state = _state(entry)
        except FileNotFoundError:
            continue
        row = known.get(path)
        if row is None or row[0] != state:
            row, changed = [state, _read(root / path, summarise)], True
        if row[1] is not None:
            fresh[path] = row
    if changed or len(fresh) < len(known):
        _store(place, fresh)
    return {path: dict(row[1]) for path, row in fresh.items()}


def _state(entry):
    """Give what changes whenever a file is replaced or written to."""
    status = entry.stat()
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def _read(path, summarise):
    try:
        return summarise(path)
    except FileNotFoundError:
        return None
    except (InputError, OSError) as error:
        return {"reason": str(error).removeprefix(f"{path}: ")}


def _place(root):
    """File of the index, or None where the user has no place for a cache."""
    name = hashlib.sha256(str(root).encode()).hexdigest()[:32]
    with contextlib.suppress(InputError):
        return cache_dir("runs") / f"{name}.json"
    return None


def _load(place):
    if place is None:
        return {}
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stored = json.loads(place.read_text(encoding="utf-8"))
        if stored.get("version") == _VERSION:
            return stored["rows"]
    return {}


def _store(place, rows):
    if place is None:
        return
    # A cache that cannot be written costs time only.
    with contextlib.suppress(OSError):
        write_text(place, json.dumps({"version": _VERSION, "rows": rows}))
