"""The documented pointers to active runs, for other programs.

``_active/active_<metric>.json`` below the registry's root, with a profile
``_active/profiles/<profile>/active_<metric>.json``: copies of the last entry of the
log (`casebook.runs.promotion`), with the hash of its line.
"""

from casebook.files import write_json
from casebook.runs.chain import line_hash
from casebook.runs.layout import child_folder
from casebook.runs.metrics import file_part

FOLDER = "_active"
LOG = "history.jsonl"


def pointer_path(root, metric, profile=None):
    """Give the place of a documented pointer."""
    folder = root / FOLDER
    if profile:
        folder = child_folder(folder / "profiles", profile, "profile")
    return folder / f"active_{file_part(metric)}.json"


def write_pointer(root, path, entry, line):
    """Replace a pointer by a copy of a new entry of the log."""
    folder = root / entry["path"]
    pointer = {
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
        "lineSha256": line_hash(line),
    }
    write_json(path, pointer)
