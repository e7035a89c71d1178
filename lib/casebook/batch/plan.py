"""What must run, and why: the inputs of a cell are hashed and compared with its run record."""

import contextlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from casebook.assistant import ANSWERED
from casebook.batch.grid import EVERY
from casebook.batch.parameters import (
    DATA_PARAMETERS,
    check,
    defaults,
    models,
    path_parameters,
    plugin_sources,
    portable_parameters,
    resolved,
)
from casebook.batch.run_folder import check_data_names, record_path
from casebook.data.cards import card_of
from casebook.data.sources import reachable, status
from casebook.errors import InputError
from casebook.models.device import REFERENCE, ModelSettings, model_settings
from casebook.paths import card_files, run_dir
from casebook.plugins import is_plugin, source_of
from casebook.runs import evidence
from casebook.runs import record as records
from casebook.runs.locations import paths_in
from casebook.runs.record import digest


@dataclass(frozen=True)
class Planned:
    """What will happen to one cell, and why."""

    cell: object
    inputs: dict
    status: str  # "run" (never done), "stale" (an input changed) or "cached"
    changed: tuple = ()
    settings: ModelSettings = field(default_factory=ModelSettings)  # of models in its kernel

    @property
    def key(self):
        """Content key: the hash of all inputs."""
        return digest(self.inputs)


def plan(cells, run, force=False):
    """Decide for each cell whether it must run; faulty parameters are refused."""
    settings = model_settings()
    for cell in cells:
        check(cell.source, {"run": run, "cell": cell.name, **cell.parameters})
    check_data_names(run, cells)
    common = common_inputs() | settings.fingerprint
    # A grid names a cell after those it needs; what reads all others comes last.
    readers_of_all = [cell for cell in cells if EVERY in cell.needs]
    others = [cell for cell in cells if EVERY not in cell.needs]
    planned = {}
    for cell in others:
        needed = {name: planned[name].key for name in cell.needs if name in planned}
        planned[cell.name] = _planned(cell, run, inputs_of(cell, common, needed), force)
    for cell in readers_of_all:
        keys = {name: item.key for name, item in planned.items()}
        needed = _recorded_keys(cell, run) | keys
        # What failed the last time left the same key, and no record to be read.
        again = force or any(item.status != "cached" for item in planned.values())
        planned[cell.name] = _planned(cell, run, inputs_of(cell, common, needed), again)
    return [replace(planned[cell.name], settings=settings) for cell in cells]


def _planned(cell, run, inputs, force):
    """Compare the inputs of a cell with those of its record."""
    record = _finished_record(run, cell.name)
    if record is None:
        return Planned(cell, inputs, "run")
    recorded = REFERENCE | record.labels["Inputs"]  # earlier versions had no other device
    changed = [name for name in inputs if recorded.get(name) != inputs[name]]
    for name in evidence.output_faults(record_path(run, cell.name).parent, record):
        changed.append(name.removeprefix("../../"))
    if force and not changed:
        changed = ["forced"]
    return Planned(cell, inputs, "stale" if changed else "cached", tuple(changed))


def _finished_record(run, cell):
    """Read the record of a cell that ran to its end and has outputs; None if there is none."""
    with contextlib.suppress(InputError, FileNotFoundError):
        record = records.read_record(record_path(run, cell))
        if record.success and record.outputs and record.labels.get("Inputs") is not None:
            return record
    return None


def _recorded_keys(cell, run):
    """Give the content keys of all that a run holds, but for the cell's own kind."""
    keys = {}
    for path in sorted(run_dir(run).glob("runs/*/run.json")):
        with contextlib.suppress(InputError, FileNotFoundError):
            record = records.read_record(path)
            if record.workflow != cell.experiment:
                keys[path.parent.name] = record.labels.get("ContentKey")
    return keys


# --- the inputs of a cell


def common_inputs():
    """Hash what all cells depend on alike."""
    return {"library": records.library_digest(), "lock": records.lock_digest()}


def inputs_of(cell, common, needed=None):
    """Hash everything that a cell's numbers depend on."""
    values = resolved(cell.parameters, cell.source)
    files = {name: paths_in(values.get(name)) for name in path_parameters(cell.source)}
    files |= plugin_sources(cell.parameters)  # files and plugins of the user's own, by parameter
    files = {name: paths for name, paths in files.items() if paths}
    inputs = {}
    if needed:
        inputs["needs"] = needed
    if files:
        inputs["files"] = {
            name: [records.tree_digest(path) for path in paths] for name, paths in files.items()
        }
    notebook = json.loads(cell.source.read_text(encoding="utf-8"))
    code = [["".join(part["source"]), part["cell_type"]] for part in notebook["cells"]]
    return {
        **inputs,
        **common,
        "notebook": digest(code),
        "parameters": portable_parameters(cell.parameters, cell.source),
        "data": _data_hashes(cell, files.get("log")),
        "models": {
            name: records.model_digest(value) for name, value in models(cell.parameters).items()
        },
    }


def _data_hashes(cell, log):
    """Hash the data that a cell reads; ``log`` are the user's own logs, if it reads some."""
    if cell.experiment == "assistant" and log:  # which is evaluated instead of a data set
        return {f"log {Path(path).name}": records.tree_digest(path) for path in log}
    values = defaults(cell.source) | cell.parameters
    if "datasets" in values and values["datasets"] is None:  # all that have a card
        values["datasets"] = list(card_files())
    return {name: _data_hash(values[name]) for name in DATA_PARAMETERS if values.get(name)}


def _data_hash(value):
    """Hash what one or several names of data stand for, and whether it is here.

    Where files are absent, others stand in for them, or less is shown.
    """
    if is_plugin(value):
        return records.tree_digest(source_of(value))
    if not isinstance(value, str):
        return digest([_data_hash(name) for name in value])
    hashed = records.dataset_digest(value)
    return hashed if _is_here(card_of(value)) else digest([hashed, "absent"])


def _is_here(card):
    if card is None:
        return True
    if card.kind == "votes" or card.key == ANSWERED:
        return status(card)[0] == "ok"
    return reachable(card)
