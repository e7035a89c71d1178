"""Measures as particular systems document them: their keys after ``original:``."""

import numpy as np

from casebook.measures import ranking_families as m
from casebook.measures import ranking_formulas as f
from casebook.measures import ranking_gains as g
from casebook.measures.ranking_families import Family, MeasureInfo

ORIGINAL = "original:"
"""Before the name of a documented formula; without it the standard measure is meant."""

DOCUMENTED = {
    "MRR": Family(
        MeasureInfo(
            "original:MRR@k",
            "1 / rank of the first document of grade 1 or more, 0 if beyond k.",
            0.0,
            1.0,
            "COUNTERCASE",
            "The same as RR@k.",
        ),
        lambda k: f.FirstRelevant(g.reciprocal, 1, k),
        cutoff="required",
        parameters=(),
    ),
    "NDCG": Family(
        MeasureInfo(
            "original:NDCG@k",
            "Sum of 1 / log2(rank + 1) over the documents of grade 1 or more among the "
            "first k, divided by that sum for min(R, k) such documents at the top.",
            0.0,
            1.0,
            "COUNTERCASE",
            "Binary: grades above 1 count as 1. NDCG@k without the prefix is the graded nDCG@k.",
        ),
        lambda k: m.normalised_gain(g.binary_gain(1), k),
        cutoff="required",
        parameters=(),
    ),
    "Recall": Family(
        MeasureInfo(
            "original:Recall@k",
            "Share of the documents of grade 1 or more that is among the first k; 0 if there are none.",
            0.0,
            1.0,
            "COUNTERCASE",
            "The same as R@k.",
        ),
        lambda k: m.recall(k),
        cutoff="required",
        parameters=(),
    ),
    "map@1": Family(
        MeasureInfo(
            "original:map@1",
            "1 / rank of the first relevant document in the full ranking.",
            0.0,
            1.0,
            "EmbeddingShift",
            "Neither a mean average precision nor cut off at 1: it is RR. map@1 without the prefix is AP@1.",
        ),
        lambda k: f.FirstRelevant(g.reciprocal, 1, np.inf),
        cutoff="none",
        parameters=(),
    ),
    "ndcg@3": Family(
        MeasureInfo(
            "original:ndcg@3",
            "1 / log2(rank + 1) of the first relevant document, 0 if beyond rank 3.",
            0.0,
            1.0,
            "EmbeddingShift",
            "Made for one relevant document per query; with several, only the best "
            "ranked counts and nothing is normalised. ndcg@3 without the prefix is the "
            "standard nDCG@3.",
        ),
        lambda k: f.FirstRelevant(g.log_discount, 1, 3.0),
        cutoff="none",
        parameters=(),
    ),
}
