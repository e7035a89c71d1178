"""Which run is active for a metric, who made it so and why.

``_active/history.jsonl`` below the registry's root is the truth: an append-only log of promotions and rollbacks in
which every line holds the hash of the line before it. The hash of the last line, the head, is kept in ``_heads``
beside it, so that a log that lost its end, or is gone, does not look like a shorter one. A writer adds the line, then
moves the head: killed between the two, it leaves a head that is one line behind, and that is no fault. Whoever reads
the log checks it first. It shows changes that were made afterwards and does not prevent them: who can rewrite every
line and every copy of the last hash can rewrite history.

``_active/active_<metric>.json``, with a profile ``_active/profiles/<profile>/active_<metric>.json``, are the documented
pointers for other programs: copies of the last entry, with the hash of its line.
"""

import errno
import getpass
import hashlib
import json
import os
from pathlib import Path

from casebook.errors import InputError
from casebook.files import locked, sha256_file, write_json
from casebook.paths import valid_name
from casebook.readers import parse_json
from casebook.runs.evidence import RECORD, faults, require
from casebook.runs.record import canonical, check_text, file_part, utc
from casebook.runs.registry import TENANTS, child_folder, score_of

FOLDER, HEADS = "_active", "_heads"
NO_LINE = "0" * 64  # the hash that stands for the line before the first one
DAMAGED = "damaged"
_PATIENCE = 60.0  # seconds to wait for another writer
_TARGET = ("runId", "workflow", "path", "score", "runSha256", "comparabilityKey", "incomparable")


def history(root, metric=None, profile=None):
    """Read the log, of one metric or of all; a log that was changed is refused."""
    if faults := log_faults(root):
        raise InputError(
            f"{_log(root)}: {faults[0]}: the log was changed ('casebook runs verify' names every fault): restore it "
            f"from a copy, or begin a new one by moving {root / FOLDER} and {root / HEADS} elsewhere"
        )
    entries = [json.loads(line) for line in _lines(root)]
    if metric is None:
        return entries
    wanted = canonical(metric), profile
    return [entry for entry in entries if (entry.get("metric"), entry.get("profile")) == wanted]


def active(root, metric, profile=None, *, checked=False):
    """Give the entry that made the active run of a metric so, or None; ``checked`` refuses a run that was changed."""
    entries = history(root, metric, profile)
    entry = entries[-1] if entries else None
    fault = checked and entry and run_fault(root, entry)
    if fault:
        raise InputError(
            f"{root}: {fault}: restore it from a copy, promote another run by name, or roll back"
        )
    return entry


def promote(
    listing,
    run,
    metric,
    reason,
    profile=None,
    *,
    after=None,
    incomparable=False,
    decision=None,
    gate_sha256=None,
):
    """Make a run the active one of a metric; gives the entry of the log.

    `after` is the sequence number of the entry that must still be the last one (0: none yet), so that two decisions
    made at once do not both count.
    """
    check_place(listing.root, run)
    score = score_of(run, metric)
    if score is None:
        why = f"does not hold {canonical(metric)!r}" if run.success else "failed"
        raise InputError(f"run {run.run_id} {why}: it cannot become active")
    require(listing.folder(run))
    record = sha256_file(listing.folder(run) / "run.json")
    target = (run.run_id, run.workflow, run.path, score, record, run.key, incomparable)

    def choose(entries):
        last = entries[-1]["seq"] if entries else 0
        if after not in (None, last):
            raise InputError("another run was promoted meanwhile: decide again")
        return dict(zip(_TARGET, target, strict=True))

    grounds = {"gateSha256": gate_sha256, "decision": decision or {}}
    return _record(listing.root, "promote", metric, profile, reason, choose, grounds)


def rollback(root, metric, reason, profile=None):
    """Make the run active again that was so before the current one; a second time goes further back."""

    def choose(entries):
        standing = []
        for entry in entries:
            if entry["action"] == "promote":
                standing.append(entry)
            elif standing:
                standing.pop()
        if len(standing) < 2:
            which = "one promoted run and none before" if standing else "no promoted run"
            raise InputError(f"nothing to roll back to: {canonical(metric)!r} has {which}")
        if fault := run_fault(root, standing[-2]):
            raise InputError(
                f"cannot roll back: {fault}: restore it from a copy, or promote another run by name"
            )
        return {name: standing[-2].get(name) for name in _TARGET}

    return _record(
        root, "rollback", metric, profile, reason, choose, {"gateSha256": None, "decision": {}}
    )


def check_place(root, run):
    """Refuse a run of a registry below this one, which has a log of its own."""
    for folder in (root / run.path).parents:
        if folder == root:
            return
        if has_log(folder):
            raise InputError(
                f"run {run.run_id} belongs to the registry {folder}, which has a "
                f"promotion log of its own: --runs-root {folder}"
            )


def has_log(root):
    """Say whether promotions were ever recorded at a root, even if the log is gone."""
    return _log(root).exists() or _head(root).exists()


def logs_below(root):
    """Name the folders below a root that have a log of their own, tenants' apart."""
    found = []
    for place, names, _ in os.walk(root):
        names[:] = sorted(
            name for name in names if name != TENANTS and not name.startswith(("_", "."))
        )
        if Path(place) != root and has_log(Path(place)):
            found.append(Path(place))
    return found


def verify(root):
    """Check the log, the pointers and the promoted runs against each other; gives the faults."""
    found = log_faults(root)
    for path in _pointers(root):
        if _seen(path) == DAMAGED:
            found.append(f"{path.relative_to(root)}: not a pointer of this registry")
    if found:
        return found
    entries = history(root)
    last = {(entry["metric"], entry["profile"]): entry for entry in entries}
    for entry in last.values():
        found += filter(None, [_pointer_fault(root, entry, entries), run_fault(root, entry)])
    return found


def _pointer_fault(root, entry, entries):
    """Say why the pointer of a metric does not name the run that the log names."""
    path = pointer_path(root, entry["metric"], entry["profile"])
    same = [
        each
        for each in entries
        if (each["metric"], each["profile"]) == (entry["metric"], entry["profile"])
    ]
    allowed = [_pointer(root, entry)]
    if entry["seq"] == len(
        entries
    ):  # a writer that was killed after its line left what stood there before
        allowed.append(_pointer(root, same[-2]) if len(same) > 1 else None)
    pointer = _parsed(path.read_bytes()) if path.is_file() else None
    if pointer in allowed:
        return None
    return (
        f"{path.relative_to(root)}: does not name the run that line {entry['seq']} of the log names"
    )


def run_fault(root, entry):
    """Say why the run of an entry is not what was promoted: it is gone, or it or an output of it was altered."""
    folder = root / entry["path"]
    record = folder / RECORD
    if not record.is_file():
        return f"{entry['path']}: promoted for {entry['metric']}, but gone"
    if sha256_file(record) != entry["runSha256"]:
        return f"{entry['path']}: changed since its promotion"
    return next(
        (f"{entry['path']}: {name} {reason}" for name, reason in faults(folder).items()), None
    )


def log_faults(root):
    """Name what is wrong with the log by itself, with its head, and with the hashes that the pointers hold."""
    # Another writer may be at work: what stands for a line is read before the lines, the head again after them.
    copies = {path: _seen(path) for path in (_head(root), *_pointers(root))}
    lines = _lines(root)
    head = _seen(_head(root))
    found, previous = [], NO_LINE
    for number, line in enumerate(lines, 1):
        entry = _parsed(line)
        if not isinstance(entry, dict):
            found.append(f"line {number}: not an entry")
        elif entry.get("seq") != number:
            found.append(f"line {number}: sequence number {entry.get('seq')}")
        elif entry.get("previous") != previous:
            found.append(f"line {number}: does not follow from the line before it")
        previous = _hash(line)
    if DAMAGED in (head, copies[_head(root)]):
        return [*found, f"{_head(root)}: not the head of a log"]
    known = head[0] if head else 0
    for path, seen in copies.items():
        if seen and seen != DAMAGED:
            number, digest = seen
            known = max(known, number)
            if number > len(lines):
                found.append(f"{path.relative_to(root)}: line {number} of the log is missing")
            elif _hash(lines[number - 1]) != digest:
                found.append(f"{path.relative_to(root)}: line {number} of the log was changed")
    if len(lines) > known + 1:
        found.append(f"{_head(root)}: does not know the last lines of the log")
    return found


def pointer_path(root, metric, profile=None):
    """Give the place of a documented pointer."""
    folder = root / FOLDER
    if profile:
        folder = child_folder(folder / "profiles", profile, "profile")
    return folder / f"active_{file_part(metric)}.json"


# --- the log's lines


def _record(root, action, metric, profile, reason, choose, grounds):
    """Append one entry under the lock, move the head, then refresh the pointer."""
    actor = _actor()
    if not reason.strip():
        raise InputError("a reason is required: --reason 'why'")
    check_text(reason, "--reason")
    check_text(actor, "CASEBOOK_ACTOR")
    profile = valid_name(profile, "profile") if profile else None
    with locked(
        root / FOLDER / ".lock",
        lambda owner: f"{root / FOLDER}: held by {owner}; try again later",
        _PATIENCE,
    ):
        target = choose(history(root, metric, profile))
        pointer = pointer_path(
            root, metric, profile
        )  # a name that is refused must be so before anything is written
        lines = _lines(root)
        entry = {
            "seq": len(lines) + 1,
            "previous": _hash(lines[-1]) if lines else NO_LINE,
            "at": utc(),
            "actor": actor,
            "action": action,
            "metric": canonical(metric),
            "profile": profile,
            **target,
            "reason": reason.strip(),
            **grounds,
        }
        line = _line(entry)
        _append(_log(root), line, sum(len(each) + 1 for each in lines))
        write_json(_head(root), {"seq": entry["seq"], "lineSha256": _hash(line)})
        write_json(pointer, _pointer(root, entry))
    return entry


def _line(entry):
    return json.dumps(entry, ensure_ascii=False, allow_nan=False).encode()


def _pointer(root, entry):
    """Give what a documented pointer says of the entry that made a run active."""
    folder = root / entry["path"]
    return {
        "metricKey": entry["metric"],
        "createdUtc": entry["at"],
        "runsRoot": str(root),
        "totalRunsFound": entry["decision"].get("totalRunsFound"),
        "workflowName": entry["workflow"],
        "runId": entry["runId"],
        "score": entry["score"],
        "runDirectory": str(folder),
        "runJsonPath": str(folder / RECORD),
        "seq": entry["seq"],
        "lineSha256": _hash(_line(entry)),
    }


def _append(path, line, end):
    """Write a line after the complete ones, over the rest of one that was never completed."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        os.ftruncate(handle, end)
        if os.pwrite(handle, line + b"\n", end) <= len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(handle)
    finally:
        os.close(handle)


def _actor():
    try:
        return os.environ.get("CASEBOOK_ACTOR") or getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _log(root):
    return root / FOLDER / "history.jsonl"


def _head(root):
    return root / HEADS / "history.json"


def _pointers(root):
    return sorted((root / FOLDER).rglob("active_*.json"))


def _lines(root):
    """Read the complete lines of the log."""
    try:
        return _log(root).read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def _seen(path):
    """Give number and hash of the line that a head or a pointer names, None without a file, or `DAMAGED`."""
    try:
        value = _parsed(path.read_bytes())
    except FileNotFoundError:
        return None
    number = value.get("seq") if isinstance(value, dict) else None
    return (number, value.get("lineSha256")) if type(number) is int and number > 0 else DAMAGED


def _parsed(text):
    try:
        return parse_json(text)
    except ValueError:
        return None


def _hash(line):
    return hashlib.sha256(line).hexdigest()
