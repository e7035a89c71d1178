"""Evaluation against pytrec_eval and ranx: CPU time, memory, growth, start-up.

Every timed call yields the values of each query. Garbage collection stays on, as in
any program, but every call starts from a collected heap.
"""

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytrec_eval
import ranx
from measuring import row

from casebook.measures.ranking import evaluate
from casebook.trec import read_qrels, read_run

DEPTH, JUDGED, POOL = 100, 10, 50_000
MEASURES = ["nDCG@10", "RR@10", "R@100", "AP"]
PYTREC = {"ndcg_cut.10", "recip_rank", "recall.100", "map"}
RANX = ["ndcg@10", "mrr@10", "recall@100", "map"]
REPEATS = 5


def rows():
    """Measure every benchmark of this file.

    Returns
    -------
    list of dict
        ``benchmark``, ``peer``, ``ours_cpu_s``, ``peer_cpu_s``, ``ratio`` (peer over
        ours), ``bar`` (least ratio), ``passed`` and ``note``. For growth the columns
        hold the small and the large collection; for memory, megabytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = write_collection(Path(folder), 10_000)
        tables = read_qrels(files[0]), read_run(files[1])
        table = [
            dicts_against_pytrec_eval(tables),
            dicts_against_ranx(tables),
            files_against_pytrec_eval(files),
            memory_against_pytrec_eval(files),
        ]
    return [*table, growth(10_000), growth(100_000), start_up()]


def dicts_against_pytrec_eval(tables):
    """Evaluate dictionaries of dictionaries."""
    qrels, run = tables
    seconds, values = cpu_seconds(
        lambda: evaluate(qrels, run, MEASURES).per_query,
        lambda: pytrec_eval.RelevanceEvaluator(qrels, PYTREC).evaluate(run),
    )
    assert_equal(*values)
    return row("evaluate dicts", "pytrec_eval", *seconds, 2.5)


def dicts_against_ranx(tables):
    """Evaluate dictionaries; ranx is compiled beforehand and builds its own tables."""
    qrels, run = tables
    small = {query: qrels[query] for query in list(qrels)[:20]}
    ranx_values(small, {query: run[query] for query in small})
    seconds, _ = cpu_seconds(
        lambda: evaluate(qrels, run, MEASURES).per_query, lambda: ranx_values(qrels, run), repeats=3
    )
    return row("evaluate dicts", "ranx, compiled", *seconds, 8.0)


def files_against_pytrec_eval(files):
    """Read and evaluate TREC files."""
    seconds, values = cpu_seconds(lambda: evaluate(*files, MEASURES).per_query, lambda: pytrec_values(*files))
    assert_equal(*values)
    note = f"{Path(files[1]).stat().st_size / 1e6:.0f} MB run, six decimals"
    return row("evaluate files", "pytrec_eval", *seconds, 2.5, note)


def memory_against_pytrec_eval(files):
    """Compare peak resident memory above the imports, each side in its own process."""
    ours = peak_megabytes(
        "from casebook.measures.ranking import evaluate", f"evaluate(*files, {MEASURES}).per_query", files
    )
    peer = peak_megabytes(
        "import pytrec_eval as p",
        f"p.RelevanceEvaluator(p.parse_qrel(open(files[0])), {PYTREC}).evaluate(p.parse_run(open(files[1])))",
        files,
    )
    return row("peak memory, files", "pytrec_eval", ours, peer, 1.0, "MB above imports, not s")


def growth(n_queries):
    """Compare the time per query with that of a collection a tenth the size.

    The work is linear; beyond the processor's caches each number of a dictionary
    costs a memory access, so that the time per query may at most double.
    """
    small = cpu_seconds_of_size(n_queries // 10)
    large = cpu_seconds_of_size(n_queries)
    result = row(
        f"growth to {n_queries:,} queries, dicts",
        f"itself at {n_queries // 10:,}",
        large,
        small,
        0.5,
        "ratio: time per query, small over large",
    )
    result["ratio"] = round(10 * small / large, 2)
    result["passed"] = result["ratio"] >= result["bar"]
    return result


def start_up():
    """Import the module in a fresh process; the bar is 0.7 CPU seconds."""
    code = "import time, casebook.measures.ranking; print(time.process_time())"
    seconds = statistics.median(float(run_python(code)) for _ in range(REPEATS))
    return row(
        "import casebook.measures.ranking", "0.7 s allowed", seconds, 0.7, 1.0,
        "whole process",
    )  # fmt: skip


def ranx_values(qrels, run):
    """Build ranx's tables and evaluate them, query by query."""
    scored = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(qrels), scored, RANX, return_mean=False)
    return scored.scores


def pytrec_values(qrels_path, run_path):
    """Parse TREC files and evaluate them with pytrec_eval, query by query."""
    with Path(qrels_path).open() as stream:
        qrels = pytrec_eval.parse_qrel(stream)
    with Path(run_path).open() as stream:
        run = pytrec_eval.parse_run(stream)
    return pytrec_eval.RelevanceEvaluator(qrels, PYTREC).evaluate(run)


def make_collection(n_queries, seed=0):
    """Give judgements and a run, half of the judged documents retrieved."""
    rng = np.random.default_rng(seed)
    names = np.array([f"doc{i:06d}" for i in range(POOL)], dtype=object)
    qrels, run = {}, {}
    for query in (f"q{i:06d}" for i in range(n_queries)):
        ids = names[rng.choice(POOL, DEPTH + JUDGED // 2, replace=False)]
        scores = np.sort(rng.random(DEPTH) * 20)[::-1].round(6)
        run[query] = dict(zip(ids[:DEPTH], scores.tolist(), strict=True))
        found = rng.choice(DEPTH, JUDGED - JUDGED // 2, replace=False)
        judged = [*ids[found], *ids[DEPTH:]]
        grades = rng.integers(0, 4, JUDGED).tolist()
        qrels[query] = dict(zip(judged, grades, strict=True))
    return qrels, run


def write_collection(folder, n_queries):
    """Write a collection as TREC files with scores of six decimals."""
    qrels, run = make_collection(n_queries)
    paths = folder / "qrels.txt", folder / "run.txt"
    with paths[0].open("w") as stream:
        for query, grades in qrels.items():
            stream.writelines(f"{query} 0 {d} {g}\n" for d, g in grades.items())
    with paths[1].open("w") as stream:
        for query, scores in run.items():
            stream.writelines(
                f"{query} Q0 {document} {rank} {score:.6f} bench\n"
                for rank, (document, score) in enumerate(scores.items(), 1)
            )
    return paths


def cpu_seconds(*functions, repeats=REPEATS):
    """Give the median CPU seconds and the last result of each call, taken in turns."""
    times, results = [[] for _ in functions], [None] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            results[i] = None
            gc.collect()
            start = time.process_time()
            results[i] = function()
            times[i].append(time.process_time() - start)
    return [statistics.median(each) for each in times], results


def cpu_seconds_of_size(n_queries):
    """Time the evaluation of dictionaries of one size."""
    qrels, run = make_collection(n_queries)
    seconds, _ = cpu_seconds(lambda: evaluate(qrels, run, MEASURES), repeats=3)
    return seconds[0]


def peak_megabytes(imports, call, files):
    """Give by how much a call raises the peak memory of a fresh process.

    Linux keeps ``ru_maxrss`` over exec, so a child of a large process would report its
    parent; ``VmHWM`` starts afresh.
    """
    code = f"""
import re
{imports}
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
files = {[str(path) for path in files]!r}
before = peak()
values = {call}
print((peak() - before) / 1024)
"""
    return float(run_python(code))


def run_python(code):
    """Run code in a fresh interpreter and give what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def assert_equal(values, expected):
    """Check nDCG@10 and AP of every query against the peer."""
    for query, row_expected in expected.items():
        assert abs(values[query]["AP"] - row_expected["map"]) < 1e-12
        assert abs(values[query]["nDCG@10"] - row_expected["ndcg_cut_10"]) < 1e-12


if __name__ == "__main__":
    for result in rows():
        print(result)
