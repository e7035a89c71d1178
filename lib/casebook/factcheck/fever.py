"""FEVER scores: as the public scorers give them, and corrected."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.evidence_scores import (
    EvidenceScores,
    harmonic,
    join_records,
    macro_measures,
    same_length,
)

NEI = "NOT ENOUGH INFO"
MEASURES = (
    "fever_score",
    "label_accuracy",
    "evidence_precision",
    "evidence_recall",
)
_PAIRS = [("evidence_f1", "evidence_precision", "evidence_recall")]


def official_fever_score(gold, predictions, max_evidence=5):
    """FEVER score as the public scorer computes it, quirks included.

    Parameters
    ----------
    gold : sequence of dict
        ``label`` and ``evidence``: alternative sets of [_, _, page, line].
    predictions : sequence of dict
        ``predicted_label`` and ``predicted_evidence``: [page, line], best first. Both
        are aligned by position, ids are ignored, and nothing is changed.
    max_evidence : int or None
        Sentences that count.

    Returns
    -------
    dict of float
        fever_score, label_accuracy, evidence_precision, evidence_recall, evidence_f1.
        Precision and recall are means over claims that are not NEI; a claim without
        predicted evidence has precision 1, one without gold evidence recall 1;
        duplicates count.

    Raises
    ------
    OfficialScorerFails
        Where the public scorer raises: lengths differ, or no evidence is right.

    References
    ----------
    Thorne, Vlachos, Christodoulopoulos & Mittal, NAACL 2018.
    """
    same_length(gold, predictions, "the FEVER scorer")
    most = float("inf") if max_evidence is None else max_evidence
    right, strict, verifiable, precision, recall = _official_sums(
        gold, predictions, most
    )
    n = len(gold)
    precision = precision / verifiable if verifiable else 1.0
    recall = recall / verifiable if verifiable else 0.0
    return {
        "fever_score": strict / n,
        "label_accuracy": right / n,
        "evidence_precision": precision,
        "evidence_recall": recall,
        "evidence_f1": harmonic(precision, recall, "the FEVER scorer"),
    }


def _official_sums(gold, predictions, most):
    """Go once through all claims; a hot loop, which calls as little as it can.

    Gives the numbers of right labels, strictly right claims and claims that are not
    NEI, then the sums of precision and recall over those that are not NEI.
    """
    right = strict = verifiable = 0
    precision = recall = 0.0
    upper = {}
    for record, answer in zip(gold, predictions, strict=True):
        label, given = record["label"], answer["predicted_label"]
        try:
            label, given = upper[label], upper[given]
        except KeyError:
            upper |= {name: name.upper() for name in (label, given)}
            label, given = upper[label], upper[given]
        agrees = label == given
        right += agrees
        if label == NEI:
            strict += agrees
            continue
        verifiable += 1
        sets, listed = record["evidence"], answer["predicted_evidence"]
        if len(listed) > most:
            listed = listed[:most]
        if not listed or not sets:
            precision += not listed
            recall += not sets
            continue
        if len(sets) == 1 == len(sets[0]):  # half of all claims, counted at once
            count = complete = listed.count(sets[0][0][2:])
        else:
            known = [item[2:] for members in sets for item in members]
            hits = [item for item in listed if item in known]
            count = len(hits)
            complete = (count or not all(sets)) and _complete(sets, hits)
        if complete:
            recall += 1
            strict += agrees
        if count:
            precision += count / len(listed)
    return right, strict, verifiable, precision, recall


def _complete(sets, hits):
    """Say whether every sentence of one gold set is among the hits."""
    for members in sets:
        for item in members:
            if item[2:] not in hits:
                break
        else:
            return True
    return False


def evaluate_library_fever(gold, predictions):
    """FEVER metric of the ``evaluate`` library, quirks included.

    Parameters
    ----------
    gold, predictions : sequence of dict
        As for `official_fever_score`.

    Returns
    -------
    dict of float
        The same names. Evidence is pooled over claims without a cap, all alternative
        sets count as needed, and a right NEI claim without gold sets fails.

    Raises
    ------
    OfficialScorerFails
        If lengths differ.
    """
    same_length(gold, predictions, "the evaluate library's FEVER metric")
    right = strict = hits = listed_total = gold_total = 0
    for record, answer in zip(gold, predictions, strict=True):
        agrees = record["label"] == answer["predicted_label"]
        listed = {tuple(item) for item in answer["predicted_evidence"]}
        sets = [{(i[2], i[3]) for i in members} for members in record["evidence"]]
        known = set().union(*sets)
        right += agrees
        strict += agrees and any(members <= listed for members in sets)
        hits += len(known & listed)
        listed_total, gold_total = listed_total + len(listed), gold_total + len(known)
    precision = hits / listed_total if listed_total else 0.0
    recall = hits / gold_total if gold_total else 0.0
    total = precision + recall
    return {
        "fever_score": strict / len(gold),
        "label_accuracy": right / len(gold),
        "evidence_precision": precision,
        "evidence_recall": recall,
        "evidence_f1": 2 * precision * recall / total if total else 0.0,
    }


def score_fever(
    gold,
    predictions,
    *,
    max_evidence=5,
    join="id",
    clusters=None,
    n_boot=1000,
    seed=0,
):
    """FEVER score, corrected: joined by id, duplicates once, undefined left out.

    Parameters
    ----------
    gold, predictions : sequence of dict
        As for `official_fever_score`, with ``id`` unless joined by position. A missing
        prediction is wrong. Neither is changed.
    max_evidence : int
        Distinct sentences that count.
    join : {"id", "position"}
        How records are paired.
    clusters : array_like, optional
        Cluster of each gold claim.
    n_boot, seed
        Of the intervals.

    Returns
    -------
    casebook.factcheck.evidence_scores.EvidenceScores
        The five official names. Precision is a mean over claims with predicted
        evidence, recall over claims with gold evidence, neither over NEI.
    """
    pairs, account = join_records(gold, predictions, join)
    rows = [_row(record, answer, max_evidence, account) for record, answer in pairs]
    frame = pd.DataFrame(rows, columns=["id", *MEASURES])
    account["without_predicted_evidence"] = int(
        (frame["evidence_precision"].isna() & frame["evidence_recall"].notna()).sum()
    )
    options = {"clusters": clusters, "n_boot": n_boot, "seed": seed}
    return EvidenceScores(
        macro_measures(frame, MEASURES, _PAIRS, **options), frame, account
    )


def _row(record, answer, max_evidence, account):
    answer = answer or {}
    label = _text(record, "label").upper()
    agrees = str(answer.get("predicted_label") or "").upper() == label
    if label == NEI:
        return record.get("id"), float(agrees), float(agrees), np.nan, np.nan
    once = list(dict.fromkeys(map(tuple, answer.get("predicted_evidence") or [])))
    repeated = len(answer.get("predicted_evidence") or []) - len(once)
    account["repeated_evidence"] = account.get("repeated_evidence", 0) + repeated
    listed = once[:max_evidence]
    sets = [members for members in record["evidence"] if members]
    known = {tuple(item[2:]) for members in sets for item in members}
    hits = [list(item) for item in listed if item in known]
    complete = _complete(sets, hits)
    return (
        record.get("id"),
        float(agrees and complete),
        float(agrees),
        len(hits) / len(listed) if listed else np.nan,
        float(complete) if sets else np.nan,
    )


def _text(record, name):
    if not isinstance(record.get(name), str):
        raise InputError(f"gold claim {record.get('id')} has no {name!r}")
    return record[name]
