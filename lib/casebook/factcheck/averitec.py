"""AVeriTeC scores: label and evidence together, as documented and corrected.

The public score compares evidence by METEOR, whose implementations differ by up to ten
points. The similarity is therefore an argument here, and its name belongs to the score.
"""

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from casebook.errors import InputError
from casebook.factcheck.evidence_scores import EvidenceScores, macro_measures

MAX_EVIDENCE = 10


def unigram_f1(a, b):
    """F1 of the sets of lower-case words of two texts.

    Parameters
    ----------
    a, b : str
        Texts.

    Returns
    -------
    float
        In [0, 1]; 0 for two empty texts.
    """
    first, second = set(a.lower().split()), set(b.lower().split())
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0


def evidence_score(gold, predicted, similarity=unigram_f1):
    """Recall of gold evidence under the best one-to-one assignment.

    Parameters
    ----------
    gold, predicted : sequence of str
        Question and answer in one text; the first ten predictions count.
    similarity : callable
        Two texts to a number in [0, 1].

    Returns
    -------
    float or None
        Mean similarity of each gold item to its partner, 0 without one; None without
        gold evidence.
    """
    if not gold:
        return None
    listed = list(predicted)[:MAX_EVIDENCE]
    if not listed:
        return 0.0
    matrix = np.array([[similarity(a, b) for b in listed] for a in gold])
    rows, columns = linear_sum_assignment(-matrix)
    return float(matrix[rows, columns].sum() / len(gold))


def official_averitec_score(gold, predictions, threshold=0.25, similarity=unigram_f1):
    """Share of claims with the right label and enough evidence, quirks included.

    Parameters
    ----------
    gold, predictions : sequence of dict
        ``label`` and ``evidence`` (texts), aligned by position; the longer of the two
        is cut silently, as by the public script.
    threshold : float
        Evidence score that suffices.
    similarity : callable
        As for `evidence_score`.

    Returns
    -------
    dict of float
        ``averitec_score``, and ``veracity_by_type``: what the public script prints
        under that name, which never looks at the label.
    """
    pairs = list(zip(gold, predictions, strict=False))
    enough = [
        (evidence_score(g["evidence"], p["evidence"], similarity) or 0.0) >= threshold
        for g, p in pairs
    ]
    agree = [g["label"] == p["label"] for g, p in pairs]
    n = max(len(pairs), 1)
    both = sum(a and b for a, b in zip(enough, agree, strict=True))
    return {"averitec_score": both / n, "veracity_by_type": sum(enough) / n}


def score_averitec(
    gold,
    predictions,
    *,
    threshold=0.25,
    similarity=unigram_f1,
    groups=None,
    clusters=None,
    n_boot=1000,
    seed=0,
):
    """Score corrected: lengths must agree, groups look at label and evidence.

    Parameters
    ----------
    gold, predictions : sequence of dict
        As for `official_averitec_score`; claims carry no id, so that one prediction
        per claim is needed, None where there is none.
    threshold, similarity
        As for `official_averitec_score`.
    groups : sequence of str, optional
        Claim type of each claim; each gets its own measures.
    clusters, n_boot, seed
        Of the intervals.

    Returns
    -------
    casebook.factcheck.evidence_scores.EvidenceScores
        averitec_score, label_accuracy, evidence_score; with groups also
        ``averitec_score@<group>``.

    Raises
    ------
    InputError
        If lengths differ.
    """
    if len(gold) != len(predictions):
        raise InputError(
            f"{len(gold)} gold claims and {len(predictions)} predictions: AVeriTeC has "
            "no ids, so that each claim needs its prediction, or null"
        )
    rows = []
    for record, answer in zip(gold, predictions, strict=True):
        answer = answer or {}
        found = evidence_score(
            record["evidence"], answer.get("evidence") or [], similarity
        )
        agrees = answer.get("label") == record["label"]
        enough = found is None or found >= threshold
        rows.append((float(agrees and enough), float(agrees), found))
    names = ["averitec_score", "label_accuracy", "evidence_score"]
    frame = pd.DataFrame(rows, columns=names).astype(float)
    options = {"n_boot": n_boot, "seed": seed}
    measures = macro_measures(frame, names, clusters=clusters, **options)
    labels = pd.Series(list(groups or []), dtype=object)
    for group in labels.unique():
        part = frame[(labels == group).to_numpy()]
        found = macro_measures(part, names[:1], **options)
        measures[f"averitec_score@{group}"] = found["averitec_score"]
    missing = sum(answer is None for answer in predictions)
    return EvidenceScores(measures, frame, {"gold": len(gold), "missing": missing})
