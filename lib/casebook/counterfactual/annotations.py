"""Which facts decide a case, as somebody annotated it, beside what was measured."""

import numpy as np
import pandas as pd

from casebook.counterfactual.facts import FACT_TYPES
from casebook.errors import InputError


def annotation_frame(records):
    """Bring annotations into rows, checked.

    Parameters
    ----------
    records : iterable of mapping
        Each with ``case_id``, ``dispositive_facts``, ``non_dispositive_facts`` (fact
        types) and, if known, ``expert_importance_ranking`` ({type: rank, 1 = most}).

    Returns
    -------
    pandas.DataFrame
        Columns case_id, fact_type, dispositive (True, False, or None where only a rank
        is known) and importance (rank, NaN without); cases without any annotation
        have no row.

    Raises
    ------
    InputError
        If a type is unknown, stands on both sides, or a case comes twice.
    """
    rows, seen = [], set()
    for record in records:
        case = record["case_id"]
        if case in seen:
            raise InputError(f"annotations: case {case!r} comes twice")
        seen.add(case)
        rows += _annotations(case, record)
    columns = ["case_id", "fact_type", "dispositive", "importance"]
    return pd.DataFrame(rows, columns=columns)


def annotations_of_weights(weights):
    """Turn planted weights into annotations.

    Parameters
    ----------
    weights : pandas.DataFrame
        Cases x fact types; 0 is noise.

    Returns
    -------
    pandas.DataFrame
        As from `annotation_frame`; importance is the mid-rank of the weight.
    """
    ranks = weights.rank(axis=1, ascending=False)
    rows = [
        (case, name, bool(weights.loc[case, name] > 0), float(ranks.loc[case, name]))
        for case in weights.index
        for name in weights
    ]
    columns = ["case_id", "fact_type", "dispositive", "importance"]
    return pd.DataFrame(rows, columns=columns)


def score_pairs(scores, annotations):
    """Join scores and annotations, pair by pair.

    Parameters
    ----------
    scores, annotations : pandas.DataFrame
        As for `casebook.counterfactual.evaluation.evaluate`.

    Returns
    -------
    pandas.DataFrame
        The annotations with a column score; NaN where the pair was not assessed.
    """
    table = scores.rename_axis(index="case_id", columns=None).reset_index()
    table = table.melt("case_id", var_name="fact_type", value_name="score")
    return annotations.merge(table, how="left", on=["case_id", "fact_type"])


def type_scores(scores, annotations):
    """Score by the fact type alone: a control that reads no case and searches nothing.

    Parameters
    ----------
    scores : pandas.DataFrame
        Cases x fact types, as for `casebook.counterfactual.evaluation.evaluate`.
    annotations : pandas.DataFrame
        From `annotation_frame`.

    Returns
    -------
    pandas.DataFrame
        The same cases and types; each type has the share of the assessed cases in which
        it was annotated to decide, NaN where ``scores`` has none. The shares are those
        of the very cases that are scored, so the control is as good as any order of the
        types that is the same in all cases.
    """
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    decides = pairs["dispositive"].astype(float)
    share = decides.groupby(pairs["fact_type"]).mean().reindex(scores.columns)
    return scores.notna().astype(float).mul(share).where(scores.notna())


def account(scores, annotations):
    """Count what the evaluation rests on.

    Parameters
    ----------
    scores, annotations : pandas.DataFrame
        As for `casebook.counterfactual.evaluation.evaluate`.

    Returns
    -------
    dict of int
        Cases scored, cases without annotation (left out), annotated cases without
        scores, annotated pairs, and those not assessed (left out, never 0).
    """
    pairs = score_pairs(scores, annotations)
    annotated = set(annotations["case_id"])
    return {
        "cases": len(scores),
        "cases without annotation": len(set(scores.index) - annotated),
        "annotated cases without score": len(annotated - set(scores.index)),
        "annotated pairs": len(pairs),
        "pairs not assessed": int(pairs["score"].isna().sum()),
    }


def _annotations(case, record):
    sides = [
        list(record.get(f"{s}_facts") or ()) for s in ("dispositive", "non_dispositive")
    ]
    ranks = dict(record.get("expert_importance_ranking") or {})
    named = [*sides[0], *sides[1], *ranks]
    unknown = [name for name in named if name not in FACT_TYPES]
    if unknown:
        known = ", ".join(FACT_TYPES)
        raise InputError(f"{case}: unknown fact type {unknown[0]!r}: use {known}")
    if both := set(sides[0]) & set(sides[1]):
        raise InputError(f"{case}: {min(both)} is dispositive and not dispositive")
    for name in FACT_TYPES:
        if name in named:
            side = True if name in sides[0] else False if name in sides[1] else None
            yield case, name, side, ranks.get(name, np.nan)
