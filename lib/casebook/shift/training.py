"""The training artefact: what was learned, on what, and how it was selected."""

import datetime
import itertools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from casebook.files import write_json, write_text
from casebook.runs.record import now
from casebook.shift.keyword import selection_score

RESULT, READABLE, STATS = ("shift-training-result.json", "shift-training-result.md", "training_stats.json")
TIE = 1e-12
_TOP_DIMENSIONS = 8


@dataclass(frozen=True)
class TrainingResult:
    """A learned shift as it is stored, under the documented names."""

    values: dict = field(repr=False)
    folder: Path | None = None

    @property
    def vector(self):
        """The shift, ndarray of shape [D]; empty if none was stored."""
        return np.array(self.values.get("DeltaVector") or [], dtype=np.float64)

    @property
    def cancelled(self):
        """Whether the shift is not to be applied, bool."""
        return bool(self.values.get("IsCancelled"))

    @property
    def created(self):
        """When it was made, datetime in UTC."""
        text = self.values["CreatedUtc"]
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)

    @property
    def score(self):
        """What the best result is chosen by, float."""
        values = self.values
        if values.get("SelectionScore") is not None:
            return float(values["SelectionScore"])
        both = float(values.get("ImprovementFirstPlusDelta") or 0)
        first = float(values.get("ImprovementFirst") or 0)
        return both if abs(both) >= TIE else first


def training_result(shift, workflow, *, selection=None, labels=None, scale=1.0):
    """Describe a learned shift."""
    values = {
        "WorkflowName": workflow,
        "CreatedUtc": now().isoformat().replace("+00:00", "Z"),
        "BaseDirectory": "",
        "ComparisonRuns": shift.stats.Cases,
        "ImprovementFirst": 0.0,
        "ImprovementFirstPlusDelta": 0.0,
        "DeltaImprovement": 0.0,
        "DeltaVector": [float(x) for x in shift.vector],
        "TrainingMode": shift.mode,
        "CancelOutEpsilon": shift.cancel_epsilon,
        "IsCancelled": shift.cancel_reason is not None,
        "CancelReason": shift.cancel_reason,
        "DeltaNorm": shift.norm,
        "Scale": scale,
        "Labels": labels or {},
    }
    return TrainingResult(values | _selection_fields(selection))


def _selection_fields(selection):
    if selection is None:
        return {"SelectionSource": None}
    before, after = selection["map@1"]
    low, high = selection["ndcg@3"]
    return {
        "SelectionSource": "dev",
        "SelectionMapAt1Baseline": before,
        "SelectionMapAt1Shifted": after,
        "SelectionNdcg3Baseline": low,
        "SelectionNdcg3Shifted": high,
        "SelectionScore": selection_score(after - before, high - low),
    }


def write_training(root, result, stats):
    """Write the three files of a training."""
    folder = _claim(Path(root), result)
    values = result.values | {"BaseDirectory": folder.name}
    write_json(folder / STATS, stats.as_dict())
    write_text(folder / READABLE, as_markdown(values))
    write_json(folder / RESULT, values)
    return folder


def _claim(root, result):
    """Create the folder; of trainings within one second the later has a higher name."""
    stem = f"{result.values['WorkflowName']}-training_{result.created:%Y%m%d_%H%M%S}"
    for number in itertools.count():
        folder = root / f"{stem}_{number:03d}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder


def as_markdown(values):
    """Describe a training result for readers."""
    scalars = {k: v for k, v in values.items() if not isinstance(v, list | dict)}
    lines = [f"# {values['WorkflowName']}", "", "| field | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in scalars.items()]
    lines += ["", "| dimension | value |", "|---|---|"]
    vector = np.array(values["DeltaVector"], dtype=float)
    top = np.argsort(-np.abs(vector), kind="stable")[:_TOP_DIMENSIONS]
    lines += [f"| {d} | {vector[d]:+z.6f} |" for d in top if vector[d] != 0]
    return "\n".join(lines) + "\n"
