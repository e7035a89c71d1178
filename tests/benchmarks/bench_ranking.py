"""Evaluation against pytrec_eval and ranx: CPU time, memory, growth, start-up.

Every timed call yields the values of each query. Garbage collection stays on, as in
any program, but every call starts from a collected heap. Both sides take turns, so
that what else the machine does slows both.
"""

import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytrec_eval
import ranx
from measuring import cpu_seconds, cpu_seconds_in_turns, row

from casebook.measures.ranking import evaluate
from casebook.trec import read_qrels, read_run

DEPTH, JUDGED, POOL = 100, 10, 50_000
MEASURES = ["nDCG@10", "RR@10", "R@100", "AP"]
PYTREC = {"ndcg_cut.10", "recip_rank", "recall.100", "map"}
RANX = ["ndcg@10", "mrr@10", "recall@100", "map"]
REPEATS = 5


def rows():
    """Measure every benchmark of this file.

    For growth the columns hold the large and the small collection; for memory, megabytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = write_collection(Path(folder), 10_000)
        tables = read_qrels(files[0]), read_run(files[1])
        mixed_files = files[0], shuffled_lines(files[1])
        mixed_tables = tables[0], shuffled(tables[1])
        frames = (
            frame_of(tables[0], "relevance"),
            frame_of(tables[1], "score").sample(frac=1, random_state=0),
        )
        table = [
            against_pytrec_eval("evaluate dicts", tables, pytrec_values),
            against_pytrec_eval("evaluate dicts, unsorted", mixed_tables, pytrec_values),
            against_pytrec_eval("evaluate DataFrames, unsorted", frames, pytrec_values_of_frames),
            against_pytrec_eval("evaluate files", files, pytrec_values_of_files),
            against_pytrec_eval("evaluate files, unsorted", mixed_files, pytrec_values_of_files),
            against_ranx(*tables),
            memory_against_pytrec_eval(files),
        ]
    return [*table, growth(10_000), growth(100_000), start_up()]


def against_pytrec_eval(name, inputs, peer):
    (ours, values), (theirs, expected) = cpu_seconds_in_turns(
        lambda: evaluate(*inputs, MEASURES).per_query, lambda: peer(*inputs), REPEATS
    )
    for query, wanted in expected.items():
        for one, other in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
            assert abs(values[query][one] - wanted[other]) < 1e-12
    return row(name, "pytrec_eval", ours, theirs, 2.5)


def against_ranx(qrels, run):
    """Evaluate dictionaries; ranx is compiled beforehand and builds its own tables."""
    small = {query: qrels[query] for query in list(qrels)[:20]}
    ranx_values(small, {query: run[query] for query in small})
    ours, _ = cpu_seconds(lambda: evaluate(qrels, run, MEASURES).per_query)
    theirs, _ = cpu_seconds(lambda: ranx_values(qrels, run))
    return row("evaluate dicts", "ranx, compiled", ours, theirs, 8.0)


def memory_against_pytrec_eval(files):
    ours = (
        "from casebook.measures.ranking import evaluate",
        f"evaluate(*files, {MEASURES}).per_query",
    )
    peer = f"p.RelevanceEvaluator(p.parse_qrel(open(files[0])), {PYTREC}).evaluate(p.parse_run(open(files[1])))"
    megabytes = (peak_megabytes(*side, files) for side in (ours, ("import pytrec_eval as p", peer)))
    return row("peak memory, files", "pytrec_eval", *megabytes, 1.0, "MB above imports, not s")


def growth(n_queries):
    """Compare the time per query with that of a collection a tenth the size.

    The work is linear; beyond the processor's caches each number of a dictionary
    costs a memory access, so that the time per query may at most double.
    """
    small, large = (cpu_seconds_of_size(size) for size in (n_queries // 10, n_queries))
    name, note = (
        f"growth to {n_queries:,} queries, dicts",
        "ratio: time per query, small over large",
    )
    result = row(name, f"itself at {n_queries // 10:,}", large, 10 * small, 0.5, note)
    return result | {"peer_cpu_s": small}


def start_up():
    code = "import time, casebook.measures.ranking; print(time.process_time())"
    seconds = statistics.median(float(run_python(code)) for _ in range(REPEATS))
    return row(
        "import casebook.measures.ranking", "0.7 s allowed", seconds, 0.7, 1.0, "whole process"
    )


def ranx_values(qrels, run):
    scored = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(qrels), scored, RANX, return_mean=False)
    return scored.scores


def parsed(kind, path):
    with Path(path).open() as stream:
        return (pytrec_eval.parse_qrel, pytrec_eval.parse_run)[kind](stream)


def pytrec_values(qrels, run):
    return pytrec_eval.RelevanceEvaluator(qrels, PYTREC).evaluate(run)


def pytrec_values_of_files(qrels, run):
    return pytrec_values(parsed(0, qrels), parsed(1, run))


def pytrec_values_of_frames(qrels, run):
    """Make dictionaries of frames, which pytrec_eval does not take, and evaluate them."""
    return pytrec_values(nested(qrels, "relevance"), nested(run, "score"))


def nested(frame, value):
    table = {}
    for query, document, number in zip(
        *(frame[name].tolist() for name in ("query_id", "doc_id", value)), strict=True
    ):
        table.setdefault(query, {})[document] = number
    return table


def frame_of(table, value):
    rows = [
        (query, document, number)
        for query, row in table.items()
        for document, number in row.items()
    ]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", value])


def shuffled(run, seed=0):
    rng = random.Random(seed)
    return {query: dict(rng.sample(list(row.items()), len(row))) for query, row in run.items()}


def shuffled_lines(path, seed=0):
    lines = path.read_text().splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    target = path.with_name(f"mixed_{path.name}")
    target.write_text("".join(lines))
    return target


def make_collection(n_queries, seed=0):
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


def cpu_seconds_of_size(n_queries):
    qrels, run = make_collection(n_queries)
    return cpu_seconds(lambda: evaluate(qrels, run, MEASURES))[0]


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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout
