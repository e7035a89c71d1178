"""Settings of the pipeline, checked once, and the named systems of the ablation."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from casebook.errors import InputError
from casebook.inference.samples import check_choice
from casebook.retrieval.checks import between, whole_number
from casebook.retrieval.modes import MODES
from casebook.retrieval.sparse import PRESETS

LISTS = ("bm25", "bm25_stemmed", "dense", "dense2", "random", "constant")
# Lists that also match what is not the same word lose weight as queries grow: by this
# power of the trust in a query.
LOOSE = {"bm25_stemmed": 1.0, "dense": 0.5, "dense2": 0.5}
FUSIONS = ("standardised", "rrf", "weighted_sum")
# Below this, encoding a collection would cost minutes and move next to nothing.
LEAST_TRUST = 0.07
CROSS_ENCODER = "cross-encoder:"
RERANKERS = ("maxsim", "maxsim-mean", "pass-through")


@dataclass(frozen=True)
class PipelineConfig:
    """Settings of one retrieval system.

    Parameters
    ----------
    top_k : int
        Documents to return, at least 1 and at most ``pool``.
    lists : tuple of str
        First-stage lists: ``bm25``, ``bm25_stemmed``, ``dense``, ``dense2`` (the second
        encoder), and the controls ``random`` and ``constant``. One list alone is not
        fused.
    fusion : {"standardised", "rrf", "weighted_sum"}
        How lists are joined: by the sum of their scores in standard deviations, by
        reciprocal ranks, or by the sum of scores scaled to [0, 1].
    rrf_k : float
        Rank constant of reciprocal rank fusion, above 0.
    fusion_weights : tuple of float, optional
        Weight of each list; 1 by default, which the BM25 lists share.
    question_tokens : float, optional
        Longest query, in the encoder's tokens, that is a question: see :meth:`trust`.
        None: no length counts.
    pool : int
        Documents taken from each list for fusion.
    mmr : bool
        Whether maximal marginal relevance picks the documents that stay.
    mmr_lambda : float
        Weight of relevance against diversity, in [0, 1].
    mmr_pool : int
        Documents that stay after fusion, by MMR or by fused order, at least ``top_k``;
        the reranker reads these.
    reranker : str or None
        ``maxsim``, ``maxsim-mean`` (without idf weights), ``cross-encoder:NAME``,
        ``pass-through``, or None (``none`` in parameters).
    first_stage_weight : float
        Share of the fused score in the reranked score, in [0, 1); both are brought to
        mean 0 and deviation 1 over the reranked documents first. The reranker's share
        falls with :meth:`trust`.
    agreement : tuple of two floats, optional
        Correlation, over the documents of a query, of late interaction with the
        encoder's own similarity, at which the reranker gets nothing and its whole
        share. Both read the same model: where its tokens contradict its vectors,
        neither is to be followed against BM25. None: agreement does not count.
    chunking : bool
        Whether encoder and reranker read chunks; otherwise each document is one text,
        cut at the encoder's limit.
    max_words, overlap : int
        Longest chunk and what neighbours share, in words.
    max_passages : int, optional
        Chunks kept of one document, its most central ones by BM25; None keeps all.
    bm25_chunks : bool
        Whether BM25 scores chunks too. It has no limit of length, so by default it
        reads whole documents.
    bm25_preset : str
        A key of :data:`casebook.retrieval.sparse.PRESETS`.
    seed : int
        Seed of the control ``random``.

    Raises
    ------
    InputError
        If a value is out of range or a name unknown.
    """

    top_k: int = 10
    lists: tuple = ("bm25", "bm25_stemmed", "dense")
    fusion: str = "standardised"
    rrf_k: float = 20
    fusion_weights: tuple | None = None
    question_tokens: float | None = 64
    pool: int = 50
    mmr: bool = True
    mmr_lambda: float = 0.7
    mmr_pool: int = 50
    reranker: str | None = "maxsim"
    first_stage_weight: float = 1 / 3
    agreement: tuple | None = (0.5, 0.8)
    chunking: bool = True
    max_words: int = 130
    overlap: int = 40
    max_passages: int | None = 16
    bm25_chunks: bool = False
    bm25_preset: str = "default"
    seed: int = 0

    def __post_init__(self):
        lists = (self.lists,) if isinstance(self.lists, str) else tuple(self.lists)
        object.__setattr__(self, "lists", lists)
        if self.reranker == "none":
            object.__setattr__(self, "reranker", None)
        for name in ("fusion_weights", "agreement"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check_names()
        self._check_numbers()

    def _check_names(self):
        """Refuse names that mean nothing."""
        if not self.lists or len(set(self.lists)) < len(self.lists):
            raise InputError(f"lists must be distinct, at least one; got {self.lists}")
        for name in self.lists:
            check_choice("list", name, LISTS)
        check_choice("fusion", self.fusion, FUSIONS)
        check_choice("BM25 preset", self.bm25_preset, tuple(PRESETS))
        spelled = (self.reranker or "").removeprefix(CROSS_ENCODER)
        if spelled == (self.reranker or "") and "/" in spelled:
            raise InputError(f"a model as reranker is named {CROSS_ENCODER}{spelled}")
        if spelled == (self.reranker or ""):
            check_choice("reranker", self.reranker, (*RERANKERS, None))
        elif not spelled:
            raise InputError(f"name the model: reranker {CROSS_ENCODER}NAME")

    def _check_numbers(self):
        """Refuse numbers out of range."""
        for name in ("top_k", "pool", "mmr_pool", "max_words", "max_passages"):
            if getattr(self, name) is not None or name != "max_passages":
                whole_number(name, getattr(self, name), 1)
        whole_number("overlap", self.overlap, 0)
        whole_number("seed", self.seed, 0)
        between("mmr_lambda", self.mmr_lambda, 0, 1)
        between("first_stage_weight", self.first_stage_weight, 0, 1)
        if self.first_stage_weight == 1:
            raise InputError("first_stage_weight 1 would ignore the reranker: use none")
        if not 0 < self.rrf_k < math.inf:
            raise InputError(f"rrf_k must be above 0, got {self.rrf_k}")
        if self.question_tokens is not None and not self.question_tokens > 0:
            raise InputError(
                f"question_tokens must be above 0, got {self.question_tokens}"
            )
        low, high = self.agreement or (0, 1)
        if not -1 <= low < high <= 1:
            raise InputError(
                f"agreement must be two rising correlations, got {self.agreement}"
            )
        if self.overlap >= self.max_words:
            raise InputError(
                f"overlap ({self.overlap}) must be below max_words ({self.max_words})"
            )
        for name in ("pool", "mmr_pool"):
            if getattr(self, name) < self.top_k:
                raise InputError(
                    f"{name} ({getattr(self, name)}) must be at least top_k "
                    f"({self.top_k})"
                )
        weights = self.fusion_weights
        if weights is not None and len(weights) != len(self.lists):
            raise InputError(f"{len(weights)} weights for {len(self.lists)} lists")

    def changed(self, **changes):
        """Give a copy with some settings changed.

        Parameters
        ----------
        **changes
            Settings by name.

        Returns
        -------
        PipelineConfig
            The copy, checked.

        Raises
        ------
        InputError
            If a name or a value is not allowed.
        """
        known = tuple(field.name for field in fields(self))
        for name in changes:
            check_choice("setting", name, known)
        return replace(self, **changes)

    @property
    def passage_key(self):
        """What decides the passages that encoder and reranker read: tuple or None."""
        cut = (self.max_words, self.overlap, self.max_passages)
        return cut if self.chunking else None

    @property
    def weights(self):
        """Weight of each list before the length of a query counts: tuple."""
        bm25 = [name.startswith("bm25") for name in self.lists]
        shared = tuple(1 / sum(bm25) if one else 1.0 for one in bm25)
        return self.fusion_weights or shared

    def trust(self, tokens):
        """Say how far anything but the very words of each query is believed.

        A question has few words, so that other forms and near meanings of them help. A
        text of hundreds says itself what it is about; whatever else it comes near to
        then misleads, and an encoder, which makes one vector of it, misleads most.

        Parameters
        ----------
        tokens : array of int, shape (Q,)
            Length of each query.

        Returns
        -------
        array of float, shape (Q,)
            ``min(1, question_tokens / tokens)``, and 0 below ``LEAST_TRUST``: such a
            query is left to BM25. It is 1 without ``question_tokens`` and where the
            list ``bm25``, to which the weight goes, is not among the lists.
        """
        tokens = np.maximum(np.asarray(tokens), 1)
        if self.question_tokens is None or "bm25" not in self.lists:
            return np.ones(tokens.shape)
        trust = np.minimum(1.0, self.question_tokens / tokens)
        return np.where(trust < LEAST_TRUST, 0.0, trust)


def config_for(mode, **settings):
    """Give the settings of a named system.

    Parameters
    ----------
    mode : str
        A key of :data:`MODES`.
    **settings
        Settings of the whole ablation, by name. What the mode changes wins over
        them, since that change is what the mode is.

    Returns
    -------
    PipelineConfig
        The settings.

    Raises
    ------
    InputError
        If the mode, a name or a value is not allowed.
    """
    check_choice("mode", mode, tuple(MODES))
    changes, _ = MODES[mode]
    merged = {**settings, **changes}
    if "lists" in changes:
        merged.pop("fusion_weights", None)
    return PipelineConfig().changed(**merged)
