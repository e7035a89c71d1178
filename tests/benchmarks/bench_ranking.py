"""Evaluation against pytrec_eval and ranx; every timed call yields the values of each query."""

import tempfile
from pathlib import Path

import numpy as np
import pytrec_eval
import ranx
from measuring import cpu_seconds, row

from casebook.measures.ranking import evaluate
from casebook.trec import read_qrels, read_run

DEPTH, JUDGED, POOL = 100, 10, 50_000
MEASURES = ["nDCG@10", "RR@10", "R@100", "AP"]
PYTREC = {"ndcg_cut.10", "recip_rank", "recall.100", "map"}
RANX = ["ndcg@10", "mrr@10", "recall@100", "map"]


def rows():
    """Measure every benchmark of this file."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_collection(Path(folder), 10_000)
        tables = read_qrels(files[0]), read_run(files[1])
        return [dicts_against_pytrec_eval(tables), dicts_against_ranx(tables), files_against_pytrec_eval(files)]


def dicts_against_pytrec_eval(tables):
    """Evaluate dictionaries of dictionaries."""
    qrels, run = tables
    ours, found = cpu_seconds(lambda: evaluate(qrels, run, MEASURES).per_query, repeats=5)
    theirs, expected = cpu_seconds(lambda: pytrec_eval.RelevanceEvaluator(qrels, PYTREC).evaluate(run), repeats=5)
    assert_equal(found, expected)
    return row("evaluate dicts", "pytrec_eval", ours, theirs, 2.0)


def dicts_against_ranx(tables):
    """Evaluate dictionaries; ranx is compiled beforehand and builds its own tables."""
    qrels, run = tables
    small = {query: qrels[query] for query in list(qrels)[:20]}
    ranx_values(small, {query: run[query] for query in small})
    ours, _ = cpu_seconds(lambda: evaluate(qrels, run, MEASURES).per_query)
    return row("evaluate dicts", "ranx, compiled", ours, cpu_seconds(lambda: ranx_values(qrels, run))[0], 8.0)


def files_against_pytrec_eval(files):
    """Read and evaluate TREC files."""
    ours, found = cpu_seconds(lambda: evaluate(*files, MEASURES).per_query)
    theirs, expected = cpu_seconds(lambda: pytrec_values(*files))
    assert_equal(found, expected)
    note = f"{Path(files[1]).stat().st_size / 1e6:.0f} MB run, six decimals"
    return row("evaluate files", "pytrec_eval", ours, theirs, 2.5, note)


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


def assert_equal(values, expected):
    """Check nDCG@10 and AP of every query against the peer."""
    for query, row_expected in expected.items():
        assert abs(values[query]["AP"] - row_expected["map"]) < 1e-12
        assert abs(values[query]["nDCG@10"] - row_expected["ndcg_cut_10"]) < 1e-12


if __name__ == "__main__":
    for result in rows():
        print(result)
