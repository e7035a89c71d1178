"""How time and memory grow: a million documents, and a grid of 200 notebooks.

Writes ``book/methods/scaling_documents.csv`` and ``scaling_grid.csv``. It takes about
ten minutes and 3 GB of disk: ``python tests/benchmarks/scaling.py``.
"""

import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd

from casebook.paths import DATA

BOOK = Path(__file__).parents[2] / "book" / "methods"
SIZES = (10_000, 100_000, 1_000_000)
QUERIES, DEPTH, DIMS = 100, 100, 256
VARIANTS = 200
CELL = (
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 300, 'ci': [0.0, 1.0], 'n': 1, 'control': 0.5}\n"
    "RunOutputs(run, cell).numbers('light', {'made': {cell: {'m': number}}})"
)


def hashed(texts):
    """Vectors of hashed words: an encoder that any machine can run a million times."""
    from sklearn.feature_extraction.text import HashingVectorizer

    words = HashingVectorizer(n_features=DIMS, norm="l2", dtype=np.float32)
    return words.transform(texts).toarray()


class Stages:
    """CPU seconds of each stage, by name."""

    def __init__(self):
        self.seconds, self._clock = {}, time.process_time()

    def ended(self, name):
        """Count the time since the last call for a stage."""
        now = time.process_time()
        self.seconds[name], self._clock = now - self._clock, now


def documents(size):
    """Plant, encode, search and score one corpus; print one JSON line."""
    from casebook.measures.ranking import evaluate
    from casebook.retrieval.shards import ShardStore, encode_shards, search_shards

    made = runpy.run_path(str(DATA / "make" / "planted.py"))
    plant_truth, render = made["plant_truth"], made["render"]
    stages = Stages()
    truth = plant_truth(size, QUERIES, seed=0)
    stages.ended("plant")

    class Rendered:
        def __len__(self):
            return size

        def __getitem__(self, span):
            return list(render(truth.values, truth.documents[span]))

    with tempfile.TemporaryDirectory() as folder:
        store = ShardStore(folder)
        encode_shards(Rendered(), hashed, store)
        stages.ended("encode")
        matters = np.flatnonzero(list(truth.weights.values()))
        asked = {name: v for name, v in truth.values.items() if truth.weights[name]}
        found = search_shards(store, hashed(render(asked, truth.queries[:, matters])), DEPTH)
        stages.ended("search")
        disk = sum(path.stat().st_size for path in Path(folder).iterdir())
    qrels, run = {}, {}
    for row in range(QUERIES):
        grades = np.digitize(truth.scores(row), (0.6, 0.8, 0.99))
        judged = np.flatnonzero(grades)
        qrels[f"q{row}"] = {f"d{d}": int(grades[d]) for d in judged}
        pairs = zip(found.ids[row], found.scores[row], strict=True)
        run[f"q{row}"] = {f"d{d}": float(score) for d, score in pairs}
    score = evaluate(qrels, run, ["nDCG@10"]).mean["nDCG@10"]
    stages.ended("score")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cpu = {f"{name}, CPU s": value for name, value in stages.seconds.items()}
    extra = {"peak memory, MB": peak, "disk, MB": disk / 1e6, "nDCG@10": score}
    print(json.dumps({"documents": size, **cpu, **extra}))


def grid(workers):
    """Run the light notebook 200 times and once more unchanged; give one row."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write_grid(root)
        command = [sys.executable, "-m", "casebook", "run", "--grid"]
        command += [str(root / "grid.yml"), "--workers", str(workers)]
        places = ("CASEBOOK_PROJECT", "CASEBOOK_ROOT")
        environment = os.environ | dict.fromkeys(places, folder)
        row = {"processes": workers}
        for name in ("first run", "unchanged"):
            before, wall = os.times(), time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            after = os.times()
            cpu = sum(after[2:4]) - sum(before[2:4])
            row |= {f"{name}, wall s": time.perf_counter() - wall, f"{name}, CPU s": cpu}
        return row


def _write_grid(root):
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    code = nbformat.v4.new_code_cell
    start = code('run = "r"\ncell = "c"\nn = 1', metadata={"tags": ["parameters"]})
    light = nbformat.v4.new_notebook(cells=[start, code(CELL)], metadata={"kernelspec": kernel})
    (root / "notebooks").mkdir()
    (root / "data" / "cards").mkdir(parents=True)
    nbformat.write(light, root / "notebooks" / "01_light.ipynb")
    row = {"name": "light", "notebook": "01_light.ipynb", "tags": ["default"]}
    row["vary"] = {"product": {"n": list(range(VARIANTS))}}
    (root / "grid.yml").write_text(json.dumps([row]))


def main():
    """Measure all; each size in a process of its own, for its peak memory."""
    if len(sys.argv) > 1:
        return documents(int(sys.argv[1]))
    lines = []
    for size in SIZES:
        command = [sys.executable, __file__, str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        lines.append(json.loads(done.stdout.splitlines()[-1]))
        print(lines[-1], file=sys.stderr)
    table = pd.DataFrame(lines)
    _write(table, "scaling_documents.csv")
    _write(pd.DataFrame([grid(1), grid(2)]), "scaling_grid.csv")


def _write(table, name):
    """Write one column a measurement: a phone shows three columns, not eight."""
    first = table.columns[0]
    turned = table.set_index(first).T.rename_axis(first).reset_index()
    turned.to_csv(BOOK / name, index=False, float_format="%.3g", lineterminator="\n")
    print(turned.to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
