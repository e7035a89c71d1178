"""What a number was made from, and the command that makes it again."""

import html
import json
import shlex
from functools import lru_cache

from casebook.grid import DEFAULT_GRID, defaults, load_grid
from casebook.paths import NOTEBOOKS
from casebook.run import stored_record
from casebook.runs.record import digest
from casebook.tables import Markup

SHOWN = 12  # digits of a hash; the record has them all


def command(record, run):
    """Give the command that executes a cell again with the same parameters."""
    name = record.labels["Cell"]
    cell = _cells(DEFAULT_GRID.stat().st_mtime_ns).get(name)
    known = cell.parameters if cell else {}
    parameters = record.labels["Inputs"]["parameters"]
    if cell is None:  # of another grid, or of -p: its data too, which others differ in
        parameters = _data(record.workflow) | parameters
    words = ["casebook", "run", name if cell else record.workflow, "--run", run]
    for key, value in parameters.items():
        if key not in known or known[key] != value:
            words += ["-p", f"{key}={json.dumps(value)}"]
    return shlex.join(words)


def _data(experiment):
    """Give the data that an experiment reads if no parameter names others."""
    values = next(map(defaults, NOTEBOOKS.glob(f"[0-9]*_{experiment}.ipynb")), {})
    return {name: values[name] for name in ("dataset", "datasets") if name in values}


@lru_cache(maxsize=1)
def _cells(_stamp):
    """Read the grid once, not for each of its numbers; again when the file changes."""
    return {cell.name: cell for cell in load_grid()}


def hashes(record):
    """Give what a cell was made from."""
    inputs = record.labels["Inputs"]
    found = {name: inputs.get(name) for name in ("notebook", "library", "lock")}
    each = list(inputs["data"].values())
    data = digest(inputs["data"]) if len(each) > 1 else next(iter(each), None)
    return {n: d and d[:SHOWN] for n, d in {"data": data, **found}.items()}


def reproduce_line(run, cell):
    """Write the reproduce line of a number, closed until a reader opens it."""
    record = stored_record(run, cell)
    if record is None:
        return Markup("<small>no record</small>")
    parts = [
        f"{name} <code>{found}</code>" if found else f"{name} not hashed" for name, found in hashes(record).items()
    ]
    return Markup(
        '<details class="reproduce"><summary>reproduce</summary>'
        f"<code>{html.escape(command(record, run))}</code><br>{', '.join(parts)}; "
        f'<a href="provenance.html#{cell}">provenance</a></details>'
    )
