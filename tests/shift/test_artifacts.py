"""Stored trainings: documented fields, the latest, the best, and what cannot be read."""

import datetime
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from casebook.shift.artifacts import (
    STATS,
    best_training,
    read_training,
    stamped_folder,
    write_training,
)
from casebook.shift.learn import learn_posneg

DOCUMENTED = {
    *("WorkflowName", "CreatedUtc", "BaseDirectory", "ComparisonRuns", "TrainingMode"),
    *("ImprovementFirst", "ImprovementFirstPlusDelta", "DeltaImprovement"),
    *("DeltaVector", "DeltaNorm", "CancelOutEpsilon", "IsCancelled", "CancelReason"),
}


GAIN = {"map@1": (0.5, 0.6), "ndcg@3": (0.4, 0.4)}


@pytest.fixture
def store(decoys, tmp_path):
    """Give a function that trains and stores; later calls are newer."""

    def write(selection=GAIN, **options):
        shift = learn_posneg(decoys, **options)
        before, after = ({key: pair[place] for key, pair in selection.items()} for place in (0, 1))
        return write_training(tmp_path, "w", shift, before, after, 0.5, {})[0]

    write.root = tmp_path
    return write


def test_files_hold_the_documented_fields(store, decoys):
    folder = store()
    values = json.loads((folder / "shift-training-result.json").read_text())
    assert set(values) >= DOCUMENTED
    assert values["SelectionScore"] == pytest.approx(0.07)
    assert values["DeltaNorm"] == pytest.approx(np.linalg.norm(values["DeltaVector"]))
    stats = json.loads((folder / STATS).read_text())
    assert 0 < stats["ResultantLength"] <= 1
    assert stats["Cases"] == values["ComparisonRuns"]
    text = (folder / "shift-training-result.md").read_text()
    assert text.count("\n| ") >= len(DOCUMENTED) - 1
    assert read_training(folder)["DeltaVector"] == pytest.approx(learn_posneg(decoys).vector)


def test_latest_and_best_and_of_equals_the_newest(store):
    store()
    strong = store()
    weak = store({"map@1": (0.5, 0.5), "ndcg@3": (0.4, 0.4)})
    assert best_training(store.root, "w", newest=True)["BaseDirectory"] == weak.name
    assert best_training(store.root, "w")["BaseDirectory"] == strong.name
    cancelled = store(cancel_epsilon=100.0)
    assert best_training(store.root, "w", newest=True)["BaseDirectory"] == cancelled.name
    assert best_training(store.root, "w")["BaseDirectory"] == strong.name


def test_the_readable_file_has_the_largest_components(decoys, tmp_path):
    vector = [0.5, -0.75, 0.125, 0.0, -2.0, 1.0, 0.25, -0.375, 3.0, 0.0625, -0.03125, 1.5]
    shift = replace(learn_posneg(decoys), vector=np.array(vector))
    gain = dict.fromkeys(GAIN, 0.5)
    folder, _ = write_training(tmp_path, "w", shift, gain, gain, 1.0, {})
    values = json.loads((folder / "shift-training-result.json").read_text())
    order = sorted(range(len(vector)), key=lambda place: -abs(vector[place]))
    text = (folder / "shift-training-result.md").read_text()
    rows = re.findall(r"dimension (\d+) +\| (\S+)", text)
    assert [int(place) for place, _ in rows] == order[:8]
    assert values["DeltaVector"] == vector
    assert values["DeltaNorm"] == pytest.approx(sum(x * x for x in vector) ** 0.5)
    shown = [float(value) for _, value in rows]
    assert shown == pytest.approx([vector[place] for place in order[:8]], abs=1e-6)
    # Fields of the older workflow: 0, as in the document.
    older = ("ImprovementFirst", "ImprovementFirstPlusDelta", "DeltaImprovement")
    assert [values[name] for name in older] == [0, 0, 0]


def test_runs_of_one_second_never_share_a_folder(tmp_path):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5)
    first, second = (stamped_folder(tmp_path, "run", moment) for _ in range(2))
    assert (first.name, second.name) == ("run_20260102_030405_000", "run_20260102_030405_001")
    first.rmdir()
    assert stamped_folder(tmp_path, "run", moment) == first
    assert stamped_folder(tmp_path, "run", moment).name == "run_20260102_030405_002"
