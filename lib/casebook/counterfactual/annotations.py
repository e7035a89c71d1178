"""Which facts decide a case, as somebody annotated it, beside what was measured."""

import numpy as np
import pandas as pd

from casebook.counterfactual.facts import FACT_TYPES
from casebook.errors import InputError


def annotation_frame(records):
    """Bring annotations into rows, checked."""
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
    """Turn planted weights into annotations."""
    ranks = weights.rank(axis=1, ascending=False)
    rows = [
        (case, name, bool(weights.loc[case, name] > 0), float(ranks.loc[case, name]))
        for case in weights.index
        for name in weights
    ]
    columns = ["case_id", "fact_type", "dispositive", "importance"]
    return pd.DataFrame(rows, columns=columns)


def score_pairs(scores, annotations):
    """Join scores and annotations, pair by pair."""
    table = scores.rename_axis(index="case_id", columns=None).reset_index()
    table = table.melt("case_id", var_name="fact_type", value_name="score")
    return annotations.merge(table, how="left", on=["case_id", "fact_type"])


def type_scores(scores, annotations):
    """Score by the fact type alone: a control that reads no case and searches nothing."""
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    decides = pairs["dispositive"].astype(float)
    share = decides.groupby(pairs["fact_type"]).mean().reindex(scores.columns)
    return scores.notna().astype(float).mul(share).where(scores.notna())


def account(scores, annotations):
    """Count what the evaluation rests on."""
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
    sides = [list(record.get(f"{s}_facts") or ()) for s in ("dispositive", "non_dispositive")]
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
