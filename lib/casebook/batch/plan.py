"""What must run, and why: everything that a cell's numbers depend on is hashed and compared with its run record."""

import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from casebook import paths
from casebook.assistant import ANSWERED
from casebook.batch.grid import EVERY
from casebook.batch.parameters import (
    DATA,
    MODELS,
    check,
    check_before_running,
    check_parameters,
    defaults,
    named_files,
    path_parameters,
    plugged,
    without_folders,
)
from casebook.batch.run_folder import record_path
from casebook.data.cards import card_of
from casebook.errors import InputError
from casebook.paths import CARDS, run_dir
from casebook.plugins import is_plugin, source_of
from casebook.runs import evidence
from casebook.runs import record as records
from casebook.runs.record import digest


@dataclass(frozen=True)
class Planned:
    """What will happen to one cell, and why."""

    cell: object
    inputs: dict
    status: str  # "run" (never done), "stale" (an input changed) or "cached"
    changed: tuple = ()
    note: str = ""  # what is to be said of its data

    @property
    def key(self):
        """Content key: the hash of all inputs."""
        return digest(self.inputs)


def plan(cells, run, force=False):
    """Decide for each cell whether it must run; defects of parameters, data and models stop the batch here."""
    for cell in cells:
        check_parameters(
            paths.NOTEBOOKS / cell.notebook, {"run": run, "cell": cell.name, **cell.parameters}
        )
    notes = {cell.name: check(cell, paths.NOTEBOOKS / cell.notebook) for cell in cells}
    planned = {}
    common = common_inputs()
    # A grid names a cell after those it needs; what reads all others comes last.
    for cell in sorted(cells, key=lambda cell: EVERY in cell.needs):
        needed = {name: planned[name].key for name in cell.needs if name in planned}
        again = force
        if EVERY in cell.needs:
            needed = _recorded_keys(cell, run) | {name: p.key for name, p in planned.items()}
            # What failed the last time left the same key, and no record to be read.
            again |= any(other.status != "cached" for other in planned.values())
        one = _planned(cell, run, again, inputs_of(cell, common, needed))
        if one.status != "cached":
            check_before_running(cell, paths.NOTEBOOKS / cell.notebook)
        planned[cell.name] = replace(one, note=notes[cell.name])
    return [planned[cell.name] for cell in cells]


def common_inputs():
    """Hash what all cells depend on alike."""
    return {"library": records.library_digest(), "lock": records.lock_digest()}


def inputs_of(cell, common, needed=None):
    """Hash everything that a cell's numbers depend on."""
    source = paths.NOTEBOOKS / cell.notebook
    notebook = json.loads(source.read_text(encoding="utf-8"))
    code = [["".join(c["source"]), c["cell_type"]] for c in notebook["cells"]]
    values = defaults(source) | cell.parameters
    if "datasets" in values and values["datasets"] is None:  # all that have a card
        values["datasets"] = sorted(path.stem for path in CARDS.glob("*.yml"))
    own = {name: named_files(cell.parameters.get(name)) for name in path_parameters(source)}
    data = {name: _hashed(values[name]) for name in DATA if values.get(name)}
    if cell.experiment == "assistant" and own["log"]:  # which is evaluated instead of a data set
        data = {f"log {Path(path).name}": records.tree_digest(path) for path in own["log"]}
    own |= {
        name: [source_of(value) for value in values]
        for name, values in plugged(cell.parameters).items()
    }
    own = {
        name: [records.tree_digest(path) for path in paths] for name, paths in own.items() if paths
    }
    optional = {name: hashes for name, hashes in (("needs", needed), ("files", own)) if hashes}
    return optional | {
        **common,
        "notebook": digest(code),
        "parameters": without_folders(cell.parameters, source),
        "data": data,
        "models": {
            name: records.model_digest(cell.parameters[name])
            for name in MODELS
            if name in cell.parameters
        },
    }


def _hashed(value):
    """Hash what names of data stand for; without their files others stand in for them, or less is shown."""
    if is_plugin(value):
        return records.tree_digest(source_of(value))
    if not isinstance(value, str):
        return digest([_hashed(name) for name in value])
    from casebook.data.sources import reachable, status

    card, found = card_of(value), records.dataset_digest(value)
    replaceable = card and (card.kind == "votes" or card.key == ANSWERED)
    here = status(card)[0] == "ok" if replaceable else card is None or reachable(card)
    return found if here else digest([found, "absent"])


def _planned(cell, run, force, inputs):
    stored = None
    with contextlib.suppress(InputError, FileNotFoundError):
        record = records.read_record(record_path(run, cell.name))
        if record.success and record.outputs:
            stored = record.labels.get("Inputs")
    if stored is None:
        return Planned(cell, inputs, "run")
    changed = tuple(name for name in inputs if stored.get(name) != inputs[name])
    altered = evidence.faults(record_path(run, cell.name).parent, record)
    changed += tuple(name.removeprefix("../../") for name in altered)
    status = "stale" if changed or force else "cached"
    return Planned(cell, inputs, status, changed or (("forced",) if force else ()))


def _recorded_keys(cell, run):
    """Give the content keys of all that a run holds, but for the cell's own kind."""
    found = {}
    for path in sorted(run_dir(run).glob("runs/*/run.json")):
        with contextlib.suppress(InputError, FileNotFoundError):
            record = records.read_record(path)
            if record.workflow != cell.experiment:
                found[path.parent.name] = record.labels.get("ContentKey")
    return found
