"""Faithfulness by threshold, by length of the source and by length of the sentence."""

from itertools import pairwise

import numpy as np
import pandas as pd

from casebook.measures.faithfulness_controls import (
    MATCHED,
    MISMATCHED,
    RULES,
    Pairing,
    rows_of_rule,
    sentence_rows,
    source_clusters,
)
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.samples import check_count

THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def threshold_sweep(rows, thresholds=THRESHOLDS, *, n_boot=10_000, seed=0):
    """Score of own and of foreign sources at several thresholds."""
    found = []
    for rule in RULES:
        part = rows_of_rule(rows, rule)
        total = rows.loc[rows["rule"] == rule, "explanation"].nunique()
        for threshold in thresholds:
            part = part.assign(grounded=part["share"] >= threshold - 1e-12)
            for condition in (MATCHED, MISMATCHED):
                chosen = part[part["condition"] == condition]
                means = chosen.groupby("explanation", sort=False)["grounded"].mean()
                clusters = source_clusters(rows, means.reset_index())
                interval = bootstrap_mean(means.to_numpy(), clusters=clusters, n_boot=n_boot, seed=seed)
                bounds = (interval.estimate, interval.low, interval.high)
                n = len(means)
                found.append((rule, threshold, condition, *bounds, n, total - n))
    columns = ["rule", "threshold", "condition", "score", "low", "high", "n"]
    return pd.DataFrame(found, columns=[*columns, "without_claim"])


def length_sweep(pairing, lengths, *, threshold=0.4, n_boot=10_000, seed=0):
    """Score at several source lengths: what a longer source grounds by itself."""
    parts = []
    for length in lengths:
        check_count("length", length)
        cut = {key: _head(text, length) for key, text in pairing.sources.items()}
        own = [len(cut[source].split()) for source in pairing.own.values()]
        shorter = Pairing(pairing.explanations, cut, pairing.own, pairing.foreign)
        options = {"n_boot": n_boot, "seed": seed}
        found = threshold_sweep(sentence_rows(shorter), [threshold], **options)
        parts.append(found.assign(source_words=length, mean_words=np.mean(own)))
    return pd.concat(parts, ignore_index=True)


def _head(text, words):
    """Keep the first words of a text."""
    return " ".join(text.split()[:words])


def by_sentence_length(rows, edges=(0, 5, 10, 20, 40), *, n_boot=10_000, seed=0):
    """Mean share by number of words in the sentence."""
    labels = [f"{a}-{b - 1}" for a, b in pairwise(edges)]
    bins = pd.cut(rows["words"], [*edges, np.inf], right=False, labels=[*labels, f"{edges[-1]} or more"])
    claims = rows.assign(length=bins).dropna(subset=["share"])
    found = []
    for (rule, condition, length), part in claims.groupby(["rule", "condition", "length"], observed=True):
        clusters = source_clusters(rows, part)
        interval = bootstrap_mean(part["share"].to_numpy(), clusters=clusters, n_boot=n_boot, seed=seed)
        bounds = (interval.estimate, interval.low, interval.high)
        found.append((rule, condition, length, *bounds, len(part)))
    columns = ["rule", "condition", "words", "share", "low", "high", "n"]
    return pd.DataFrame(found, columns=columns)
