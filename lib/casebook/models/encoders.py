"""Sentence encoders: texts in, L2-normalised vectors out.

Loading is lazy. An encoder knows its folder, hash and tokenizer at once, and torch is
imported only when a vector has to be computed.
"""

import hashlib
import importlib
import json
import os
from functools import cached_property

import numpy as np
from tqdm import tqdm

from casebook.errors import InputError
from casebook.models.progress import wants_progress
from casebook.models.texts import checked_texts
from casebook.models.tokens import TokenVectors, unit_rows
from casebook.models.weights import PACKAGED, locate_model, model_fingerprint

BATCH = 16
SLAB = 512
_ROLES = ("query", "document")


class SentenceEncoder:
    """One model for queries and documents (bi-encoder with shared weights)."""

    def __init__(self, name=PACKAGED, pooling="mean", allow_download=None):
        self.name = os.fspath(name)
        self.folder = locate_model(name, allow_download)
        fingerprint = model_fingerprint(self.folder)
        self.model_hash = hashlib.sha256(f"{fingerprint} {pooling}".encode()).hexdigest()
        self.pooling = pooling

    @cached_property
    def _model(self):
        """The loaded model; the first use imports torch."""
        library = importlib.import_module("casebook.models.torch_models")
        return library.load_sentence_transformer(self.folder, self.pooling)

    @cached_property
    def _tokenizer(self):
        """The tokenizer alone, without truncation and padding."""
        if (self.folder / "tokenizer.json").is_file():
            library = importlib.import_module("tokenizers")
            tokenizer = library.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        else:
            tokenizer = self._model.tokenizer.backend_tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def max_tokens(self):
        """Longest text the model reads, in tokens with the special ones: int."""
        settings = self.folder / "sentence_bert_config.json"
        if settings.is_file():
            limit = json.loads(settings.read_text("utf-8")).get("max_seq_length")
            if limit:
                return int(limit)
        return int(self._model.max_seq_length)

    @cached_property
    def vocabulary_size(self):
        """Number of token ids: int."""
        return self._tokenizer.get_vocab_size()

    def token_ids(self, texts):
        """Split texts into token ids, special tokens and truncation left out."""
        encodings = self._tokenizer.encode_batch(checked_texts(texts), add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]

    def count_tokens(self, texts):
        """Count the tokens that the model would read without its limit."""
        encodings = self._tokenizer.encode_batch(checked_texts(texts))
        return np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)

    def encode_queries(self, texts):
        """Encode queries."""
        return self._encode(texts, "query")

    def encode_documents(self, texts):
        """Encode documents or passages."""
        return self._encode(texts, "document")

    def _encode(self, texts, role):
        """Encode with the model's own prompt for the role."""
        texts = checked_texts(texts)
        if not texts:
            return np.zeros((0, self._model.get_embedding_dimension()), np.float32)
        return self._call(texts, role, wants_progress(len(texts)))

    def _call(self, texts, role, progress, **options):
        """Run the library's encoder, whose batches are sorted by length."""
        encode = getattr(self._model, f"encode_{role}")
        options.setdefault("normalize_embeddings", True)
        return encode(texts, batch_size=BATCH, show_progress_bar=progress, **options)

    def token_vectors(self, texts, role="document"):
        """Encode every token of every text, for late interaction."""
        return self.encode_both(texts, role)[1]

    def encode_both(self, texts, role="document"):
        """Encode texts and their tokens in one pass."""
        texts = checked_texts(texts)
        if role not in _ROLES:
            raise InputError(f"unknown role {role!r}: choose query or document")
        if not texts:
            return self._encode(texts, role), self._no_tokens()
        special = np.array(self._model.tokenizer.all_special_ids)
        order = np.argsort([-len(text) for text in texts], kind="stable")
        pooled, tokens = [], []
        slabs, quiet = range(0, len(order), SLAB), not wants_progress(len(texts))
        for start in tqdm(slabs, desc="Encoding", disable=quiet):
            slab = [texts[row] for row in order[start : start + SLAB]]
            outputs = self._call(slab, role, False, output_value=None)
            pooled.append(np.stack([_pooled_vector(output) for output in outputs]))
            tokens.append(TokenVectors.of_outputs(outputs, special))
        back = np.argsort(order)
        return np.concatenate(pooled)[back], TokenVectors.concatenate(tokens).take(back)

    def _no_tokens(self):
        """Token vectors of no text."""
        width = self._model.get_embedding_dimension()
        none = np.zeros(0, dtype=np.int64)
        return TokenVectors(np.zeros((0, width), np.float16), none, none)


def _pooled_vector(output):
    """Give the normalised sentence vector of one output of the library."""
    return unit_rows(output["sentence_embedding"].float().numpy()[None])[0]
