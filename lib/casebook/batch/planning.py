"""Decide which cells of a grid must run, and why."""

import contextlib
import json
from dataclasses import dataclass, replace

from casebook.datasets.cards import card_of
from casebook.datasets.registry import load
from casebook.datasets.sources import status
from casebook.errors import InputError
from casebook.grid import EVERY
from casebook.models.load import load_encoder
from casebook.models.weights import PACKAGED, locate_model
from casebook.notebook_parameters import DATA, MODELS, check_parameters, defaults
from casebook.paths import CARDS, NOTEBOOKS, data_folder, run_dir
from casebook.runs import record as artifact
from casebook.runs import record as fingerprint

FEWEST = 100  # resamples of an interval


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
        return fingerprint.digest(self.inputs)


def common_inputs():
    """Hash what all cells depend on alike."""
    return {"library": fingerprint.library_digest(), "lock": fingerprint.lock_digest()}


def inputs_of(cell, common, needed=None):
    """Hash everything that a cell's numbers depend on."""
    source = NOTEBOOKS / cell.notebook
    notebook = json.loads(source.read_text(encoding="utf-8"))
    code = [["".join(c["source"]), c["cell_type"]] for c in notebook["cells"]]
    models = {name: fingerprint.model_digest(cell.parameters[name]) for name in MODELS if name in cell.parameters}
    needs = {"needs": needed} if needed else {}
    return (
        needs
        | common
        | {
            "notebook": fingerprint.digest(code),
            "parameters": cell.parameters,
            "data": _data_of(defaults(source) | cell.parameters),
            "models": models,
        }
    )


def _data_of(parameters):
    """Hash the data sets that parameters name; None asks for all that have a card."""
    named = {name: parameters[name] for name in DATA if name in parameters}
    if named.get("datasets", "") is None:
        named["datasets"] = sorted(path.stem for path in CARDS.glob("*.yml"))
    return {name: _hashed(value) for name, value in named.items() if value}


def _hashed(value):
    if isinstance(value, str):
        card = card_of(value)
        digest = fingerprint.dataset_digest(value)
        if card and card.kind == "votes" and status(card)[0] != "ok":
            return fingerprint.digest([digest, "reconstructed"])  # the chapter stands in
        return digest
    return fingerprint.digest([fingerprint.dataset_digest(name) for name in value])


def plan(cells, run, force=False):
    """Decide for each cell whether it must run."""
    for cell in cells:
        named = {"run": run, "cell": cell.name, **cell.parameters}
        check_parameters(NOTEBOOKS / cell.notebook, named)
    notes = {cell.name: _check_data(cell) for cell in cells}
    planned, common = {}, common_inputs()
    # A grid names a cell after those it needs; what reads all others comes last.
    for cell in sorted(cells, key=lambda cell: EVERY in cell.needs):
        needed = {name: planned[name].key for name in cell.needs if name in planned}
        again = force
        if EVERY in cell.needs:
            needed = _recorded_keys(cell, run) | {n: p.key for n, p in planned.items()}
            # What failed the last time left the same key, and no record to be read.
            again |= any(other.status != "cached" for other in planned.values())
        inputs = inputs_of(cell, common, needed)
        one = _plan_one(cell, run, again, inputs)
        planned[cell.name] = replace(one, note=notes[cell.name])
        if one.status != "cached":
            _check_models(cell.parameters)
    return list(planned.values())


def _recorded_keys(cell, run):
    """Give the content keys of all that a run holds, but for the cell's own kind."""
    found = {}
    for path in sorted(run_dir(run).glob("runs/*/run.json")):
        with contextlib.suppress(InputError, FileNotFoundError):
            record = artifact.read_record(path)
            if record.workflow != cell.experiment:
                found[path.parent.name] = record.labels.get("ContentKey")
    return found


def _check_data(cell):
    """Read the user's folders, all splits that will be read: defects stop the batch."""
    values = defaults(NOTEBOOKS / cell.notebook) | cell.parameters
    if values.get("resamples", FEWEST) < FEWEST:
        raise InputError(f"resamples: an interval needs at least {FEWEST}")
    for name in values.get("datasets") or ():
        if own := data_folder(name):
            from casebook.audits.label_tables import read_labels

            read_labels(own[1])
    name = values.get("dataset")
    if not name or data_folder(name) is None:
        return ""
    reading = {key: values[key] for key in ("titles", "max_missing") if key in values}
    splits = [values.get(key) for key in ("split", "development", "held_out")]
    chosen = list(dict.fromkeys([splits[0], *filter(None, splits[1:])]))
    found = [load(name, split, **reading) for split in chosen]
    told = [f"{data.name}: {data.missing}" for data in found if data.missing]
    return "; ".join(told)


def _check_models(parameters):
    """Find the models that parameters name: a missing one stops the batch."""
    for name in set(MODELS) & set(parameters):
        value = parameters[name]
        if name == "reranker":
            from casebook.retrieval.config import CROSS_ENCODER, PipelineConfig

            PipelineConfig(reranker=value)
            if str(value).startswith(CROSS_ENCODER):
                locate_model(value.removeprefix(CROSS_ENCODER))
        elif value not in (None, PACKAGED):
            load_encoder(value, cache=False)


def _plan_one(cell, run, force, inputs):
    stored = _stored_inputs(cell.name, run)
    if stored is None:
        return Planned(cell, inputs, "run")
    changed = tuple(name for name in inputs if stored.get(name) != inputs[name])
    status = "stale" if changed or force else "cached"
    return Planned(cell, inputs, status, changed or (("forced",) if force else ()))


def record_path(run, cell):
    """Give the place of a cell's run record."""
    return run_dir(run) / "runs" / cell / "run.json"


def _stored_inputs(cell, run):
    whole = (run_dir(run) / "notebooks" / f"{cell}.ipynb").is_file()
    with contextlib.suppress(InputError, FileNotFoundError):
        record = artifact.read_record(record_path(run, cell))
        return record.labels.get("Inputs") if whole and record.success else None
    return None
