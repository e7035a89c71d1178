"""Speed of the run registry with 10,000 runs, against fixed limits."""

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import limit_row

from casebook.files import write_json
from casebook.runs.outputs import RunOutputs
from casebook.runs.promotions import NO_LINE, promote
from casebook.runs.record import RunRecord, now, write_record
from casebook.runs.registry import discover, locate, ranked

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
        yield limit_row(f"casebook runs compare, {RUNS} runs", seconds, 2, "reads every file")
        write_history(many)
        seconds = command_seconds("runs", "--runs-root", many, "history")
        note = "start of the interpreter included, as in all these rows"
        yield limit_row(f"casebook runs history, {RUNS} entries", seconds, 2, note)
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
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, *map(str, arguments)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


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


def write_history(root):
    """Copy one real entry into a chain of many, without syncing each line."""
    listing = discover(locate(runs_root=root))
    best = ranked(listing, "ndcg@3").iloc[0]
    entry = promote(listing, best, "ndcg@3", "benchmark")
    previous, lines = NO_LINE, []
    for number in range(1, RUNS + 1):
        line = json.dumps(entry | {"seq": number, "previous": previous}).encode()
        previous = hashlib.sha256(line).hexdigest()
        lines.append(line + b"\n")
    (root / "_active" / "history.jsonl").write_bytes(b"".join(lines))
    write_json(root / "_heads" / "history.json", {"seq": RUNS, "lineSha256": previous})
