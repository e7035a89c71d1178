"""Queries longer than an encoder reads, read window by window."""

import numpy as np

from casebook.models.cache import EncoderWrapper as EncoderStandIn
from casebook.models.tokens import TokenVectors, unit_rows
from casebook.retrieval.chunking import chunk_documents

#: Windows read of one query, evenly spaced over its text.
MOST_WINDOWS = 8


class WindowedQueries(EncoderStandIn):
    """Encoder that cuts no query: a long one is read in windows up to its limit."""

    def encode_queries(self, texts):
        """Encode queries: array of float32, shape (n, D), rows of length 1."""
        windows, sizes = self._windows(texts)
        vectors = self.encoder.encode_queries(windows)
        if len(windows) == len(sizes):
            return vectors
        starts = np.cumsum(sizes) - sizes
        means = unit_rows(np.add.reduceat(vectors, starts, axis=0))
        # Others keep their vectors to the last bit.
        return np.where((sizes == 1)[:, None], vectors[starts], means)

    def token_vectors(self, texts, role="document"):
        """Encode tokens; see :meth:`SentenceEncoder.token_vectors`."""
        if role != "query":
            return self.encoder.token_vectors(texts, role)
        windows, sizes = self._windows(texts)
        tokens = self.encoder.token_vectors(windows, role)
        if len(windows) == len(sizes):
            return tokens
        lengths = np.add.reduceat(tokens.lengths, np.cumsum(sizes) - sizes)
        return TokenVectors(tokens.vectors, tokens.token_ids, lengths)

    def _windows(self, texts):
        """Give the windows of all texts, and how many each has."""
        limit, texts = self.encoder.max_tokens, list(texts)
        parts = [[text] for text in texts]
        if texts:
            for row in np.flatnonzero(self.encoder.count_tokens(texts) > limit):
                parts[row] = self._cut(texts[row], limit)
        windows = [window for part in parts for window in part]
        return windows, np.array([len(part) for part in parts], dtype=np.int64)

    def _cut(self, text, limit):
        """Cut one text into windows that share nothing; keep a few, evenly spaced."""
        windows = chunk_documents(
            [text],
            max_words=limit,
            overlap=0,
            token_counter=lambda part: int(self.encoder.count_tokens([part])[0]),
            max_tokens=limit,
        ).texts
        kept = np.linspace(0, len(windows) - 1, min(MOST_WINDOWS, len(windows)))
        return [windows[place] for place in np.round(kept).astype(int)]
