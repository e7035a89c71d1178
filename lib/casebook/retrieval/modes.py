"""The named systems of the ablation: what each changes in the settings."""

_FIRST_STAGE = {"mmr": False, "reranker": None}
_WHOLE = {"chunking": False}
_CONSTANT = {"question_tokens": None, "agreement": None}
_PLAIN = {"lists": ("bm25", "dense"), "fusion": "rrf", **_CONSTANT}

#: Systems by key: what each changes in the settings, and what it is.
MODES = {
    "full": ({}, "all six stages"),
    "bm25": ({"lists": ("bm25",), **_FIRST_STAGE, **_WHOLE}, "BM25 alone on whole documents"),
    "bm25_stemmed": (
        {"lists": ("bm25",), "bm25_preset": "leaderboard", **_FIRST_STAGE, **_WHOLE},
        "BM25 alone with the leaderboard's English stemmer",
    ),
    "bm25_chunked": (
        {"lists": ("bm25",), "bm25_chunks": True, "max_passages": None, **_FIRST_STAGE},
        "BM25 alone on chunks, a document at its best chunk",
    ),
    "dense": ({"lists": ("dense",), **_FIRST_STAGE, **_WHOLE}, "encoder alone on whole documents, cut at its limit"),
    "dense_chunked": ({"lists": ("dense",), **_FIRST_STAGE}, "encoder alone on chunks, a document at its best chunk"),
    "rrf": ({**_PLAIN, **_FIRST_STAGE, **_WHOLE}, "reciprocal rank fusion of bm25 and dense, nothing after it"),
    "rrf_chunked": ({**_PLAIN, **_FIRST_STAGE}, "reciprocal rank fusion of bm25 and dense_chunked, nothing after it"),
    "weighted_sum": (
        {"fusion": "weighted_sum"},
        "the full system with scores scaled to [0, 1] instead of standardised",
    ),
    "constant_weights": (
        _PLAIN,
        "the documented combination: rank fusion of bm25 and dense_chunked, marginal "
        "relevance, reranker, the same weights whatever the query",
    ),
    "no_mmr": ({"mmr": False}, "the full system without marginal relevance"),
    "no_reranker": ({"reranker": None}, "the full system without reranker: the order of marginal relevance"),
    "reranker_only": (
        {"first_stage_weight": 0.0, **_CONSTANT},
        "the full system ordered by the reranker alone, without the fused score",
    ),
    "no_chunking": (_WHOLE, "the full system on whole documents, cut at the limit"),
    "random": ({"lists": ("random",), **_FIRST_STAGE}, "control: seeded random order"),
    "constant": ({"lists": ("constant",), **_FIRST_STAGE}, "control: equal scores, so corpus order by the tie rule"),
}
