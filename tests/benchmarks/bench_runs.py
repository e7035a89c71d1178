"""Speed of the run registry with 10,000 runs, against fixed limits.

Run with one thread: ``OMP_NUM_THREADS=1 python tests/benchmarks/run.py runs``.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring import limit_row

from casebook.files import write_json
from casebook.runs.promotions import NO_LINE, promote
from casebook.runs.registry import discover, locate, ranked

RUNS, QUERIES = 10_000, 400
LIMIT = {"compare": 2.0, "history": 2.0, "pair": 1.0, "help": 0.3}


def rows():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ["CASEBOOK_CACHE"] = str(root / "cache")
        return list(_measure(root / "many", root / "pair"))


def _measure(many, pair):
    _write_runs(many)
    seconds = _command_seconds("runs", "--runs-root", many, "compare")
    yield limit_row(
        f"casebook runs compare, {RUNS} runs", seconds, LIMIT["compare"], "reads every file"
    )
    _write_history(many)
    history = _command_seconds("runs", "--runs-root", many, "history")
    note = "start of the interpreter included, as in all these rows"
    yield limit_row(f"casebook runs history, {RUNS} entries", history, LIMIT["history"], note)
    first, second = _write_pair(pair)
    words = ("runs", "--runs-root", pair, "compare", first, second, "-m", "set.a.ndcg@10")
    seconds = _command_seconds(*words)
    seconds -= _seconds("-c", "import pandas")
    note = "interval, all tests and flips; without the import of pandas"
    name = f"two runs, {QUERIES} queries, 10000 resamples"
    yield limit_row(name, seconds, LIMIT["pair"], note)
    yield limit_row("casebook --help", _command_seconds("--help"), LIMIT["help"])


def _command_seconds(*arguments):
    return _seconds("-m", "casebook", *arguments)


def _seconds(*arguments, repeats=3):
    """Least CPU time of a process of its own: noise only adds to it."""
    found = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, *map(str, arguments)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def _record(run_id, metrics):
    return json.dumps(
        {
            "SchemaVersion": 1,
            "RunId": run_id,
            "Workflow": "w",
            "StartedAtUtc": "2026-01-02T03:04:05Z",
            "CompletedAtUtc": "2026-01-02T03:04:06Z",
            "Success": True,
            "Labels": {"DatasetHash": "d", "Parameters": {"k": 10, "seed": 1}},
            "Metrics": metrics,
        }
    )


def _write_runs(root):
    scores = np.random.default_rng(0).random((RUNS, 2)).round(6).tolist()
    for number, (first, second) in enumerate(scores):
        folder = root / f"w{number % 10}" / f"r{number:05d}"
        folder.mkdir(parents=True)
        text = _record(folder.name, {"ndcg@3": first, "map@1": second})
        (folder / "run.json").write_text(text)


def _write_history(root):
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


def _write_pair(root):
    import pandas as pd

    from casebook.runs.outputs import RunOutputs

    rng = np.random.default_rng(1)
    for name in ("one", "two"):
        scores = rng.beta(2, 3, QUERIES).round(6)
        frame = pd.DataFrame({"query_id": range(QUERIES), "system": "a"})
        outputs = RunOutputs(name, "cell")
        outputs.folder = root / name
        outputs.rows(frame.assign(**{"nDCG@10": scores}))
        folder = root / name / "runs" / "cell"
        folder.mkdir(parents=True)
        metrics = {"set.a.ndcg@10": round(float(scores.mean()), 6)}
        (folder / "run.json").write_text(_record(name, metrics))
    return "two", "one"
