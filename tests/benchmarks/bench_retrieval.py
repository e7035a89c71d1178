"""Fusion against ranx, marginal relevance against langchain_core, new questions against limits.

Both sides start from their own prepared structures (ranked arrays here, ``Run`` objects
for ranx, a list of vectors for langchain_core), warm, in one thread and one process.
"""

import tempfile

import numpy as np
import ranx
from langchain_core.vectorstores import utils as langchain
from measuring import cpu_seconds, limit_row, row

from casebook.data import load
from casebook.models.cache import CachedEncoder, EmbeddingCache
from casebook.models.encoders import load_encoder
from casebook.retrieval.fuse import maximal_marginal_relevance, reciprocal_rank_fusion
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.ranked import RankedLists

DEPTH = 100
RRF_K = 20


def rows():
    return [fusion(1_000), fusion(10_000), marginal_relevance(), *new_questions()]


def fusion(n_queries):
    rng = np.random.default_rng(1)
    pool = np.argsort(rng.random((n_queries, 150)), axis=1)
    ids = (pool[:, :DEPTH], rng.permuted(pool, axis=1)[:, :DEPTH])
    lists = [RankedLists(i, -np.sort(-rng.random((n_queries, DEPTH)), axis=1)) for i in ids]
    runs = [ranx_run(each, name) for each, name in zip(lists, "ab", strict=True)]

    def peer():
        return ranx.fuse(runs, norm=None, method="rrf", params={"k": RRF_K})

    peer()  # compiles
    seconds, (fused, expected) = cpu_seconds(lambda: reciprocal_rank_fusion(lists, RRF_K), peer)
    for query in range(0, n_queries, n_queries // 100):
        theirs = expected[f"q{query:06d}"]
        best = [theirs[str(number)] for number in fused.ids[query, :10]]
        assert np.allclose(best, fused.scores[query, :10]), "scores differ"
        assert np.allclose(best, sorted(theirs.values())[:-11:-1]), "top 10 differs"
    name = f"reciprocal rank fusion, 2 x 100, {n_queries:,} queries"
    return row(name, "ranx", *seconds, 6, "same top 10 scores")


def ranx_run(lists, name):
    run = {
        f"q{row:06d}": dict(zip(map(str, ids.tolist()), scores.tolist(), strict=True))
        for row, (ids, scores) in enumerate(zip(lists.ids, lists.scores, strict=True))
    }
    return ranx.Run(run, name=name)


def marginal_relevance():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(1000, 1, 384))
    vectors = (centre + 1.5 * rng.normal(size=(1000, DEPTH, 384))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    queries = (centre[:, 0] + rng.normal(size=(1000, 384))).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    pools = list(zip(queries, [list(vector) for vector in vectors], strict=True))

    def select():
        relevance = np.matmul(vectors, queries[:, :, None])[:, :, 0]
        return maximal_marginal_relevance(relevance, vectors, lambda_=0.7, k=10)[0]

    def peer():
        choose = langchain.maximal_marginal_relevance
        return [choose(query, pool, lambda_mult=0.7, k=10) for query, pool in pools]

    seconds, (order, expected) = cpu_seconds(select, peer)
    assert (order == np.array(expected)).all(), "selections differ"
    name = "marginal relevance, 10 of 100 x 384, 1,000 queries"
    return row(name, "langchain_core", *seconds, 8, "identical selections")


def new_questions():
    data = load("insurance")
    words = " ".join(data.queries["text"]).split()
    with tempfile.TemporaryDirectory() as folder:
        encoder = CachedEncoder(load_encoder(cache=False), EmbeddingCache(folder))
        retriever = HybridRetriever(CorpusIndex(data.documents, encoder))
        retriever.retrieve("warm up")
        for count, limit in ((10, 0.08), (400, 0.25)):
            starts = range(0, len(words) - count, len(words) // 20)
            questions = [" ".join(words[start : start + count]) for start in starts]
            results = [retriever.retrieve_many([question], depth=1) for question in questions]
            seconds = np.median([result.costs.sum() for result in results])
            n = len(retriever.index)
            name = f"a new question of {count} words, full pipeline, {n} documents"
            note = f"encoded once; the limit is {1000 * limit:.0f} milliseconds"
            yield limit_row(name, seconds, limit, note)
