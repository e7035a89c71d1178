"""FEVEROUS scores: five sentences, 25 cells; as the public scorer, and corrected."""

import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.evidence_scores import (
    EvidenceScores,
    harmonic,
    join_records,
    macro_measures,
    same_length,
)

CELL_KINDS = ("cell", "item", "table_caption", "header_cell")
MEASURES = (
    "feverous_score",
    "label_accuracy",
    "evidence_precision",
    "evidence_recall",
)
_PAIRS = [("evidence_f1", "evidence_precision", "evidence_recall")]


def parse_element(name):
    """Split an element id into page, kind and position.

    Parameters
    ----------
    name : str or sequence of str
        Such as ``Town_cell_0_1_2``, or the three parts.

    Returns
    -------
    tuple of str
        Page, kind, position. A page's name holds no underscore.

    Raises
    ------
    InputError
        If it is no element id.
    """
    if not isinstance(name, str):
        parts = tuple(map(str, name))
        if len(parts) != 3:
            raise InputError(f"{list(name)} is not [page, kind, position]")
        return parts
    page, *rest = name.split("_")
    two_words = rest[:2] in (["table", "caption"], ["header", "cell"])
    kind, position = (
        ("_".join(rest[:2]), rest[2:]) if two_words else (rest[:1], rest[1:])
    )
    kind = kind if two_words else "".join(kind)
    if not page or not kind or not position:
        raise InputError(f"{name!r} is not an element id such as Page_sentence_0")
    return page, kind, "_".join(position)


def truncate(elements, max_sentences=5, max_cells=25):
    """Keep the first elements of each sort, without changing the list given.

    Parameters
    ----------
    elements : sequence of tuple
        From `parse_element`, best first.
    max_sentences, max_cells : int or None
        Cells are `CELL_KINDS`; everything else counts as a sentence.

    Returns
    -------
    list of tuple
        In the same order.
    """
    room = {True: max_cells, False: max_sentences}
    kept = []
    for element in elements:
        cell = element[1] in CELL_KINDS
        if room[cell] is None or room[cell] > 0:
            kept.append(element)
            room[cell] = room[cell] and room[cell] - 1
    return kept


def official_feverous_score(gold, predictions, max_sentences=5, max_cells=25):
    """FEVEROUS score as the public scorer computes it, quirks included.

    Parameters
    ----------
    gold : sequence of dict
        ``label`` and ``evidence``: alternative sets, each a list of element ids or a
        dict with ``content``.
    predictions : sequence of dict
        ``predicted_label`` and ``predicted_evidence``. Aligned by position. Unlike the
        public scorer this one does not shorten the caller's lists, so that a second
        call with other limits is right.
    max_sentences, max_cells : int or None
        As for `truncate`.

    Returns
    -------
    dict of float
        feverous_score, label_accuracy, evidence_precision, evidence_recall,
        evidence_f1; NEI claims need their evidence too, and a claim without predicted
        evidence has precision 1.

    Raises
    ------
    OfficialScorerFails
        Where the public scorer raises: lengths differ, or no evidence is right.

    References
    ----------
    Aly et al., NeurIPS datasets and benchmarks 2021.
    """
    same_length(gold, predictions, "the FEVEROUS scorer")
    right = strict = 0
    precision = recall = 0.0
    for record, answer in zip(gold, predictions, strict=True):
        listed = [parse_element(item) for item in answer["predicted_evidence"]]
        listed = truncate(listed, max_sentences, max_cells)
        sets = gold_sets(record)
        known, once = set().union(*sets), set(listed)
        agrees = record["label"].upper() == answer["predicted_label"].upper()
        complete = any(members <= once for members in sets)
        right += agrees
        strict += agrees and complete
        hits = sum(item in known for item in listed)
        precision += hits / len(listed) if listed else 1.0
        recall += complete or not sets
    n = len(gold)
    return {
        "feverous_score": strict / n,
        "label_accuracy": right / n,
        "evidence_precision": precision / n,
        "evidence_recall": recall / n,
        "evidence_f1": harmonic(precision / n, recall / n, "the FEVEROUS scorer"),
    }


def gold_sets(record):
    """Give the alternative gold sets of a claim.

    Parameters
    ----------
    record : dict
        With ``evidence``, as for `official_feverous_score`.

    Returns
    -------
    list of set
        Elements as `parse_element` gives them.
    """
    return [
        {parse_element(i) for i in (s["content"] if isinstance(s, dict) else s)}
        for s in record["evidence"]
    ]


def score_feverous(
    gold,
    predictions,
    *,
    max_sentences=5,
    max_cells=25,
    join="id",
    clusters=None,
    n_boot=1000,
    seed=0,
):
    """FEVEROUS score, corrected: joined by id, duplicates once, undefined left out.

    Parameters
    ----------
    gold, predictions : sequence of dict
        As for `official_feverous_score`, with ``id`` unless joined by position.
    max_sentences, max_cells : int
        Distinct elements that count.
    join, clusters, n_boot, seed
        As for `casebook.factcheck.fever.score_fever`.

    Returns
    -------
    casebook.factcheck.evidence_scores.EvidenceScores
        The five official names. A claim without gold evidence needs none.
    """
    pairs, account = join_records(gold, predictions, join)
    rows = [_row(*pair, max_sentences, max_cells) for pair in pairs]
    frame = pd.DataFrame(rows, columns=["id", *MEASURES])
    account["without_predicted_evidence"] = int(
        frame["evidence_precision"].isna().sum()
    )
    options = {"clusters": clusters, "n_boot": n_boot, "seed": seed}
    return EvidenceScores(
        macro_measures(frame, MEASURES, _PAIRS, **options), frame, account
    )


def _row(record, answer, max_sentences, max_cells):
    """Score one claim; None where a measure is undefined."""
    answer = answer or {}
    listed = map(parse_element, answer.get("predicted_evidence") or [])
    once = list(dict.fromkeys(listed))
    listed = truncate(once, max_sentences, max_cells)
    sets = [members for members in gold_sets(record) if members]
    known = set().union(*sets)
    predicted = str(answer.get("predicted_label") or "")
    agrees = record["label"].upper() == predicted.upper()
    complete = any(members <= set(listed) for members in sets)
    hits = sum(item in known for item in listed)
    return (
        record.get("id"),
        float(agrees and (complete or not sets)),
        float(agrees),
        hits / len(listed) if listed else None,
        float(complete) if sets else None,
    )
