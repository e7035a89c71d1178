"""What a new question costs the pipeline: the processor time of its stages, by its length."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.models.cache import CachedEncoder, EmbeddingCache, EncoderWrapper
from casebook.retrieval.pipeline import HybridRetriever

BANDS = ("1 to 16", "17 to 64", "65 to 256", "257 and more")  # tokens
QUESTIONS_PER_BAND = 25
WARM_UP = "warm up"
PARTS = ("encoding", "search", "reranker")
STAGES = {"encode queries": "encoding", "rerank": "reranker"}  # all others are the search


class NewQuestions(EncoderWrapper):
    """Encoder that has kept vectors of documents, but of no question."""

    def __init__(self, encoder, folder):
        super().__init__(encoder)
        self._of_questions = encoder
        if isinstance(encoder, CachedEncoder):
            self._of_questions = CachedEncoder(encoder.encoder, EmbeddingCache(Path(folder)))

    def encode_queries(self, texts):
        """Encode questions that nothing is kept of yet."""
        return self._of_questions.encode_queries(texts)

    def token_vectors(self, texts, role="document"):
        """Encode the tokens of documents, or of questions that nothing is kept of yet."""
        encoder = self._of_questions if role == "query" else self.encoder
        return encoder.token_vectors(texts, role)


def time_new_questions(index, queries, per_band=QUESTIONS_PER_BAND, **settings):
    """Ask some questions of each length once, one at a time; give the milliseconds of each.

    Nothing is kept of the questions, while the collection is ready: indexed, and its vectors at
    hand. A row has the length of a question in tokens, its band, and the processor time of
    encoding, search and reranker.
    """
    queries = pd.Series(list(dict.fromkeys(queries)))
    tokens = pd.Series(index.encoder().count_tokens(queries.tolist()))
    bands = pd.Series(bands_of(tokens))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        new = index.with_encoder(NewQuestions(index.encoder(), folder))
        retriever = HybridRetriever(new, **settings)
        rng = np.random.default_rng(retriever.config.seed)
        for _, band in bands.groupby(bands, sort=False):
            chosen = rng.permutation(band.index)[:per_band]
            longest = tokens[chosen].idxmax()
            retriever.retrieve(f"{WARM_UP} {queries[longest]}")
            for row in chosen:
                times = _milliseconds(retriever.retrieve_many([queries[row]], depth=1).costs)
                rows.append({"tokens": tokens[row], "band": bands[row], **times})
    frame = pd.DataFrame(rows, columns=["tokens", "band", *PARTS])
    frame["total"] = frame[list(PARTS)].sum(axis=1)
    return frame.sort_values("tokens", kind="stable").reset_index(drop=True)


def bands_of(tokens):
    """Band of each length in tokens."""
    return np.array(BANDS)[np.searchsorted([16, 64, 256], tokens)].tolist()


def _milliseconds(costs):
    """Times of one question in three parts; building what is missing is left out."""
    times = 1000 * costs["cpu_s"].drop("index")
    of_part = times.groupby(lambda stage: STAGES.get(stage, "search")).sum()
    return of_part.reindex(PARTS, fill_value=0.0).to_dict()
