"""Whether the promotion log, the pointers and the promoted runs agree."""

import os
from pathlib import Path

from casebook.files import sha256_file
from casebook.readers import parse_json
from casebook.runs import chain
from casebook.runs.layout import TENANTS
from casebook.runs.pointers import FOLDER, LOG


def log_faults(root):
    """Name what is wrong with the log by itself, its head and the pointers' hashes."""
    witnesses = [(name, *seen) for name, seen in _pointers(root) if isinstance(seen, tuple)]
    return chain.faults(root / FOLDER / LOG, witnesses)


def has_log(root):
    """Say whether promotions were ever recorded at a root, even if the log is gone."""
    log = root / FOLDER / LOG
    return log.exists() or chain.head_path(log).exists()


def logs_below(root):
    """Name the folders below a root that have a log of their own, tenants' apart."""
    found = []
    for place, names, _ in os.walk(root):
        hidden = (TENANTS, *(n for n in names if n.startswith(("_", "."))))
        names[:] = sorted(set(names) - set(hidden))
        if Path(place) != root and has_log(Path(place)):
            found.append(Path(place))
    return found


def verify(root):
    """Check the log, the pointers and the promoted runs against each other."""
    found = log_faults(root)
    found += [f"{name}: not a pointer of this registry" for name, seen in _pointers(root) if seen is None]
    if not found:
        found += _run_faults(root, chain.read_entries(root / FOLDER / LOG))
    return found


def _pointers(root):
    """Yield each pointer's name with the line and hash that it recorded, or None."""
    for path in sorted((root / FOLDER).rglob("active_*.json")):
        try:
            pointer = parse_json(path.read_text(encoding="utf-8-sig"))
            seq, digest = int(pointer["seq"]), pointer["lineSha256"]
        except (ValueError, KeyError, TypeError):
            yield str(path.relative_to(root)), None
        else:
            good = (seq, digest) if seq > 0 else None
            yield str(path.relative_to(root)), good


def _run_faults(root, entries):
    """Name the active runs that are gone or no longer what was promoted."""
    last = {(e["metric"], e["profile"]): e for e in entries}
    found = []
    for entry in last.values():
        record = root / entry["path"] / "run.json"
        if not record.is_file():
            found.append(f"{entry['path']}: active for {entry['metric']}, but gone")
        elif sha256_file(record) != entry["runSha256"]:
            found.append(f"{entry['path']}: changed since its promotion")
    return found
