"""Hybrid retrieval in six stages, each of which can be switched off.

Filter, first-stage lists, fusion, marginal relevance, reranking, attribution. The unit of every
stage is the document; passages decide its scores. `HybridRetriever._run` reads from the first stage
to the last.
"""

import contextlib
import functools
import hashlib
import time
from collections import Counter, namedtuple
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.models.cache import checked_texts
from casebook.models.encoders import PACKAGED
from casebook.retrieval import fuse, ranked
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.ranked import (
    ABSENT,
    RankedLists,
    at_columns,
    best_first,
    positive_depth,
)
from casebook.retrieval.rerank import agreement_weights, combine
from casebook.retrieval.settings import PipelineConfig, config_for

EVALUATION_DEPTH = 100
# Lists that also match other words lose weight as queries grow: by this power of the semantic
# weight.
_WEIGHT_POWERS = {"bm25_stemmed": 1.0, "dense": 0.5}

# Queries that are treated alike, by which settings; the documents that they may find [1 or Q,
# documents], or None; those that are ranked in any case; the weight of semantic evidence in each;
# and the depth of their lists.
Batch = namedtuple("Batch", "queries config allowed required weights depth")


class HybridRetriever:
    """Retriever over one collection.

    Parameters
    ----------
    documents : pandas.DataFrame, list of dict, or CorpusIndex
        The collection: ``doc_id``, ``text`` and metadata. An index can be shared by retrievers
        with different settings.
    encoder : str or encoder, default "minilm"
        As in :func:`casebook.load_encoder`; a mode of words alone loads none.
    reranker : str or None, default "maxsim"
        Late interaction, ``cross-encoder:NAME`` or ``module:object``; None for no reranker. A mode
        that switches the reranker off wins.
    mode : str, default "full"
        A key of :data:`casebook.retrieval.settings.MODES`.
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
    """

    def __init__(
        self,
        documents,
        encoder=PACKAGED,
        reranker="maxsim",
        mode="full",
        **settings,
    ):
        self.config = config_for(mode, reranker=reranker, **settings)
        if not isinstance(documents, CorpusIndex):
            documents = CorpusIndex(documents, encoder)
        elif encoder != PACKAGED:
            raise InputError(
                "the index has its encoder already: give a frame, or no encoder"
            )
        self.index = documents
        if documents.median_words < self.config.passages_from:
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
        top_k = positive_depth(self.config.top_k if top_k is None else top_k)
        depth = max(top_k, positive_depth(depth), *map(len, candidates or [()]))
        # Fusion reads scores below the pool too.
        search_depth = max(depth, 2 * self.config.pool)
        allowed, required = self._allowed(len(queries), filters, candidates)
        costs = Counter()
        weights = self._semantic_weights(queries, costs)
        groups = self._groups(queries, weights)
        parts = []
        is_shared = allowed is None or len(allowed) == 1
        for config, rows in groups:
            asked = [queries[row] for row in rows]
            found = allowed if is_shared else allowed[rows]
            further = required.take(rows), weights[rows], search_depth
            parts.append(self._run(Batch(asked, config, found, *further), depth, costs))
        order = np.argsort(np.concatenate([rows for _, rows in groups]))
        stages = {}
        for name in parts[0]:
            of_groups = ranked.stack([part[name] for part in parts])
            stages[name] = of_groups.take(order)
        passages = stages.pop("passages").ids
        costs = pd.Series(costs, dtype=float).rename_axis("stage")
        return RetrievalResult(top_k, stages, passages, costs, self.index, self.config)

    def _run(self, batch, depth, costs):
        """Lists of each stage, and the passages that decided the documents."""
        config = batch.config
        if config.reranker:
            # Before the dense list: its pass over the tokens gives the vectors for free.
            reranker = self._passages.reranker(config.reranker, config.rerank_tokens)
        engines = {name: self._engine(name) for name in config.lists}
        if config.compares_vectors:
            _ = self._passages.vectors  # of the collection, which is no cost of a query
        vectors = None
        if config.uses_encoder:
            with _timed(costs, "encoding"):
                vectors = self._query_vectors(batch)

        # 1 filter: in batch.allowed. 2 first-stage lists
        stages = {
            name: RankedLists.empty(len(batch.queries)) for name in self.config.lists
        }
        sources = []  # lists of documents, and the passages that decided them
        with _timed(costs, "search"):
            for name, engine in engines.items():
                stages[name], passages = self._first_stage(name, engine, batch, vectors)
                if passages is not None:
                    position = 0 if name == "dense" else len(sources)
                    sources.insert(position, (stages[name], passages))

            # 3 fusion
            lists = [stages[name] for name in config.lists]
            ranking = fused = stages["fused"] = _fused(lists, batch, config.pool)
            below_pool = _fused(lists, batch, batch.depth)

            # 4 diversity
            if config.mmr:
                ranking, passages = self._diversify(fused, config, vectors)
                sources.insert(0, (fused, passages))
            if self.config.mmr:
                ranking = stages["mmr"] = ranking.truncate(config.mmr_pool)

        # 5 reranking
        if self.config.reranker:
            candidates = ranking = stages["rerank"] = ranking.truncate(config.mmr_pool)
        if config.reranker:
            with _timed(costs, "reranker"):
                found = self._rerank(reranker, batch, vectors, candidates, fused)
            stages["rerank"], ranking, passages = found
            sources.insert(0, (candidates, passages))
        if self.config.reranker:
            stages["reranked"] = ranking

        # 6 attribution: the first source that has a passage of a document decides
        final = ranked.extend(ranking, fused, below_pool, batch.required).truncate(
            depth
        )
        passages = _deciding_passages(final, sources)
        return stages | {
            "final": final,
            "passages": RankedLists(passages, final.scores),
        }

    @property
    def _passages(self):
        return self.index.passages(self.config.cut)

    def _allowed(self, n_queries, filters, candidates):
        """Documents that may be found [1 or Q, documents], and those that are ranked in any case.

        Without conditions all may be found, and None says so.
        """
        allowed = None
        if filters:
            allowed = ranked.metadata_mask(self.index.documents, filters)[None, :]
        if candidates is None:
            return allowed, RankedLists.empty(n_queries)
        mask = np.zeros((n_queries, len(self.index)), dtype=bool)
        positions = pd.Series(range(len(self.index)), self.index.doc_ids)
        for row, pool in enumerate(candidates):
            mask[row, positions.loc[list(pool)]] = True
        allowed = mask & (True if allowed is None else allowed)
        return allowed, ranked.from_scores(
            np.where(allowed, 0.0, -np.inf), len(self.index)
        )

    def _semantic_weights(self, queries, costs):
        config = self.config
        reads_words = config.lists == ("bm25",) and not config.reranker
        if config.question_tokens is None or reads_words:
            return np.ones(len(queries))
        with _timed(costs, "encoding"):
            return config.semantic_weight(self.index.encoder.count_tokens(queries))

    def _groups(self, queries, weights):
        """Settings and rows of queries that are treated alike.

        Late interaction leaves long queries as they are; the longest are left to words alone.
        """
        config = self.config
        unranked = config.model_copy(update={"reranker": None})
        words = unranked.model_copy(update={"lists": ("bm25",), "mmr": False})
        limit = np.inf
        if config.late_interaction and config.rerank_words:
            limit = config.rerank_words
        is_long = np.array(
            [len(query.split()) > limit for query in queries], dtype=bool
        )
        kinds = np.where(weights > 0, is_long, 2)
        groups = enumerate((config, unranked, words))
        groups = [(treated, np.flatnonzero(kinds == kind)) for kind, treated in groups]
        return [group for group in groups if len(group[1])] or groups[:1]

    def _engine(self, name):
        """Passages that a list is searched in, and their index; nothing for a control."""
        config = self.config
        if name in ("random", "constant"):
            return None
        if name == "dense":
            return self._passages, self._passages.dense
        passages = self._passages if config.bm25_chunks else self.index.passages()
        return passages, passages.bm25(
            config.bm25_preset if name == "bm25" else "leaderboard"
        )

    def _query_vectors(self, batch):
        encoder = self.index.encoder
        if batch.config.late_interaction and getattr(encoder, "cache", None):
            # Its pass over the tokens gives the vectors too, which the cache then has.
            encoder.token_vectors(batch.queries, "query")
        return encoder.encode_queries(batch.queries)

    def _first_stage(self, name, engine, batch, vectors):
        """One list of each query, and the passage that decided each document, or None."""
        if engine is None:
            return _control_list(name, batch, len(self.index), self.config.seed), None
        passages, index = engine
        search = functools.partial(index.search, vectors)
        if name != "dense":
            words = self.config.words_read(index.mean_words)
            search = functools.partial(index.search, batch.queries, words=words)
        lists, best_passages = _search_documents(search, passages.owner, batch)
        # A search of whole documents says nothing about their passages.
        return lists, best_passages if passages is self._passages else None

    def _diversify(self, fused, config, vectors):
        """Pick documents by marginal relevance over the passages nearest to the query."""
        nearest = self._passages.nearest(vectors, fused.ids)
        relevance = fuse.min_max(fused.scores, fused.ids >= 0)
        if config.mmr_relevance == "similarity":
            relevance = self._passages.similarity(vectors, nearest)
        relevance = np.where(nearest >= 0, relevance, -np.inf)
        candidates = self._passages.vectors[np.maximum(nearest, 0)]
        k = min(config.mmr_pool, fused.ids.shape[1])
        picked = fuse.maximal_marginal_relevance(
            relevance, candidates, config.mmr_lambda, k
        )
        order, values = picked
        ids = np.where(order >= 0, at_columns(fused.ids, order), ABSENT)
        return RankedLists(ids, values), nearest

    def _rerank(self, reranker, batch, vectors, candidates, fused):
        """Order by the reranker alone, order by both scores, and the passages that decided."""
        config = batch.config
        nearest = self._passages.nearest(vectors, candidates.ids)
        scores, passages = reranker(batch.queries, candidates.ids, nearest)
        alone = best_first(candidates.ids, scores, fused.ranks_of(candidates.ids))
        weights = batch.weights
        if config.late_interaction and config.agreement is not None:
            similarity = self._passages.similarity(vectors, nearest)
            agreed = agreement_weights(candidates, scores, similarity, config.agreement)
            weights = weights * agreed
        both = combine(candidates, scores, fused, weights, config.first_stage_weight)
        return alone, both, passages


def _fused(lists, batch, depth):
    """First-stage lists as one, weighted by question; the word lists share one weight."""
    config = batch.config
    if len(lists) == 1:
        return lists[0].truncate(depth)
    n_word_lists = sum(name.startswith("bm25") for name in config.lists)
    weights = []
    for name in config.lists:
        weight = batch.weights ** _WEIGHT_POWERS.get(name, 0.0)
        if name.startswith("bm25"):  # these lists share one weight
            weight = weight / n_word_lists
        weights.append(weight)
    if config.fusion == "standardised":
        return fuse.standardised_sum(lists, weights, depth, max(depth, 2 * config.pool))
    if config.fusion == "weighted_sum":
        return fuse.weighted_sum([entry.truncate(depth) for entry in lists], weights)
    return fuse.reciprocal_rank_fusion(lists, config.rrf_k, depth, weights)


def _search_documents(search, owner, batch):
    """Search passages until there are enough documents, each at its best one."""
    mask = None if batch.allowed is None else batch.allowed[:, owner]
    fetch = batch.depth
    if len(owner) > owner[-1] + 1:
        fetch *= 4  # passages for each document; more where these are too few
    while True:
        fetch = min(fetch, len(owner))
        lists = search(k=fetch, allowed=mask)
        documents, best_passages = ranked.collapse(lists, owner)
        is_done = (documents.lengths >= batch.depth) | (lists.lengths < fetch)
        if fetch == len(owner) or is_done.all():
            return documents.truncate(batch.depth), best_passages[:, : batch.depth]
        fetch *= 2


def _control_list(name, batch, n_documents, seed):
    """Equal scores, and so the order of the collection; or an order drawn for each query."""
    allowed = True if batch.allowed is None else batch.allowed
    allowed = np.broadcast_to(allowed, (len(batch.queries), n_documents))
    scores = np.where(allowed, 0.0, -np.inf)
    if name == "random":
        for row, query in enumerate(batch.queries):
            digest = hashlib.sha256(query.encode()).digest()
            rng = np.random.default_rng([seed, int.from_bytes(digest[:8])])
            documents = rng.permutation(np.flatnonzero(allowed[row]))
            scores[row, documents] = -np.arange(1.0, len(documents) + 1)
    return ranked.from_scores(scores, batch.depth)


def _deciding_passages(final, sources):
    """Passage that decided each document: that of the first source which has one."""
    passages = np.full(final.ids.shape, ABSENT)
    for documents, best_passages in sources:
        columns = documents.columns_of(final.ids)
        undecided = (passages < 0) & (columns >= 0)
        passages = np.where(undecided, at_columns(best_passages, columns), passages)
    return passages


# One returned document, the passage that decided it, and its score in each stage that lists it.
Hit = namedtuple("Hit", "rank doc_id text start end metadata scores")


@dataclass(frozen=True, eq=False)
class RetrievalResult:
    """Ranked documents of many queries with all stages behind them."""

    top_k: int
    stages: dict  # RankedLists by name; the last is "final"
    passages: np.ndarray
    costs: pd.Series  # processor seconds: encoding, search, reranker
    index: CorpusIndex = field(repr=False)
    config: PipelineConfig

    @property
    def final(self):
        return self.stages["final"]

    def run(self, query_ids, stage="final"):
        return ranked.to_run(self.stages[stage], query_ids, self.index.doc_ids)

    def last_stage(self, depth):
        """Ids and scores of the last stage before lists are continued for evaluation."""
        lists = list(self.stages.values())[-2].truncate(depth).padded(depth)
        return lists.ids.tolist(), lists.scores.tolist()

    def hits(self, row):
        documents = self.final.ids[row, : self.top_k]
        documents = documents[documents >= 0]
        metadata = self.index.documents.drop(columns="text", errors="ignore")
        metadata = metadata.iloc[documents].to_dict("records")
        hits = []
        for document, passage, about in zip(
            documents, self.passages[row], metadata, strict=False
        ):
            scores = {}
            for stage, lists in self.stages.items():
                for score in lists.scores[row][lists.ids[row] == document]:
                    scores[stage] = float(score)
            place = document if passage < 0 else passage
            cut = None if passage < 0 else self.config.cut
            chunks = self.index.passages(cut).chunks
            start = int(chunks.start[place])
            end = int(chunks.end[place])
            text = self.index.texts[document][start:end]
            doc_id = about.pop("doc_id")
            hits.append(Hit(len(hits) + 1, doc_id, text, start, end, about, scores))
        return hits


@contextlib.contextmanager
def _timed(costs, stage):
    start = time.process_time()
    yield
    costs[stage] += time.process_time() - start
