"""Evaluation against pytrec_eval: CPU time, memory, growth, start-up.

Every timed call yields the values of each query. For growth the columns hold the large and the
small collection; for memory, megabytes.
"""

import random
import tempfile
from pathlib import Path

import numpy as np
import pytrec_eval
from measuring import cpu_seconds, own_seconds, row, run_python

from casebook.measures.ranking import evaluate
from casebook.trec import read_qrels, read_run

DEPTH, JUDGED, POOL = 100, 10, 50_000
MEASURES = ["nDCG@10", "RR@10", "R@100", "AP"]
PYTREC = {"ndcg_cut.10", "recip_rank", "recall.100", "map"}
OURS = f"""
from casebook.measures.ranking import evaluate
def call(qrels, run):
    return evaluate(qrels, run, {MEASURES}).per_query
"""
PEER = f"""
import pytrec_eval as p
def call(qrels, run):
    peer = p.RelevanceEvaluator(p.parse_qrel(open(qrels)), {PYTREC})
    return peer.evaluate(p.parse_run(open(run)))
"""
# Linux keeps ru_maxrss over exec, so a child of a large process would report its parent; VmHWM
# starts afresh.
PEAK = """
import re
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak()
values = call({!r}, {!r})
print((peak() - before) / 1024)
"""
START = "import time, casebook.measures.ranking; print(time.process_time())"


def rows():
    qrels, run = make_collection(10_000)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("qrels.txt", "run.txt", "mixed_run.txt")]
        lines = [f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items()]
        files[0].write_text("".join(lines))
        lines = [
            f"{q} Q0 {d} 0 {s:.6f} bench\n" for q, found in run.items() for d, s in found.items()
        ]
        files[1].write_text("".join(lines))
        random.Random(0).shuffle(lines)
        files[2].write_text("".join(lines))
        tables = read_qrels(files[0]), read_run(files[1])
        mixed = read_run(files[2])
        yield compared("evaluate dicts", tables, 2.5)
        yield compared("evaluate dicts, unsorted", (tables[0], mixed), 2.5)
        yield compared("evaluate files", files[:2], 0.4, parsed)
        yield compared("evaluate files, unsorted", files[::2], 0.4, parsed)
        paths = [str(path) for path in files[:2]]
        sizes = [run_python(code + PEAK.format(*paths)) for code in (OURS, PEER)]
        yield row("peak memory, files", "pytrec_eval", *sizes, 1, "MB above imports, not s")
    # The work is linear; beyond the processor's caches each number of a dictionary costs a memory
    # access, so that the time per query may at most double.
    times = {}
    for size in (1_000, 10_000, 100_000):
        made = make_collection(size)
        times[size] = own_seconds(lambda made=made: evaluate(*made, MEASURES))
    for size in (10_000, 100_000):
        note = "ratio: time per query, small over large"
        small = times[size // 10]
        name = f"growth to {size:,} queries, dicts"
        grown = row(name, f"itself at {size // 10:,}", times[size], 10 * small, 0.5, note)
        yield grown | {"peer_cpu_s": small}
    seconds = np.median([run_python(START) for _ in range(5)])
    name = "import casebook.measures.ranking"
    yield row(name, "0.7 s allowed", seconds, 0.7, 1, "whole process")


def compared(name, inputs, bar, as_dicts=lambda *tables: tables):
    def peer():
        qrels, run = as_dicts(*inputs)
        return pytrec_eval.RelevanceEvaluator(qrels, PYTREC).evaluate(run)

    ours = lambda: evaluate(*inputs, MEASURES).per_query  # noqa: E731
    seconds, (values, expected) = cpu_seconds(ours, peer, repeats=5)
    for query, wanted in expected.items():
        for one, other in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
            assert abs(values[query][one] - wanted[other]) < 1e-12
    return row(name, "pytrec_eval", *seconds, bar)


def parsed(qrels, run):
    with qrels.open() as judged, run.open() as found:
        return pytrec_eval.parse_qrel(judged), pytrec_eval.parse_run(found)


def make_collection(n_queries):
    rng = np.random.default_rng(0)
    names = np.array([f"doc{i:06d}" for i in range(POOL)], dtype=object)
    qrels, run = {}, {}
    for query in (f"q{i:06d}" for i in range(n_queries)):
        ids = names[rng.choice(POOL, DEPTH + JUDGED // 2, replace=False)]
        scores = np.sort(rng.random(DEPTH) * 20)[::-1].round(6)
        run[query] = dict(zip(ids[:DEPTH], scores.tolist(), strict=True))
        found = rng.choice(DEPTH, JUDGED - JUDGED // 2, replace=False)
        grades = rng.integers(0, 4, JUDGED).tolist()
        qrels[query] = dict(zip([*ids[found], *ids[DEPTH:]], grades, strict=True))
    return qrels, run
