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
from dataclasses import dataclass
from pathlib import Path

from casebook.errors import InputError
from casebook.files import locked, sha256_file, write_json
from casebook.paths import valid_name
from casebook.readers import parse_json
from casebook.runs.record import canonical, file_part, now
from casebook.runs.registry import TENANTS, child_folder, score_of

FOLDER, HEADS = "_active", "_heads"
NO_LINE = "0" * 64  # the hash that stands for the line before the first one
_PATIENCE = 60.0  # seconds to wait for another writer
_TARGET = ("runId", "workflow", "path", "score", "runSha256", "comparabilityKey", "incomparable")


@dataclass(frozen=True)
class Reason:
    """Why a promotion or rollback was made, and on what grounds."""

    text: str
    decision: dict | None = None
    gate_sha256: str | None = None
    incomparable: bool = False


def history(root, metric=None, profile=None):
    """Read the log, of one metric or of all; a log that was changed is refused."""
    faults = log_faults(root)
    if faults:
        raise InputError(
            f"{_log(root)}: {faults[0]}: the log was changed ('casebook runs verify' names every fault): restore it "
            f"from a copy, or begin a new one by moving {root / FOLDER} and {root / HEADS} elsewhere"
        )
    entries = [json.loads(line) for line in _lines(root)]
    if metric is None:
        return entries
    wanted = canonical(metric), profile
    return [e for e in entries if (e.get("metric"), e.get("profile")) == wanted]


def active(root, metric, profile=None):
    """Give the entry that made the active run of a metric so, or None."""
    entries = history(root, metric, profile)
    return entries[-1] if entries else None


def promote(listing, run, metric, reason, profile=None, after=None):
    """Make a run the active one of a metric; gives the entry of the log.

    `after` is the sequence number of the entry that must still be the last one (0: none yet), so that two decisions
    made at once do not both count.
    """
    check_place(listing.root, run)
    if score_of(run, metric) is None:
        why = "failed" if not run.success else f"does not hold {canonical(metric)!r}"
        raise InputError(f"run {run.run_id} {why}: it cannot become active")
    target = {
        "runId": run.run_id,
        "workflow": run.workflow,
        "path": run.path,
        "score": score_of(run, metric),
        "runSha256": sha256_file(listing.folder(run) / "run.json"),
        "comparabilityKey": run.key,
        "incomparable": reason.incomparable,
    }

    def chosen(entries):
        last = entries[-1]["seq"] if entries else 0
        if after not in (None, last):
            raise InputError("another run was promoted meanwhile: decide again")
        return target

    return _record(listing.root, "promote", metric, profile, reason, chosen)


def rollback(root, metric, reason, profile=None):
    """Make the run active again that was so before the current one; a second time goes further back."""

    def before(entries):
        standing = []
        for entry in entries:
            if entry["action"] == "promote":
                standing.append(entry)
            elif standing:
                standing.pop()
        if len(standing) < 2:
            raise InputError(
                f"nothing to roll back to: {canonical(metric)!r} has "
                f"{'one promoted run' if standing else 'no promoted run'} and none before"
            )
        return {name: standing[-2].get(name) for name in _TARGET}

    return _record(root, "rollback", metric, profile, reason, before)


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
    return _log(root).exists() or _head_file(root).exists()


def logs_below(root):
    """Name the folders below a root that have a log of their own, tenants' apart."""
    found = []
    for place, names, _ in os.walk(root):
        names[:] = sorted(name for name in names if name != TENANTS and not name.startswith(("_", ".")))
        if Path(place) != root and has_log(Path(place)):
            found.append(Path(place))
    return found


def verify(root):
    """Check the log, the pointers and the promoted runs against each other; gives the faults."""
    found = log_faults(root)
    found += [f"{name}: not a pointer of this registry" for name, seen in _pointers(root) if seen is None]
    if found:
        return found
    last = {(entry["metric"], entry["profile"]): entry for entry in history(root)}
    for entry in last.values():
        record = root / entry["path"] / "run.json"
        if not record.is_file():
            found.append(f"{entry['path']}: promoted for {entry['metric']}, but gone")
        elif sha256_file(record) != entry["runSha256"]:
            found.append(f"{entry['path']}: changed since its promotion")
    return found


def log_faults(root):
    """Name what is wrong with the log by itself, with its head, and with the hashes that the pointers hold."""
    # Another writer may be at work: what stands for a line is read before the lines, the head again after them.
    pointers, head_before = list(_pointers(root)), _head(root)
    lines = _lines(root)
    head_after = _head(root)
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
    if "damaged" in (head_before, head_after):
        return [*found, f"{_head_file(root)}: not the head of a log"]
    witnesses = [(f"{HEADS}/{_head_file(root).name}", head_before)] if head_before else []
    witnesses += [(name, seen) for name, seen in pointers if seen]
    for who, (seq, digest) in witnesses:
        if seq > len(lines):
            found.append(f"{who}: line {seq} of the log is missing")
        elif _hash(lines[seq - 1]) != digest:
            found.append(f"{who}: line {seq} of the log was changed")
    known = max([head_after[0] if head_after else 0, *(seq for _, (seq, _) in witnesses)])
    if len(lines) > known + 1:
        found.append(f"{_head_file(root)}: does not know the last lines of the log")
    return found


def pointer_path(root, metric, profile=None):
    """Give the place of a documented pointer."""
    folder = root / FOLDER
    if profile:
        folder = child_folder(folder / "profiles", profile, "profile")
    return folder / f"active_{file_part(metric)}.json"


# --- the log's lines


def _record(root, action, metric, profile, reason, choose):
    """Append one entry under the lock, move the head, then refresh the pointer."""
    actor = _actor()
    if not reason.text.strip():
        raise InputError("a reason is required: --reason 'why'")
    for name, text in (("--reason", reason.text), ("CASEBOOK_ACTOR", actor)):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} {text!a}: not text in UTF-8") from None
    profile = valid_name(profile, "profile") if profile else None
    with locked(root / FOLDER / ".lock", lambda owner: f"{root / FOLDER}: held by {owner}; try again later", _PATIENCE):
        target = choose(history(root, metric, profile))
        entry = {
            "at": f"{now():%Y-%m-%dT%H:%M:%SZ}",
            "actor": actor,
            "action": action,
            "metric": canonical(metric),
            "profile": profile,
            **target,
            "reason": reason.text.strip(),
            "gateSha256": reason.gate_sha256,
            "decision": reason.decision or {},
        }
        pointer = pointer_path(root, metric, profile)  # a name that is refused must be so before anything is written
        entry, digest = _append(root, entry)
        folder = root / entry["path"]
        value = {
            "metricKey": entry["metric"],
            "createdUtc": entry["at"],
            "runsRoot": str(root),
            "totalRunsFound": entry["decision"].get("totalRunsFound"),
            "workflowName": entry["workflow"],
            "runId": entry["runId"],
            "score": entry["score"],
            "runDirectory": str(folder),
            "runJsonPath": str(folder / "run.json"),
            "seq": entry["seq"],
            "lineSha256": digest,
        }
        write_json(pointer, value)
    return entry


def _append(root, entry):
    """Append one entry and move the head; the caller holds the lock."""
    path, lines = _log(root), _lines(root)
    entry = {"seq": len(lines) + 1, "previous": _hash(lines[-1]) if lines else NO_LINE, **entry}
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode()
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        end = sum(len(line) + 1 for line in lines)
        os.ftruncate(handle, end)  # drops the rest of a line that was never completed
        if os.pwrite(handle, line + b"\n", end) <= len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(handle)
    finally:
        os.close(handle)
    write_json(_head_file(root), {"seq": entry["seq"], "lineSha256": _hash(line)})
    return entry, _hash(line)


def _actor():
    try:
        return os.environ.get("CASEBOOK_ACTOR") or getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _log(root):
    return root / FOLDER / "history.jsonl"


def _head_file(root):
    return root / HEADS / "history.json"


def _lines(root):
    """Read the complete lines of the log."""
    try:
        return _log(root).read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def _head(root):
    """Give number and hash of the line that the head names; None without a head, or ``"damaged"``."""
    try:
        return _witness(_head_file(root).read_text(encoding="utf-8")) or "damaged"
    except FileNotFoundError:
        return None
    except ValueError:
        return "damaged"


def _pointers(root):
    """Yield each pointer's name with the line and hash that it recorded, or None."""
    for path in sorted((root / FOLDER).rglob("active_*.json")):
        try:
            seen = _witness(path.read_text(encoding="utf-8-sig"))
        except ValueError:
            seen = None
        yield str(path.relative_to(root)), seen


def _witness(text):
    """Give the number and hash of a line that a file holds; None if it holds none."""
    value = _parsed(text)
    seq = value.get("seq") if isinstance(value, dict) else None
    return (seq, value.get("lineSha256")) if type(seq) is int and seq > 0 else None


def _parsed(text):
    try:
        return parse_json(text)
    except ValueError:
        return None


def _hash(line):
    return hashlib.sha256(line).hexdigest()
