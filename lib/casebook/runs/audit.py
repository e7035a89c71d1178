"""Whether the promotion log, the pointers and the promoted runs agree."""

from casebook.files import sha256_file
from casebook.plain_json import parse_json
from casebook.runs import chain
from casebook.runs.pointers import FOLDER
from casebook.runs.promotion import LOG


def verify(root):
    """Check the log, the pointers and the promoted runs against each other.

    Parameters
    ----------
    root : pathlib.Path
        The registry's root.

    Returns
    -------
    list of str
        One line per fault; none if all agree.
    """
    path = root / FOLDER / LOG
    found = chain.faults(path)
    lines = chain.read_lines(path)
    for pointer in sorted((root / FOLDER).rglob("active_*.json")):
        found += _pointer_faults(pointer.relative_to(root), pointer, lines)
    if not found:
        found += _run_faults(root, chain.read_entries(path))
    return found


def _pointer_faults(name, path, lines):
    try:
        pointer = parse_json(path.read_text(encoding="utf-8-sig"))
        seq, digest = int(pointer["seq"]), pointer["lineSha256"]
    except (ValueError, KeyError, TypeError):
        return [f"{name}: not a pointer of this registry"]
    if not 1 <= seq <= len(lines):
        return [f"{name}: line {seq} of the log is missing"]
    if chain.line_hash(lines[seq - 1]) != digest:
        return [f"{name}: line {seq} of the log was changed"]
    return []


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
