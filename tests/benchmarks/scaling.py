"""How time and memory grow: a million documents, and a grid of 200 notebooks.

Writes ``docs/scaling_pipeline.csv`` and ``scaling_grid.csv``. It takes about half an hour
and 5 GB of disk: ``python tests/benchmarks/scaling.py``, or with the name of one table.
"""

import functools
import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd

from casebook.paths import DATA

DOCS = Path(__file__).parents[2] / "docs"
SIZES = (10_000, 100_000, 1_000_000)
QUERIES, DEPTH, DIMS = 100, 100, 256
SYSTEMS = ("full", "bm25", "dense_chunked")
VARIANTS = 200
CELL = (
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 300, 'ci': [0.0, 1.0], 'n': 1, 'control': 0.5}\n"
    "RunOutputs(run, cell).numbers('light', {'made': {cell: {'m': number}}})"
)


def hashed(texts):
    from sklearn.feature_extraction.text import HashingVectorizer

    words = HashingVectorizer(n_features=DIMS, norm="l2", dtype=np.float32)
    return words.transform(texts).toarray()


class HashedEncoder:
    """Hashed words as an encoder of texts and of tokens, which reads up to 256 words."""

    name = "hashed"
    model_hash = "hashed words"
    max_tokens = 256
    vocabulary_size = 1 << 14
    token_dims = 32

    def count_tokens(self, texts):
        return np.array([len(text.split()) + 2 for text in texts])

    def token_ids(self, texts):
        return [
            np.array([number_of(word) for word in text.split()], dtype=np.int64) for text in texts
        ]

    def encode_documents(self, texts):
        return hashed(texts)

    encode_queries = encode_documents

    def token_vectors(self, texts, role="document"):
        from casebook.models.cache import TokenVectors

        ids = [text[: self.max_tokens] for text in self.token_ids(texts)]
        lengths = np.array([len(text) for text in ids], dtype=np.int64)
        all_ids = np.concatenate([*ids, np.zeros(0, dtype=np.int64)])
        return TokenVectors(
            token_table(self.vocabulary_size, self.token_dims)[all_ids], all_ids, lengths
        )


@functools.cache
def number_of(word):
    return zlib.crc32(word.lower().encode()) % HashedEncoder.vocabulary_size


@functools.cache
def token_table(size, dims):
    table = np.random.default_rng(0).normal(size=(size, dims))
    return (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float16)


class Stages:
    def __init__(self):
        self.seconds, self._clock = {}, time.process_time()

    def ended(self, name):
        now = time.process_time()
        self.seconds[name], self._clock = now - self._clock, now


def planted(size):
    made = runpy.run_path(str(DATA / "make" / "planted.py"))
    truth = made["plant_truth"](size, QUERIES, seed=0)
    matters = np.flatnonzero(list(truth.weights.values()))
    asked = {name: v for name, v in truth.values.items() if truth.weights[name]}
    queries = made["render"](asked, truth.queries[:, matters])
    parts = made["documents_in_chunks"](truth)
    columns = ["doc_id", "text", "court", "month"]
    return truth, queries, pd.concat((part[columns] for part in parts), ignore_index=True)


def encode(size, folder):
    """Plant one corpus and encode it for all stages; print one JSON line."""
    from casebook.retrieval.encoded import encode_corpus

    _, _, documents = planted(size)
    stages = Stages()
    encode_corpus(documents, HashedEncoder(), folder)
    stages.ended("encode")
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    row = {
        "encode, CPU s": stages.seconds["encode"],
        "encode, CPU ms a document": 1000 * stages.seconds["encode"] / size,
        "encode, peak memory, MB": peak_memory(),
        "disk, MB": sum(path.stat().st_size for path in files) / 1e6,
    }
    print(json.dumps(row))


def search(size, folder):
    """Search a planted corpus by some systems and score them; print one JSON line."""
    from casebook.measures.ranking import evaluate
    from casebook.retrieval.encoded import EncodedCorpus
    from casebook.retrieval.pipeline import HybridRetriever

    truth, queries, _ = planted(size)
    names = [f"q{number}" for number in range(QUERIES)]
    stages = Stages()
    index = EncodedCorpus(folder, HashedEncoder())
    HybridRetriever(index).retrieve_many(queries[:1])
    stages.ended("open")  # what a command does once: hash every file, and read the ids
    runs = {}
    for name in SYSTEMS:
        result = HybridRetriever(index, mode=name).retrieve_many(queries)
        stages.ended(name)
        runs[name] = result.run(names)
    stages.ended("write")
    HybridRetriever(index).retrieve_many(queries, filters={"court": "Easton"})
    stages.ended("full with a filter")
    row = {"open, CPU s": stages.seconds["open"]}
    for name in (*SYSTEMS, "full with a filter"):
        row[f"{name}, CPU ms a query"] = 1000 * stages.seconds[name] / QUERIES
    row["search, peak memory, MB"] = peak_memory()
    best = {}
    qrels = {}
    for number, name in enumerate(names):
        grades = np.digitize(truth.scores(number), (0.6, 0.8, 0.99))
        qrels[name] = {index.doc_ids[d]: int(grades[d]) for d in np.flatnonzero(grades)}
        best[name] = {index.doc_ids[d]: 1 for d in np.flatnonzero(grades == grades.max())}
    for system, run in runs.items():
        row[f"{system}, nDCG@10"] = evaluate(qrels, run, ["nDCG@10"]).mean["nDCG@10"]
        row[f"{system}, R@100 of the best"] = evaluate(best, run, ["R@100"]).mean["R@100"]
    print(json.dumps(row))


def peak_memory():
    """Largest memory of this process so far, in MB; mapped files that were read count too."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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


def measured(*words):
    """Measure in a process of its own, for its peak memory; give what it prints."""
    command = [sys.executable, __file__, *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(done.stdout, file=sys.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def pipeline():
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            row = {"documents": size}
            for step in ("encode", "search"):
                row |= measured(step, size, folder)
            yield row


STEPS = {"encode": encode, "search": search}
TABLES = {"pipeline": pipeline, "grid": lambda: (grid(1), grid(2))}


def main():
    if len(sys.argv) > 2:
        step, size, *folder = sys.argv[1:]
        return STEPS[step](int(size), *folder)
    for name in sys.argv[1:] or TABLES:
        _write(pd.DataFrame(TABLES[name]()), f"scaling_{name}.csv")


def _write(table, name):
    """Write one column a measurement: a phone shows three columns, not eight."""
    first = table.columns[0]
    turned = table.set_index(first).T.rename_axis(first).reset_index()
    turned.to_csv(DOCS / name, index=False, float_format="%.3g", lineterminator="\n")
    print(turned.to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
