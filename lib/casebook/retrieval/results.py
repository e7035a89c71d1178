"""What retrieval returns: ranked documents, and for each hit why it stands there."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.retrieval.config import PipelineConfig
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.rankings import ABSENT, RankedLists, to_run


@dataclass(frozen=True)
class Hit:
    """One returned document and its attribution."""

    rank: int
    doc_id: str
    text: str
    start: int
    end: int
    metadata: dict
    scores: dict
    ranks: dict


@dataclass(frozen=True, eq=False)
class RetrievalResult:
    """Ranked documents of many queries with all stages behind them."""

    queries: list
    top_k: int
    final: RankedLists
    stages: dict
    passages: np.ndarray
    costs: pd.DataFrame
    index: CorpusIndex
    config: PipelineConfig

    def run(self, query_ids, stage="final"):
        """Give one stage as a run."""
        return to_run(self.stages[stage], query_ids, self.index.doc_ids)

    def hits(self, row):
        """Give the documents returned for one query."""
        wanted = self.final.ids[row, : self.top_k]
        wanted = wanted[wanted >= 0]
        spread = np.full((len(self.queries), len(wanted)), ABSENT)
        spread[row] = wanted
        scores = {s: entry.scores_of(spread)[row] for s, entry in self.stages.items()}
        ranks = {s: entry.ranks_of(spread)[row] for s, entry in self.stages.items()}
        return [
            self._hit(document, self.passages[row, place], place, scores, ranks)
            for place, document in enumerate(wanted)
        ]

    def _hit(self, document, passage, place, scores, ranks):
        """Put one hit together."""
        text = self.index.texts[document]
        span = (0, len(text))
        if passage >= 0:
            passages = self.index.passages(self.config)
            span = (int(passages.start[passage]), int(passages.end[passage]))
        row = self.index.documents.iloc[document]
        return Hit(
            rank=place + 1,
            doc_id=self.index.doc_ids[document],
            text=text[slice(*span)],
            start=span[0],
            end=span[1],
            metadata=row.drop(["doc_id", "text"]).to_dict(),
            scores={stage: _or_none(v[place], float) for stage, v in scores.items()},
            ranks={stage: _or_none(v[place], int) for stage, v in ranks.items()},
        )


def _or_none(value, kind):
    """Give a plain number, None for NaN."""
    return None if np.isnan(value) else kind(value)


def deciding_passages(final, sources):
    """Find the passage that decided each document of the final lists."""
    passages = np.full(final.shape, ABSENT)
    for documents, winners in sources:
        columns = documents.columns_of(final.ids)
        if winners.shape[1]:
            found = np.take_along_axis(winners, np.maximum(columns, 0), axis=1)
            passages = np.where((passages < 0) & (columns >= 0), found, passages)
    return passages
