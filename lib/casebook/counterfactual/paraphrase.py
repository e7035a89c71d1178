"""The same question in other words: results should stay, and how far they move."""

import numpy as np
import pandas as pd

from casebook.counterfactual.edges import distances
from casebook.counterfactual.searching import CaseSearch
from casebook.errors import InputError
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.tests import paired_randomization

LEAST_COSINE = 0.45  # below it two wordings do not ask the same
PARAPHRASE, STRANGER = "paraphrase", "other question"


def wording_pairs(dataset, encoder):
    """Pair the two wordings of a question."""
    if dataset.groups is None:
        raise InputError(f"{dataset.key}: no groups, so no wordings to pair")
    queries = dataset.queries.assign(group=dataset.queries["query_id"].map(dataset.groups))
    vectors = np.asarray(encoder.encode_queries(queries["text"].tolist()), float)
    rows, last = [], len(queries) - 1
    at = 0
    while at < last:
        one, other = queries.iloc[at], queries.iloc[at + 1]
        same = one["group"] == other["group"]
        if same and one.get("answer") == other.get("answer"):
            rows.append((at, at + 1))
            at += 1
        at += 1
    audited = "answer" in queries
    kept = [p for p in rows if not audited or _mutual(queries, vectors, *p)]
    return pd.DataFrame(
        {
            "first": [queries["text"].iloc[a] for a, _ in kept],
            "second": [queries["text"].iloc[b] for _, b in kept],
            "group": [queries["group"].iloc[a] for a, _ in kept],
            "cosine": [float(vectors[a] @ vectors[b]) for a, b in kept],
        }
    )


def invariance(pairs, documents, systems, k=10, encoder=None, seed=0, **retrieval):
    """Measure how far results move from one wording to the other."""
    index = documents
    if not isinstance(documents, CorpusIndex):
        index = CorpusIndex(documents, encoder)
    strangers = _strangers(pairs["group"].tolist(), seed)
    parts = []
    for system in systems:
        search = CaseSearch(HybridRetriever(index, mode=system, **retrieval), k)
        first, second = (search(pairs["first"].tolist()), search(pairs["second"].tolist()))
        kinds = ((PARAPHRASE, second), (STRANGER, [second[i] for i in strangers]))
        for kind, others in kinds:
            frame = _moved([f.cases for f in first], [f.cases for f in others], k)
            frame.insert(0, "group", pairs["group"].to_numpy())
            frame.insert(0, "kind", kind)
            frame.insert(0, "system", system)
            parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def invariance_table(rows, measure="footrule", *, n_boot=10_000, seed=0):
    """Summarise paraphrases and their control per system."""
    found, options = [], {"n_boot": n_boot, "seed": seed}
    for system, part in rows.groupby("system", sort=False):
        own, other = (part[part["kind"] == kind] for kind in (PARAPHRASE, STRANGER))
        clusters = own["group"].tolist()
        moved = bootstrap_mean(own[measure].to_numpy(), clusters=clusters, **options)
        control = bootstrap_mean(other[measure].to_numpy(), clusters=clusters, **options)
        gain = other[measure].to_numpy() - own[measure].to_numpy()
        means = pd.Series(gain).groupby(np.asarray(clusters, dtype=object)).mean()
        test = paired_randomization(means.to_numpy(), n_resamples=n_boot, seed=seed)
        found.append(
            {
                "system": system,
                "pairs": len(own),
                "groups": own["group"].nunique(),
                **bounded(PARAPHRASE, moved),
                **bounded(STRANGER, control),
                "same first document": own["same_first"].mean(),
                "p": test.pvalue,
            }
        )
    return pd.DataFrame(found)


def _mutual(queries, vectors, a, b):
    """Tell whether two questions are near, and each other's nearest in their group."""
    if vectors[a] @ vectors[b] < LEAST_COSINE:
        return False
    rows = np.flatnonzero((queries["group"] == queries["group"].iloc[a]).to_numpy())
    for one, other in ((a, b), (b, a)):
        rest = rows[rows != one]
        if rest[np.argmax(vectors[rest] @ vectors[one])] != other:
            return False
    return True


def _strangers(groups, seed):
    """Give each pair the position of a pair of another group."""
    if len(set(groups)) < 2:
        raise InputError("a control needs pairs of at least two groups")
    rng = np.random.default_rng([seed, 7])
    order = rng.permutation(len(groups))
    places = []
    for at, group in enumerate(groups):
        rolled = np.roll(order, at)
        places.append(next(int(i) for i in rolled if groups[i] != group))
    return places


def _moved(before, after, k):
    shown = ("footrule", "displacement", "rbo_distance", "jaccard_distance")
    rows = []
    for one, other in zip(before, after, strict=True):
        found = distances(one, other, k)
        same = bool(one) and one[:1] == other[:1]
        rows.append({name: found[name] for name in shown} | {"same_first": same})
    return pd.DataFrame(rows, columns=[*shown, "same_first"])
