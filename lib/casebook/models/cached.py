"""An encoder that computes only what its cache does not hold."""

import numpy as np

from casebook.models.encoders import SLAB
from casebook.models.stand_in import EncoderStandIn
from casebook.models.texts import checked_texts, text_key
from casebook.models.tokens import TokenVectors


class CachedEncoder(EncoderStandIn):
    """Encoder with the same answers as another one, remembered on disk."""

    def __init__(self, encoder, cache):
        super().__init__(encoder)
        self.cache = cache

    def encode_queries(self, texts):
        """Encode queries; see :meth:`SentenceEncoder.encode_queries`."""
        return self._pooled(texts, "query", self.encoder.encode_queries)

    def encode_documents(self, texts):
        """Encode documents; see :meth:`SentenceEncoder.encode_documents`."""
        return self._pooled(texts, "document", self.encoder.encode_documents)

    def _pooled(self, texts, role, encode):
        """Look pooled vectors up, computing the missing ones."""
        texts = checked_texts(texts)
        if not texts:
            return encode(texts)

        def compute(keys, missing):
            block = _as_block(encode(missing))
            self.cache.store(self.model_hash, role, keys, block)
            return block

        return self._look_up(texts, role, compute).vectors

    def token_vectors(self, texts, role="document"):
        """Encode tokens; see :meth:`SentenceEncoder.token_vectors`."""
        texts = checked_texts(texts)
        if not texts:
            return self.encoder.token_vectors(texts, role)

        def compute(keys, missing):
            pooled, tokens = self.encoder.encode_both(missing, role)
            self.cache.store(self.model_hash, role, keys, _as_block(pooled))
            self.cache.store(self.model_hash, f"{role}-tokens", keys, tokens)
            return tokens

        return self._look_up(texts, f"{role}-tokens", compute)

    def _look_up(self, texts, kind, compute):
        """Assemble rows from the cache and from what ``compute`` adds to it."""
        keys = [text_key(text) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        rows, stored = self.cache.load(self.model_hash, kind, text_of)
        blocks = [] if stored is None else [stored]
        # The longest first, in slabs that are kept at once: an interrupted run goes
        # on where it stopped, and batches hold texts of one length.
        missing = text_of.keys() - rows.keys()
        missing = sorted(missing, key=lambda key: (-len(text_of[key]), key))
        for start in range(0, len(missing), 4 * SLAB):
            slab = missing[start : start + 4 * SLAB]
            rows.update({key: len(rows) + place for place, key in enumerate(slab)})
            blocks.append(compute(slab, [text_of[key] for key in slab]))
        return TokenVectors.concatenate(blocks).take([rows[key] for key in keys])


def _as_block(vectors):
    """Store pooled vectors as texts of one token each."""
    ones = np.ones(len(vectors), dtype=np.int64)
    return TokenVectors(vectors, np.zeros(len(vectors), dtype=np.int64), ones)
