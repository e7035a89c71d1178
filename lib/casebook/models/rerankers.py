"""Rerankers: late interaction of token vectors, cross-encoders, and models of entailment.

References
----------
.. [1] Khattab and Zaharia (2020), ColBERT: efficient and effective passage search via
   contextualized late interaction over BERT, SIGIR.
.. [2] Formal, Piwowarski and Clinchant (2021), A white box analysis of ColBERT, ECIR.
"""

import os
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.special import softmax

from casebook.errors import InputError
from casebook.models.encoders import locate_model, model_fingerprint, torch_library, wants_progress

# Up to here the token vectors of a whole collection stay in memory (about 500 MB).
HELD_PASSAGES = 4000
# Scores of single-precision products: the rest is noise that would decide ties.
_DECIMALS = 6
BATCH = 32
CLASSES = ("entailment", "contradiction", "neutral")


class MaxSimReranker:
    """Score documents by the sum of maximal token similarities (MaxSim)."""

    def __init__(self, encoder, texts, owner=None, weighting="idf", whole=0.5):
        self._encoder, self._texts = encoder, list(texts)
        owner = np.arange(len(self._texts)) if owner is None else np.asarray(owner)
        self._starts = np.searchsorted(owner, np.arange(owner.max(initial=-1) + 2))
        self._weighting, self._whole = weighting, whole

    @cached_property
    def _weights(self):
        """Weight of every vocabulary id: by its rarity, as Lucene does, ``ln(1 + (N - df + 0.5) / (df + 0.5))``."""
        size = self._encoder.vocabulary_size
        if self._weighting == "mean":
            return np.ones(size)
        ids = [np.unique(one) for one in self._encoder.token_ids(self._texts)]
        found = np.bincount(np.concatenate([np.zeros(0, int), *ids]), minlength=size)
        return np.log1p((len(ids) - found + 0.5) / (found + 0.5))

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
        """Scores of candidate documents (rows of queries, -1 for none) and the passage that earned each."""
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
        """Token vectors of each document's passages, one after the other."""
        spans = [
            np.arange(self._starts[document], self._starts[document + 1]) for document in documents
        ]
        held = self._held
        if held is None and spans:
            needed, sizes = np.concatenate(spans), [len(span) for span in spans]
            held = self._encoder.token_vectors([self._texts[row] for row in needed])
            spans = np.split(np.arange(len(needed)), np.cumsum(sizes)[:-1])
        return (held.take(span) for span in spans)

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


class RememberedScores:
    """Reranker that scores each pair of query and document once, for queries that come again."""

    def __init__(self, reranker):
        self._reranker = reranker
        self._known = {}

    def scores(self, queries, candidates):
        """Score candidate documents of every query."""
        candidates = np.asarray(candidates, dtype=np.int64)
        known = [self._known.setdefault(query, {-1: (-np.inf, -1)}) for query in queries]
        pairs = list(zip(known, candidates.tolist(), strict=True))
        new = np.array(
            [[document if document not in seen else -1 for document in row] for seen, row in pairs]
        )
        rows = np.flatnonzero((new >= 0).any(axis=1)) if new.size else []
        if len(rows):  # queries without anything new are not encoded
            learned = zip(
                *self._reranker.scores([queries[row] for row in rows], new[rows]), strict=True
            )
            for row, (scores, passages) in zip(rows, learned, strict=True):
                values = zip(scores.tolist(), passages.tolist(), strict=True)
                known[row].update(zip(new[row].tolist(), values, strict=True))
        found = np.array([[seen[document] for document in row] for seen, row in pairs], dtype=float)
        found = found.reshape(*candidates.shape, 2)
        return found[..., 0], found[..., 1].astype(np.int64)


class _PairModel:
    """A model on disk that reads two texts together; torch is imported when it first scores."""

    def __init__(self, name):
        self.name = os.fspath(name)
        self.folder = locate_model(name)
        self.model_hash = model_fingerprint(self.folder)

    @cached_property
    def _model(self):
        options = {"model_kwargs": {"use_safetensors": True}, "local_files_only": True}
        return torch_library().CrossEncoder(str(self.folder), device="cpu", **options)

    def _logits(self, pairs):
        """Logits of pairs of texts, without the activation of the model's settings."""
        import torch

        progress = wants_progress(len(pairs))
        identity = torch.nn.Identity()
        found = self._model.predict(
            pairs, batch_size=BATCH, activation_fn=identity, show_progress_bar=progress
        )
        return found.astype(np.float64)


class CrossEncoderReranker(_PairModel):
    """Score query and passage pairs by a cross-encoder's logit."""

    def __init__(self, name, texts):
        super().__init__(name)
        self._texts = list(texts)

    def scores(self, queries, candidates):
        """Scores of candidate passages (rows of queries, -1 for none, which scores -inf)."""
        candidates = np.asarray(candidates, dtype=np.int64)
        scores = np.full(candidates.shape, -np.inf)
        rows, columns = np.nonzero(candidates >= 0)
        found = candidates[rows, columns]
        pairs = [
            (queries[row], self._texts[passage]) for row, passage in zip(rows, found, strict=True)
        ]
        if pairs:
            labels = self._model.num_labels
            if labels != 1:
                raise InputError(
                    f"cross-encoder {self.name!r} gives {labels} scores per pair, a reranker gives 1"
                )
            scores[rows, columns] = np.round(self._logits(pairs), _DECIMALS)
        return scores


class EntailmentModel(_PairModel):
    """A cross-encoder with the three classes of natural language inference."""

    def probabilities(self, premises, hypotheses):
        """Probabilities of pairs, (n, 3) in the order of `CLASSES`."""
        columns = {str(label).lower(): int(n) for n, label in self._model.config.id2label.items()}
        if set(columns) != set(CLASSES):
            raise InputError(
                f"entailment model {self.name!r} has the classes {', '.join(sorted(columns))}, not {', '.join(CLASSES)}"
            )
        pairs = list(zip(premises, hypotheses, strict=True))
        if not pairs:
            return np.zeros((0, len(CLASSES)))
        return softmax(self._logits(pairs)[:, [columns[name] for name in CLASSES]], axis=1)
