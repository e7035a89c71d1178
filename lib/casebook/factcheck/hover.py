"""HoVer scores of labels and supporting facts: as the public scripts, and corrected."""

import unicodedata
from collections import Counter

import pandas as pd

from casebook.factcheck.evidence_scores import (
    EvidenceScores,
    join_records,
    macro_measures,
)

MEASURES = (
    "label_accuracy",
    "sentence_em",
    "sentence_f1",
    "document_em",
    "document_f1",
)


def official_hover_scores(gold, predictions):
    """Exact match and F1 of supporting facts, in percent, as the public scripts do.

    Parameters
    ----------
    gold : sequence of dict
        ``uid`` and ``supporting_facts``: [title, sentence].
    predictions : dict
        ``{uid: [[title, sentence], ...]}``; claims that it lacks are left out of the
        means, as by the public scripts.

    Returns
    -------
    dict
        ``exact``, ``f1`` (percent) and ``total``.
    """
    exact, overlap = [], []
    for record in gold:
        if record["uid"] in predictions:
            wanted = _facts(record["supporting_facts"])
            listed = _facts(predictions[record["uid"]])
            exact.append(len(wanted) == len(listed) and set(wanted) <= set(listed))
            overlap.append(_multiset_f1(wanted, listed))
    n = len(exact)
    if not n:
        return {"exact": None, "f1": None, "total": 0}
    return {"exact": 100.0 * sum(exact) / n, "f1": 100.0 * sum(overlap) / n, "total": n}


def _facts(facts):
    return [(unicodedata.normalize("NFD", title), str(n)) for title, n in facts]


def _multiset_f1(wanted, listed):
    if not wanted or not listed:
        return float(wanted == listed)
    shared = sum((Counter(wanted) & Counter(listed)).values())
    return 2 * shared / (len(wanted) + len(listed))


def score_hover(gold, predictions, *, join="id", clusters=None, n_boot=1000, seed=0):
    """Score corrected: every claim counts, duplicates once, with intervals.

    Parameters
    ----------
    gold : sequence of dict
        ``uid``, ``label`` and ``supporting_facts``.
    predictions : sequence of dict
        ``uid``, ``predicted_label`` and ``predicted_facts``; either may be absent. A
        missing claim is wrong.
    join, clusters, n_boot, seed
        As for `casebook.factcheck.fever.score_fever`.

    Returns
    -------
    casebook.factcheck.evidence_scores.EvidenceScores
        Shares: label_accuracy, and exact match and F1 of sentences and of documents,
        undefined for a claim without gold facts.
    """
    pairs, account = join_records(gold, predictions, join, key="uid")
    rows = []
    for record, answer in pairs:
        answer = answer or {}
        wanted = set(_facts(record.get("supporting_facts") or []))
        listed = set(_facts(answer.get("predicted_facts") or []))
        scores = [answer.get("predicted_label") == record["label"]]
        for a, b in (
            (wanted, listed),
            ({t for t, _ in wanted}, {t for t, _ in listed}),
        ):
            scores += [a == b, 2 * len(a & b) / (len(a) + len(b))] if a else [None] * 2
        rows.append([record["uid"], *scores])
    frame = pd.DataFrame(rows, columns=["id", *MEASURES])
    frame[list(MEASURES)] = frame[list(MEASURES)].astype(float)
    options = {"clusters": clusters, "n_boot": n_boot, "seed": seed}
    return EvidenceScores(macro_measures(frame, MEASURES, **options), frame, account)
