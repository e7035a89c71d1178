"""Labels that contradict years, each other, or the texts they are about."""

from collections import defaultdict

import numpy as np

from casebook.audits.findings import (
    SHOWN,
    above_chance,
    above_tolerance,
    not_applicable,
)
from casebook.audits.label_order import DRAWS
from casebook.inference.proportions import wilson
from casebook.inference.samples import stream

SLACK = 1  # years between a judgment and its report
FIRST_YEAR = 1800
LEAST_SHARED = 2


def anachronisms(labels, seed=0):
    """Look for citations of what did not exist yet.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        With links, or with years of questions and documents.
    seed : int
        Of the permutations.

    Returns
    -------
    Finding
        Share of citations whose year lies more than one year before the judgment that
        they are resolved to, or of relevant documents more than one year younger than
        the question's case. Chance and p: the same targets in random order, p of a
        share as low as this. What is no year (before 1800, or after the youngest
        document) is counted apart.
    """
    statistic = "share of links to a document younger than the citation by over a year"
    year, target = _pairs(labels)
    sound = (year >= FIRST_YEAR) & (year <= target.max(initial=0) + SLACK)
    n = int(sound.sum())
    if n < 2:
        reason = "no years of both sides of a link"
        return not_applicable("anachronisms", statistic, reason, n)
    late = target - year > SLACK
    count = int(late[sound].sum())
    rng = np.random.Generator(stream(seed, "anachronisms"))
    draws = np.array(
        [
            np.mean(rng.permutation(target[sound]) - year[sound] > SLACK)
            for _ in range(DRAWS)
        ]
    )
    examples = [
        f"{y} -> {t}"
        for y, t in zip(year[late & sound], target[late & sound], strict=True)
    ]
    evidence = [
        f"{int(late.sum())} of {len(year)} with years unchecked",
        f"{len(year) - n} entries have no possible year",
    ]
    evidence += ["for example " + ", ".join(examples[:SHOWN])] if examples else []
    return above_tolerance("anachronisms", statistic, wilson(count, n), evidence, draws)


def _pairs(labels):
    """Years of citation and of target, aligned."""
    if labels.links is not None:
        links = labels.links
        return links["year"].to_numpy(), links["target_year"].to_numpy()
    pairs = [
        (labels.query_years[query], labels.document_years[document])
        for query, documents in labels.relevant.items()
        for document in documents
        if query in labels.query_years and document in labels.document_years
    ]
    return tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)


def duplicates(labels, seed=0):
    """Look for judgements made twice, and for unjudged twins of relevant documents.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        Labels.
    seed : int
        Not used: nothing is random.

    Returns
    -------
    Finding
        Share of judgements that repeat another one, or whose document has a twin (the
        same text but for space and case) that is not relevant to the question.
    """
    statistic = "share of judgements that repeat another or leave out a twin document"
    twins = _twins(labels.document_texts)
    judged = [(q, d) for q, documents in labels.relevant.items() for d in documents]
    n = len(judged) + len(labels.repeated)
    if not n:
        return not_applicable("duplicates", statistic, "no relevance judgements")
    left_out = [
        f"question {query}: {document} is relevant, its twin {twin} is not"
        for query, document in judged
        for twin in twins.get(document, ())
        if twin not in labels.relevant[query]
    ]
    doubled = sum(
        len(documents) - len(set(documents)) for documents in labels.relevant.values()
    )
    count = (
        len(labels.repeated) + doubled + len({text.split(",")[0] for text in left_out})
    )
    pairs = sum(len(others) for others in twins.values()) // 2
    known = f"{pairs} pairs of documents with the same text"
    evidence = (
        f"{len(labels.repeated) + doubled} repeated judgements",
        known if labels.document_texts else "texts of the documents unknown",
        *labels.repeated[:2],
        *left_out[:2],
    )
    interval = wilson(min(count, n), n)
    return above_tolerance("duplicates", statistic, interval, evidence)


def _twins(texts):
    """Document to others of the same text, but for space and case."""
    same = defaultdict(list)
    for document, text in texts.items():
        plain = "".join(text.lower().split())
        if plain:
            same[plain].append(document)
    return {
        document: [other for other in group if other != document]
        for group in same.values()
        if len(group) > 1
        for document in group
    }


def reused_lists(labels, seed=0):
    """Look for one list of relevant documents given to several questions.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        Labels.
    seed : int
        Of the permutations.

    Returns
    -------
    Finding
        Share of questions with two or more relevant documents all of which are relevant
        to another question too; wordings of one question do not count. Chance and p:
        lists of the same lengths drawn at random. Labels copied from one question, or
        from one result list, to others are circular.
    """
    statistic = "share of questions whose relevant documents are all another one's"
    relevant = {q: d for q, d in labels.relevant.items() if len(d) >= LEAST_SHARED}
    if len(relevant) < 3:
        reason = f"fewer than three questions with {LEAST_SHARED} relevant documents"
        return not_applicable("reused lists", statistic, reason, len(relevant))
    place = {document: i for i, document in enumerate(labels.documents)}
    member = np.zeros((len(relevant), len(place)), dtype=np.float32)
    for row, documents in zip(member, relevant.values(), strict=True):
        row[[place[d] for d in documents]] = 1
    group = np.array([str(labels.group(query)) for query in relevant])
    other = group[:, None] != group[None, :]
    inside = _inside(member, other)
    rng = np.random.Generator(stream(seed, "reused lists"))
    draws = np.array(
        [
            _inside(_random_sets(member, rng), other).any(axis=1).mean()
            for _ in range(DRAWS // 10)
        ]
    )
    reused, names = inside.any(axis=1), list(relevant)
    examples = [
        f"all {len(relevant[names[i]])} of question {names[i]} are those of question "
        f"{names[int(inside[i].argmax())]}"
        for i in np.flatnonzero(reused)[:SHOWN]
    ]
    interval = wilson(int(reused.sum()), len(reused))
    return above_chance("reused lists", statistic, interval, draws, examples)


def _inside(member, other):
    """Whether the set of row i lies within that of row j of another group."""
    common = member @ member.T
    return (common >= member.sum(axis=1)[:, None] - 0.5) & other


def _random_sets(member, rng):
    """Draw sets of the same sizes, each independent of the others."""
    keys = rng.random(member.shape, dtype=np.float32)
    last = member.sum(axis=1).astype(int)[:, None] - 1
    limit = np.take_along_axis(np.sort(keys, axis=1), last, axis=1)
    return (keys <= limit).astype(np.float32)
