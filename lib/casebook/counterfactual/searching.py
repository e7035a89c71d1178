"""Retrieval of cases for many queries at once, each query once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casebook.counterfactual.informative import Vocabulary
from casebook.errors import CasebookError, InputError

CASE_COLUMN = "case_id"


@dataclass(frozen=True)
class Found:
    """Cases that one query retrieves."""

    cases: tuple = ()
    documents: tuple = ()
    scores: tuple = ()
    error: str | None = None


class CaseSearch:
    """Search for distinct cases, remembering what was asked already."""

    def __init__(self, retriever, k=10):
        self.retriever, self.k = retriever, k
        documents = retriever.index.documents
        column = CASE_COLUMN if CASE_COLUMN in documents else "doc_id"
        self._case = documents[column].astype(str).to_numpy(dtype=object)
        self._document = documents["doc_id"].to_numpy(dtype=object)
        cases = len(set(self._case))
        if cases < k:
            raise InputError(
                f"the collection holds {cases} cases, fewer than the {k} to be compared: lower K or add documents"
            )
        self._known = {}

    @cached_property
    def vocabulary(self):
        """Words of the collection: `Vocabulary`."""
        return Vocabulary(self.retriever.index.texts)

    def __call__(self, queries, exclude=None):
        """Retrieve cases for queries, those not seen before in one batch."""
        exclude = [None] * len(queries) if exclude is None else exclude
        keys = list(zip(queries, exclude, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            self._known.update(zip(new, self._search(new), strict=True))
        return [self._known[key] for key in keys]

    def _search(self, keys):
        """Search one batch; if it fails, one by one, to know which query it was."""
        try:
            return self._batch(keys)
        except CasebookError as error:
            if len(keys) == 1:
                return [Found(error=str(error))]
            return [self._search([key])[0] for key in keys]

    def _batch(self, keys):
        _encode_together(self.retriever, [query for query, _ in keys])
        found, pending = {}, list(range(len(keys)))
        fetch = self.k + 1
        while pending:
            queries = [keys[row][0] for row in pending]
            result = self.retriever.retrieve_many(queries, top_k=fetch, depth=fetch)
            scores = _deciding_scores(result)
            exhausted = fetch >= len(self._case)
            for place, row in enumerate(pending):
                ids = result.final.ids[place]
                left = exhausted or (ids < 0).any()
                listed = self._distinct(ids, scores[place], keys[row][1])
                if left or len(listed.cases) == self.k:
                    found[row] = listed
            pending = [row for row in pending if row not in found]
            fetch = min(2 * fetch, len(self._case))
        return [found[row] for row in range(len(keys))]

    def _distinct(self, ids, scores, exclude):
        """Give the first k distinct cases of one list of documents."""
        places = {}
        for place, document in enumerate(ids):
            if document >= 0 and self._case[document] != exclude:
                places.setdefault(self._case[document], place)
            if len(places) == self.k:
                break
        at = list(places.values())
        values = (None if np.isnan(scores[i]) else float(scores[i]) for i in at)
        documents = (self._document[ids[i]] for i in at)
        return Found(tuple(places), tuple(documents), tuple(values))


def _encode_together(retriever, queries):
    """Compute pooled and token vectors in one pass, where both will be needed."""
    encoder = retriever.index.encoder() if _rereads(retriever.config) else None
    if hasattr(encoder, "cache"):
        encoder.token_vectors(queries, "query")


def _rereads(config):
    return str(config.reranker).startswith("maxsim") and "dense" in config.lists


def _deciding_scores(result):
    """Give each document's score in the last stage that scores comparably."""
    stage = "reranked" if "reranked" in result.stages else "fused"
    return result.stages[stage].scores_of(result.final.ids)
