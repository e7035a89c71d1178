"""What a new question costs the pipeline: the processor time of its stages, by its length."""

import tempfile

import numpy as np
import pandas as pd

from casebook.models.cache import EmbeddingCache
from casebook.retrieval.pipeline import HybridRetriever

LIMITS = [0, 16, 64, 256, np.inf]  # tokens
BANDS = ["1 to 16", "17 to 64", "65 to 256", "257 and more"]
QUESTIONS_PER_BAND = 25
WARM_UP = "warm up"
PARTS = ["encoding", "search", "reranker"]


class _NewQuestions:
    """Cache that has the vectors of documents, but of no question."""

    def __init__(self, cache, folder):
        self._documents = cache
        self._questions = EmbeddingCache(folder)

    def look_up(self, model_hash, kind, texts, compute):
        cache = self._questions if kind.startswith("query") else self._documents
        return cache.look_up(model_hash, kind, texts, compute)


def time_new_questions(index, queries, per_band=QUESTIONS_PER_BAND, **settings):
    """Ask some questions of each length once, one at a time; give the milliseconds of each.

    Nothing is kept of the questions, while the collection is ready: indexed, and its vectors at
    hand. A row has the length of a question in tokens, its band, and the processor time of
    encoding, search and reranker.
    """
    retriever = HybridRetriever(index, **settings)
    questions = pd.DataFrame({"text": list(dict.fromkeys(queries))})
    questions["tokens"] = index.encoder.count_tokens(questions["text"].tolist())
    questions["band"] = pd.cut(questions["tokens"], LIMITS, labels=BANDS).astype(str)
    chosen = questions.sample(frac=1, random_state=retriever.config.seed)
    chosen = chosen.groupby("band").head(per_band).sort_values("tokens", kind="stable")
    cache = getattr(index.encoder, "cache", None)
    asked = [f"{WARM_UP} {chosen['text'].iloc[-1]}", *chosen["text"]]
    with tempfile.TemporaryDirectory() as folder:
        index.encoder.cache = cache and _NewQuestions(cache, folder)
        costs = [retriever.retrieve_many([text], depth=1).costs for text in asked]
        index.encoder.cache = cache
    times = 1000 * pd.DataFrame(costs[1:], chosen.index).reindex(columns=PARTS)
    times["total"] = times.sum(axis=1)
    return chosen[["tokens", "band"]].join(times.fillna(0.0)).reset_index(drop=True)
