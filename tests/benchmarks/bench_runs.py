"""Speed of the run registry with 10,000 runs, against fixed limits."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import limit_row, wall_and_cpu

from casebook.runs.outputs import RunOutputs
from casebook.runs.record import RunRecord, now, write_record

RUNS, QUERIES = 10_000, 400
LABELS = {"DatasetHash": "d", "Parameters": {"k": 10, "seed": 1}}


def rows():
    with tempfile.TemporaryDirectory() as folder:
        many = Path(folder, "many")
        pair = Path(folder, "pair")
        os.environ["CASEBOOK_CACHE"] = str(Path(folder, "cache"))
        scores = np.random.default_rng(0).random((RUNS, 2)).round(6).tolist()
        for number, (first, second) in enumerate(scores):
            metrics = {"ndcg@3": first, "map@1": second}
            recorded(many / f"w{number % 10}" / f"r{number:05d}", metrics)
        seconds = command_seconds("runs", "--runs-root", many, "compare")
        note = "reads every file; with the start of the interpreter"
        yield limit_row(f"casebook runs compare, {RUNS} runs", seconds, 2, note)
        rng = np.random.default_rng(1)
        for name in ("one", "two"):
            values = rng.beta(2, 3, QUERIES).round(6)
            outputs = RunOutputs(name, "cell")
            outputs.folder = pair / name
            frame = pd.DataFrame({"query_id": range(QUERIES), "system": "a", "nDCG@10": values})
            outputs.rows(frame)
            mean = round(float(values.mean()), 6)
            recorded(pair / name / "runs" / "cell", {"set.a.ndcg@10": mean}, name)
        words = ("runs", "--runs-root", pair, "compare", "two", "one", "-m", "set.a.ndcg@10")
        seconds = command_seconds(*words) - python_seconds("-c", "import pandas")
        note = "interval, all tests and flips; without the import of pandas"
        yield limit_row(f"two runs, {QUERIES} queries, 10000 resamples", seconds, 1, note)
        yield limit_row("casebook --help", command_seconds("--help"), 0.3)


def command_seconds(*arguments):
    return python_seconds("-m", "casebook", *arguments)


def python_seconds(*arguments):
    """Least CPU time of a process of its own: noise only adds to it."""
    command = [sys.executable, *map(str, arguments)]
    return min(wall_and_cpu(command, os.environ)[1] for _ in range(3))


def recorded(folder, metrics, name=None):
    record = RunRecord.model_construct(
        run_id=name or folder.name,
        workflow="w",
        started=now(),
        completed=now(),
        labels=LABELS,
        metrics=metrics,
    )
    write_record(folder / "run.json", record)
