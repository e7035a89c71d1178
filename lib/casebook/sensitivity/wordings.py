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
    queries = dataset.queries.assign(group=dataset.queries["query_id"].map(dataset.groups or {}))
    has_answers = "answer" in queries
    kinds = queries.groupby(["group", "answer"] if has_answers else "group").ngroup()
    vectors = np.asarray(encoder.encode_queries(queries["text"].tolist()), float)
    cosines = vectors @ vectors.T
    groups = queries["group"].to_numpy()
    cosines[groups[:, None] != groups] = -np.inf
    np.fill_diagonal(cosines, -np.inf)
    nearest = cosines.argmax(axis=1)
    pairs = []
    at = 0
    while at < len(queries) - 1:
        is_pair = kinds.iloc[at] == kinds.iloc[at + 1] >= 0
        near = nearest[at] == at + 1 and nearest[at + 1] == at
        if is_pair and (not has_answers or (near and cosines[at, at + 1] >= LEAST_COSINE)):
            texts = queries["text"].iloc[[at, at + 1]]
            pairs.append((*texts, groups[at], cosines[at, at + 1]))
        at += 1 + is_pair
    return pd.DataFrame(pairs, columns=["first", "second", "group", "cosine"])


def wording_scores(dataset, encoder, systems, k=10, *, seed=0, **options):
    """How far results move to another wording, and to a question of another group: `Scores`.

    A row is a pair of wordings; beside every system is the other question, of its own name.
    """
    encoder = load_encoder(encoder) if isinstance(encoder, str) else encoder
    pairs = wording_pairs(dataset, encoder)
    if pairs["group"].nunique() < 2:
        raise InputError(f"{dataset.key}: no paraphrases of questions of two groups: name such")
    groups = pairs["group"].tolist()
    order = np.random.default_rng([seed, 7]).permutation(len(pairs))
    strangers = []  # for each question one of another group, at random
    for shift, group in enumerate(groups):
        rolled = np.roll(order, shift)
        strangers.append(next(position for position in rolled if groups[position] != group))
    index = CorpusIndex(dataset.documents, encoder)
    values = {}
    names = {}
    phrases = {}
    for system in systems:
        search = case_search(system, index, k)
        lists, others = (search(pairs[column].tolist()) for column in ("first", "second"))
        stranger = OTHER_QUESTION.format(system)
        compared = {system: others, stranger: [others[position] for position in strangers]}
        for name, found in compared.items():
            both = zip(lists, found, strict=True)
            values[name] = [normalised_footrule(a.cases, b.cases, k) for a, b in both]
        name = NAMES.get(system, system)
        names |= {system: f"{name}, other wording", stranger: f"{name}, other question"}
        phrases[system] = f"another wording under {PHRASES.get(system, system)}"
        phrases[stranger] = "another question"
    about = {"cluster": "groups of questions", "names": names, "phrases": phrases}
    return Scores(
        pd.DataFrame(values, dtype=float).fillna(0.0),  # two empty lists are the same
        BETWEEN,
        dataset.name,
        dataset.card.title if dataset.card else dataset.name,
        "pairs of wordings",
        clusters=pairs["group"],
        seed=seed,
        **about,
        **options,
    )
