"""Build an encoder from the name that parameters give it."""

import os

from casebook.models.cache import EmbeddingCache
from casebook.models.cached import CachedEncoder
from casebook.models.dual import DualEncoder
from casebook.models.encoders import SentenceEncoder
from casebook.models.hosted import with_host
from casebook.models.weights import PACKAGED


def load_encoder(name=PACKAGED, cache=True, allow_download=None):
    """Build an encoder."""
    text = os.fspath(name)
    if text.startswith(("query=", "context=")):
        encoder = DualEncoder.parse(text, allow_download)
    else:
        encoder = SentenceEncoder(text, allow_download=allow_download)
    if cache is False:
        return encoder
    return CachedEncoder(with_host(encoder), EmbeddingCache() if cache is True else cache)
