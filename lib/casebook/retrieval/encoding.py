"""A corpus encoded into shards, for the whole pipeline, in two passes.

The first counts words and cuts passages; a long document keeps its most central ones, which depend
on counts of the whole corpus, so the second pass chooses them and encodes.
"""

import json
from collections import Counter

import numpy as np

from casebook.data.folders import read_collection_parts
from casebook.errors import InputError
from casebook.models.cache import checked_texts
from casebook.models.encoders import PACKAGED
from casebook.models.rerankers import token_frequencies
from casebook.retrieval.index import central_rows, chunk_documents, chunks_of_long_documents
from casebook.retrieval.postings import CollectionCounts, Postings
from casebook.retrieval.search import PRESETS, InvertedFile, word_lists
from casebook.retrieval.settings import PipelineConfig
from casebook.retrieval.sharded import ShardTexts
from casebook.retrieval.shards import (
    FORMAT,
    SHARD_SIZE,
    DocumentEncoder,
    ShardStore,
    encode_part,
    hash_of_json,
    on_shards,
)

SHARD_PRESETS = ("default", "leaderboard")  # of BM25, whose words are counted


def encode_folder(
    folder,
    url,
    encoder=PACKAGED,
    size=SHARD_SIZE,
    client=None,
    titles=True,
    clusters=0,
    n_documents=None,
):
    """Encode the documents of a folder into shards at an address, for the whole pipeline.

    `n_documents` is what `count_documents` gave, if they have been counted.
    """
    if n_documents is None:  # all are read once before anything is written
        n_documents = count_documents(folder, size)
    store = ShardStore(url)
    encode = DocumentEncoder(encoder)
    parts = read_collection_parts(folder, size, titles)
    shards = encode_corpus(parts, encode, store, client, clusters=clusters)
    return {
        "documents": n_documents,
        "passages": sum(shard["passages"]["n"] for shard in shards),
        "shards": len(shards),
        "dims": shards[0]["vectors"]["dims"],
        "encoder": encode.name,
        **encode.settings.fingerprint,
        "url": store.url,
    }


def count_documents(folder, size=SHARD_SIZE):
    """Count the documents of a folder, some at a time; what cannot be read is refused."""
    return sum(len(part) for part in read_collection_parts(folder, size))


def encode_corpus(parts, encode, store, client=None, cut=None, clusters=0):
    """Encode documents, or what is still missing of them; each part, a frame, is one shard.

    With `clusters` the vectors of each shard are also written in so many clusters.
    """
    cut = cut or PipelineConfig().cut
    documents = []
    counts = Counter()
    texts = 0
    length = 0
    counted = on_shards(client, _count_part, _with_starts(parts), encode, store, cut)
    for entry, of_shard in counted:
        documents.append(entry)
        counts.update(of_shard.frequencies)
        texts += of_shard.texts
        length += of_shard.length
    if not documents:
        raise InputError("nothing to encode: no documents")
    counts = CollectionCounts(texts, length, dict(counts))
    of_shards = (_restricted(counts, entry, store) for entry in documents)
    parts = zip(documents, of_shards, strict=True)
    encoded = on_shards(client, _encode_documents, parts, encode, store, cut, clusters)
    shards = list(encoded)
    metadata = {
        "encoder": encode.name,
        "model": encode.weights_hash,
        **encode.settings.fingerprint,
        "cut": list(cut),
        "presets": list(SHARD_PRESETS),
        "format": FORMAT,
    }
    store.commit(shards, metadata)
    return shards


def _with_starts(parts):
    start = 0
    for part in parts:
        yield start, part
        start += len(part)


def _count_part(part, encode, store, cut):
    """First pass over a shard: its texts, word counts and passages, and those of long documents."""
    start, documents = part
    texts = checked_texts(documents["text"])
    ids = documents["doc_id"].tolist()
    columns = documents.drop(columns=["doc_id", "text"])
    metadata = {name: column.tolist() for name, column in columns.items()}
    stop = start + len(texts)
    key = hash_of_json([FORMAT, encode.model_hash, list(cut), ids, texts, metadata])
    entry = store.entry(start, stop, key)
    if entry is None:
        arrays = _counted(texts, encode.encoder, cut)
        arrays |= {"ids": _as_bytes(json.dumps(ids)), "metadata": _as_bytes(json.dumps(metadata))}
        totals = {preset: int(arrays[f"{preset}.lengths"].sum()) for preset in SHARD_PRESETS}
        facts = {"n": len(texts), "words": totals, "long": len(arrays["long.lengths"])}
        entry = store.write_arrays(start, stop, arrays, key, facts)
    return entry, _counts_of_long(entry, store)


def _counted(texts, encoder, cut):
    """Arrays of the texts, of their words in every preset, and of their passages."""
    max_words, overlap, max_passages = cut
    encoded = [text.encode() for text in texts]
    arrays = {
        "texts": _as_bytes(b"".join(encoded)),
        "ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
    }
    for preset in SHARD_PRESETS:
        arrays |= Postings.of(word_lists(texts, **PRESETS[preset])).arrays(preset)
    chunks = chunk_documents(texts, max_words, overlap, encoder)
    long = chunks_of_long_documents(chunks.owner, max_passages)
    arrays |= {"owner": chunks.owner, "start": chunks.start, "end": chunks.end, "long": long}
    of_long = Postings.of(word_lists([chunks.texts[row] for row in long]))
    return arrays | of_long.arrays("long")


def _counts_of_long(entry, store):
    """Counts of the passages of a shard's long documents."""
    if not entry["long"]:
        return CollectionCounts(0, 0, {})
    postings = Postings.of_arrays(store.arrays(entry), "long")
    return CollectionCounts(entry["long"], postings.length, postings.all_frequencies())


def _restricted(counts, entry, store):
    """Counts of the corpus, of the words of a shard's long documents alone."""
    if not entry["long"]:
        return CollectionCounts(counts.texts, counts.length, {})
    words = Postings.of_arrays(store.arrays(entry), "long").words
    return CollectionCounts(
        counts.texts, counts.length, {word: counts.frequencies[word] for word in words}
    )


def _encode_documents(part, encode, store, cut, clusters):
    """Second pass over a shard: its passages, their vectors, and those of its documents."""
    documents, counts = part
    arrays = store.arrays(documents)
    texts = ShardTexts([arrays])
    start, stop = map(int, documents["name"].split("-")[1:3])
    rows = _kept_passages(documents, arrays, counts, cut[2])
    chunks = {name: arrays[name][rows] for name in ("owner", "start", "end")}
    spans = zip(*(values.tolist() for values in chunks.values()), strict=True)
    passages = [texts[owner][begin:end] for owner, begin, end in spans]
    document_rows, further = _document_rows(texts, passages, chunks["owner"])
    key = hash_of_json([documents["key"], rows.tolist()])
    entry = store.entry(start, stop, key)
    if entry is None:
        of_passages = token_frequencies(encode.encoder, passages)
        of_further = token_frequencies(encode.encoder, further)
        as_whole = [passages[row] for row in document_rows if row < len(passages)]
        arrays = chunks | {
            "document_rows": document_rows,
            "token_frequencies": of_passages,
            "document_token_frequencies": of_further + token_frequencies(encode.encoder, as_whole),
        }
        entry = store.write_arrays(start, stop, arrays, key, {"n": len(passages)})
    vectors = encode_part(passages + further, encode, store, (start, stop))
    shard = {
        "n": documents["n"],
        "documents": documents,
        "passages": entry,
        "vectors": vectors,
    }
    if clusters:
        shard["clusters"] = _clustered(shard, store, clusters, (start, stop))
    return shard


def _clustered(shard, store, clusters, span):
    """Write the vectors of a shard's passages in clusters, unless they are there."""
    n = shard["passages"]["n"]
    key = hash_of_json([shard["vectors"]["key"], n, clusters])
    entry = store.entry(*span, key)
    if entry is None:
        vectors = store.vectors(shard["vectors"])[:n]
        arrays = {"clusters": InvertedFile.of(vectors, clusters)}
        entry = store.write_arrays(*span, arrays, key, {"n": n})
    return entry


def _kept_passages(documents, arrays, counts, limit):
    """Rows of the passages of a shard that are searched: of long documents the central ones."""
    rows = np.arange(len(arrays["owner"]))
    if not documents["long"]:
        return rows
    if not counts.length:
        raise InputError("no passage of a long document holds a word")
    weights = Postings.of_arrays(arrays, "long").weights(counts)
    return central_rows(arrays["owner"], arrays["long"], weights, limit)


def _document_rows(texts, passages, owner):
    """Row of each whole document among the vectors, and texts that are no passage."""
    sizes = np.bincount(owner, minlength=len(texts))
    starts = np.searchsorted(owner, np.arange(len(texts)))
    rows = np.empty(len(texts), dtype=np.int64)
    further = []
    for document, text in enumerate(texts):
        if sizes[document] == 1 and passages[starts[document]] == text:
            rows[document] = starts[document]
        else:
            rows[document] = len(passages) + len(further)
            further.append(text)
    return rows, further


def _as_bytes(text):
    return np.frombuffer(text.encode() if isinstance(text, str) else text, dtype=np.uint8)
