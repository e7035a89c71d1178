"""SciFact scores by abstract and by sentence: as the public scorer, and corrected."""

import pandas as pd

from casebook.factcheck.evidence_scores import (
    EvidenceScores,
    OfficialScorerFails,
    join_records,
    ratio_measures,
)

LABELS = ("SUPPORT", "CONTRADICT")
MAX_ABSTRACT_SENTENCES = 3
RATIOS = {
    "abstract_label_only": ("label_right", "abstracts", "gold_abstracts"),
    "abstract_rationalized": ("rationale_right", "abstracts", "gold_abstracts"),
    "sentence_selection": ("selected", "sentences", "gold_sentences"),
    "sentence_label": ("selected_and_label", "sentences", "gold_sentences"),
}
COUNTS = tuple(dict.fromkeys(name for names in RATIOS.values() for name in names))


def official_scifact_scores(gold, predictions):
    """Score as the public evaluator does, quirks included.

    Parameters
    ----------
    gold : sequence of dict
        ``id`` and ``evidence``: {doc_id: [{"label", "sentences"}]}.
    predictions : sequence of dict
        ``id`` and ``evidence``: {doc_id: {"label", "sentences"}}, in the same order.

    Returns
    -------
    dict of float
        Precision, recall and F1 of ``abstract_label_only``, ``abstract_rationalized``
        (one gold rationale among the first three sentences), ``sentence_selection``
        (sentences of wholly predicted rationales) and ``sentence_label``. Duplicate
        sentences cost precision; a zero denominator gives 0.

    Raises
    ------
    OfficialScorerFails
        Where the public evaluator raises: other order, an unknown label, conflicting
        labels of one abstract, or a sentence in two rationales.

    References
    ----------
    Wadden et al., EMNLP 2020, section 4.
    """
    if [g["id"] for g in gold] != [p["id"] for p in predictions]:
        raise OfficialScorerFails(
            "the SciFact evaluator needs predictions in the order of the gold claims"
        )
    totals = dict.fromkeys(COUNTS, 0)
    for record, answer in zip(gold, predictions, strict=True):
        for doc, rationales in record["evidence"].items():
            _refuse(record["id"], doc, rationales, answer["evidence"].get(doc))
        for name, count in _counts(record, answer["evidence"], list).items():
            totals[name] += count
    found = {}
    for name, (correct, retrieved, relevant) in RATIOS.items():
        p = totals[correct] / totals[retrieved] if totals[retrieved] else 0.0
        r = totals[correct] / totals[relevant] if totals[relevant] else 0.0
        f1 = 2 * p * r / (p + r) if p + r else 0.0
        found |= {f"{name}_precision": p, f"{name}_recall": r, f"{name}_f1": f1}
    return found


def _refuse(name, doc, rationales, answer):
    if len({rationale["label"] for rationale in rationales}) > 1:
        raise OfficialScorerFails(
            f"the SciFact evaluator refuses claim {name}: conflicting labels of {doc}"
        )
    members = [i for rationale in rationales for i in set(rationale["sentences"])]
    shared = {i for i in members if members.count(i) > 1}
    if answer and shared & set(answer["sentences"]):
        raise OfficialScorerFails(
            f"the SciFact evaluator fails an assertion on claim {name}: a sentence of "
            f"{doc} stands in two rationales"
        )


def _distinct(items):
    return list(dict.fromkeys(items))


def _counts(record, answers, once):
    """Count one claim; `once` says what becomes of repeated sentences."""
    count = dict.fromkeys(COUNTS, 0)
    for rationales in record["evidence"].values():
        count["gold_abstracts"] += 1
        sentences = [i for rationale in rationales for i in rationale["sentences"]]
        count["gold_sentences"] += len(once(sentences))
    for doc, answer in answers.items():
        if answer["label"] not in LABELS:
            raise OfficialScorerFails(
                f"claim {record['id']}: label {answer['label']!r}: use SUPPORT or "
                "CONTRADICT, and leave other abstracts out"
            )
        listed = once(answer["sentences"])
        count["abstracts"] += 1
        count["sentences"] += len(listed)
        for name, found in _matches(
            record["evidence"].get(doc), answer, listed
        ).items():
            count[name] += found
    return count


def _matches(rationales, answer, listed):
    if not rationales:
        return {}
    agrees = answer["label"] in {rationale["label"] for rationale in rationales}
    groups = [set(rationale["sentences"]) for rationale in rationales]
    first, every = set(listed[:MAX_ABSTRACT_SENTENCES]), set(listed)
    whole = set().union(*(group for group in groups if group <= every))
    selected = len(every & whole)
    return {
        "label_right": int(agrees),
        "rationale_right": int(agrees and any(group <= first for group in groups)),
        "selected": selected,
        "selected_and_label": selected if agrees else 0,
    }


def score_scifact(gold, predictions, *, join="id", clusters=None, n_boot=1000, seed=0):
    """Score corrected: joined by id, sentences once, overlapping rationales allowed.

    Parameters
    ----------
    gold, predictions : sequence of dict
        As for `official_scifact_scores`, in any order; a missing prediction finds
        nothing. Neither is changed.
    join, clusters, n_boot, seed
        As for `casebook.factcheck.fever.score_fever`.

    Returns
    -------
    casebook.factcheck.evidence_scores.EvidenceScores
        The twelve official names, pooled over claims, intervals over claims.
    """
    pairs, account = join_records(gold, predictions, join)
    rows, repeated = [], 0
    for record, answer in pairs:
        answers = (answer or {}).get("evidence") or {}
        repeated += sum(
            len(a["sentences"]) - len(set(a["sentences"])) for a in answers.values()
        )
        rows.append({"id": record["id"]} | _counts(record, answers, _distinct))
    frame = pd.DataFrame(rows, columns=["id", *COUNTS])
    options = {"clusters": clusters, "n_boot": n_boot, "seed": seed}
    account["repeated_sentences"] = repeated
    return EvidenceScores(ratio_measures(frame, RATIOS, **options), frame, account)
