"""Which run is active for a metric, who made it so and why.

``_active/history.jsonl`` below the registry's root is the truth: an append-only log of promotions
and rollbacks in which every line holds the hash of the line before it. The hash of the last line,
the head, is kept in ``_heads`` beside it, so that a log that lost its end, or is gone, does not
look like a shorter one. A writer adds the line, then moves the head: killed between the two, it
leaves a head that is one line behind, and that is no fault. Whoever reads the log checks it before.
It shows changes that were made afterwards and does not prevent them: who can rewrite every line and
every copy of the last hash can rewrite history.

``_active/active_<metric>.json``, with a profile
``_active/profiles/<profile>/active_<metric>.json``, are the documented pointers for other programs:
copies of the last entry, with the hash of its line.
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
from casebook.runs.evidence import RECORD, output_faults, require
from casebook.runs.record import check_text, file_part, metric_key, utc
from casebook.runs.registry import TENANTS, child_folder, score_of

LOG_FOLDER = "_active"
HEAD_FOLDER = "_heads"
NO_LINE = "0" * 64  # the hash that stands for the line before the first one
_UNREADABLE = "unreadable"  # of a head or a pointer
_WAIT_FOR_WRITER = 60.0  # seconds
# Fields of an entry that name its run.
_RUN_FIELDS = (
    "runId",
    "workflow",
    "path",
    "score",
    "runSha256",
    "comparabilityKey",
    "incomparable",
)


def read_promotions(root, metric=None, profile=None):
    """Read the entries of the log, of one metric or all; a log that was changed is refused."""
    faults = verify(root)
    if faults:
        raise InputError(
            f"{_log(root)}: {faults[0]}: the log was changed ('casebook runs verify' names every "
            "fault): restore it from a copy, or begin a new one by moving "
            f"{root / LOG_FOLDER} and {root / HEAD_FOLDER} elsewhere"
        )
    entries = [json.loads(line) for line in _lines(root)]
    if metric is None:
        return entries
    wanted = metric_key(metric), profile
    return [entry for entry in entries if (entry.get("metric"), entry.get("profile")) == wanted]


def active_promotion(root, metric, profile=None, *, checked=False):
    """Give the entry that made the active run of a metric so, or None.

    ``checked`` refuses a run that was changed since.
    """
    entries = read_promotions(root, metric, profile)
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

    ``after`` is the number of the entry that must still be the last one (0: none yet), so that two
    decisions made at once do not both count.
    """
    check_registry_of(listing.root, run)
    score = score_of(run, metric)
    if score is None:
        why = f"does not hold {metric_key(metric)!r}" if run.success else "failed"
        raise InputError(f"run {run.run_id} {why}: it cannot become active")
    require(listing.folder(run))
    fields = {
        "runId": run.run_id,
        "workflow": run.workflow,
        "path": run.path,
        "score": score,
        "runSha256": sha256_file(listing.folder(run) / RECORD),
        "comparabilityKey": run.key,
        "incomparable": incomparable,
    }

    def choose(entries):
        last = entries[-1]["seq"] if entries else 0
        if after not in (None, last):
            raise InputError("another run was promoted meanwhile: decide again")
        return fields

    grounds = {"gateSha256": gate_sha256, "decision": decision or {}}
    return _record(listing.root, "promote", metric, profile, reason, choose, grounds)


def rollback(root, metric, reason, profile=None):
    """Make the run active again that was so before; a second time goes further back."""

    def choose(entries):
        standing = []  # promotions that were not rolled back
        for entry in entries:
            if entry["action"] == "promote":
                standing.append(entry)
            elif standing:
                standing.pop()
        if len(standing) < 2:
            which = "one promoted run and none before" if standing else "no promoted run"
            raise InputError(f"nothing to roll back to: {metric_key(metric)!r} has {which}")
        former = standing[-2]
        fault = run_fault(root, former)
        if fault:
            raise InputError(
                f"cannot roll back: {fault}: restore it from a copy, or promote another run by name"
            )
        return {name: former.get(name) for name in _RUN_FIELDS}

    grounds = {"gateSha256": None, "decision": {}}
    return _record(root, "rollback", metric, profile, reason, choose, grounds)


def check_registry_of(root, run):
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
    """Name the folders below a root that have a log of their own, without those of tenants."""
    folders = []
    for folder, names, _ in os.walk(root):
        names[:] = sorted(
            name for name in names if name != TENANTS and not name.startswith(("_", "."))
        )
        if Path(folder) != root and has_log(Path(folder)):
            folders.append(Path(folder))
    return folders


# --- faults


def run_fault(root, entry):
    """Say why the run of an entry is not what was promoted: it is gone, or was altered."""
    folder = root / entry["path"]
    record = folder / RECORD
    if not record.is_file():
        return f"{entry['path']}: promoted for {entry['metric']}, but gone"
    if sha256_file(record) != entry["runSha256"]:
        return f"{entry['path']}: changed since its promotion"
    for name, reason in output_faults(folder).items():
        return f"{entry['path']}: {name} {reason}"
    return None


def verify(root):
    """Check the log by its hash chain, its head and the pointers; gives the faults."""
    pointers = sorted((root / LOG_FOLDER).rglob("active_*.json"))
    # Another writer may be at work: heads and pointers are read before the lines, the head again
    # after them.
    named_lines = {path: _line_named_by(path) for path in (_head(root), *pointers)}
    lines = _lines(root)
    head = _line_named_by(_head(root))
    faults = _chain_faults(lines)
    if _UNREADABLE in (head, named_lines[_head(root)]):
        return [*faults, f"{_head(root)}: not the head of a log"]
    last = head[0] if head else 0
    for path, named_line in named_lines.items():
        if named_line is None or named_line == _UNREADABLE:
            continue
        number, digest = named_line
        last = max(last, number)
        if number > len(lines):
            faults.append(f"{path.relative_to(root)}: line {number} of the log is missing")
        elif _hash(lines[number - 1]) != digest:
            faults.append(f"{path.relative_to(root)}: line {number} of the log was changed")
    if len(lines) > last + 1:
        faults.append(f"{_head(root)}: does not know the last lines of the log")
    return faults


def _chain_faults(lines):
    """Name the lines that are no entries, or do not follow from the line before."""
    faults = []
    previous = NO_LINE
    for number, line in enumerate(lines, 1):
        entry = _parsed(line)
        if not isinstance(entry, dict):
            faults.append(f"line {number}: not an entry")
        elif entry.get("seq") != number:
            faults.append(f"line {number}: sequence number {entry.get('seq')}")
        elif entry.get("previous") != previous:
            faults.append(f"line {number}: does not follow from the line before it")
        previous = _hash(line)
    return faults


def pointer_path(root, metric, profile=None):
    """Give the place of a documented pointer."""
    folder = root / LOG_FOLDER
    if profile:
        folder = child_folder(folder / "profiles", profile, "profile")
    return folder / f"active_{file_part(metric)}.json"


# --- the log's lines


def _record(root, action, metric, profile, reason, choose, grounds):
    """Append one entry under the lock, move the head, then refresh the pointer."""
    try:
        actor = os.environ.get("CASEBOOK_ACTOR") or getpass.getuser()
    except (KeyError, OSError):
        actor = f"uid {os.getuid()}"
    if not reason.strip():
        raise InputError("a reason is required: --reason 'why'")
    check_text(reason, "--reason")
    check_text(actor, "CASEBOOK_ACTOR")
    profile = valid_name(profile, "profile") if profile else None
    lock = locked(
        root / LOG_FOLDER / ".lock",
        lambda owner: f"{root / LOG_FOLDER}: held by {owner}; try again later",
        _WAIT_FOR_WRITER,
    )
    with lock:
        run_fields = choose(read_promotions(root, metric, profile))
        # A name that is refused must be so before anything is written.
        pointer = pointer_path(root, metric, profile)
        lines = _lines(root)
        entry = {
            "seq": len(lines) + 1,
            "previous": _hash(lines[-1]) if lines else NO_LINE,
            "at": utc(),
            "actor": actor,
            "action": action,
            "metric": metric_key(metric),
            "profile": profile,
            **run_fields,
            "reason": reason.strip(),
            **grounds,
        }
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode()
        _append(_log(root), line, end=sum(len(earlier) + 1 for earlier in lines))
        write_json(_head(root), {"seq": entry["seq"], "lineSha256": _hash(line)})
        folder = root / entry["path"]
        content = {
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
            "lineSha256": _hash(line),
        }
        write_json(pointer, content)
    return entry


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


def _log(root):
    return root / LOG_FOLDER / "history.jsonl"


def _head(root):
    return root / HEAD_FOLDER / "history.json"


def _lines(root):
    """Read the complete lines of the log."""
    try:
        return _log(root).read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def _line_named_by(path):
    """Give number and hash of the line that a head or a pointer names; None without a file."""
    try:
        value = _parsed(path.read_bytes())
    except FileNotFoundError:
        return None
    number = value.get("seq") if isinstance(value, dict) else None
    if type(number) is not int or number < 1:
        return _UNREADABLE
    return number, value.get("lineSha256")


def _parsed(text):
    try:
        return parse_json(text)
    except ValueError:
        return None


def _hash(line):
    return hashlib.sha256(line).hexdigest()
