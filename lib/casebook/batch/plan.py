"""What must run, and why: the inputs of a cell are hashed and compared with its run record."""

import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from casebook.assistant import ANSWERED
from casebook.batch.grid import EVERY
from casebook.batch.parameters import (
    DATA_PARAMETERS,
    check,
    defaults,
    plugin_sources,
    portable_parameters,
    resolved,
)
from casebook.data.cards import card_of
from casebook.data.sources import reachable, status
from casebook.errors import InputError
from casebook.files import locked, sha256_file
from casebook.models.device import ModelSettings, model_settings
from casebook.paths import card_files, collection_folder, data_folder, run_dir
from casebook.plugins import is_plugin, source_of
from casebook.readers import did_you_mean, read_json
from casebook.runs.locations import paths_in
from casebook.runs.record import (
    digest,
    library_digest,
    lock_digest,
    output_faults,
    read_record,
    tree_digest,
)


@dataclass(frozen=True)
class Planned:
    cell: object
    inputs: dict
    status: str  # "run" (never done), "stale" (an input changed) or "cached"
    changed: tuple = ()
    # Of models in its kernel.
    settings: ModelSettings = field(default_factory=ModelSettings)

    @property
    def key(self):
        return digest(self.inputs)


def plan(cells, run, force=False):
    """Decide for each cell whether it must run; faulty parameters are refused."""
    settings = model_settings()
    common = common_inputs() | settings.fingerprint
    planned = {}
    # A grid names a cell after those it needs; what reads all others comes last.
    for cell in sorted(cells, key=lambda cell: EVERY in cell.needs):
        check(cell.source, {"run": run, "cell": cell.name, **cell.parameters})
        needs = planned if EVERY in cell.needs else cell.needs
        needed = {name: planned[name].key for name in needs if name in planned}
        again = force
        if EVERY in cell.needs:  # alone it reads what any batch may have changed
            again |= (
                any(item.status != "cached" for item in planned.values()) or not planned
            )
        planned[cell.name] = _planned(cell, run, inputs_of(cell, common, needed), again)
    return [replace(planned[cell.name], settings=settings) for cell in cells]


def _planned(cell, run, inputs, force):
    record = None
    with contextlib.suppress(InputError):
        record = read_record(record_path(run, cell.name))
    if record is None or "Inputs" not in record.labels:
        return Planned(cell, inputs, "run")
    recorded = record.labels["Inputs"]
    changed = [name for name in inputs if recorded.get(name) != inputs[name]]
    faults = output_faults(record_path(run, cell.name).parent, record)
    changed += [name.removeprefix("../../") for name in faults]
    return Planned(
        cell, inputs, "stale" if changed or force else "cached", tuple(changed)
    )


# --- the inputs of a cell


def common_inputs():
    return {"library": library_digest(), "lock": lock_digest()}


def inputs_of(cell, common, needed=None):
    files = {}
    told = defaults(cell.source) | cell.parameters
    for name, value in resolved(told, cell.source).items():
        if name not in DATA_PARAMETERS:
            files[name] = paths_in(value)
    files |= plugin_sources(told)
    parts = read_json(cell.source)["cells"]
    code = [["".join(part["source"]), part["cell_type"]] for part in parts]
    inputs = {
        **common,
        "notebook": digest(code),
        "parameters": portable_parameters(cell.parameters, cell.source),
        "data": _data_hashes(cell, told, files.get("log")),
    }
    hashes = {
        name: [tree_digest(path) for path in files[name]]
        for name in files
        if files[name]
    }
    if hashes:
        inputs["files"] = hashes
    if needed:
        inputs["needs"] = needed
    return inputs


def _data_hashes(cell, told, log):
    # A log is evaluated instead of a data set.
    if cell.experiment == "assistant" and log:
        return {f"log {Path(path).name}": tree_digest(path) for path in log}
    if "datasets" in told and told["datasets"] is None:  # all that have a card
        told = told | {"datasets": list(card_files())}
    return {name: data_hash(told[name]) for name in DATA_PARAMETERS if told.get(name)}


def data_hash(value):
    """Hash of what one or several names of data stand for, and of whether it is here.

    Where files are absent, others stand in for them, or less is shown.
    """
    if not isinstance(value, str):
        return digest([data_hash(name) for name in value])
    if is_plugin(value):
        return tree_digest(source_of(value))
    name_and_folder = data_folder(value)
    if name_and_folder:
        name, folder = name_and_folder
        if card_of(name):
            raise InputError(
                f"{folder}: {name} is a data set of ours: call it NAME={folder}"
            )
        if not folder.is_dir():
            raise InputError(f"dataset {value!r}: no such folder")
        return tree_digest(folder)
    card = card_of(value)
    if card is None:
        near = did_you_mean(value, card_files())
        problem = f"no card of that name{near}; a folder is written ./{value}"
        raise InputError(f"dataset {value!r}: {problem}")
    folder = collection_folder(card.key)
    tree = tree_digest(folder) if folder.is_dir() else None
    hashed = digest([sha256_file(card_files()[card.key]), tree])
    is_here = reachable(card)
    if card.kind == "votes" or card.key == ANSWERED:
        is_here = status(card) == "ok"
    return hashed if is_here else digest([hashed, "absent"])


# --- the folder of a run


def sole_writer(run):
    """Hold the lock of a run, so that nobody else writes it; it ends with its owner."""
    refusal = f"run {run!r} is being written by another batch ({{}}): wait, or name another --run"
    return locked(run_dir(run) / ".batch", refusal.format)


def record_path(run, cell):
    return run_dir(run) / "runs" / cell / "run.json"


def stored_record(run, cell):
    path = record_path(run, cell)
    return read_record(path) if path.is_file() else None
