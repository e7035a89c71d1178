"""Which run is active for a metric, who made it so and why.

``_active/history.jsonl`` below the registry's root is the truth: an append-only log of promotions
and rollbacks in which every line holds the hash of the line before it. The hash of the last line,
the head, is kept in ``_heads`` beside it, so that a log that lost its end, or is gone, does not
look like a shorter one. A writer adds the line, then moves the head: killed between the two, it
leaves a head that is one line behind, and that is no fault. Whoever reads the log checks it before.
It shows changes that were made afterwards and does not prevent them: anyone who can rewrite every
line and every copy of the last hash can rewrite history.

``_active/active_<metric>.json``, with a profile
``_active/profiles/<profile>/active_<metric>.json``, are the documented pointers for other programs:
copies of the last entry.
"""

import hashlib
import json
import os

from casebook.errors import Incomparable, InputError
from casebook.files import locked, sha256_file, write_json
from casebook.readers import parse_json, read_json
from casebook.runs.evidence import RECORD, require
from casebook.runs.record import file_part, metric_key, utc
from casebook.runs.registry import child_folder

LOG = "_active/history.jsonl"
HEAD = "_heads/history.json"
NO_LINE = "0" * 64  # the hash that stands for the line before the first one
_WAIT_FOR_WRITER = 60.0  # seconds


def read_promotions(root, metric=None, profile=None):
    """Entries of the log, of one metric or all; a log that was changed is refused."""
    lines, faults = _checked_lines(root)
    if faults:
        remedy = "restore it from a copy, or move _active and _heads elsewhere"
        raise InputError(f"{root / LOG}: {faults[0]}: the log was changed: {remedy}")
    entries = [json.loads(line) for line in lines]
    if metric is None:
        return entries
    wanted = (metric_key(metric), profile)
    return [entry for entry in entries if (entry["metric"], entry["profile"]) == wanted]


def active_promotion(
    root,
    metric,
    profile=None,
    *,
    checked=False,
):
    """The entry that made the active run of a metric so, or None; ``checked`` with its run."""
    entries = read_promotions(root, metric, profile)
    if not entries:
        return None
    if checked:
        _check_run(root, entries[-1])
    return entries[-1]


def promote(
    listing,
    run,
    metric,
    reason,
    profile=None,
    *,
    force=False,
    after=None,
    decision=None,
):
    """Make a run the active one of a metric; gives the entry of the log.

    A run on other data than the active one is refused, or with ``force`` marked. ``after`` is the
    number of the entry that must still be the last one (0: none yet), so that two decisions made at
    once do not both count.
    """
    root = listing.root
    folder = listing.folder(run)
    score = listing.score(run, metric)
    if score is None:
        raise InputError(f"run {run['run']} failed or does not hold {metric_key(metric)!r}")
    require(folder)
    fields = {
        "runId": run["run"],
        "workflow": run["workflow"],
        "path": run["path"],
        "score": score,
        "runSha256": sha256_file(folder / RECORD),
        "comparabilityKey": run["key"],
        "gateSha256": None,
        "decision": decision or {},
    }

    def choose(entries):
        last = entries[-1] if entries else {"seq": 0, "comparabilityKey": run["key"]}
        if after not in (None, last["seq"]):
            raise InputError("another run was promoted meanwhile: decide again")
        is_other = (last["comparabilityKey"] or "") != run["key"]
        if is_other and not force:
            raise Incomparable("the promoted run was measured on different data: --force marks it")
        return fields | {"incomparable": is_other}

    return _record(root, "promote", metric, profile, reason, choose)


def rollback(root, metric, reason, profile=None):
    """Make the run active again that was so before; a second time goes further back."""

    def choose(entries):
        standing = []  # promotions that were not rolled back
        for entry in entries:
            if entry["action"] == "promote":
                standing.append(entry)
            else:
                standing.pop()
        if len(standing) < 2:
            raise InputError(f"nothing to roll back to for {metric_key(metric)!r}")
        _check_run(root, standing[-2])
        return standing[-2] | {"gateSha256": None, "decision": {}}

    return _record(root, "rollback", metric, profile, reason, choose)


# The run of an entry is what was promoted.
def _check_run(root, entry):
    record = root / entry["path"] / RECORD
    remedy = "restore it from a copy, or promote another run by name"
    if not record.is_file() or sha256_file(record) != entry["runSha256"]:
        raise InputError(f"{record.parent}: gone, or changed since its promotion: {remedy}")
    require(record.parent, remedy)


# --- the log and its head


def verify(root):
    return _checked_lines(root)[1]


def _checked_lines(root):
    head = None
    while head is None or head != _head(root):  # another writer may be at work
        head = _head(root)
        lines = _lines(root)
    faults = []
    previous = NO_LINE
    for number, line in enumerate(lines, 1):
        if not _follows(line, number, previous):
            faults.append(f"line {number}: does not follow from the line before it")
        previous = _hash(line)
    known, digest = head
    if len(lines) not in (known, known + 1):
        faults.append(f"{len(lines)} lines, {known} by {HEAD}")
    elif known and _hash(lines[known - 1]) != digest:
        faults.append(f"line {known}: is not the one of {HEAD}")
    return lines, faults


def _follows(line, number, previous):
    try:
        entry = parse_json(line.decode())
        return (entry["seq"], entry["previous"]) == (number, previous)
    except (ValueError, TypeError, KeyError):
        return False


def _head(root):
    if not (root / HEAD).exists():
        return 0, None
    try:
        head = read_json(root / HEAD)
        return int(head["seq"]), head["lineSha256"]
    except (InputError, KeyError, TypeError, ValueError):
        return -1, None


def _lines(root):
    path = root / LOG
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _hash(line):
    return hashlib.sha256(line).hexdigest()


def pointer_path(root, metric, profile=None):
    folder = (root / LOG).parent
    if profile:
        folder = child_folder(folder / "profiles", profile, "profile")
    return folder / f"active_{file_part(metric)}.json"


def _record(
    root,
    action,
    metric,
    profile,
    reason,
    choose,
):
    if not reason.strip():
        raise InputError("a reason is required: --reason 'why'")
    pointer = pointer_path(root, metric, profile)
    log = root / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    refusal = f"{log.parent}: held by {{}}; try again later"
    with locked(log.with_name(".lock"), refusal.format, _WAIT_FOR_WRITER):
        entry = choose(read_promotions(root, metric, profile))
        lines = _lines(root)
        user = os.environ.get("USER") or f"uid {os.getuid()}"
        entry |= {
            "seq": len(lines) + 1,
            "previous": _hash(lines[-1]) if lines else NO_LINE,
            "at": utc(),
            "actor": os.environ.get("CASEBOOK_ACTOR") or user,
            "action": action,
            "metric": metric_key(metric),
            "profile": profile,
            "reason": reason.strip(),
        }
        line = json.dumps(entry, allow_nan=False).encode()
        _append(log, line, end=sum(len(earlier) + 1 for earlier in lines))
        write_json(root / HEAD, {"seq": entry["seq"], "lineSha256": _hash(line)})
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


# What a killed writer left of a line goes.
def _append(path, line, end):
    with path.open("ab") as log:
        log.truncate(end)
        log.write(line + b"\n")
        log.flush()
        os.fsync(log.fileno())
