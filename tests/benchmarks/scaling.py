"""How time and memory grow: a million documents, and a grid of 200 notebooks.

Writes ``docs/scaling_pipeline.csv`` and ``scaling_grid.csv``. It takes about half an hour
and 5 GB of disk: ``python tests/benchmarks/scaling.py``.
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

import numpy as np
import pandas as pd
from measuring import wall_and_cpu

from casebook.paths import DATA

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
QUERIES, DIMS = 100, 256
SYSTEMS = ("full", "bm25", "dense_chunked")
VARIANTS = 200
CELL = (
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 300, 'ci': [0.0, 1.0], 'n': 1, 'control': 0.5}\n"
    "RunOutputs(run, cell).numbers('light', {'made': {cell: {'m': number}}})"
)


def encoder():
    """Hashed words as an encoder of texts and of tokens, which reads up to 256 words."""
    from sklearn.feature_extraction.text import HashingVectorizer

    sys.path.append(str(TESTS / "retrieval"))
    from small_retrieval import HashingEncoder

    words = HashingVectorizer(n_features=DIMS, norm="l2", dtype=np.float32)
    made = HashingEncoder()
    made.max_tokens = 256
    made.encode_documents = lambda texts: words.transform(texts).toarray()
    made.encode_queries = made.encode_documents
    return made


def planted(size):
    """Truth, queries, and frames of documents, which are made when they are read."""
    made = runpy.run_path(str(DATA / "make" / "planted.py"))
    truth = made["plant_truth"](size, QUERIES, seed=0)
    matters = np.flatnonzero(list(truth.weights.values()))
    asked = {name: v for name, v in truth.values.items() if truth.weights[name]}
    queries = made["render"](asked, truth.queries[:, matters])
    return truth, queries, made["documents_in_chunks"](truth)


def encode(size, folder):
    """Plant one corpus and encode it for all stages."""
    from casebook.retrieval.encoded import encode_corpus

    _, _, frames = planted(size)
    parts = (frame[["doc_id", "text", "court", "month"]] for frame in frames)
    documents = pd.concat(parts, ignore_index=True)
    start = time.process_time()
    encode_corpus(documents, encoder(), folder)
    seconds = time.process_time() - start
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {
        "encode, CPU s": seconds,
        "encode, CPU ms a document": 1000 * seconds / size,
        "encode, peak memory, MB": peak_memory(),
        "disk, MB": sum(path.stat().st_size for path in files) / 1e6,
    }


def search(size, folder):
    """Search a planted corpus by some systems and score them."""
    from casebook.measures.ranking import evaluate
    from casebook.retrieval.encoded import EncodedCorpus
    from casebook.retrieval.pipeline import HybridRetriever

    truth, queries, _ = planted(size)
    names = [f"q{number}" for number in range(QUERIES)]
    row = {}
    start = time.process_time()
    index = EncodedCorpus(folder, encoder())
    HybridRetriever(index).retrieve_many(queries[:1])
    # What a command does once: hash every file, and read the ids.
    row["open, CPU s"] = time.process_time() - start
    runs = {}
    for name in (*SYSTEMS, "full with a filter"):
        mode = name.partition(" ")[0]
        filters = None if name == mode else {"court": "Easton"}
        start = time.process_time()
        result = HybridRetriever(index, mode=mode).retrieve_many(queries, filters=filters)
        row[f"{name}, CPU ms a query"] = 1000 * (time.process_time() - start) / QUERIES
        runs[name] = result.run(names)
    row["search, peak memory, MB"] = peak_memory()
    best = {}
    qrels = {}
    for number, name in enumerate(names):
        grades = np.digitize(truth.scores(number), (0.6, 0.8, 0.99))
        qrels[name] = {index.doc_ids[d]: int(grades[d]) for d in np.flatnonzero(grades)}
        best[name] = {index.doc_ids[d]: 1 for d in np.flatnonzero(grades == grades.max())}
    for name in SYSTEMS:
        row[f"{name}, nDCG@10"] = evaluate(qrels, runs[name], ["nDCG@10"]).mean["nDCG@10"]
        row[f"{name}, R@100 of the best"] = evaluate(best, runs[name], ["R@100"]).mean["R@100"]
    return row


def peak_memory():
    """Largest memory of this process so far, in MB; mapped files that were read count too."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def pipeline():
    """Each step in a process of its own, for its peak memory."""
    for size in (10_000, 100_000, 1_000_000):
        row = {"documents": size}
        with tempfile.TemporaryDirectory() as folder:
            for step in STEPS:
                command = [sys.executable, __file__, step, str(size), folder]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                row |= json.loads(done.stdout.splitlines()[-1])
        yield row


def grid():
    """The light notebook 200 times and once more unchanged, by one process and by two."""
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            write_grid(Path(folder))
            command = [sys.executable, "-m", "casebook", "run", "--grid", f"{folder}/grid.yml"]
            places = dict.fromkeys(("CASEBOOK_PROJECT", "CASEBOOK_ROOT"), folder)
            row = {"processes": workers}
            for name in ("first run", "unchanged"):
                used = wall_and_cpu([*command, "--workers", str(workers)], os.environ | places)
                row |= dict(zip((f"{name}, wall s", f"{name}, CPU s"), used, strict=True))
        yield row


def write_grid(root):
    sys.path.append(str(TESTS))
    from made_notebooks import write_notebook

    write_notebook(root / "notebooks" / "01_light.ipynb", 'run = "r"\ncell = "c"\nn = 1', CELL)
    (root / "data" / "cards").mkdir(parents=True)
    row = {"notebook": "01_light.ipynb", "tags": ["default"]}
    rows = [row | {"name": f"light-{n}", "parameters": {"n": n}} for n in range(VARIANTS)]
    (root / "grid.yml").write_text(json.dumps(rows))


STEPS = {"encode": encode, "search": search}
TABLES = {"pipeline": pipeline, "grid": grid}


def main():
    if len(sys.argv) > 1:
        step, size, folder = sys.argv[1:]
        print(json.dumps(STEPS[step](int(size), folder)))
        return
    for table, measured in TABLES.items():
        found = pd.DataFrame(measured())
        # One column a measurement: a phone shows three columns, not eight.
        first = found.columns[0]
        turned = found.set_index(first).T.rename_axis(first).reset_index()
        print(turned.to_string(index=False, float_format="%.3g"))
        place = DOCS / f"scaling_{table}.csv"
        turned.to_csv(place, index=False, float_format="%.3g", lineterminator="\n")


if __name__ == "__main__":
    main()
