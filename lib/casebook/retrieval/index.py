"""What a collection needs to be searched: built once, shared by all systems."""

import itertools

import numpy as np

from casebook.errors import InputError
from casebook.models.encoders import load_encoder
from casebook.models.rerankers import CrossEncoderReranker, MaxSimReranker, RememberedScores
from casebook.retrieval.checks import checked_documents
from casebook.retrieval.chunking import Chunks, chunk_documents
from casebook.retrieval.config import CROSS_ENCODER
from casebook.retrieval.dense import DenseIndex
from casebook.retrieval.query_windows import WindowedQueries
from casebook.retrieval.sparse import BM25Index


class CorpusIndex:
    """Lazily built indexes of one collection.

    Parameters
    ----------
    documents : pandas.DataFrame
        Columns ``doc_id`` (unique) and ``text``; other columns are metadata, which
        filters use and hits carry. A result is a row position.
    encoder, second_encoder : str or encoder, optional
        Encoders of the lists ``dense`` and ``dense2``: names for
        :func:`casebook.models.encoders.load_encoder`, or objects. The first is the
        packaged one by default; the second is needed by ``dense2`` alone.
    remember_scores : bool
        Keep the late-interaction score of every pair of query and document, for
        experiments that put the same queries through many settings.

    Raises
    ------
    InputError
        If a column is missing, ids repeat, a text is not a string, or there is no
        document.
    """

    def __init__(self, documents, encoder=None, second_encoder=None, remember_scores=False):
        self.documents = checked_documents(documents)
        self.texts = self.documents["text"].tolist()
        self.doc_ids = self.documents["doc_id"].tolist()
        self._encoders = {"dense": encoder or "minilm", "dense2": second_encoder}
        self._remember = remember_scores
        self._built = {}

    def __len__(self):
        return len(self.texts)

    def _once(self, key, build):
        """Build a part on first use."""
        if key not in self._built:
            self._built[key] = build()
        return self._built[key]

    def encoder(self, name="dense"):
        """Give the encoder of a dense list."""
        given = self._encoders[name]
        if given is None:
            raise InputError("list dense2 needs a second_encoder")

        def build():
            loaded = load_encoder(given) if isinstance(given, str) else given
            return WindowedQueries(loaded)

        return self._once(("encoder", name), build)

    def passages(self, config):
        """Give the texts that encoder and reranker read."""
        if not config.chunking:
            return self._once(("passages", None), self._whole_documents)

        def build():
            encoder = self.encoder()
            chunks = chunk_documents(
                self.texts,
                max_words=config.max_words,
                overlap=config.overlap,
                token_counter=lambda text: int(encoder.count_tokens([text])[0]),
                max_tokens=encoder.max_tokens,
            )
            return most_central(chunks, config.max_passages)

        return self._once(("passages", config.passage_key), build)

    def _whole_documents(self):
        """Give every document as one passage."""
        rows = np.arange(len(self.texts))
        ends = np.array([len(text) for text in self.texts])
        return Chunks(self.texts, rows, np.zeros_like(rows), ends)

    def bm25(self, config, name="bm25"):
        """Give the BM25 index and the document of each of its texts."""
        chunked = config.bm25_chunks and config.chunking
        passages = self.passages(config) if chunked else self._once(("passages", None), self._whole_documents)
        preset = config.bm25_preset if name == "bm25" else "leaderboard"
        key = ("bm25", preset, config.passage_key if chunked else None)
        index = self._once(key, lambda: BM25Index.from_preset(passages.texts, preset))
        return index, passages.owner

    def vectors(self, config, name="dense"):
        """Give the passage vectors of a dense list."""

        def build():
            if name == "dense" and str(config.reranker).startswith("maxsim"):
                self.reranker(config).prepare()
            return self.encoder(name).encode_documents(self.passages(config).texts)

        return self._once(("vectors", name, config.passage_key), build)

    def dense(self, config, name="dense"):
        """Give the nearest-neighbour index of a dense list."""
        return self._once(("index", name, config.passage_key), lambda: DenseIndex(self.vectors(config, name)))

    def reranker(self, config):
        """Give the reranker."""
        passages, name = self.passages(config), config.reranker

        def build():
            if name.startswith(CROSS_ENCODER):
                model = name.removeprefix(CROSS_ENCODER)
                return CrossEncoderReranker(model, passages.texts)
            weighting = "mean" if name == "maxsim-mean" else "idf"
            reranker = MaxSimReranker(self.encoder(), passages.texts, passages.owner, weighting)
            return RememberedScores(reranker) if self._remember else reranker

        return self._once(("reranker", name, config.passage_key), build)

    def positions(self, doc_ids):
        """Find documents by id."""
        rows = self._once("rows", lambda: {d: i for i, d in enumerate(self.doc_ids)})
        missing = [doc_id for doc_id in doc_ids if doc_id not in rows]
        if missing:
            raise InputError(f"{len(missing)} candidate ids are not in the collection, the first is {missing[0]!r}")
        return np.array([rows[doc_id] for doc_id in doc_ids], dtype=np.int64)


def most_central(chunks, limit):
    """Keep the chunks of each long document that share most with the whole of it."""
    sizes = np.bincount(chunks.owner)
    if limit is None or not len(chunks) or sizes.max() <= limit:
        return chunks
    long = np.flatnonzero(np.isin(chunks.owner, np.flatnonzero(sizes > limit)))
    weights = BM25Index([chunks.texts[row] for row in long]).weights()
    owner = chunks.owner[long]
    bounds = np.flatnonzero(np.diff(owner, prepend=-1, append=-1))
    keep = np.ones(len(chunks), dtype=bool)
    for first, last in itertools.pairwise(bounds):
        part = weights[first:last]
        score = np.round(part @ np.asarray(part.sum(axis=0)).ravel(), 6)
        keep[long[first + np.argsort(-score, kind="stable")[limit:]]] = False
    rows = np.flatnonzero(keep)
    texts = [chunks.texts[row] for row in rows]
    return Chunks(texts, chunks.owner[rows], chunks.start[rows], chunks.end[rows])
