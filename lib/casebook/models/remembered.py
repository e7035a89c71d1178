"""Reranker scores kept in memory, for queries that come again under other settings."""

import numpy as np


class RememberedScores:
    """Score each pair of query and document once."""

    def __init__(self, reranker):
        self._reranker = reranker
        self._known = {}

    def prepare(self):
        """Encode a small collection now; see :meth:`MaxSimReranker.prepare`."""
        return self._reranker.prepare()

    def scores(self, queries, candidates):
        """Score candidate documents of every query."""
        candidates = np.asarray(candidates, dtype=np.int64)
        known = [self._known.setdefault(query, {-1: (-np.inf, -1)}) for query in queries]
        new = [
            [document if document not in seen else -1 for document in row]
            for seen, row in zip(known, candidates.tolist(), strict=True)
        ]
        self._learn(queries, np.array(new, dtype=np.int64), known)
        found = [[seen[document] for document in row] for seen, row in zip(known, candidates.tolist(), strict=True)]
        pairs = np.array(found, dtype=float).reshape(*candidates.shape, 2)
        return pairs[..., 0], pairs[..., 1].astype(np.int64)

    def _learn(self, queries, new, known):
        """Compute and keep what is not known; queries without such are not encoded."""
        rows = np.flatnonzero((new >= 0).any(axis=1))
        if not rows.size:
            return
        asked = [queries[row] for row in rows]
        scores, passages = self._reranker.scores(asked, new[rows])
        for place, row in enumerate(rows):
            pairs = zip(scores[place].tolist(), passages[place].tolist(), strict=True)
            known[row].update(zip(new[row].tolist(), pairs, strict=True))
