"""Labels that follow the order of the collection instead of its content."""

import numpy as np

from casebook.audits.findings import SHOWN, above_chance, not_applicable
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.proportions import wilson
from casebook.inference.samples import stream

LEAST_STEPS = 20
LEAST_RELEVANT = 3
DRAWS = 999


def round_robin(labels, seed=0, draws=DRAWS):
    """Look for labels dealt out document after document.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        Labels.
    seed : int
        Of the permutations.
    draws : int
        Number of permutations.

    Returns
    -------
    Finding
        Share of steps, from one label to the next in the order of the file, that
        advance by the commonest number of documents (modulo the collection), among
        steps to a document that was labelled before. Counted there, a collection
        numbered by first use is no round robin. Chance and p are those of the same
        labels in random order.
    """
    statistic = "share of steps to a used document that advance by the commonest step"
    targets = _sequence(labels)
    size = len(labels.documents)
    steps, again = _steps(targets, size)
    if again.sum() < LEAST_STEPS or size < 3:
        reason = f"fewer than {LEAST_STEPS} steps to a document that was used before"
        return not_applicable("round robin", statistic, reason, int(again.sum()))
    step, count = _commonest(steps[again], size)
    rng = np.random.Generator(stream(seed, "round robin"))
    found = np.empty(draws)
    for i in range(draws):
        shuffled, used = _steps(rng.permutation(targets), size)
        found[i] = _commonest(shuffled[used], size)[1] / max(used.sum(), 1)
    every = int(np.sum(steps == step))
    evidence = (
        f"{every} of {len(steps)} successive labels advance by {step:+d} modulo {size}",
        "first positions: " + " ".join(map(str, targets[:15])),
    )
    interval = wilson(count, int(again.sum()))
    return above_chance("round robin", statistic, interval, found, evidence)


def _sequence(labels):
    """Positions of the labels in the order of the file."""
    if labels.links is not None:
        return labels.links["target"].to_numpy()
    place = {document: i for i, document in enumerate(labels.documents)}
    found = [place[d] for documents in labels.relevant.values() for d in documents]
    return np.array(found, dtype=int)


def _steps(targets, size):
    """Give steps modulo the collection, and which of them lead to a used document."""
    steps = np.diff(targets) % size
    first = np.zeros(len(targets), dtype=bool)
    first[np.unique(targets, return_index=True)[1]] = True
    return steps, ~first[1:]


def _commonest(steps, size):
    """Give the commonest step other than 0, as a signed number, and its count."""
    counts = np.bincount(steps, minlength=size)
    counts[0] = 0
    step = int(counts.argmax())
    return step if step <= size // 2 else step - size, int(counts[step])


def neighbours(labels, seed=0):
    """Look for relevant documents that stand next to each other in the collection.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        Labels.
    seed : int
        Of the permutations.

    Returns
    -------
    Finding
        Mean over questions with at least three relevant documents of the share of them,
        all but one, whose successor in the collection (the last is followed by the
        first) is relevant too: 1 for an unbroken block. Chance and p: the collection in
        random order. Neighbours on one subject, as in a statute, are a good reason;
        files in order of their name are none.
    """
    statistic = "mean share of relevant documents followed by another one"
    place = {document: i for i, document in enumerate(labels.documents)}
    sets = {
        query: [place[d] for d in documents]
        for query, documents in labels.relevant.items()
        if LEAST_RELEVANT <= len(documents) < len(place)
    }
    if len(sets) < 5:
        reason = f"fewer than five questions with {LEAST_RELEVANT} relevant documents"
        return not_applicable("neighbours", statistic, reason, len(sets))
    sizes = np.array([len(places) for places in sets.values()])
    rows = np.repeat(np.arange(len(sets)), sizes)
    places = np.concatenate([np.array(places) for places in sets.values()])
    found = _followed(rows, places, sizes, len(place))
    rng = np.random.Generator(stream(seed, "neighbours"))
    draws = np.array(
        [
            _followed(
                rows, rng.permutation(len(place))[places], sizes, len(place)
            ).mean()
            for _ in range(DRAWS)
        ]
    )
    blocks = [query for query, share in zip(sets, found, strict=True) if share >= 0.999]
    evidence = [f"{len(blocks)} of {len(sets)} questions have one unbroken block"]
    evidence += [
        f"question {query}: positions {_range(sorted(sets[query]))}"
        for query in blocks[: SHOWN - 1]
    ]
    interval = bootstrap_mean(found, n_boot=2000, seed=seed)
    return above_chance("neighbours", statistic, interval, draws, evidence)


def _followed(rows, places, sizes, n):
    """Share of a question's places, but for one, whose successor is one; shape (Q,)."""
    # Rows are set apart by a gap, so that a place after the last begins no row.
    keys = np.sort(rows * (n + 1) + places)
    together = np.bincount(rows[:-1][np.diff(keys) == 1], minlength=len(sizes))
    ends = np.cumsum(sizes)
    first, last = keys[ends - sizes] % (n + 1), keys[ends - 1] % (n + 1)
    return (together + ((first == 0) & (last == n - 1))) / (sizes - 1)


def _range(places):
    if len(places) <= 6:
        return " ".join(map(str, places))
    return f"{' '.join(map(str, places[:3]))} ... {places[-1]}"
