"""Splits that share what they should keep apart."""

import re

import numpy as np

from casebook.audits.findings import SHOWN, above_tolerance, not_applicable
from casebook.audits.label_order import DRAWS
from casebook.inference.proportions import wilson
from casebook.inference.samples import stream

STATISTIC = "share of questions that share a relevant document with the other split"
REPEATED = "share of questions whose words are also a question of the other split"


def split_leaks(labels, seed=0):
    """Look for relevant documents and questions that stand in two splits.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels
        With at least two splits.
    seed : int
        Of the permutations.

    Returns
    -------
    list of Finding
        Two for each pair of splits: shared relevant documents and repeated questions.
        The split to learn from is the first in the order of `labels.splits`; every
        later one is held against it. Chance of the former: questions dealt to the
        splits at random; p is that of a share as low as this.
    """
    names = list(labels.splits)
    if len(names) < 2:
        reason = "there is one split only"
        return [
            not_applicable("split leak", STATISTIC, reason),
            not_applicable("repeated questions", REPEATED, reason),
        ]
    first, *others = names
    findings = []
    for other in others:
        findings.append(_shared_documents(labels, first, other, seed))
        findings.append(_repeated_questions(labels, first, other))
    return findings


def _shared_documents(labels, first, other, seed):
    check = f"split leak: {other} with {first}"
    learned = [set(d) for d in labels.splits[first].values() if d]
    held_out = {q: set(d) for q, d in labels.splits[other].items() if d}
    if not learned or not held_out:
        return not_applicable(check, STATISTIC, "a split has no relevant document")
    known = set().union(*learned)
    leaking = [query for query, documents in held_out.items() if documents & known]
    interval = wilson(len(leaking), len(held_out))
    rng = np.random.Generator(stream(seed, check))
    everything, n = [*learned, *held_out.values()], len(held_out)
    draws = np.array([_random_share(everything, n, rng) for _ in range(DRAWS // 5)])
    examples = [
        f"{query}: {sorted(held_out[query] & known)[0]}" for query in leaking[:SHOWN]
    ]
    evidence = [f"{len(leaking)} of {n} questions", *examples]
    return above_tolerance(check, STATISTIC, interval, evidence, draws)


def _random_share(sets, n, rng):
    """Share of n random questions that share a document with one of the others."""
    order = rng.permutation(len(sets))
    known = set().union(*(sets[i] for i in order[n:]))
    return sum(not known.isdisjoint(sets[i]) for i in order[:n]) / n


def _repeated_questions(labels, first, other):
    check = f"repeated questions: {other} with {first}"
    texts = labels.query_texts
    asked = {_words(texts[q]) for q in labels.splits[first] if q in texts}
    again = [q for q in labels.splits[other] if q in texts]
    if not asked or not again:
        return not_applicable(check, REPEATED, "texts of the questions unknown")
    repeated = [query for query in again if _words(texts[query]) in asked]
    interval = wilson(len(repeated), len(again))
    evidence = [f"{len(repeated)} of {len(again)} questions", *repeated[:SHOWN]]
    return above_tolerance(check, REPEATED, interval, evidence)


def _words(text):
    return " ".join(re.findall(r"\w+", text.lower()))
