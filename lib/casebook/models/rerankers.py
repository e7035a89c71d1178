"""Rerankers: late interaction of token vectors, and cross-encoders.

References
----------
.. [1] Khattab and Zaharia (2020), ColBERT: efficient and effective passage search via
   contextualized late interaction over BERT, SIGIR.
.. [2] Formal, Piwowarski and Clinchant (2021), A white box analysis of ColBERT, ECIR.
"""

from collections import defaultdict

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.models.cache import TokenVectors
from casebook.models.encoders import LocalModel
from casebook.readers import read_json

# Up to here the token vectors of all passages stay in memory (about 500 MB).
MAX_PASSAGES_IN_MEMORY = 4000
# Scores of single-precision products: the rest is noise that would decide ties.
DECIMALS = 6
_CLASSIFIER = "ForSequenceClassification"


def token_frequencies(encoder, texts):
    """Number of texts that hold each token of an encoder."""
    frequencies = np.zeros(encoder.vocabulary_size, dtype=int)
    for ids in encoder.token_ids(texts):
        frequencies[np.unique(ids)] += 1
    return frequencies


class MaxSimReranker:
    """Score documents by the sum of maximal token similarities (MaxSim).

    `texts` is any sequence, of which a large one is read where it is needed; `owner` names the
    document of each passage, `frequencies` counts the passages of each token. A score is half that
    of the best passage, and half that of the whole document. Of a query of more than `query_tokens`
    tokens those of the largest weight are read, the first of equals.
    """

    def __init__(self, encoder, texts, owner, frequencies=None, query_tokens=None):
        self._encoder = encoder
        self._texts = texts
        self._query_tokens = query_tokens or np.inf
        owner = np.asarray(owner)
        self._starts = np.searchsorted(owner, np.arange(owner.max(initial=-1) + 2))
        if frequencies is None:  # else they are known of a corpus on disk
            frequencies = token_frequencies(encoder, texts)
        # By rarity, with the formula of Lucene.
        self._weights = np.log1p((len(texts) - frequencies + 0.5) / (frequencies + 0.5))
        self._vectors = None  # of the tokens of a small collection
        if len(texts) <= MAX_PASSAGES_IN_MEMORY:
            self._vectors = encoder.token_vectors(list(texts))

    def scores(self, queries, candidates):
        """Scores of candidate documents, and the passage that decided each score.

        `candidates` has a row for each query; -1 is no document, and scores -inf.
        """
        candidates = np.asarray(candidates, dtype=np.int64)
        valid = candidates >= 0
        scores = np.where(valid, 0.0, -np.inf)
        passages = np.where(valid, self._starts[np.maximum(candidates, 0)], -1)
        tokens = self._heaviest(self._encoder.token_vectors(list(queries), "query"))
        # Each document once, with all queries that have it as a candidate.
        places = defaultdict(list)
        for row, column in np.argwhere(valid & (tokens.lengths > 0)[:, None]):
            places[candidates[row, column]].append((row, column))
        documents = sorted(places)
        for document, block in zip(documents, self._tokens_of(documents), strict=False):
            rows, columns = np.transpose(places[document])
            score, passage = self._score_document(tokens.take(rows), block)
            scores[rows, columns] = score
            passages[rows, columns] = self._starts[document] + passage
        return scores, passages

    def _heaviest(self, queries):
        query = np.repeat(np.arange(len(queries.lengths)), queries.lengths)
        weights = pd.Series(np.round(self._weights[queries.token_ids], DECIMALS))
        ranks = weights.groupby(query).rank("first", ascending=False)
        keep = ranks.to_numpy() <= self._query_tokens
        lengths = np.minimum(queries.lengths, self._query_tokens).astype(np.int64)
        vectors = queries.vectors[keep].astype(np.float32)
        return TokenVectors(vectors, queries.token_ids[keep], lengths)

    def _tokens_of(self, documents):
        spans = [np.arange(*self._starts[row : row + 2]) for row in documents]
        if self._vectors is not None:
            return map(self._vectors.take, spans)
        texts = [self._texts[passage] for span in spans for passage in span]
        vectors = self._encoder.token_vectors(texts)
        ends = np.cumsum([len(span) for span in spans])
        parts = np.split(np.arange(len(texts)), ends[:-1])
        return map(vectors.take, parts)

    def _score_document(self, queries, block):
        """Scores of one document for several queries, each of at least one token."""
        filled = np.flatnonzero(block.lengths)
        if filled.size == 0:
            return 0.0, 0
        weights = self._weights[queries.token_ids]
        starts = queries.offsets[:-1]
        total = np.add.reduceat(weights, starts)
        similarity = queries.vectors @ block.vectors.T.astype(np.float32)
        best = np.maximum.reduceat(similarity, block.offsets[filled], axis=1)
        by_passage = np.add.reduceat(weights[:, None] * best, starts) / total[:, None]
        by_passage = np.round(by_passage, DECIMALS)
        overall = np.add.reduceat(weights * best.max(axis=1), starts) / total
        score = 0.5 * by_passage.max(axis=1) + 0.5 * overall
        passage = filled[by_passage.argmax(axis=1)]
        return np.round(score, DECIMALS), passage


class PairModel(LocalModel):
    """A classifier of two texts that are read together; ``labels`` are the names of its outputs."""

    kind = "CrossEncoder"
    batch_size = 32

    def __init__(self, name, settings=None):
        super().__init__(name, settings)
        config = read_json(self.folder / "config.json")
        kind = (config.get("architectures") or ["no"])[0]
        if not kind.endswith(_CLASSIFIER):
            raise InputError(
                f"model {self.name!r} is no classifier ({kind} architecture): give a model of "
                f"kind ...{_CLASSIFIER}"
            )
        # What transformers calls them where no name is given.
        names = config.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}
        self.labels = [names[number] for number in sorted(names, key=int)]

    def logits(self, pairs):
        """Logits of pairs of texts, without the activation of the model's settings."""
        import torch

        raw = torch.nn.Identity()
        return self._computed(self._model.predict, pairs, activation_fn=raw).astype(
            np.float64
        )


class CrossEncoderReranker(PairModel):
    def __init__(self, name, texts, settings=None):
        super().__init__(name, settings)
        self._texts = texts
        if len(self.labels) != 1:
            raise InputError(
                f"cross-encoder {self.name!r} gives {len(self.labels)} scores per pair, a reranker "
                "gives 1"
            )

    def scores(self, queries, candidates):
        """Scores of candidate passages (rows of queries, -1 for none, which scores -inf)."""
        candidates = np.asarray(candidates, dtype=np.int64)
        scores = np.full(candidates.shape, -np.inf)
        rows, columns = np.nonzero(candidates >= 0)
        if len(rows):
            passages = [self._texts[passage] for passage in candidates[rows, columns]]
            pairs = list(zip([queries[row] for row in rows], passages, strict=True))
            scores[rows, columns] = np.round(self.logits(pairs), DECIMALS)
        return scores
