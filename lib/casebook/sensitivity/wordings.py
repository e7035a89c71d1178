"""The same question in other words, whose results should stay as they are."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.rankshift import normalised_footrule
from casebook.models.encoders import load_encoder
from casebook.retrieval.index import CorpusIndex
from casebook.scores import Scores
from casebook.sensitivity.study import NAMES, PHRASES, case_search

LEAST_COSINE = 0.45  # below it two wordings do not ask the same
BETWEEN = "footrule between wordings"
OTHER_QUESTION = "{}, other question"


def wording_pairs(dataset, encoder):
    """Pairs of wordings of a question: neighbours in the list, of one group and one answer.

    Where there are answers, both are also each other's nearest in their group.
    """
    if dataset.groups is None:
        raise InputError(
            f"{dataset.key}: no groups, so no wordings to pair: name a data set with paraphrases"
        )
    if isinstance(encoder, str):
        encoder = load_encoder(encoder)
    texts = dataset.queries["text"].to_numpy()
    groups = dataset.queries["query_id"].map(dataset.groups).to_numpy()
    answers = dataset.queries.get("answer", pd.Series(True, dataset.queries.index)).to_numpy()
    vectors = np.asarray(encoder.encode_queries(texts.tolist()), float)
    has_answers = "answer" in dataset.queries
    pairs = []
    for a, b in _adjacent_pairs(list(zip(groups, answers, strict=True))):
        if not has_answers or _mutually_nearest(groups, vectors, a, b):
            pairs.append((texts[a], texts[b], groups[a], float(vectors[a] @ vectors[b])))
    return pd.DataFrame(pairs, columns=["first", "second", "group", "cosine"])


def _adjacent_pairs(kinds):
    """Positions of one kind that follow each other, each used once."""
    at = 0
    while at < len(kinds) - 1:
        same = kinds[at] == kinds[at + 1]
        if same:
            yield at, at + 1
        at += 1 + same


def _mutually_nearest(groups, vectors, a, b):
    """Whether two questions are near, and each other's nearest in their group."""
    if vectors[a] @ vectors[b] < LEAST_COSINE:
        return False
    members = np.flatnonzero(groups == groups[a])
    return _nearest(a, members, vectors) == b and _nearest(b, members, vectors) == a


def _nearest(question, members, vectors):
    others = members[members != question]
    return others[np.argmax(vectors[others] @ vectors[question])]


def wording_scores(dataset, encoder, systems, k=10, *, seed=0, **options):
    """How far results move to another wording, and to a question of another group: `Scores`.

    A row is a pair of wordings; beside every system stands the other question, of its own name.
    """
    pairs = wording_pairs(dataset, encoder)
    groups = pairs["group"].tolist()
    if len(set(groups)) < 2:
        raise InputError("a control needs pairs of at least two groups")
    strangers = _questions_of_other_groups(groups, seed)
    index = CorpusIndex(dataset.documents, encoder)
    values = {}
    names = {}
    phrases = {}
    for system in systems:
        search = case_search(system, index, k)
        lists = [ranking.cases for ranking in search(pairs["first"].tolist())]
        others = [ranking.cases for ranking in search(pairs["second"].tolist())]
        stranger = OTHER_QUESTION.format(system)
        compared = {system: others, stranger: [others[position] for position in strangers]}
        for name, found in compared.items():
            both = zip(lists, found, strict=True)
            values[name] = [normalised_footrule(*pair, k) for pair in both]
        name = NAMES.get(system, system)
        names |= {system: f"{name}, other wording", stranger: f"{name}, other question"}
        phrase = PHRASES.get(system, system)
        phrases[system] = f"another wording under {phrase}"
        phrases[stranger] = "another question"
    return Scores(
        pd.DataFrame(values, dtype=float).fillna(0.0),  # two empty lists are the same
        BETWEEN,
        dataset.name,
        dataset.card.title if dataset.card else dataset.name,
        unit="pairs of wordings",
        clusters=pairs["group"],
        cluster="groups of questions",
        names=names,
        phrases=phrases,
        seed=seed,
        **options,
    )


def _questions_of_other_groups(groups, seed):
    """For each question one of another group, at random."""
    order = np.random.default_rng([seed, 7]).permutation(len(groups))
    return [
        next(position for position in np.roll(order, shift) if groups[position] != group)
        for shift, group in enumerate(groups)
    ]
