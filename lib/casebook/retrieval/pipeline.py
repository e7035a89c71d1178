"""Hybrid retrieval in six stages, each of which can be switched off.

Filter, first-stage lists, fusion, marginal relevance, reranking, attribution. The unit of every stage is the document;
passages decide its scores. `HybridRetriever._ranked` reads from the first stage to the last.
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
from casebook.retrieval import ranked
from casebook.retrieval.fuse import (
    maximal_marginal_relevance,
    reciprocal_rank_fusion,
    standardised_sum,
    weighted_sum,
)
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.ranked import ABSENT, RankedLists, positive_depth
from casebook.retrieval.rerank import rerank
from casebook.retrieval.settings import PipelineConfig, config_for

DEPTH = 100
# What is left of the settings for a query that only its words can find.
WORDS_ALONE = {"lists": ("bm25",), "mmr": False, "reranker": None}
# Lists that also match what is not the same word lose weight as queries grow: by this power of the trust in a query.
LOOSE = {"bm25_stemmed": 1.0, "dense": 0.5}
_OVERSAMPLING = (
    4  # passages fetched for each document wanted; more are fetched when they are too few
)


class HybridRetriever:
    """Retriever over one collection.

    Parameters
    ----------
    documents : pandas.DataFrame or CorpusIndex
        The collection; see :class:`casebook.retrieval.index.CorpusIndex`. An index can be shared by retrievers with
        different settings.
    encoder : str or encoder, optional
        The packaged encoder by default.
    reranker : str or None, default "maxsim"
        A key of :data:`casebook.retrieval.rerank.RERANKERS` (``maxsim``, ``maxsim-mean``, ``pass-through``) or
        ``cross-encoder:NAME``; None or ``none`` for no reranker. A mode that switches the reranker off wins.
    mode : str, default "full"
        A key of :data:`casebook.retrieval.settings.MODES`.
    **settings
        Fields of :class:`casebook.retrieval.settings.PipelineConfig`.

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

    def __init__(self, documents, encoder=None, reranker="maxsim", mode="full", **settings):
        self.config = config_for(mode, reranker=reranker, **settings)
        if not isinstance(documents, CorpusIndex):
            documents = CorpusIndex(documents, encoder)
        elif encoder is not None:
            raise InputError("the index has its encoder already: give a frame or none")
        self.index = documents

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
            Best first; as many as asked for if the filter leaves so many. BM25 alone returns only documents that
            share a word with the query.

        Raises
        ------
        InputError
            If the query is blank, or ``top_k`` or a filter is not valid.
        """
        return self.retrieve_many([query], top_k, filters, depth=1).hits(0)

    def retrieve_many(self, queries, top_k=None, filters=None, candidates=None, depth=DEPTH):
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
            Documents to rank for evaluation. Below the reranked ones follow the other fused ones, then what the
            first-stage lists hold below ``pool``, fused.

        Returns
        -------
        RetrievalResult
            Ranked documents, stages and costs.

        Raises
        ------
        InputError
            If a query is blank, or an argument is not valid.
        """
        queries, config = checked_texts(queries), self.config
        for row, query in enumerate(queries):
            if not query.strip():
                raise InputError(f"query {row} is blank: give it text or leave it out")
        top_k = positive_depth(config.top_k if top_k is None else top_k)
        costs = {}
        depth = max(top_k, positive_depth(depth), *map(len, candidates or [()]))
        with _timed(costs, "filter"):
            allowed = self._allowed(len(queries), filters, candidates)
        with _timed(costs, "encode queries"):
            trust = np.ones(len(queries))
            if config.question_tokens is not None and (
                config.lists != ("bm25",) or config.reranker
            ):
                trust = config.trust(self.index.encoder().count_tokens(queries))
        parts = []
        for alone in (False, True):
            rows = np.flatnonzero((trust == 0) == alone)
            if rows.size or not (queries or alone):
                used = config.model_copy(update=WORDS_ALONE) if alone else config
                asked, mask = [queries[row] for row in rows], allowed
                if allowed is not None and len(allowed) > 1:
                    mask = allowed[rows]
                # Fusion reads scores below the pool too.
                batch = _Batch(
                    asked, max(depth, 2 * config.pool), mask, trust[rows], candidates is not None
                )
                parts.append((rows, *self._ranked(costs, used, batch)))
        order = np.argsort(np.concatenate([rows for rows, _, _ in parts]))
        names = [*config.lists, "fused", *(["mmr"] if config.mmr else [])]
        names += ["rerank", "reranked", "final"] if config.reranker else ["final"]
        for (
            rows,
            stages,
            _,
        ) in parts:  # words alone have no other list, and go by the stages that they do not need
            passed = stages["fused"].truncate(config.mmr_pool)
            for name in names:
                stages.setdefault(
                    name, RankedLists.empty(len(rows)) if name in config.lists else passed
                )
        stages = {name: ranked.stack([own[name] for _, own, _ in parts], order) for name in names}
        stages["final"] = final = stages["final"].truncate(depth)
        passages = ranked.joined([decided for _, _, decided in parts], ABSENT)[
            order, : final.shape[1]
        ]
        costs = pd.DataFrame.from_dict(
            costs, orient="index", columns=["wall_s", "cpu_s"]
        ).rename_axis("stage")
        return RetrievalResult(
            queries, top_k, final, stages, passages, costs, self.index, self.config
        )

    def _ranked(self, costs, config, batch):
        """Put queries through the six stages: every stage's lists, and the passages that decided the last."""
        passages, reads = self.index.passages(config.cut), config.mmr or config.reranker is not None
        with _timed(costs, "index"):
            # The reranker first: its pass over the tokens gives the dense list's vectors for free.
            reranker = None
            if config.reranker:
                reranker = passages.reranker(config.reranker, config.query_reading)
            searches = {name: _search(self.index, passages, config, name) for name in config.lists}
            if reads:
                passages.vectors()
        with _timed(costs, "encode queries"):
            vectors = None
            if "dense" in config.lists or reads:
                vectors = self.index.encoder(config.query_reading).encode_queries(batch.queries)

        # 1 filter: in batch.allowed. 2 first-stage lists.
        stages, winners = {}, {}
        for name, (engine, owner) in searches.items():
            with _timed(costs, name):
                if engine is None:
                    stages[name] = _control_list(batch, len(self.index), name, config.seed)
                    continue
                asked = vectors if name == "dense" else batch.queries
                stages[name], best = _documents(engine, owner, asked, batch, len(self.index))
                if (
                    owner is passages.owner
                ):  # else whole documents were searched, which are no passages here
                    winners[name] = best

        # 3 fusion
        with _timed(costs, "fusion"):
            lists = list(stages.values())
            fused = _fused(config, lists, config.pool, batch.trust)
            tails = [fused, _fused(config, lists, batch.depth, batch.trust)]
            if batch.whole_pools:
                tails.append(
                    ranked.from_scores(np.where(batch.allowed, 0.0, -np.inf), len(self.index))
                )
        stages["fused"] = chosen = fused
        decided = []

        # 4 diversity: marginal relevance over the nearest passage of each document
        if config.mmr:
            with _timed(costs, "mmr"):
                nearest = passages.nearest(vectors, fused.ids)
                order, values = maximal_marginal_relevance(
                    fused.scores,
                    passages.vectors(),
                    config.mmr_lambda,
                    min(config.mmr_pool, fused.shape[1]),
                    candidates=nearest,
                    scale_relevance=True,
                )
                stages["mmr"] = chosen = fused.reorder(order, values)
            decided = [(fused, nearest)]

        # 5 reranking
        if reranker:
            with _timed(costs, "rerank"):
                given = chosen.truncate(config.mmr_pool)
                nearest = passages.nearest(vectors, given.ids)
                similarity = passages.similarity(vectors, nearest)
                stages["rerank"], stages["reranked"], read = rerank(
                    config, reranker, given, fused, nearest, batch.queries, batch.trust, similarity
                )
                chosen = stages["reranked"]
            decided = [(given, read), *decided]

        # 6 attribution: the reranker's passage, else marginal relevance's, else that of a list, dense ones first
        stages["final"] = ranked.extend(chosen, *tails)
        dense_first = sorted(winners, key=lambda name: name.startswith("bm25"))
        decided += [(stages[name], winners[name]) for name in dense_first]
        return stages, _deciding(stages["final"], decided)

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


# What is asked of every stage.
_Batch = namedtuple("_Batch", "queries depth allowed trust whole_pools")


def _search(index, passages, config, name):
    """What searches for one list, and the document of each of its texts; nothing for a control."""
    if name in ("random", "constant"):
        return None, None
    if not name.startswith("bm25"):
        return passages.dense(), passages.owner
    read = passages if config.bm25_chunks else index.passages()
    return read.bm25(config.bm25_preset if name == "bm25" else "leaderboard"), read.owner


def _documents(engine, owner, queries, batch, n_documents):
    """Search passages until there are enough documents, each at its best one."""
    mask, available = None, n_documents
    if batch.allowed is not None:
        mask = batch.allowed[:, owner]
        available = batch.allowed.sum(axis=1)
    target = np.minimum(batch.depth, available)
    fetch = batch.depth * (1 if len(owner) == n_documents else _OVERSAMPLING)
    while True:
        lists = engine.search(queries, min(fetch, len(owner)), mask)
        documents, winners = ranked.collapse(lists, owner)
        exhausted = lists.lengths < min(fetch, len(owner))
        if fetch >= len(owner) or ((documents.lengths >= target) | exhausted).all():
            return documents.truncate(batch.depth), winners[:, : batch.depth]
        fetch *= 2


def _control_list(batch, n_documents, name, seed):
    """Rank without reading: in random order, or in that of the collection."""
    ids = np.full((len(batch.queries), min(batch.depth, n_documents)), ABSENT)
    for row, query in enumerate(batch.queries):
        allowed = np.arange(n_documents)
        if batch.allowed is not None:
            allowed = np.flatnonzero(batch.allowed[row % len(batch.allowed)])
        if name == "random":
            digest = hashlib.sha256(query.encode()).digest()
            allowed = np.random.default_rng([seed, int.from_bytes(digest[:8])]).permutation(allowed)
        kept = allowed[: ids.shape[1]]
        ids[row, : len(kept)] = kept
    value = 0.0 if name == "constant" else -np.arange(1.0, ids.shape[1] + 1)
    return RankedLists(ids, np.where(ids >= 0, value, -np.inf))


def _fused(config, lists, depth, trust):
    """Join first-stage lists cut at some depth."""
    cut = [entry.truncate(depth) for entry in lists]
    if len(cut) == 1:
        return cut[0]
    named = zip(config.lists, config.weights, strict=True)
    weights = np.array([weight * trust ** LOOSE.get(name, 0.0) for name, weight in named])
    if config.fusion == "standardised":
        return standardised_sum(lists, weights, depth, max(depth, 2 * config.pool))
    if config.fusion == "weighted_sum":
        return weighted_sum(cut, weights)
    return reciprocal_rank_fusion(cut, config.rrf_k, weights=weights)


def _deciding(final, sources):
    """Passage that decided each document of the final lists: that of the first source that knows one."""
    passages = np.full(final.shape, ABSENT)
    for documents, winners in sources:
        columns = documents.columns_of(final.ids)
        if winners.shape[1]:
            found = np.take_along_axis(winners, np.maximum(columns, 0), axis=1)
            passages = np.where((passages < 0) & (columns >= 0), found, passages)
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
        """One stage as a run: scores by query id and document id."""
        return ranked.to_run(self.stages[stage], query_ids, self.index.doc_ids)

    def hits(self, row):
        """Documents returned for one query, best first."""
        wanted = self.final.ids[row, : self.top_k]
        wanted = wanted[wanted >= 0]
        places = np.full((len(self.queries), len(wanted)), ABSENT)
        places[row] = wanted
        listed = {
            stage: (each.scores_of(places)[row], each.ranks_of(places)[row])
            for stage, each in self.stages.items()
        }
        hits = []
        for place, document in enumerate(wanted):
            text, passage = self.index.texts[document], self.passages[row, place]
            start, end = 0, len(text)
            if passage >= 0:
                chunks = self.index.passages(self.config.cut).chunks
                start, end = int(chunks.start[passage]), int(chunks.end[passage])
            metadata = self.index.documents.iloc[document].drop(["doc_id", "text"]).to_dict()
            scores = {stage: _known(each[place], float) for stage, (each, _) in listed.items()}
            ranks = {stage: _known(each[place], int) for stage, (_, each) in listed.items()}
            doc_id = self.index.doc_ids[document]
            hits.append(
                Hit(place + 1, doc_id, text[start:end], start, end, metadata, scores, ranks)
            )
        return hits


def _known(value, kind):
    return None if np.isnan(value) else kind(value)


@contextlib.contextmanager
def _timed(costs, stage):
    """Add the wall and processor time of a block to the costs of a stage."""
    start = np.array([time.perf_counter(), time.process_time()])
    yield
    costs[stage] = (
        costs.get(stage, 0.0) + np.array([time.perf_counter(), time.process_time()]) - start
    )
