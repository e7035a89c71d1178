"""Rerankers: late interaction of token vectors, and cross-encoders.

References
----------
.. [1] Khattab and Zaharia (2020), ColBERT: efficient and effective passage search via
   contextualized late interaction over BERT, SIGIR.
.. [2] Formal, Piwowarski and Clinchant (2021), A white box analysis of ColBERT, ECIR.
"""

import os
from dataclasses import replace
from functools import cached_property
from time import perf_counter

import numpy as np

from casebook.errors import InputError
from casebook.models.cache import TokenVectors
from casebook.models.device import model_settings
from casebook.models.encoders import locate_model, model_fingerprint, torch_library, wants_progress

# Up to here the token vectors of all passages stay in memory (about 500 MB).
MAX_PASSAGES_IN_MEMORY = 4000
# Scores of single-precision products: the rest is noise that would decide ties.
DECIMALS = 6
BATCH_SIZE = 32


def token_frequencies(encoder, texts):
    """Count the texts that hold each token of an encoder."""
    frequencies = np.zeros(encoder.vocabulary_size, dtype=int)
    for ids in encoder.token_ids(texts):
        frequencies[np.unique(ids)] += 1
    return frequencies


class MaxSimReranker:
    """Score documents by the sum of maximal token similarities (MaxSim).

    `texts` is any sequence, of which a large one is read where it is needed; `owner` names the
    document of each passage. A score is that of the best passage, and with weight
    `document_weight` that of the whole document. Of a query of more than `query_tokens` tokens
    those of the largest weight are read, the first of equals. `frequencies` counts the passages of
    each token of the encoder, if that has been done.
    """

    def __init__(
        self,
        encoder,
        texts,
        owner=None,
        weighting="idf",
        document_weight=0.5,
        query_tokens=None,
        frequencies=None,
    ):
        self._encoder = encoder
        self._texts = texts
        self._frequencies = frequencies
        owner = np.arange(len(self._texts)) if owner is None else np.asarray(owner)
        self._starts = np.searchsorted(owner, np.arange(owner.max(initial=-1) + 2))
        self._weighting = weighting
        self._document_weight = document_weight
        self._query_tokens = query_tokens

    @cached_property
    def _weights(self):
        """Weight of every vocabulary id by its rarity, with the formula of Lucene."""
        if self._weighting == "mean":
            return np.ones(self._encoder.vocabulary_size)
        frequencies = self._frequencies
        if frequencies is None:
            frequencies = token_frequencies(self._encoder, self._texts)
        n_texts = len(self._texts)
        return np.log1p((n_texts - frequencies + 0.5) / (frequencies + 0.5))

    @cached_property
    def _all_vectors(self):
        """Token vectors of a small collection; None for a large one."""
        if len(self._texts) > MAX_PASSAGES_IN_MEMORY:
            return None
        return self._encoder.token_vectors(list(self._texts))

    def prepare(self):
        """Encode a small collection now, so that its pooled vectors come for free."""
        return self._all_vectors is not None

    def scores(self, queries, candidates):
        """Score candidate documents, and name the passage that decided each score.

        `candidates` has a row for each query; -1 stands for no document, and scores -inf.
        """
        candidates = np.asarray(candidates, dtype=np.int64)
        valid = candidates >= 0
        scores = np.where(valid, 0.0, -np.inf)
        passages = np.where(valid, self._starts[np.maximum(candidates, 0)], -1)
        tokens = self._heaviest(self._encoder.token_vectors(list(queries), "query"))
        # Once here instead of once for every document that a query is scored with.
        tokens = replace(tokens, vectors=tokens.vectors.astype(np.float32))
        # Each document once, with all queries that have it as a candidate.
        pairs = np.argwhere(valid & (tokens.lengths > 0)[:, None])
        documents = candidates[tuple(pairs.T)]
        order = np.argsort(documents, kind="stable")
        distinct, starts = np.unique(documents[order], return_index=True)
        groups = np.split(pairs[order], starts[1:]) if len(pairs) else []
        blocks = self._document_tokens(distinct)
        for document, group, block in zip(distinct, groups, blocks, strict=True):
            rows, columns = group.T
            score, passage = self._score_document(tokens.take(rows), block)
            scores[rows, columns] = score
            passages[rows, columns] = self._starts[document] + passage
        return scores, passages

    def _heaviest(self, queries):
        """Keep of each query the tokens that are read."""
        limit = self._query_tokens
        if limit is None or queries.lengths.max(initial=0) <= limit:
            return queries
        query = np.repeat(np.arange(len(queries)), queries.lengths)
        order = np.lexsort((-np.round(self._weights[queries.token_ids], DECIMALS), query))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - queries.offsets[query[order]]
        keep = rank < limit
        return TokenVectors(
            queries.vectors[keep], queries.token_ids[keep], np.minimum(queries.lengths, limit)
        )

    def _document_tokens(self, documents):
        """Token vectors of each document's passages, one after the other."""
        spans = [np.arange(self._starts[row], self._starts[row + 1]) for row in documents]
        vectors = self._all_vectors
        if vectors is None and spans:
            needed = np.concatenate(spans)
            ends = np.cumsum([len(span) for span in spans])
            vectors = self._encoder.token_vectors([self._texts[row] for row in needed])
            spans = np.split(np.arange(len(needed)), ends[:-1])
        return (vectors.take(span) for span in spans)

    def _score_document(self, queries, block):
        """Score one document for several queries, each of at least one token."""
        filled = np.flatnonzero(block.lengths)
        if filled.size == 0:
            return 0.0, 0
        weights = self._weights[queries.token_ids]
        starts = queries.offsets[:-1]
        similarity = queries.vectors @ block.vectors.T.astype(np.float32)
        best = np.maximum.reduceat(similarity, block.offsets[filled], axis=1)
        total = np.add.reduceat(weights, starts)
        by_passage = np.add.reduceat(weights[:, None] * best, starts) / total[:, None]
        overall = np.add.reduceat(weights * best.max(axis=1), starts) / total
        by_passage = np.round(by_passage, DECIMALS)
        passage = by_passage.argmax(axis=1)
        top = by_passage[np.arange(len(passage)), passage]
        score = (1 - self._document_weight) * top + self._document_weight * overall
        return np.round(score, DECIMALS), filled[passage]


class RememberedScores:
    """Reranker that scores each pair of query and document once, for queries that come again."""

    def __init__(self, reranker):
        self._reranker = reranker
        self._results = {}  # by query: {document: (score, passage)}

    def scores(self, queries, candidates):
        """Score candidate documents of every query."""
        candidates = np.asarray(candidates, dtype=np.int64)
        self._score_new(queries, candidates)
        pairs = []
        for query, documents in zip(queries, candidates.tolist(), strict=True):
            results = self._results[query]
            pairs.append([results[document] for document in documents])
        values = np.array(pairs, dtype=float).reshape(*candidates.shape, 2)
        return values[..., 0], values[..., 1].astype(np.int64)

    def _score_new(self, queries, candidates):
        """Score the pairs that have no score yet, in one call."""
        new = candidates.copy()
        for row, query in enumerate(queries):
            results = self._results.setdefault(query, {-1: (-np.inf, -1)})
            new[row, [document in results for document in candidates[row].tolist()]] = -1
        rows = np.flatnonzero((new >= 0).any(axis=1))
        if not len(rows):  # queries without anything new are not encoded
            return
        scores, passages = self._reranker.scores([queries[row] for row in rows], new[rows])
        for position, row in enumerate(rows):
            values = zip(scores[position].tolist(), passages[position].tolist(), strict=True)
            results = self._results[queries[row]]
            results.update(zip(new[row].tolist(), values, strict=True))


class PairModel:
    """A model on disk that reads two texts together; torch is imported when it first scores."""

    def __init__(self, name, settings=None):
        self.name = os.fspath(name)
        self.settings = settings or model_settings()
        self.folder = locate_model(name)
        self.model_hash = self.settings.hash_of(model_fingerprint(self.folder))
        self.seconds_of_loading = 0.0

    @cached_property
    def _model(self):
        start = perf_counter()
        library = torch_library()
        model = library.CrossEncoder(
            str(self.folder),
            device="cpu",
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
        model = self.settings.place(model)
        self.seconds_of_loading = perf_counter() - start
        return model

    def logits(self, pairs):
        """Logits of pairs of texts, without the activation of the model's settings."""
        import torch

        batch_size = self.settings.batch_size or BATCH_SIZE
        with self.settings.memory_for(batch_size):
            logits = self._model.predict(
                pairs,
                batch_size=batch_size,
                activation_fn=torch.nn.Identity(),
                show_progress_bar=wants_progress(len(pairs)),
            )
        return logits.astype(np.float64)


class CrossEncoderReranker(PairModel):
    """Score query and passage pairs by a cross-encoder's logit."""

    def __init__(self, name, texts, settings=None):
        super().__init__(name, settings)
        self._texts = texts

    def scores(self, queries, candidates):
        """Scores of candidate passages (rows of queries, -1 for none, which scores -inf)."""
        candidates = np.asarray(candidates, dtype=np.int64)
        scores = np.full(candidates.shape, -np.inf)
        rows, columns = np.nonzero(candidates >= 0)
        if not len(rows):
            return scores
        n_labels = self._model.num_labels
        if n_labels != 1:
            raise InputError(
                f"cross-encoder {self.name!r} gives {n_labels} scores per pair, a reranker gives 1"
            )
        passages = [self._texts[passage] for passage in candidates[rows, columns]]
        pairs = list(zip([queries[row] for row in rows], passages, strict=True))
        scores[rows, columns] = np.round(self.logits(pairs), DECIMALS)
        return scores
