"""Late interaction: a query's tokens against the tokens of a document's passages.

References
----------
.. [1] Khattab and Zaharia (2020), ColBERT: efficient and effective passage search via
   contextualized late interaction over BERT, SIGIR.
.. [2] Formal, Piwowarski and Clinchant (2021), A white box analysis of ColBERT, ECIR.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from casebook.errors import InputError
from casebook.models.tokens import document_frequencies, inverse_document_frequencies

WEIGHTINGS = ("idf", "mean")
# Up to here the token vectors of a whole collection stay in memory (about 500 MB).
HELD_PASSAGES = 4000
# Scores of single-precision products: the rest is noise that would decide ties.
_DECIMALS = 6


class MaxSimReranker:
    """Score documents by the sum of maximal token similarities (MaxSim) [1]_."""

    def __init__(self, encoder, texts, owner=None, weighting="idf", whole=0.5):
        if weighting not in WEIGHTINGS:
            raise InputError(f"unknown token weighting {weighting!r}; one of {', '.join(WEIGHTINGS)}")
        if not 0 <= whole <= 1:
            raise InputError(f"the whole-document share must be in [0, 1], got {whole}")
        self._encoder, self._texts = encoder, list(texts)
        owner = np.arange(len(self._texts)) if owner is None else np.asarray(owner)
        self._starts = np.searchsorted(owner, np.arange(owner.max(initial=-1) + 2))
        self._weighting, self._whole = weighting, whole

    @cached_property
    def _weights(self):
        """Weight of every vocabulary id: array of float64."""
        size = self._encoder.vocabulary_size
        if self._weighting == "mean":
            return np.ones(size)
        ids = self._encoder.token_ids(self._texts)
        return inverse_document_frequencies(document_frequencies(ids, size), len(self._texts))

    @cached_property
    def _held(self):
        """Token vectors of a small collection; None for a large one."""
        if len(self._texts) > HELD_PASSAGES:
            return None
        return self._encoder.token_vectors(self._texts)

    def prepare(self):
        """Encode a small collection now, so that its pooled vectors come for free."""
        return self._held is not None

    def scores(self, queries, candidates):
        """Score candidate documents of every query."""
        candidates = np.asarray(candidates, dtype=np.int64)
        valid = candidates >= 0
        scores = np.where(valid, 0.0, -np.inf)
        passages = np.where(valid, self._starts[np.maximum(candidates, 0)], -1)
        tokens = self._encoder.token_vectors(list(queries), "query")
        # Once here instead of once for every document that a query is scored with.
        tokens = replace(tokens, vectors=tokens.vectors.astype(np.float32))
        usable = valid & (tokens.lengths > 0)[:, None]
        rows, columns = np.nonzero(usable)
        documents = candidates[rows, columns]
        order = np.argsort(documents, kind="stable")
        rows, columns, documents = rows[order], columns[order], documents[order]
        distinct, first = np.unique(documents, return_index=True)
        blocks = self._document_tokens(distinct)
        groups = np.split(np.arange(len(rows)), first[1:]) if len(rows) else []
        for group, block, document in zip(groups, blocks, distinct, strict=True):
            score, passage = self._score_document(tokens.take(rows[group]), block)
            scores[rows[group], columns[group]] = score
            passages[rows[group], columns[group]] = self._starts[document] + passage
        return scores, passages

    def _document_tokens(self, documents):
        """Give the token vectors of each document's passages, one after the other."""
        held, starts, ends = self._held, self._starts[documents], self._starts[1:]
        spans = [np.arange(*span) for span in zip(starts, ends[documents], strict=True)]
        if held is None and spans:
            needed = np.concatenate(spans)
            held = self._encoder.token_vectors([self._texts[row] for row in needed])
            cuts = np.cumsum([len(span) for span in spans])[:-1]
            spans = np.split(np.arange(len(needed)), cuts)
        for span in spans:
            yield held.take(span)

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
        by_passage = np.round(by_passage, _DECIMALS)
        passage = by_passage.argmax(axis=1)
        top = by_passage[np.arange(len(passage)), passage]
        score = (1 - self._whole) * top + self._whole * overall
        return np.round(score, _DECIMALS), filled[passage]
