"""What a new question costs the pipeline: the processor time of its stages, by its length."""

import contextlib
import tempfile

import numpy as np
import pandas as pd

from casebook.models.cache import EmbeddingCache
from casebook.retrieval.pipeline import HybridRetriever

BANDS = ("1 to 16", "17 to 64", "65 to 256", "257 and more")  # tokens
QUESTIONS_PER_BAND = 25
WARM_UP = "warm up"
PARTS = ("encoding", "search", "reranker")
STAGES = {"encode queries": "encoding", "rerank": "reranker"}  # all others are the search


class _NewQuestions:
    """Cache that has the vectors of documents, but of no question."""

    def __init__(self, cache, folder):
        self._documents = cache
        self._questions = EmbeddingCache(folder)

    def look_up(self, model_hash, kind, texts, compute):
        cache = self._questions if kind.startswith("query") else self._documents
        return cache.look_up(model_hash, kind, texts, compute)


@contextlib.contextmanager
def _nothing_kept(encoder):
    """Let an encoder that keeps vectors forget those of questions."""
    cache = getattr(encoder, "cache", None)
    with tempfile.TemporaryDirectory() as folder:
        try:
            encoder.cache = cache and _NewQuestions(cache, folder)
            yield
        finally:
            encoder.cache = cache


def time_new_questions(index, queries, per_band=QUESTIONS_PER_BAND, **settings):
    """Ask some questions of each length once, one at a time; give the milliseconds of each.

    Nothing is kept of the questions, while the collection is ready: indexed, and its vectors at
    hand. A row has the length of a question in tokens, its band, and the processor time of
    encoding, search and reranker.
    """
    retriever = HybridRetriever(index, **settings)
    questions = pd.DataFrame({"text": list(dict.fromkeys(queries))})
    questions["tokens"] = index.encoder().count_tokens(questions["text"].tolist())
    limits = [0, 16, 64, 256, np.inf]
    questions["band"] = pd.cut(questions["tokens"], limits, labels=BANDS).astype(str)
    chosen = questions.sample(frac=1, random_state=retriever.config.seed)
    chosen = chosen.groupby("band").head(per_band).sort_values("tokens", kind="stable")
    rows = []
    with _nothing_kept(index.encoder()):
        retriever.retrieve(f"{WARM_UP} {chosen['text'].iloc[-1]}")
        for text in chosen["text"]:
            costs = retriever.retrieve_many([text], depth=1).costs["cpu_s"].drop("index")
            rows.append(costs.groupby(lambda stage: STAGES.get(stage, "search")).sum())
    times = 1000 * pd.DataFrame(rows, chosen.index, PARTS).fillna(0.0)
    times["total"] = times.sum(axis=1)
    return chosen[["tokens", "band"]].join(times).reset_index(drop=True)
