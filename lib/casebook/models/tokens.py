"""Token vectors of many texts in one ragged array."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.errors import InputError


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Vectors of n texts, one row per token, the texts one after the other."""

    vectors: np.ndarray
    token_ids: np.ndarray
    lengths: np.ndarray

    def __post_init__(self):
        total = int(self.lengths.sum())
        if len(self.vectors) != total or len(self.token_ids) != total:
            raise InputError(
                f"{len(self.vectors)} token vectors and {len(self.token_ids)} token ids for texts of {total} tokens"
            )

    def __len__(self):
        return len(self.lengths)

    @cached_property
    def offsets(self):
        """Where each text starts, and the end: array of int, shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])

    def take(self, rows):
        """Select texts, repeats allowed."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths, dtype=np.int64)
        shift = np.repeat(self.offsets[rows] - (ends - lengths), lengths)
        index = np.arange(int(lengths.sum())) + shift
        return TokenVectors(self.vectors[index], self.token_ids[index], lengths)

    @classmethod
    def of_outputs(cls, outputs, special):
        """Keep the ordinary tokens of what an encoder returned for some texts."""
        vectors, ids = [], []
        for output in outputs:
            text_ids = output["input_ids"].numpy()
            keep = (output["attention_mask"].numpy() > 0) & ~np.isin(text_ids, special)
            kept = unit_rows(output["token_embeddings"].float().numpy()[keep])
            vectors.append(kept.astype(np.float16))
            ids.append(text_ids[keep].astype(np.int64))
        lengths = np.array([len(kept) for kept in ids], dtype=np.int64)
        return cls(np.concatenate(vectors), np.concatenate(ids), lengths)

    @classmethod
    def concatenate(cls, parts):
        """Put several blocks of texts one after the other."""
        return cls(
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.token_ids for part in parts]),
            np.concatenate([part.lengths for part in parts]),
        )


def unit_rows(vectors):
    """Scale rows to length 1; a zero row stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def document_frequencies(token_ids, size):
    """Count in how many texts each token occurs."""
    counts = np.zeros(size, dtype=np.int64)
    for ids in token_ids:
        counts[np.unique(ids)] += 1
    return counts


def inverse_document_frequencies(frequencies, n_texts):
    """Weight tokens by rarity: ``ln(1 + (N - df + 0.5) / (df + 0.5))``."""
    frequencies = np.asarray(frequencies, dtype=np.float64)
    return np.log1p((n_texts - frequencies + 0.5) / (frequencies + 0.5))
