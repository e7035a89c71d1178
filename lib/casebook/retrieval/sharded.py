"""A corpus in shards as one index, for the whole pipeline.

`ShardedIndex` stands for `casebook.retrieval.index.CorpusIndex`: each list is searched in every
shard and merged, with idf and average length of the whole corpus, and of what is left the texts and
vectors are read. Ids and scores are those of one index in memory. `casebook.retrieval.encoding`
writes the shards.
"""

import functools
import itertools
import json
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.data.folders import read_questions
from casebook.errors import InputError
from casebook.models.device import model_settings
from casebook.models.encoders import load_encoder
from casebook.retrieval.index import Chunks, CorpusIndex, Passages
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.postings import CollectionCounts, Postings
from casebook.retrieval.ranked import RankedLists, as_mask, metadata_mask, positive_depth, to_run
from casebook.retrieval.search import (
    PRESETS,
    BM25Index,
    DenseIndex,
    InvertedFile,
    MeanDenseIndex,
    lists_by_words,
    word_lists,
)
from casebook.retrieval.settings import config_for
from casebook.retrieval.shards import (
    FORMAT,
    ShardStore,
    merged,
    on_shards,
    search_shards,
    uncached_encoder,
)

_QUERIES_AT_ONCE = 256
_TEXTS_IN_MEMORY = 4096


def search_folder(
    url, questions, depth, mode="full", encoder=None, client=None, probe=None, filters=None
):
    """Search shards for the questions of a BEIR folder by a named system; give a run."""
    if probe and mode == "dense":
        raise InputError("clusters hold passages: choose mode dense_chunked instead of dense")
    store = ShardStore(url)
    queries = read_questions(questions)
    contents = store.index()  # once: all that follows belongs to one list of shards
    query_ids = queries["query_id"].tolist()
    model = None
    if config_for(mode).uses_encoder:
        model = encoder_of(store.url, contents, encoder)
    if mode == "dense" and not filters:  # of which shards of vectors alone are enough
        vectors = model.encode_queries(queries["text"].tolist())
        lists = search_shards(store, vectors, depth, client, contents)
        return to_run(lists, query_ids, _document_ids(store, contents))
    index = ShardedIndex(store, model, client, contents, probe=probe)
    retriever = HybridRetriever(index, mode=mode)
    if filters and not metadata_mask(index.documents, filters).any():
        raise InputError(f"{store.url}: holds no document that satisfies the filters")
    run = {}
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        block = queries[start : start + _QUERIES_AT_ONCE]
        result = retriever.retrieve_many(block["text"].tolist(), filters=filters, depth=depth)
        config = retriever.config
        stage = "final"
        if len(config.lists) == 1 and not config.mmr and config.reranker is None:
            stage = config.lists[0]  # its scores are those of the search
        lists = result.stages[stage].truncate(depth)
        run |= to_run(lists, block["query_id"].tolist(), retriever.index.doc_ids)
    return run


def encoder_of(address, contents, name=None):
    """Load the encoder of a corpus, or one of the same weights under another name."""
    name = name or contents.get("encoder")
    if name is None:
        raise InputError(f"{address}: does not say which encoder made it: name one")
    model = uncached_encoder(name, model_settings())
    check_encoder(address, contents, model)
    return model


def check_encoder(address, contents, model):
    """Refuse another model than that of a corpus.

    It may have the same weights: a corpus that a GPU encoded is searched without one.
    """
    if contents.get("model", model.weights_hash) != model.weights_hash:
        raise InputError(
            f"{address}: was encoded by another model than {model.name!r} is here "
            f"({model.weights_hash[:12]})"
        )


def check_format(address, contents):
    """Refuse a list of shards that the whole pipeline cannot search."""
    if contents.get("format") != FORMAT:
        raise InputError(
            f"{address}: holds vectors of whole documents alone, which mode dense searches: "
            "encode it again for the others"
        )


def open_corpus(url, dataset, encoder):
    """Open the shards of a data set's documents as an index, with an encoder that keeps vectors."""
    store = ShardStore(url)
    contents = store.index()
    check_format(store.url, contents)
    model = load_encoder(encoder)
    check_encoder(store.url, contents, model)
    index = ShardedIndex(store, model, contents=contents, remember_scores=True)
    index.check_documents(dataset.documents)
    return index


def _document_ids(store, contents):
    if "ids" in contents:
        return contents["ids"]
    ids = [_decoded(store.arrays(shard["documents"])["ids"]) for shard in contents["shards"]]
    return list(itertools.chain.from_iterable(ids))


def _decoded(array):
    return json.loads(array.tobytes())


class ShardedIndex(CorpusIndex):
    """A corpus in shards, with the methods of an index in memory.

    With `probe` the dense list reads so many clusters of each shard instead of all vectors.
    """

    def __init__(
        self, store, encoder=None, client=None, contents=None, remember_scores=False, probe=None
    ):
        self.store = store if isinstance(store, ShardStore) else ShardStore(store)
        contents = contents or self.store.index()
        check_format(self.store.url, contents)
        self.contents = contents
        self.shards = contents["shards"]
        self.client = client
        self.probe = probe
        if probe and not all("clusters" in shard for shard in self.shards):
            raise InputError(
                f"{self.store.url}: holds no clusters to probe: encode it again with clusters"
            )
        self.remember_scores = remember_scores
        self.model_settings = model_settings()
        self._encoder = encoder
        self._passages = {}

    @cached_property
    def _truncating_encoder(self):
        return self._encoder or encoder_of(self.store.url, self.contents)

    def __len__(self):
        return sum(self.document_sizes)

    @property
    def document_sizes(self):
        """Documents of each shard."""
        return [shard["n"] for shard in self.shards]

    def mapped(self, part):
        """Arrays of one part of every shard."""
        return [self.store.arrays(shard[part]) for shard in self.shards]

    def with_encoder(self, encoder):
        """Give the same corpus with another way to encode questions."""
        return ShardedIndex(
            self.store, encoder, self.client, self.contents, self.remember_scores, self.probe
        )

    def check_documents(self, documents):
        """Refuse a collection that is not the one that was encoded."""
        pairs = zip(documents["doc_id"], documents["text"], strict=True)
        ours = zip(self.doc_ids, self.texts, strict=True)
        different = next((a for a, b in itertools.zip_longest(pairs, ours) if a != b), None)
        if len(documents) != len(self) or different:
            where = f"document {different[0]!r}" if different else "the number of documents"
            raise InputError(
                f"{self.store.url}: does not hold the documents of the data set, of which {where} "
                "differs: encode them by 'casebook corpus encode', with titles or without as here"
            )

    @cached_property
    def doc_ids(self):
        """Ids of the documents."""
        return _document_ids(self.store, self.contents)

    @cached_property
    def texts(self):
        """Texts of the documents, read where they are needed."""
        return ShardTexts(self.mapped("documents"))

    @cached_property
    def documents(self):
        """Ids and metadata of the documents."""
        records = [_decoded(arrays["metadata"]) for arrays in self.mapped("documents")]
        names = dict.fromkeys(itertools.chain.from_iterable(records))
        frame = {"doc_id": self.doc_ids}
        for name in names:
            parts = [
                record.get(name, [None] * size)
                for record, size in zip(records, self.document_sizes, strict=True)
            ]
            frame[name] = list(itertools.chain.from_iterable(parts))
        return pd.DataFrame(frame)

    def passages(self, cut=None):
        """The corpus cut as it was when it was encoded, or whole documents."""
        if cut not in self._passages:
            if cut is None:
                self._passages[cut] = ShardedDocuments(self, cut)
            elif list(cut) == self.contents["cut"]:
                self._passages[cut] = ShardedPassages(self, cut)
            else:
                raise InputError(
                    f"{self.store.url}: holds whole documents and {_cut_text(self.contents['cut'])}"
                    f", not {_cut_text(cut)}: choose another system, or load the collection"
                )
        return self._passages[cut]


def _cut_text(cut):
    max_words, overlap, max_passages = cut
    most = "all of them" if max_passages is None else f"the {max_passages} most central of each"
    return f"passages of {max_words} words with {overlap} shared, {most}"


class ShardedPassages(Passages):
    """Passages of a corpus in shards."""

    part = "passages"

    @cached_property
    def sizes(self):
        """Passages of each shard."""
        return [shard["passages"]["n"] for shard in self.index.shards]

    @cached_property
    def chunks(self):
        """Passages, whose texts are read where they are needed."""
        arrays = self.index.mapped("passages")
        starts = np.cumsum([0, *self.index.document_sizes])
        owner = [part["owner"] + first for part, first in zip(arrays, starts, strict=False)]
        start, end = (np.concatenate([part[name] for part in arrays]) for name in ("start", "end"))
        owner = np.concatenate(owner)
        return Chunks(PassageTexts(self.index.texts, owner, start, end), owner, start, end)

    @cached_property
    def token_frequencies(self):
        """Passages that hold each token of the encoder."""
        return self._summed("token_frequencies")

    def _summed(self, name):
        return sum(np.asarray(part[name]) for part in self.index.mapped("passages"))

    @cached_property
    def vectors(self):
        """Vectors of the passages, read where they are needed."""
        return ShardRows(self._mapped_vectors(), self.sizes)

    def _mapped_vectors(self):
        return [self.index.store.vectors(shard["vectors"]) for shard in self.index.shards]

    @cached_property
    def dense(self):
        """Search of the vectors in every shard."""
        return ShardedDense(self, _dense_lists)

    @cached_property
    def mean_dense(self):
        """Search of the vectors and of those of whole documents in every shard."""
        return ShardedDense(self, _mean_lists)

    def bm25(self, preset):
        """BM25 of passages is in no shard."""
        raise InputError(
            f"{self.index.store.url}: holds the words of whole documents, not of passages: choose "
            "another system than BM25 on passages, or load the collection"
        )


class ShardedDocuments(ShardedPassages):
    """Whole documents of a corpus in shards."""

    @cached_property
    def sizes(self):
        """Documents of each shard."""
        return self.index.document_sizes

    @cached_property
    def chunks(self):
        """Documents as passages."""
        rows = np.arange(len(self.index))
        ends = np.array([len(text) for text in self.index.texts])
        return Chunks(self.index.texts, rows, np.zeros_like(rows), ends)

    @property
    def texts(self):
        """Text of each document."""
        return self.index.texts

    @cached_property
    def owner(self):
        """Each document is its own."""
        return np.arange(len(self.index))

    @cached_property
    def token_frequencies(self):
        """Documents that hold each token of the encoder."""
        return self._summed("document_token_frequencies")

    @cached_property
    def vectors(self):
        """Vectors of the documents, read where they are needed."""
        rows = [part["document_rows"] for part in self.index.mapped("passages")]
        return ShardRows(self._mapped_vectors(), self.sizes, rows)

    def bm25(self, preset):
        """BM25 over all shards."""
        if preset not in self._bm25:
            presets = self.index.contents["presets"]
            if preset not in presets:
                raise InputError(
                    f"{self.index.store.url}: holds BM25 of the presets {', '.join(presets)}, "
                    f"not {preset}: load the collection"
                )
            self._bm25[preset] = ShardedBM25(self.index, preset)
        return self._bm25[preset]


class ShardedDense:
    """Vectors of all shards, searched by cosine."""

    def __init__(self, passages, search):
        self._search = search
        self._index = passages.index
        self._sizes = passages.sizes
        self._whole = isinstance(passages, ShardedDocuments)

    def search(self, query_vectors, k, allowed=None):
        """Find the most similar vectors of every query; exact."""
        k = min(positive_depth(k), sum(self._sizes))
        parts = on_shards(
            self._index.client,
            self._search,
            _with_masks(self._index.shards, self._sizes, allowed),
            self._index.store,
            self._whole,
            self._index.probe,
            np.asarray(query_vectors, dtype=np.float32),
            k,
        )
        return merged(parts, self._sizes, k)


def _with_masks(shards, sizes, allowed):
    """Each shard with the part of a mask that is about its items."""
    mask = as_mask(allowed)
    start = 0
    for shard, size in zip(shards, sizes, strict=True):
        yield shard, None if mask is None else mask[:, start : start + size]
        start += size


def _dense_lists(part, store, whole, probe, queries, k):
    shard, mask = part
    if whole:
        return DenseIndex(store.document_vectors(shard)).search(queries, k, mask)
    vectors = store.vectors(shard["vectors"])[: shard["passages"]["n"]]
    if probe:
        return InvertedFile(store.file(shard["clusters"]), vectors, probe).search(queries, k, mask)
    return DenseIndex(vectors).search(queries, k, mask)


def _mean_lists(part, store, whole, probe, queries, k):
    shard, mask = part
    vectors = store.vectors(shard["vectors"])[: shard["passages"]["n"]]
    owner = np.asarray(store.arrays(shard["passages"])["owner"])
    index = MeanDenseIndex(vectors, store.document_vectors(shard), owner)
    return index.search(queries, k, mask)


class ShardedBM25(BM25Index):
    """BM25 of all shards; a search returns only texts that share a word with the query."""

    def __init__(self, index, preset):
        self._index = index
        self._preset = preset
        self.size = len(index)
        self._length = sum(shard["documents"]["words"][preset] for shard in index.shards)
        if not self._length:
            raise InputError("no text of the BM25 index holds a word to index")
        self.mean_words = self._length / self.size
        self._texts = index.texts
        self._shares = {}
        self._bm25 = CorpusWords(index, preset)

    def _token_ids(self, queries):
        tokens = self._tokens(queries)
        self._bm25.count(itertools.chain.from_iterable(tokens))
        return [np.array(self._bm25.get_tokens_ids(words), dtype=np.int64) for words in tokens]

    def _tokens(self, texts):
        return word_lists(texts, **PRESETS[self._preset])

    def _search(self, weighted, k, mask):
        if not weighted:
            return RankedLists.empty(0)
        k = min(positive_depth(k), self.size)
        index = self._index
        names = list(self._bm25.vocab_dict)
        queries = [([names[number] for number in ids], weights) for ids, weights in weighted]
        used = dict.fromkeys(itertools.chain.from_iterable(words for words, _ in queries))
        self._bm25.count(used)
        frequencies = {word: self._bm25.frequencies[word] for word in used}
        parts = on_shards(
            index.client,
            _bm25_lists,
            _with_masks(index.shards, index.document_sizes, mask),
            index.store,
            self._preset,
            CollectionCounts(self.size, self._length, frequencies),
            queries,
            k,
        )
        return merged(parts, index.document_sizes, k)


class CorpusWords:
    """Words of a corpus in shards that were asked for, as bm25s has those of an index."""

    def __init__(self, index, preset):
        self._index = index
        self._preset = preset
        self.frequencies = {}
        # Numbers of words, in the order in which they are asked for.
        self.vocab_dict = defaultdict(itertools.count().__next__)

    def count(self, words):
        """Count the texts that hold some words, in all shards; words of none get no number."""
        index = self._index
        new = sorted(set(words) - self.frequencies.keys())
        if not new:
            return
        counted = on_shards(
            index.client, _word_frequencies, index.shards, index.store, self._preset, new
        )
        self.frequencies.update(zip(new, sum(counted).tolist(), strict=True))
        for word in new:
            if self.frequencies[word]:
                _ = self.vocab_dict[word]

    def get_tokens_ids(self, words):
        """Numbers of the words that the corpus has."""
        return [self.vocab_dict[word] for word in words if word in self.vocab_dict]

    @property
    def scores(self):
        """Where the entries of each word would begin."""
        sizes = [self.frequencies.get(word, 0) for word in self.vocab_dict]
        return {"indptr": np.cumsum([0, *sizes])}


def _word_frequencies(shard, store, preset, words):
    return Postings.of_arrays(store.arrays(shard["documents"]), preset).frequencies(words)


def _bm25_lists(part, store, preset, counts, queries, k):
    """Lists of one shard, scored as in an index of the whole corpus."""
    shard, mask = part
    postings = Postings.of_arrays(store.arrays(shard["documents"]), preset)
    index = postings.bm25(list(counts.frequencies), counts)
    return lists_by_words(index, [_of_shard(index, *query) for query in queries], k, mask)


def _of_shard(index, words, weights):
    """Numbers and weights of those words of a query that a shard has."""
    rows = [row for row, word in enumerate(words) if word in index.vocab_dict]
    return index.get_tokens_ids(words), None if weights is None else weights[rows]


# --- what is read of shards where it is needed


class ShardTexts(Sequence):
    """Texts of all documents, decoded when they are asked for."""

    def __init__(self, parts):
        self._parts = parts
        self._ends = [part["ends"] for part in parts]
        self._bounds = np.cumsum([0, *map(len, self._ends)])
        self._text = functools.lru_cache(_TEXTS_IN_MEMORY)(self._decode)

    def __len__(self):
        return int(self._bounds[-1])

    def __getitem__(self, document):
        return self._text(int(document))

    def __iter__(self):
        return map(self._decode, range(len(self)))

    def _decode(self, document):
        if not 0 <= document < len(self):
            raise IndexError(document)
        shard = int(np.searchsorted(self._bounds, document, side="right")) - 1
        row = document - int(self._bounds[shard])
        ends = self._ends[shard]
        start = int(ends[row - 1]) if row else 0
        return self._parts[shard]["texts"][start : int(ends[row])].tobytes().decode()


class PassageTexts(Sequence):
    """Texts of all passages, cut from their documents when they are asked for."""

    def __init__(self, texts, owner, start, end):
        self._texts = texts
        self._owner = owner
        self._start = start
        self._end = end

    def __len__(self):
        return len(self._owner)

    def __getitem__(self, passage):
        return self._texts[self._owner[passage]][self._start[passage] : self._end[passage]]


class ShardRows:
    """Rows of the vectors of all shards, read when they are asked for by an array of numbers."""

    def __init__(self, vectors, sizes, rows=None):
        self._vectors = vectors
        self._rows = rows  # of each item in its shard; by default they are in order
        self._bounds = np.cumsum([0, *sizes])

    def __getitem__(self, items):
        items = np.asarray(items)
        flat = items.ravel()
        dims = self._vectors[0].shape[1]
        picked = np.empty((len(flat), dims), dtype=np.float32)
        shards = np.searchsorted(self._bounds, flat, side="right") - 1
        for shard in np.unique(shards):
            of_shard = np.flatnonzero(shards == shard)
            rows = flat[of_shard] - self._bounds[shard]
            if self._rows is not None:
                rows = self._rows[shard][rows]
            picked[of_shard] = self._vectors[shard][rows]
        return picked.reshape(*items.shape, dims)
