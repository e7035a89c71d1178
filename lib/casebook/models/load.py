"""Build an encoder from the name that parameters give it."""

import os

from casebook.models.cache import EmbeddingCache
from casebook.models.cached import CachedEncoder
from casebook.models.dual import DualEncoder
from casebook.models.encoders import SentenceEncoder
from casebook.models.hosted import with_host
from casebook.models.weights import PACKAGED


def load_encoder(name=PACKAGED, cache=True, allow_download=None):
    """Build an encoder.

    Parameters
    ----------
    name : str or path-like
        ``minilm`` (the packaged default), a model folder, a hub name, or
        ``query=NAME,context=NAME`` for a pair of towers.
    cache : bool or EmbeddingCache
        Whether vectors are kept between runs, or the cache to keep them in.
    allow_download : bool, optional
        Whether the hub may be asked; by default what the environment variable
        ``CASEBOOK_ALLOW_DOWNLOAD`` says.

    Returns
    -------
    SentenceEncoder, DualEncoder or CachedEncoder
        All answer ``encode_queries``, ``encode_documents``, ``encode_both``,
        ``token_vectors``, ``token_ids``, ``count_tokens``, ``max_tokens``,
        ``vocabulary_size``, ``name`` and ``model_hash``.

    Raises
    ------
    InputError
        If a model does not exist or the spelling of a pair is incomplete.
    """
    text = os.fspath(name)
    if text.startswith(("query=", "context=")):
        encoder = DualEncoder.parse(text, allow_download)
    else:
        encoder = SentenceEncoder(text, allow_download=allow_download)
    if cache is False:
        return encoder
    return CachedEncoder(
        with_host(encoder), EmbeddingCache() if cache is True else cache
    )
