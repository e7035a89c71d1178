"""Hybrid retrieval in six stages, each of which can be switched off.

Filter, first-stage lists, fusion, marginal relevance, reranking, attribution. The unit of every
stage is the document; passages decide its scores. `HybridRetriever._run` reads from the first stage
to the last.
"""

import contextlib
import hashlib
import time
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.models.cache import checked_texts
from casebook.models.device import model_settings
from casebook.retrieval import ranked
from casebook.retrieval.fuse import (
    maximal_marginal_relevance,
    reciprocal_rank_fusion,
    standardised_sum,
    weighted_sum,
)
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.ranked import ABSENT, RankedLists, best_first, positive_depth, stack
from casebook.retrieval.rerank import agreement_weights, combine
from casebook.retrieval.settings import PipelineConfig, config_for

EVALUATION_DEPTH = 100
# Lists that also match other words lose weight as queries grow: by this power of the semantic
# weight.
_WEIGHT_POWERS = {"bm25_stemmed": 1.0, "dense": 0.5}
# Passages fetched for each document wanted; more are fetched when they are too few.
_OVERSAMPLING = 4


class HybridRetriever:
    """Retriever over one collection.

    Parameters
    ----------
    documents : pandas.DataFrame, list, dict, or CorpusIndex
        The collection: ``doc_id``, ``text`` and metadata as a frame, a list of such records,
        ``{id: text}``, or a list of texts, whose places, from "0", are their ids; see
        :func:`casebook.retrieval.index.documents_frame`. An index can be shared by retrievers with
        different settings.
    encoder : str, encoder or None, default "default"
        The packaged encoder by default; None for no encoder, which switches the dense list,
        marginal relevance and the reranker off.
    reranker : str or None, default "maxsim"
        A key of :data:`casebook.retrieval.rerank.RERANKERS` (``maxsim``, ``maxsim-mean``,
        ``pass-through``) or ``cross-encoder:NAME``; None or ``none`` for no reranker. A mode that
        switches the reranker off wins.
    mode : str, default "full"
        A key of :data:`casebook.retrieval.settings.MODES`.
    device, precision, batch_size : optional
        How the encoder and the cross-encoder that are named run; see
        :func:`casebook.load_encoder`. Search and late interaction run on the CPU.
    **settings
        Fields of :class:`casebook.retrieval.settings.PipelineConfig`; None switches a stage off.

    Raises
    ------
    InputError
        If a name, a value or the collection is not valid, or a model does not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> clauses = pd.DataFrame(
    ...     {"doc_id": ["a", "b"], "text": ["You may cancel.", "We may sue."]}
    ... )
    >>> retriever = HybridRetriever(clauses, mode="bm25")
    >>> [hit.doc_id for hit in retriever.retrieve("can I cancel?")]
    ['a']
    >>> clauses = ["You may cancel.", "We may sue."]
    >>> [hit.doc_id for hit in HybridRetriever(clauses, mode="bm25").retrieve("who may sue?")]
    ['1', '0']
    >>> HybridRetriever({"a": "We may sue."}, encoder=None).config.lists
    ('bm25', 'bm25_stemmed')
    """

    def __init__(
        self,
        documents,
        encoder="default",
        reranker="maxsim",
        mode="full",
        *,
        device=None,
        precision=None,
        batch_size=None,
        **settings,
    ):
        self.config = config_for(mode, reranker=reranker, **settings)
        if encoder is None:
            self.config = self.config.without_encoder()
        if isinstance(encoder, str) and encoder == "default":
            encoder = None  # the packaged one, or that of the index
        if not isinstance(documents, CorpusIndex):
            models = model_settings(device, precision, batch_size)
            documents = CorpusIndex(documents, encoder, settings=models)
        elif (encoder, device, precision, batch_size) != (None, None, None, None):
            raise InputError("the index has its encoder and device already: give a frame or none")
        self.index = documents
        if self.config.chunking and documents.median_words < self.config.passages_from:
            self.config = self.config.model_copy(update={"chunking": False})

    def retrieve(self, query, top_k=None, filters=None):
        """Retrieve documents for one query.

        Parameters
        ----------
        query : str
            Query text, not blank.
        top_k : int, optional
            Distinct documents to return; by default that of the settings.
        filters : mapping, optional
            Conditions on metadata; see :func:`casebook.retrieval.ranked.metadata_mask`.

        Returns
        -------
        list of Hit
            Best first; as many as asked for if the filter leaves so many. BM25 alone returns only
            documents that share a word with the query.

        Raises
        ------
        InputError
            If the query is blank, or ``top_k`` or a filter is not valid.
        """
        return self.retrieve_many([query], top_k, filters, depth=1).hits(0)

    def retrieve_many(
        self, queries, top_k=None, filters=None, candidates=None, depth=EVALUATION_DEPTH
    ):
        """Retrieve documents for many queries.

        Parameters
        ----------
        queries : sequence of str, length Q
            Query texts, not blank.
        top_k : int, optional
            Distinct documents to return; by default that of the settings.
        filters : mapping, optional
            Conditions on metadata, applied to every list.
        candidates : sequence of Q sequences of str, optional
            Ids that each query may return, all of which are then ranked.
        depth : int, default 100
            Documents to rank for evaluation. Below the reranked ones follow the other fused ones,
            then what the first-stage lists hold below ``pool``, fused.

        Returns
        -------
        RetrievalResult
            Ranked documents, stages and costs.

        Raises
        ------
        InputError
            If a query is blank, or an argument is not valid.
        """
        queries = checked_texts(queries)
        for row, query in enumerate(queries):
            if not query.strip():
                raise InputError(f"query {row} is blank: give it text or leave it out")
        config = self.config
        top_k = positive_depth(config.top_k if top_k is None else top_k)
        depth = max(top_k, positive_depth(depth), *map(len, candidates or [()]))
        costs = {}
        with _timed(costs, "filter"):
            allowed = self._allowed(len(queries), filters, candidates)
        with _timed(costs, "encode queries"):
            weights = self._semantic_weights(queries)
        # Fusion reads scores below the pool too.
        search_depth = max(depth, 2 * config.pool)
        batch = Batch(np.arange(len(queries)), queries, allowed, weights, search_depth)

        stages, sources = self._run(batch, costs)
        final = stages["final"]
        if candidates is not None:
            unranked = np.where(allowed, 0.0, -np.inf)
            final = ranked.extend(final, ranked.from_scores(unranked, len(self.index)))
        stages["final"] = final = final.truncate(depth)
        costs = pd.DataFrame.from_dict(costs, "index", columns=["wall_s", "cpu_s"])
        costs = costs.rename_axis("stage")
        passages = _deciding_passages(final, sources)
        return RetrievalResult(queries, top_k, final, stages, passages, costs, self.index, config)

    def _run(self, batch, costs):
        """Run the stages: the lists of each, and the passages that decided the documents."""
        config = self.config
        # Queries without a weight of semantic evidence need no encoder.
        semantic = _part(batch, np.flatnonzero(batch.weights))
        reranked = _part(batch, np.flatnonzero(batch.weights * self._is_reranked(batch.queries)))
        with _timed(costs, "index"):
            reranker = None
            if reranked.queries:
                # Before the dense list: its pass over the tokens gives the vectors for free.
                settings = config.reranker, config.query_reading, config.rerank_tokens
                reranker = self._passages.reranker(*settings)
            searched = {name: batch if name == "bm25" else semantic for name in config.lists}
            engines = {name: self._engine(name) for name in config.lists if searched[name].queries}
            if config.compares_vectors and semantic.queries:
                _ = self._passages.vectors
        with _timed(costs, "encode queries"):
            vectors = self._query_vectors(semantic, reranked)

        # 1 filter: in batch.allowed. 2 first-stage lists
        stages = {name: RankedLists.empty(len(batch.queries)) for name in config.lists}
        sources = []
        for name, engine in engines.items():
            with _timed(costs, name):
                lists, passages = self._first_stage(name, engine, searched[name], vectors)
                stages[name] = stages[name].replace(searched[name].rows, lists)
            if passages is not None:
                position = 0 if name == "dense" else len(sources)
                sources.insert(position, (searched[name].rows, lists, passages))

        # 3 fusion
        with _timed(costs, "fusion"):
            stages["fused"] = self._fused(stages, semantic, config.pool)
            below_pool = self._fused(stages, semantic, batch.depth)
        ranking = stages["fused"]

        # 4 diversity
        if config.mmr:
            stages["mmr"] = ranking.truncate(config.mmr_pool)
            if semantic.queries:
                with _timed(costs, "mmr"):
                    sources.insert(0, self._diversify(stages, semantic, vectors))
            ranking = stages["mmr"]

        # 5 reranking
        if config.reranker:
            stages["rerank"] = stages["reranked"] = ranking.truncate(config.mmr_pool)
            if reranked.queries:
                of_reranked = vectors[np.isin(semantic.rows, reranked.rows)]
                with _timed(costs, "rerank"):
                    sources.insert(0, self._rerank(stages, reranked, of_reranked, reranker))
            ranking = stages["reranked"]

        # 6 attribution, by the caller: the first source that has a passage of a document decides
        stages["final"] = ranked.extend(ranking, stages["fused"], below_pool)
        return stages, sources

    @property
    def _passages(self):
        return self.index.passages(self.config.cut)

    @property
    def _late_interaction(self):
        """Whether the reranker compares the tokens of the query with those of documents."""
        return self.config.reranker is not None and self.config.reranker.startswith("maxsim")

    def _semantic_weights(self, queries):
        config = self.config
        if config.question_tokens is None or (config.lists == ("bm25",) and not config.reranker):
            return np.ones(len(queries))
        return config.semantic_weight(self.index.encoder().count_tokens(queries))

    def _is_reranked(self, queries):
        """Whether each query is reranked: by late interaction those that are short enough."""
        longest = 0 if self.config.reranker is None else np.inf
        if self._late_interaction and self.config.rerank_words is not None:
            longest = self.config.rerank_words
        return np.array([len(query.split()) <= longest for query in queries], dtype=bool)

    def _engine(self, name):
        """Passages that a list is searched in, and their index; nothing for a control."""
        config = self.config
        if name in ("random", "constant"):
            return None
        if name == "dense":
            return self._passages, self._passages.dense
        passages = self._passages if config.bm25_chunks else self.index.passages()
        return passages, passages.bm25(config.bm25_preset if name == "bm25" else "leaderboard")

    def _query_vectors(self, semantic, reranked):
        if not semantic.queries or not self.config.uses_encoder:
            return None
        encoder = self.index.encoder(self.config.query_reading)
        if self._late_interaction and reranked.queries and getattr(encoder, "cache", None):
            # Its pass over the tokens gives the vectors too, which the cache then has.
            encoder.token_vectors(reranked.queries, "query")
        return encoder.encode_queries(semantic.queries)

    def _first_stage(self, name, engine, batch, vectors):
        """One list of each query, and the passage that decided each document, or None."""
        if engine is None:
            return _control_list(name, batch, len(self.index), self.config.seed), None
        passages, index = engine
        asked = {"query_vectors": vectors}
        if name != "dense":
            words = self.config.words_read(index.mean_words)
            expansion = self.config.query_expansion
            asked = {"queries": batch.queries, "words": words, "expansion": expansion}
        lists, best_passages = _search_documents(index, asked, passages.owner, batch)
        # A search of whole documents says nothing about their passages.
        return lists, best_passages if passages is self._passages else None

    def _fused(self, stages, semantic, depth):
        config = self.config
        lists = [stages[name] for name in config.lists]
        if len(lists) == 1:
            return lists[0].truncate(depth)
        # BM25 lists share one weight.
        powers = [semantic.weights ** _WEIGHT_POWERS.get(name, 0.0) for name in config.lists]
        words = np.array([name.startswith("bm25") for name in config.lists])
        weights = np.array(powers) / np.where(words, words.sum(), 1)[:, None]
        of_words = stages.get("bm25", lists[0]).truncate(depth)
        lists = [entry.take(semantic.rows) for entry in lists]
        if config.fusion == "standardised":
            fused = standardised_sum(lists, weights, depth, max(depth, 2 * config.pool))
        elif config.fusion == "weighted_sum":
            fused = weighted_sum([entry.truncate(depth) for entry in lists], weights)
        else:
            fused = reciprocal_rank_fusion(lists, config.rrf_k, depth, weights)
        return of_words.replace(semantic.rows, fused)

    def _diversify(self, stages, semantic, vectors):
        """Pick documents by marginal relevance over the passages nearest to the query."""
        config = self.config
        fused = stages["fused"].take(semantic.rows)
        nearest = self._passages.nearest(vectors, fused.ids)
        relevance = fused.scores
        if config.mmr_relevance == "similarity":
            similarity = self._passages.similarity(vectors, nearest)
            relevance = np.where(nearest >= 0, similarity, -np.inf)
        # Vectors of the candidates alone, since those of a large corpus are on disk.
        passages, rows = np.unique(np.maximum(nearest, 0), return_inverse=True)
        order, values = maximal_marginal_relevance(
            relevance,
            self._passages.vectors[passages],
            config.mmr_lambda,
            min(config.mmr_pool, fused.ids.shape[1]),
            candidates=np.where(nearest >= 0, rows.reshape(nearest.shape), ABSENT),
            scale_relevance=config.mmr_relevance == "fused",
        )
        ids = np.take_along_axis(fused.ids, np.maximum(order, 0), axis=1)
        diverse = RankedLists(np.where(order >= 0, ids, ABSENT), values)
        stages["mmr"] = stages["mmr"].replace(semantic.rows, diverse)
        return semantic.rows, fused, nearest

    def _rerank(self, stages, semantic, vectors, reranker):
        """Order documents by the reranker alone, and combined with the fused scores."""
        config = self.config
        candidates = stages["rerank"].take(semantic.rows)
        fused = stages["fused"].take(semantic.rows)
        nearest = self._passages.nearest(vectors, candidates.ids)
        scores, passages = reranker(semantic.queries, candidates.ids, nearest)
        reranked = best_first(candidates.ids, scores, fused.ranks_of(candidates.ids))
        if config.reranker == "pass-through":
            combined = reranked
        else:
            weights = semantic.weights
            if self._late_interaction and config.agreement is not None:
                similarity = self._passages.similarity(vectors, nearest)
                weights = weights * agreement_weights(
                    candidates, scores, similarity, config.agreement
                )
            combined = combine(candidates, scores, fused, weights, config.first_stage_weight)
        stages["rerank"] = stages["rerank"].replace(semantic.rows, reranked)
        stages["reranked"] = stages["reranked"].replace(semantic.rows, combined)
        return semantic.rows, candidates, passages

    def _allowed(self, n_queries, filters, candidates):
        """Join filter and candidate pools into one mask [1 or Q, documents], or None."""
        allowed = None
        if candidates is not None:
            if len(candidates) != n_queries:
                raise InputError(f"{len(candidates)} candidate pools for {n_queries} queries")
            allowed = np.zeros((n_queries, len(self.index)), dtype=bool)
            for row, pool in enumerate(candidates):
                allowed[row, self.index.positions(pool)] = True
        if filters:
            mask = ranked.metadata_mask(self.index.documents, filters)[None, :]
            allowed = mask if allowed is None else allowed & mask
        return allowed


# Some queries of a call with their rows in it, the documents that they may find [1 or Q,
# documents] or None, the weight of semantic evidence in each, and the depth of their lists.
Batch = namedtuple("Batch", "rows queries allowed weights depth")


def _part(batch, rows):
    allowed = batch.allowed
    if allowed is not None and len(allowed) > 1:
        allowed = allowed[rows]
    queries = [batch.queries[row] for row in rows]
    return Batch(rows, queries, allowed, batch.weights[rows], batch.depth)


def _search_documents(index, asked, owner, batch):
    """Search passages until there are enough documents, each at its best one."""
    mask = None
    available = owner[-1] + 1
    if batch.allowed is not None:
        mask = batch.allowed[:, owner]
        available = batch.allowed.sum(axis=1)
    target = np.minimum(batch.depth, available)
    fetch = batch.depth
    if len(owner) > owner[-1] + 1:
        fetch *= _OVERSAMPLING
    while True:
        lists = index.search(**asked, k=min(fetch, len(owner)), allowed=mask)
        documents, best_passages = ranked.collapse(lists, owner)
        exhausted = lists.lengths < min(fetch, len(owner))
        if fetch >= len(owner) or ((documents.lengths >= target) | exhausted).all():
            return documents.truncate(batch.depth), best_passages[:, : batch.depth]
        fetch *= 2


def _control_list(name, batch, n_documents, seed):
    lists = []
    # One mask of all queries, or one of each.
    masks = np.ones((1, n_documents), bool) if batch.allowed is None else batch.allowed
    for row, query in enumerate(batch.queries):
        documents = np.flatnonzero(masks[row % len(masks)])
        if name == "random":
            digest = hashlib.sha256(query.encode()).digest()
            rng = np.random.default_rng([seed, int.from_bytes(digest[:8])])
            documents = rng.permutation(documents)
        scores = -np.arange(1.0, len(documents) + 1) * (name == "random")
        lists.append(RankedLists([documents], [scores]).truncate(batch.depth))
    return stack(lists)


def _deciding_passages(final, sources):
    """Passage that decided each document: that of the first source which has one."""
    passages = np.full(final.ids.shape, ABSENT)
    for rows, documents, best_passages in sources:
        columns = documents.columns_of(final.ids[rows])
        candidates = np.take_along_axis(best_passages, np.maximum(columns, 0), axis=1)
        undecided = (passages[rows] < 0) & (columns >= 0)
        passages[rows] = np.where(undecided, candidates, passages[rows])
    return passages


# One returned document, the passage that decided it, and its scores and ranks in every stage.
Hit = namedtuple("Hit", "rank doc_id text start end metadata scores ranks")


@dataclass(frozen=True, eq=False)
class RetrievalResult:
    """Ranked documents of many queries with all stages behind them."""

    queries: list
    top_k: int
    final: RankedLists
    stages: dict
    passages: np.ndarray
    costs: pd.DataFrame  # wall_s and cpu_s of each stage
    index: CorpusIndex = field(repr=False)
    config: PipelineConfig

    def run(self, query_ids, stage="final"):
        return ranked.to_run(self.stages[stage], query_ids, self.index.doc_ids)

    def hits(self, row):
        documents = self.final.ids[row, : self.top_k]
        documents = documents[documents >= 0]
        lists = {stage: entry.take([row]) for stage, entry in self.stages.items()}
        scores = {stage: entry.scores_of([documents])[0] for stage, entry in lists.items()}
        ranks = {stage: entry.ranks_of([documents])[0] for stage, entry in lists.items()}
        scores, ranks = _records(scores, float), _records(ranks, "Int64")
        metadata = self.index.documents.drop(columns=["doc_id", "text"], errors="ignore")
        metadata = metadata.iloc[documents].to_dict("records")
        hits = []
        for column, document in enumerate(documents):
            passage = self.passages[row, column]
            chunks = self.index.passages(None if passage < 0 else self.config.cut).chunks
            place = document if passage < 0 else passage
            start, end = int(chunks.start[place]), int(chunks.end[place])
            text = self.index.texts[document][start:end]
            about = metadata[column], scores[column], ranks[column]
            hits.append(Hit(column + 1, self.index.doc_ids[document], text, start, end, *about))
        return hits


def _records(values, kind):
    """A dictionary for each document, with None where a stage does not list it."""
    frame = pd.DataFrame(values).astype(kind)
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@contextlib.contextmanager
def _timed(costs, stage):
    start = np.array([time.perf_counter(), time.process_time()])
    yield
    spent = np.array([time.perf_counter(), time.process_time()]) - start
    costs[stage] = costs.get(stage, 0.0) + spent
