"""The keyword First/Delta workflow: documented numbers to reproduce, not evidence.

Texts become counts of seven words; two hand-made shifts are added to documents and
queries alike. With five queries, one rank decides every number.
"""

from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.measures.ranking import ORIGINAL, evaluate
from casebook.shift.embedded import embed
from casebook.shift.simulators import DIMENSIONS, normalised_text
from casebook.shift.vectors import TIE_DECIMALS, cosines

KEYWORDS = ("fire", "water", "damage", "theft", "claims", "flood", "storm")
FIRST = {2: 0.5, 3: 0.3, 4: 0.3, 5: 0.3, 6: 0.3}
DELTA = {5: 0.5, 6: 0.5}
MEASURES = ("map@1", "ndcg@3")
STEPS = ("Baseline", "First", "FirstPlusDelta")
MAP_WEIGHT, NDCG_WEIGHT = 0.7, 0.3


class KeywordEncoder:
    """Counts of seven words in the first dimensions, plus a fixed shift."""

    name = model_hash = "keyword-count"

    def __init__(self, shift=None):
        self.offset = np.zeros(DIMENSIONS)
        for dimension, amount in (shift or {}).items():
            self.offset[dimension] += amount

    def encode_queries(self, texts):
        """Embed texts."""
        vectors = np.tile(self.offset, (len(texts), 1))
        for row, text in enumerate(texts):
            lowered = normalised_text(text).lower()
            vectors[row, : len(KEYWORDS)] += [lowered.count(w) for w in KEYWORDS]
        return vectors

    encode_documents = encode_queries


def first_delta(dataset):
    """Run the three steps on a dataset."""
    both = {d: FIRST.get(d, 0) + DELTA.get(d, 0) for d in FIRST | DELTA}
    means = {}
    for step, shift in zip(STEPS, ({}, FIRST, both), strict=True):
        run = file_order_run(embed(dataset, KeywordEncoder(shift)))
        names = [ORIGINAL + measure for measure in MEASURES]
        mean = evaluate(dataset.qrels, run, names).mean
        means[step] = dict(zip(MEASURES, mean.values(), strict=True))
    return [_row(measure, means) for measure in MEASURES]


def file_order_run(data):
    """Rank as the documented runner does: ties stay in the order of the documents."""
    table = np.round(cosines(data.queries, data.documents), TIE_DECIMALS)
    order = np.argsort(-table, axis=1, kind="stable")
    return {
        query: {doc: -float(place) for place, doc in enumerate(data.doc_ids[ranked])}
        for query, ranked in zip(data.query_ids, order, strict=True)
    }


def _row(measure, means):
    base, first, both = (means[step][measure] for step in STEPS)
    return {
        "Metric": measure,
        "Baseline": base,
        "First": first,
        "FirstPlusDelta": both,
        "DeltaFirstVsBaseline": first - base,
        "DeltaFirstPlusDeltaVsBaseline": both - base,
    }


def aggregate(comparisons):
    """Average several comparisons measure by measure."""
    tables = [{row["Metric"]: row for row in rows} for rows in comparisons]
    if not tables:
        raise InputError("there is no comparison to aggregate")
    if any(table.keys() != tables[0].keys() for table in tables):
        raise InputError("the comparisons do not hold the same measures")
    return [
        {"Metric": measure}
        | {
            f"Average{key}": float(np.mean([table[measure][key] for table in tables]))
            for key in first
            if key != "Metric"
        }
        for measure, first in tables[0].items()
    ]


@dataclass(frozen=True)
class Amplitude:
    """What the documented trainer makes of an aggregate."""

    ImprovementFirst: float
    ImprovementFirstPlusDelta: float
    DeltaImprovement: float
    magnitude: float


def train_amplitude(averages):
    """Choose the amplitude of the hand-picked dimensions from an aggregate."""
    rows = {row["Metric"].lower(): row for row in averages}
    first, both = (
        selection_score(*(rows[measure][f"AverageDelta{step}"] for measure in MEASURES))
        for step in ("FirstVsBaseline", "FirstPlusDeltaVsBaseline")
    )
    magnitude = 0.5 * (0.5 + min(abs(both), 0.2) / 0.2)
    if first - both > 1e-6:
        magnitude /= 2
    return Amplitude(first, both, both - first, magnitude)


def selection_score(delta_map, delta_ndcg):
    """Weigh two changes as the documented selection does."""
    return MAP_WEIGHT * delta_map + NDCG_WEIGHT * delta_ndcg
