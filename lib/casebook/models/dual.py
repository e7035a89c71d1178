"""Dual encoders: one tower reads queries, another reads documents."""

import hashlib

from casebook.errors import InputError
from casebook.models.encoders import SentenceEncoder


class DualEncoder:
    """Pair of encoders whose vectors are compared with each other."""

    def __init__(self, query, context, allow_download=None):
        self.query = SentenceEncoder(query, "cls", allow_download)
        self.context = SentenceEncoder(context, "cls", allow_download)
        self.name = f"query={self.query.name},context={self.context.name}"
        hashes = f"{self.query.model_hash} {self.context.model_hash}"
        self.model_hash = hashlib.sha256(hashes.encode()).hexdigest()

    @classmethod
    def parse(cls, text, allow_download=None):
        """Build the pair from its spelling in parameters."""
        parts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
        if parts.keys() != {"query", "context"} or not all(parts.values()):
            raise InputError(f"encoder {text!r} is no pair: write query=NAME,context=NAME")
        return cls(parts["query"], parts["context"], allow_download)

    def _tower(self, role):
        """Give the tower of a role."""
        return self.query if role == "query" else self.context

    @property
    def max_tokens(self):
        """Longest document the context tower reads, in tokens: int."""
        return self.context.max_tokens

    @property
    def vocabulary_size(self):
        """Number of token ids of the context tower: int."""
        return self.context.vocabulary_size

    def token_ids(self, texts):
        """Split documents; see :meth:`SentenceEncoder.token_ids`."""
        return self.context.token_ids(texts)

    def count_tokens(self, texts):
        """Count document tokens; see :meth:`SentenceEncoder.count_tokens`."""
        return self.context.count_tokens(texts)

    def encode_queries(self, texts):
        """Encode queries; see :meth:`SentenceEncoder.encode_queries`."""
        return self.query.encode_queries(texts)

    def encode_documents(self, texts):
        """Encode documents; see :meth:`SentenceEncoder.encode_documents`."""
        return self.context.encode_documents(texts)

    def token_vectors(self, texts, role="document"):
        """Encode tokens; see :meth:`SentenceEncoder.token_vectors`."""
        return self._tower(role).token_vectors(texts, role)

    def encode_both(self, texts, role="document"):
        """Encode texts and tokens; see :meth:`SentenceEncoder.encode_both`."""
        return self._tower(role).encode_both(texts, role)
