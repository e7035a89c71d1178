"""Which run is active for a metric, who made it so and why.

``_active/history.jsonl`` below the registry's root is the truth: an append-only log of promotions
and rollbacks in which every line holds the hash of the line before it. The hash of the last line,
the head, is kept in ``_heads`` beside it, so that a log that lost its end, or is gone, does not
look like a shorter one. A writer adds the line, then moves the head: killed between the two, it
leaves a head that is one line behind, and that is no fault. Whoever reads the log checks it before.
It shows changes that were made afterwards and does not prevent them: anyone who can rewrite every
line and every copy of the last hash can rewrite history.

``_active/active_<metric>.json`` is the documented pointer for other programs: a copy of the last
entry.
"""

import contextlib
import hashlib
import json
import os
from urllib.parse import quote

from casebook.errors import Incomparable, InputError
from casebook.files import locked, sha256_file, write_json
from casebook.readers import parse_json
from casebook.runs.record import RECORD, metric_key, require, utc

LOG = "_active/history.jsonl"
HEAD = "_heads/history.json"
NO_LINE = "0" * 64  # the hash that stands for the line before the first one


def read_promotions(root, metric=None):
    """Entries of the log, of one metric or all; a log that was changed is refused."""
    lines, faults = _checked_lines(root)
    if faults:
        remedy = "restore it from a copy, or move _active and _heads elsewhere"
        raise InputError(f"{root / LOG}: {faults[0]}: the log was changed: {remedy}")
    entries = [json.loads(line) for line in lines]
    wanted = metric and metric_key(metric)
    return [entry for entry in entries if wanted in (None, entry["metric"])]


def active_promotion(root, metric):
    """The entry that made the active run of a metric so, or None; its run is checked."""
    entries = read_promotions(root, metric)
    if not entries:
        return None
    _check_run(root, entries[-1])
    return entries[-1]


def promote(listing, run, metric, reason, *, force=False, after=None, decision=None):
    """Make a run the active one of a metric; gives the entry of the log.

    A run on other data than the active one is refused, or with ``force`` marked. ``after`` is the
    number of the entry that must still be the last one (0: none yet), so that two decisions made at
    once do not both count.
    """
    score = listing.score(run, metric)
    if score is None:
        raise InputError(
            f"run {run['run']} failed or does not hold {metric_key(metric)!r}"
        )
    folder = listing.folder(run)
    require(folder)
    with _writing(listing.root):
        entries = read_promotions(listing.root, metric)
        last = entries[-1] if entries else {"seq": 0, "comparabilityKey": run["key"]}
        if after not in (None, last["seq"]):
            raise InputError("another run was promoted meanwhile: decide again")
        is_other = last["comparabilityKey"] != run["key"]
        if is_other and not force:
            raise Incomparable(
                "the promoted run was measured on different data: --force marks it"
            )
        entry = {
            "action": "promote",
            "metric": metric_key(metric),
            "reason": reason.strip(),
            "runId": run["run"],
            "workflow": run["workflow"],
            "path": run["path"],
            "score": score,
            "runSha256": sha256_file(folder / RECORD),
            "comparabilityKey": run["key"],
            "decision": decision or {},
            "incomparable": is_other,
        }
        return _add(listing.root, entry)


def rollback(root, metric, reason):
    """Promote the run before again; a second time the one before that."""
    with _writing(root):
        standing = []  # promotions that were not rolled back
        for entry in read_promotions(root, metric):
            if entry["action"] == "promote":
                standing.append(entry)
            else:
                standing.pop()
        if len(standing) < 2:
            raise InputError(f"nothing to roll back to for {metric_key(metric)!r}")
        _check_run(root, standing[-2])
        entry = {"action": "rollback", "reason": reason.strip(), "decision": {}}
        return _add(root, standing[-2] | entry)


def _check_run(root, entry):
    """Refuse an entry whose run is not what was promoted."""
    record = root / entry["path"] / RECORD
    remedy = "restore it from a copy, or promote another run by name"
    if not record.is_file() or sha256_file(record) != entry["runSha256"]:
        raise InputError(
            f"{record.parent}: gone, or changed since its promotion: {remedy}"
        )
    require(record.parent, remedy)


# --- the log and its head


def verify(root):
    return _checked_lines(root)[1]


def _checked_lines(root):
    """Lines of the log, and where their chain of hashes is broken."""
    head = lines = None
    while lines is None or head != _head(root):  # another writer may be at work
        head = _head(root)
        lines = _lines(root)
    faults = []
    hashes = [NO_LINE]
    for number, line in enumerate(lines, 1):
        entry = _parsed(line)
        if (entry.get("seq"), entry.get("previous")) != (number, hashes[-1]):
            faults.append(f"line {number}: does not follow from the line before it")
        hashes.append(_hash(line))
    heads = [{"seq": seq, "lineSha256": digest} for seq, digest in enumerate(hashes)]
    if head not in heads[-2:]:
        faults.append(f"line {len(lines)}: is not the last one by {HEAD}")
    return lines, faults


def _head(root):
    path = root / HEAD
    return (
        _parsed(path.read_bytes())
        if path.exists()
        else {"seq": 0, "lineSha256": NO_LINE}
    )


def _parsed(line):
    try:
        value = parse_json(line.decode())
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _lines(root):
    path = root / LOG
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _hash(line):
    return hashlib.sha256(line).hexdigest()


def pointer_path(root, metric):
    return (root / LOG).with_name(f"active_{quote(metric_key(metric), safe='@')}.json")


@contextlib.contextmanager
def _writing(root):
    folder = (root / LOG).parent
    folder.mkdir(parents=True, exist_ok=True)
    refusal = f"{folder}: held by {{}}; try again later"
    with locked(folder / ".lock", refusal.format, 60.0):  # seconds
        yield


def _add(root, entry):
    """Add an entry to the log, then move the head and the pointer."""
    lines = _lines(root)
    user = os.environ.get("USER") or f"uid {os.getuid()}"
    entry = entry | {
        "seq": len(lines) + 1,
        "previous": _hash(lines[-1]) if lines else NO_LINE,
        "at": utc(),
        "actor": os.environ.get("CASEBOOK_ACTOR") or user,
    }
    line = json.dumps(entry, allow_nan=False).encode()
    with (root / LOG).open("ab") as log:
        # Cut off what a killed writer left.
        log.truncate(sum(len(earlier) + 1 for earlier in lines))
        log.write(line + b"\n")
        log.flush()
        os.fsync(log.fileno())
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
    write_json(pointer_path(root, entry["metric"]), content)
    return entry
