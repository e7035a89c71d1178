"""The same question in other words, whose results should stay as they are."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.retrieval.index import CorpusIndex
from casebook.sensitivity.study import case_search
from casebook.sensitivity.tree import FOOTRULE, distances
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.tests import paired_randomization

LEAST_COSINE = 0.45  # below it two wordings do not ask the same
PARAPHRASE = "paraphrase"
OTHER_QUESTION = "other question"
DISTANCES = ["footrule", "displacement", "rbo_distance", "jaccard_distance"]


def wording_pairs(dataset, encoder):
    """Pair the wordings of a question: neighbours in the list, of one group and one answer.

    Where there are answers, both are also each other's nearest in their group.
    """
    texts = dataset.queries["text"].to_numpy()
    groups = dataset.queries["query_id"].map(question_groups(dataset)).to_numpy()
    answers = dataset.queries["answer"].tolist() if "answer" in dataset.queries else None
    vectors = np.asarray(encoder.encode_queries(texts.tolist()), float)
    pairs = _adjacent_pairs(groups, answers)
    if answers is not None:
        pairs = [(a, b) for a, b in pairs if _mutually_nearest(groups, vectors, a, b)]
    rows = [(texts[a], texts[b], groups[a], float(vectors[a] @ vectors[b])) for a, b in pairs]
    frame = pd.DataFrame(rows, columns=["first", "second", "group", "cosine"])
    return frame.astype({"cosine": float})


def question_groups(dataset):
    """Give the group of each question; a data set without groups is refused."""
    if dataset.groups is None:
        raise InputError(
            f"{dataset.key}: no groups, so no wordings to pair: name a data set with paraphrases"
        )
    return dataset.groups


def _adjacent_pairs(groups, answers):
    """Pair positions of one group and answer that follow each other, each used once."""
    pairs = []
    at = 0
    while at < len(groups) - 1:
        same = groups[at] == groups[at + 1]
        if same and answers is not None:
            same = answers[at] == answers[at + 1]
        if same:
            pairs.append((at, at + 1))
        at += 2 if same else 1
    return pairs


def _mutually_nearest(groups, vectors, a, b):
    """Tell whether two questions are near, and each other's nearest in their group."""
    if vectors[a] @ vectors[b] < LEAST_COSINE:
        return False
    members = np.flatnonzero(groups == groups[a])
    return _nearest(a, members, vectors) == b and _nearest(b, members, vectors) == a


def _nearest(question, members, vectors):
    others = members[members != question]
    return others[np.argmax(vectors[others] @ vectors[question])]


def invariance(pairs, documents, systems, k=10, encoder=None, seed=0):
    """Measure how far results move between two wordings, and to a question of another group."""
    groups = pairs["group"].tolist()
    if len(set(groups)) < 2:
        raise InputError("a control needs pairs of at least two groups")
    strangers = _questions_of_other_groups(groups, seed)
    index = CorpusIndex(documents, encoder)
    rows = []
    for system in systems:
        search = case_search(system, index, k)
        rankings = search(pairs["first"].tolist())
        paraphrases = search(pairs["second"].tolist())
        controls = [paraphrases[position] for position in strangers]
        for kind, compared in [(PARAPHRASE, paraphrases), (OTHER_QUESTION, controls)]:
            for group, ranking, against in zip(groups, rankings, compared, strict=True):
                moved = distances(ranking.cases, against.cases, k)
                row = {"system": system, "kind": kind, "group": group}
                row |= {name: moved[name] for name in DISTANCES}
                row["same_first"] = bool(ranking.cases) and ranking.cases[:1] == against.cases[:1]
                rows.append(row)
    columns = ["system", "kind", "group", *DISTANCES, "same_first"]
    return pd.DataFrame(rows, columns=columns)


def _questions_of_other_groups(groups, seed):
    """Draw for each question one of another group."""
    order = np.random.default_rng([seed, 7]).permutation(len(groups))
    return [
        next(position for position in np.roll(order, shift) if groups[position] != group)
        for shift, group in enumerate(groups)
    ]


def invariance_table(rows, *, n_resamples=10_000, seed=0):
    """Summarise paraphrases and their control by system, resampling whole groups."""
    table = []
    for system, part in rows.groupby("system", sort=False):
        paraphrases = part[part["kind"] == PARAPHRASE]
        controls = part[part["kind"] == OTHER_QUESTION]
        groups = paraphrases["group"].tolist()
        row = {
            "system": system,
            "pairs": len(paraphrases),
            "groups": paraphrases["group"].nunique(),
        }
        for kind, values in [(PARAPHRASE, paraphrases), (OTHER_QUESTION, controls)]:
            mean = bootstrap_mean(
                values[FOOTRULE].to_numpy(), clusters=groups, n_resamples=n_resamples, seed=seed
            )
            row |= bounded(kind, mean)
        row["same first document"] = paraphrases["same_first"].mean()
        gain = pd.Series(controls[FOOTRULE].to_numpy() - paraphrases[FOOTRULE].to_numpy())
        group_means = gain.groupby(np.asarray(groups, dtype=object)).mean().to_numpy()
        test = paired_randomization(group_means, n_resamples=n_resamples, seed=seed)
        row["p"] = test.pvalue
        table.append(row)
    return pd.DataFrame(table)
