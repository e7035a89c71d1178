"""Which run is active for a metric, who made it so and why.

``_active/history.jsonl`` below the registry's root is the truth: an append-only,
hash-chained log of promotions and rollbacks. The documented pointers beside it
(`casebook.runs.pointers`) are copies of its last entries. Whoever reads the log checks
it first: a log that was cut or changed is refused before anything is concluded from it
or added to it.
"""

import getpass
import os
from dataclasses import dataclass

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.paths import valid_name
from casebook.runs import chain
from casebook.runs.artifact import now
from casebook.runs.audit import has_log, log_faults
from casebook.runs.metrics import canonical
from casebook.runs.ordering import score_of
from casebook.runs.pointers import FOLDER, LOG, pointer_path, write_pointer


@dataclass(frozen=True)
class Reason:
    """Why a promotion or rollback was made, and on what grounds."""

    text: str
    decision: dict | None = None
    gate_sha256: str | None = None
    incomparable: bool = False


def history(root, metric=None, profile=None):
    """Read the log."""
    log = root / FOLDER / LOG
    faults = log_faults(root)
    if faults:
        raise InputError(
            f"{log}: {faults[0]}: the log was changed ('casebook runs verify' names "
            f"every fault): restore it from a copy, or begin a new one by moving "
            f"{log.parent} and {chain.head_path(log).parent} elsewhere"
        )
    entries = chain.read_entries(log)
    if metric is None:
        return entries
    wanted = canonical(metric), profile
    return [e for e in entries if (e.get("metric"), e.get("profile")) == wanted]


def active(root, metric, profile=None):
    """Give the active run of a metric."""
    entries = history(root, metric, profile)
    return entries[-1] if entries else None


def promote(listing, run, metric, reason, profile=None, after=None):
    """Make a run the active one of a metric.

    Parameters
    ----------
    listing : casebook.runs.registry.Listing
        The registry.
    run : casebook.runs.registry.Run
        One of its runs.
    metric : str
        Key in any letter case.
    reason : Reason
        Kept in the log.
    profile : str, optional
        Name of a separate pointer.
    after : int, optional
        Sequence number of the entry that must still be the last one (0: none yet),
        so that two decisions made at once do not both count.

    Returns
    -------
    dict
        The entry of the log.

    Raises
    ------
    InputError
        If the run failed or lacks the metric, it belongs to a registry below this one,
        no reason is given, or another promotion came in between.
    """
    check_place(listing.root, run)
    if score_of(run, metric) is None:
        why = "failed" if not run.success else f"does not hold {canonical(metric)!r}"
        raise InputError(f"run {run.run_id} {why}: it cannot become active")
    record = listing.folder(run) / "run.json"
    target = {
        "runId": run.run_id,
        "workflow": run.workflow,
        "path": run.path,
        "score": score_of(run, metric),
        "runSha256": sha256_file(record),
        "comparabilityKey": run.key,
    }

    def chosen(entries):
        last = entries[-1]["seq"] if entries else 0
        if after not in (None, last):
            raise InputError("another run was promoted meanwhile: decide again")
        return target | {"incomparable": reason.incomparable}

    return _record(listing.root, "promote", metric, profile, reason, chosen)


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


def rollback(root, metric, reason, profile=None):
    """Make the run active again that was so before the current one."""

    def before(entries):
        standing = _standing(entries)
        if len(standing) < 2:
            raise InputError(
                f"nothing to roll back to: {canonical(metric)!r} has "
                f"{'one active run' if standing else 'no active run'} and none before"
            )
        return {name: standing[-2].get(name) for name in _TARGET}

    return _record(root, "rollback", metric, profile, reason, before)


_TARGET = (*("runId", "workflow", "path", "score", "runSha256", "comparabilityKey"), "incomparable")


def _standing(entries):
    """Promotions that no rollback has taken back, oldest first."""
    standing = []
    for entry in entries:
        if entry["action"] == "promote":
            standing.append(entry)
        elif standing:
            standing.pop()
    return standing


def _record(root, action, metric, profile, reason, choose):
    """Append one entry under the lock, then refresh the pointer."""
    if not reason.text.strip():
        raise InputError("a reason is required: --reason 'why'")
    actor = _actor()
    for name, text in (("--reason", reason.text), ("CASEBOOK_ACTOR", actor)):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} {text!a}: not text in UTF-8") from None
    profile = valid_name(profile, "profile") if profile else None
    folder = root / FOLDER
    with chain.writing(folder):
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
        # A name that is refused must be so before anything is written.
        pointer = pointer_path(root, metric, profile)
        entry = chain.append(folder / LOG, entry)
        write_pointer(root, pointer, entry, chain.read_lines(folder / LOG)[-1])
    return entry


def _actor():
    name = os.environ.get("CASEBOOK_ACTOR")
    try:
        return name or getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
