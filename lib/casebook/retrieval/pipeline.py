"""Hybrid retrieval in six stages, each of which can be switched off.

Filter, first-stage lists, fusion, marginal relevance, reranking, attribution. The unit
of every stage is the document; passages decide its scores.
"""

import numpy as np

from casebook.errors import InputError
from casebook.retrieval.checks import checked_queries
from casebook.retrieval.config import config_for
from casebook.retrieval.costs import StageClock
from casebook.retrieval.filters import candidate_mask, metadata_mask
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.rankings import ABSENT, RankedLists, everything, positive_depth
from casebook.retrieval.rerank import rerank
from casebook.retrieval.results import RetrievalResult, deciding_passages
from casebook.retrieval.stages import Request, best_passages, diversify, extend, first_stage_list, fuse, spread

DEPTH = 100
# What is left of the settings for a query that only its words can find.
WORDS_ALONE = {"lists": ("bm25",), "fusion_weights": None, "mmr": False, "reranker": None}


class HybridRetriever:
    """Retriever over one collection.

    Parameters
    ----------
    documents : pandas.DataFrame or CorpusIndex
        The collection; see :class:`casebook.retrieval.index.CorpusIndex`. An index
        can be shared by retrievers with different settings.
    encoder : str or encoder, optional
        The packaged encoder by default.
    reranker : str, optional
        ``maxsim``, ``cross-encoder:NAME``, ``pass-through`` or ``none``; by default
        what the mode says. A mode that switches the reranker off wins.
    mode : str
        A key of :data:`casebook.retrieval.config.MODES`.
    second_encoder : str or encoder, optional
        Encoder of the list ``dense2``, such as a pair of towers.
    **settings
        Fields of :class:`casebook.retrieval.config.PipelineConfig`.

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

    def __init__(self, documents, encoder=None, reranker=None, mode="full", second_encoder=None, **settings):
        if reranker is not None:
            settings["reranker"] = reranker
        self.mode, self.config = mode, config_for(mode, **settings)
        if not isinstance(documents, CorpusIndex):
            documents = CorpusIndex(documents, encoder, second_encoder)
        elif encoder is not None or second_encoder is not None:
            raise InputError("the index has its encoders already: give a frame or none")
        self.index = documents
        if "dense2" in self.config.lists:
            self.index.encoder("dense2")

    def retrieve(self, query, top_k=None, filters=None):
        """Retrieve documents for one query.

        Parameters
        ----------
        query : str
            Query text, not blank.
        top_k : int, optional
            Distinct documents to return; by default that of the settings.
        filters : mapping, optional
            Conditions on metadata; see
            :func:`casebook.retrieval.filters.metadata_mask`.

        Returns
        -------
        list of Hit
            Best first; as many as asked for if the filter leaves so many. BM25 alone
            returns only documents that share a word with the query.

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
        depth : int
            Documents to rank for evaluation. Below the reranked ones follow the other
            fused ones, then what the first-stage lists hold below ``pool``, fused.

        Returns
        -------
        RetrievalResult
            Ranked documents, stages and costs.

        Raises
        ------
        InputError
            If a query is blank, or an argument is not valid.
        """
        queries = checked_queries(queries)
        top_k = self.config.top_k if top_k is None else positive_depth(top_k)
        clock = StageClock()
        with clock.stage("filter"):
            allowed = self._allowed(len(queries), filters, candidates)
        depth = max(top_k, positive_depth(depth))
        if candidates is not None:
            depth = max([depth, *map(len, candidates)])
        with clock.stage("encode queries"):
            trust = self._trust(queries)
        # Fusion reads scores below the pool too.
        request = Request(queries, max(depth, 2 * self.config.pool), allowed, trust)
        parts = []
        for config, rows in (
            (self.config, np.flatnonzero(trust)),
            (self.config.changed(**WORDS_ALONE), np.flatnonzero(trust == 0)),
        ):
            if rows.size or not (parts or queries):
                part = request.only(rows)
                parts.append((rows, *self._ranked(clock, config, part, candidates)))
        stages = {
            name: spread([(rows, found[name]) for rows, found, _ in parts], len(queries))
            for name in self._stage_names()
        }
        final = stages["final"].truncate(depth)
        passages = np.full(final.shape, ABSENT)
        for rows, _, decided in parts:
            passages[rows, : decided.shape[1]] = decided[:, : final.shape[1]]
        stages["final"] = final
        return RetrievalResult(queries, top_k, final, stages, passages, clock.table(), self.index, self.config)

    def _trust(self, queries):
        """Say how far each query is read otherwise than word by word."""
        config = self.config
        by_words = config.lists == ("bm25",) and config.reranker is None
        if by_words or config.question_tokens is None:
            return np.ones(len(queries))
        return config.trust(self.index.encoder().count_tokens(queries))

    def _stage_names(self):
        """Name the stages of the settings, in order."""
        config = self.config
        mmr = ("mmr",) if config.mmr else ()
        reranked = ("rerank", "reranked") if config.reranker else ()
        return (*config.lists, "fused", *mmr, *reranked, "final")

    def _ranked(self, clock, config, request, candidates):
        """Put queries through all stages; also give the passages that decided."""
        self._build(clock, config, request)
        stages, sources = self._first_stage(clock, config, request)
        with clock.stage("fusion"):
            lists, trust = list(stages.values()), request.trust
            fused = fuse(config, lists, config.pool, trust)
            tails = [fused, fuse(config, lists, request.depth, trust)]
            if candidates is not None:
                everyone = len(self.index), request.allowed, len(request.queries)
                tails.append(everything(*everyone))
        # Words alone go by the stages that they do not need, and have no other list.
        empty = np.full((len(trust), 1), ABSENT)
        nothing = RankedLists(empty, np.where(empty < 0, -np.inf, 0.0))
        left_out = dict.fromkeys(self.config.lists, nothing)
        passed = dict.fromkeys(self._stage_names(), fused.truncate(config.mmr_pool))
        stages = {**passed, **left_out, **stages, "fused": fused}
        chosen, decided = self._reorder(clock, config, request, stages)
        stages["final"] = extend(chosen, *tails)
        return stages, deciding_passages(stages["final"], decided + sources)

    def _allowed(self, n_queries, filters, candidates):
        """Join filter and candidate pools into one mask, or None."""
        allowed = None
        if candidates is not None:
            pools = [self.index.positions(pool) for pool in candidates]
            allowed = candidate_mask(pools, n_queries, len(self.index))
        if filters:
            mask = metadata_mask(self.index.documents, filters)[None, :]
            allowed = mask if allowed is None else allowed & mask
        return allowed

    def _build(self, clock, config, request):
        """Build what the settings need, apart from the search itself."""
        with clock.stage("index"):
            for name in config.lists:
                if name.startswith("bm25"):
                    self.index.bm25(config, name)
                elif name in ("dense", "dense2"):
                    self.index.dense(config, name)
            if config.mmr:
                self.index.vectors(config)
        with clock.stage("encode queries"):
            for name in ("dense", "dense2"):
                if name in config.lists or (name == "dense" and config.mmr):
                    request.query_vectors(self.index.encoder(name), name)

    def _first_stage(self, clock, config, request):
        """Retrieve every list; also give the passages that won, dense ones first."""
        stages, winners = {}, {}
        for name in config.lists:
            with clock.stage(name):
                stages[name], winners[name] = first_stage_list(self.index, config, request, name)
        dense_first = sorted(winners, key=lambda name: name.startswith("bm25"))
        return stages, [(stages[name], winners[name]) for name in dense_first]

    def _reorder(self, clock, config, request, stages):
        """Apply marginal relevance and the reranker; add their lists to the stages."""
        fused = stages["fused"]
        chosen, decided = fused, []
        if config.mmr:
            with clock.stage("mmr"):
                passages = self._nearest(request, fused)
                chosen = diversify(config, fused, self.index.vectors(config), passages)
            stages["mmr"] = chosen
            decided.append((fused, passages))
        if config.reranker:
            with clock.stage("rerank"):
                given = chosen.truncate(config.mmr_pool)
                passages = self._nearest(request, given)
                reranked = rerank(self.index, config, request, given, passages, fused)
            stages["rerank"], stages["reranked"] = reranked.own, reranked.combined
            chosen = reranked.combined
            decided.insert(0, (given, reranked.passages))
        return chosen, decided

    def _nearest(self, request, documents):
        """Find the passage of each document that is nearest to its query."""
        encoder = self.index.encoder()
        return best_passages(
            self.index.vectors(self.config),
            request.query_vectors(encoder, "dense"),
            self.index.passages(self.config).owner,
            documents.ids,
        )
