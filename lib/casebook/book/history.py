"""How a number moved from run to run, as far as the runs may be compared."""

import json

from casebook import paths
from casebook.errors import InputError
from casebook.run import stored_record
from casebook.runs.record import read_record

MOST = 20  # points of a sparkline


def history(cell, key):
    """Collect the values of one number in all runs of this project."""
    found = []
    for path in sorted(paths.RESULTS.glob(f"*/numbers/{cell}.json")):
        record_path = path.parents[1] / "runs" / cell / "run.json"
        try:
            record = read_record(record_path)
            number = json.loads(path.read_text(encoding="utf-8"))
            for part in key:
                number = number[part]
            value = float(number["value"])
        except (InputError, OSError, KeyError, TypeError, ValueError):
            continue  # another kind of run, or one at work
        found.append((record.completed, record.labels["Inputs"]["data"], value))
    found.sort(key=lambda point: point[0])
    return [value for _, data, value in found if data == found[-1][1]][-MOST:]


def same_data(run, other, cell):
    """Say whether a cell was executed on the same data in two runs."""
    records = [stored_record(name, cell) for name in (run, other)]
    data = [record and record.labels["Inputs"]["data"] for record in records]
    return data[0] is not None and data[0] == data[1]


def sparkline(values):
    """Draw values as a small line, the latest marked."""
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    step = 60 / (len(values) - 1)
    scale = 12 / (high - low) if high > low else 0
    points = [(i * step, 14 - scale * (v - low)) for i, v in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    label = f"{len(values)} runs, from {low:.3f} to {high:.3f}, now {values[-1]:.3f}"
    return (
        f'<svg class="history" viewBox="-2 0 66 16" role="img" aria-label="{label}">'
        f'<polyline points="{line}" fill="none" stroke="#8a8a8a"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="#1d4ed8"/></svg>'
    )
