"""The same question in other words: results should stay, and how far they move."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.sensitivity.tree import CaseSearch, distances
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.tests import paired_randomization

LEAST_COSINE = 0.45  # below it two wordings do not ask the same
PARAPHRASE, STRANGER = "paraphrase", "other question"
_SHOWN = ("footrule", "displacement", "rbo_distance", "jaccard_distance")


def wording_pairs(dataset, encoder):
    """Pair the wordings of a question: next to each other, of one group and answer, and each other's nearest in it."""
    if dataset.groups is None:
        raise InputError(f"{dataset.key}: no groups, so no wordings to pair")
    queries = dataset.queries.assign(group=dataset.queries["query_id"].map(dataset.groups))
    vectors = np.asarray(encoder.encode_queries(queries["text"].tolist()), float)
    pairs, at = [], 0
    while at < len(queries) - 1:
        one, other = queries.iloc[at], queries.iloc[at + 1]
        if one["group"] == other["group"] and one.get("answer") == other.get("answer"):
            pairs.append((at, at + 1))
            at += 1
        at += 1
    if "answer" in queries:
        pairs = [pair for pair in pairs if _mutual(queries["group"].to_numpy(), vectors, *pair)]
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    texts, groups = queries["text"].to_numpy(), queries["group"].to_numpy()
    cosines = [float(vectors[a] @ vectors[b]) for a, b in pairs]
    return pd.DataFrame(
        {"first": texts[first], "second": texts[second], "group": groups[first], "cosine": np.array(cosines, float)}
    )


def _mutual(groups, vectors, a, b):
    """Tell whether two questions are near, and each other's nearest in their group."""
    if vectors[a] @ vectors[b] < LEAST_COSINE:
        return False
    rows = np.flatnonzero(groups == groups[a])
    rest = {one: rows[rows != one] for one in (a, b)}
    return all(rest[one][np.argmax(vectors[rest[one]] @ vectors[one])] == other for one, other in ((a, b), (b, a)))


def invariance(pairs, documents, systems, k=10, encoder=None, seed=0, **retrieval):
    """Measure how far results move from one wording to the other, and to the wording of another group's question."""
    groups = pairs["group"].tolist()
    if len(set(groups)) < 2:
        raise InputError("a control needs pairs of at least two groups")
    order = np.random.default_rng([seed, 7]).permutation(len(groups))
    strangers = [next(i for i in np.roll(order, at) if groups[i] != group) for at, group in enumerate(groups)]
    index, rows = CorpusIndex(documents, encoder), []
    for system in systems:
        search = CaseSearch(HybridRetriever(index, mode=system, **retrieval), k)
        first, second = search(pairs["first"].tolist()), search(pairs["second"].tolist())
        for kind, others in ((PARAPHRASE, second), (STRANGER, [second[i] for i in strangers])):
            for group, one, other in zip(groups, first, others, strict=True):
                moved = distances(one.cases, other.cases, k)
                same = bool(one.cases) and one.cases[:1] == other.cases[:1]
                rows.append((system, kind, group, *(moved[name] for name in _SHOWN), same))
    return pd.DataFrame(rows, columns=["system", "kind", "group", *_SHOWN, "same_first"])


def invariance_table(rows, measure="footrule", *, n_boot=10_000, seed=0):
    """Summarise paraphrases and their control per system, questions of one group drawn together."""
    found, options = [], {"n_boot": n_boot, "seed": seed}
    for system, part in rows.groupby("system", sort=False):
        own, other = (part[part["kind"] == kind] for kind in (PARAPHRASE, STRANGER))
        clusters = own["group"].tolist()
        gain = pd.Series(other[measure].to_numpy() - own[measure].to_numpy())
        means = gain.groupby(np.asarray(clusters, dtype=object)).mean()
        found.append(
            {"system": system, "pairs": len(own), "groups": own["group"].nunique()}
            | bounded(PARAPHRASE, bootstrap_mean(own[measure].to_numpy(), clusters=clusters, **options))
            | bounded(STRANGER, bootstrap_mean(other[measure].to_numpy(), clusters=clusters, **options))
            | {"same first document": own["same_first"].mean()}
            | {"p": paired_randomization(means.to_numpy(), n_resamples=n_boot, seed=seed).pvalue}
        )
    return pd.DataFrame(found)
