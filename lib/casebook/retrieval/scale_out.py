"""Encode and search a corpus shard by shard: here, or on a Dask cluster.

The result does not depend on where it is made. Each shard is encoded alone; the score
of a pair of vectors does not depend on what else is searched
(`casebook.retrieval.dense.DenseIndex`), so merged shards give what one index gives.
"""

import hashlib

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.dense import DenseIndex
from casebook.retrieval.rankings import ABSENT, RankedLists, positive_depth

SHARD = 50_000  # documents


def encode_shards(texts, encode, store, size=SHARD, client=None, **described):
    """Encode a corpus into a store of shards, or what of it is still missing."""
    total = getattr(texts, "n_documents", None) or len(texts)
    if total < 1 or size < 1:
        raise InputError(f"nothing to encode: {total} documents, {size} a shard")
    spans = [(start, min(start + size, total)) for start in range(0, total, size)]
    jobs = [(texts if callable(texts) else texts[a:b], a, b) for a, b in spans]
    entries = _mapped(client, _encode_one, jobs, encode, store)
    if len({entry["dims"] for entry in entries}) > 1:
        raise InputError(f"{store.url}: the encoder gave vectors of several lengths")
    store.commit(entries, **described)
    return entries


def _encode_one(job, encode, store):
    texts, start, stop = job
    texts = list(texts(start, stop) if callable(texts) else texts)
    code = getattr(encode, "model_hash", getattr(encode, "__qualname__", ""))
    key = hashlib.sha256(f"{code}\x00".encode())
    for text in texts:
        data = text.encode()
        key.update(b"%d\x00%b" % (len(data), data))
    found = store.entry(start, stop, key.hexdigest())
    if found:
        return found
    vectors = np.asarray(encode(texts))
    if vectors.ndim != 2 or len(vectors) != stop - start:
        raise InputError(f"documents from {start}: the encoder gave shape {vectors.shape} for {stop - start} texts")
    return store.write(start, vectors, key.hexdigest())


def search_shards(store, query_vectors, k, client=None, index=None, verify=False):
    """Find the most similar documents of every query, exactly."""
    entries, depth = (index or store.index())["shards"], positive_depth(k)
    queries = np.asarray(query_vectors, dtype=np.float32)
    starts = np.cumsum([0] + [entry["n"] for entry in entries])
    depth = min(depth, int(starts[-1]))
    parts = _mapped(client, _search_one, entries, store, queries, depth, verify)
    best = RankedLists(np.full((len(queries), depth), ABSENT), np.full((len(queries), depth), -np.inf))
    for start, part in zip(starts, parts, strict=False):
        best = _merged(best, part, int(start), depth)
    return best


def _search_one(entry, store, queries, depth, verify):
    vectors = store.vectors(entry, verify)
    return DenseIndex(vectors, kind="flat").search(queries, depth)


def _merged(best, part, start, depth):
    """Keep the best of two lists; the positions of the second start elsewhere."""
    moved = np.where(part.ids == ABSENT, ABSENT, part.ids + start)
    ids = np.concatenate([best.ids, moved], axis=1)
    scores = np.concatenate([best.scores, part.scores], axis=1)
    order = np.lexsort((ids, -scores), axis=1)[:, :depth]
    return RankedLists(np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1))


def _mapped(client, function, items, *arguments):
    """Give the results in order: one after the other here, or from a cluster."""
    if client is None:
        return [function(item, *arguments) for item in items]
    futures = [client.submit(function, item, *arguments, pure=False) for item in items]
    return client.gather(futures)
