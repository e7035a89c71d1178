"""Labels that a ranking without any knowledge of the question gets right."""

from collections import Counter, defaultdict

import numpy as np

from casebook.audits.findings import (
    EXCESS,
    FLAGGED,
    PASSED,
    Finding,
    not_applicable,
)
from casebook.inference.bootstrap import bootstrap_mean

CUT = 10


def random_order(labels, seed=0):
    """Recall at 10 of a random order: what the size of the collection gives away.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        With the whole collection.
    seed : int
        Not used: the expectation is exact.

    Returns
    -------
    Finding
        Mean over questions of 10 over the number of documents ranked; flagged from a
        quarter on, where there is little left to measure.
    """
    statistic = f"expected recall of the first {CUT} in random order"
    if not labels.whole or not labels.relevant:
        reason = "the collection is not known" if labels.relevant else "no judgements"
        return not_applicable("random order", statistic, reason)
    pools = [
        len(labels.candidates.get(query, labels.documents)) for query in labels.relevant
    ]
    value = float(np.mean([min(1.0, CUT / pool) for pool in pools]))
    ratio = np.mean(
        [len(d) / pool for d, pool in zip(labels.relevant.values(), pools, strict=True)]
    )
    return Finding(
        "random order",
        FLAGGED if value >= EXCESS else PASSED,
        statistic,
        value,
        n=len(pools),
        chance=value,
        evidence=(
            f"{np.median(pools):.0f} documents are ranked (median)",
            f"{ratio:.1%} of them are relevant (mean)",
        ),
        reason="exact: an expectation has no interval",
    )


def popularity(labels, seed=0):
    """Recall at 10 of one ranking for all questions, the most relevant ones first.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        Labels.
    seed : int
        Of the interval.

    Returns
    -------
    Finding
        Mean recall of the ten documents relevant to most other questions (other groups,
        ties in the order of the collection); chance is the random order.
    """
    statistic = f"recall of the {CUT} documents relevant to most other questions"
    groups = {labels.group(query) for query in labels.relevant}
    if len(groups) < 5 or labels.candidates:
        reason = "each question has its own candidates"
        if not labels.candidates:
            reason = "fewer than five independent questions"
        return not_applicable("popularity", statistic, reason, len(groups))
    place = {document: i for i, document in enumerate(labels.documents)}
    total, own = Counter(), defaultdict(Counter)
    for query, documents in labels.relevant.items():
        total.update(documents)
        own[labels.group(query)].update(documents)
    recalls = [
        _recall(set(documents), total - own[labels.group(query)], place)
        for query, documents in labels.relevant.items()
    ]
    clusters = [str(labels.group(query)) for query in labels.relevant]
    interval = bootstrap_mean(recalls, clusters=clusters, n_boot=2000, seed=seed)
    chance = min(1.0, CUT / len(place)) if labels.whole else None
    above = interval.estimate - (chance or 0.0)
    common = ", ".join(f"{d} ({n})" for d, n in total.most_common(3))
    return Finding(
        "popularity",
        FLAGGED if above >= EXCESS else PASSED,
        statistic,
        interval.estimate,
        interval.low,
        interval.high,
        len(recalls),
        chance,
        evidence=(f"most relevant: {common}",),
    )


def _recall(relevant, counts, place):
    leading = sorted(counts, key=lambda d: (-counts[d], place[d]))[:CUT]
    return len(relevant.intersection(leading)) / len(relevant)
