"""From edges to scores: sensitivity to each fact type, and agreement with annotations."""

import numpy as np
import pandas as pd

from casebook.measures.rankshift import mean_spearman_test
from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.plausibility import ACCEPT
from casebook.sensitivity.tree import (
    BOTH_EMPTY,
    DISPLACEMENT,
    FOOTRULE,
    NOOP,
    OK,
    POOR_QUERY,
    excess,
)
from casebook.stats.areas import auroc
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.tests import holm, paired_randomization

DECISIVE_DISPLACEMENT = 1.5
"""Mean rank displacement above which a fact type is called decisive, documented."""
LEAST_COMMON = 3
"""Fact types that a documented rank correlation needs."""
NOT_ASSESSED = "not assessed: no edge"
LEFT_OUT = (NOOP, BOTH_EMPTY, POOR_QUERY)


# ---- sensitivity of retrieval to each fact type


def sensitivity(
    edges, measure=FOOTRULE, *, clusters="case", fact_types=FACT_TYPES, n_resamples=10_000, seed=0
):
    """Change by the edits of each fact type, beside that by their placebos.

    A type without an edit is not assessed. `clusters` is ``case``, or ``item``, a fact of a case;
    p is the sign-flip test of the clusters' mean excess.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    rows = []
    for name in fact_types:
        part = edges[edges["fact_type"] == name]
        used = part[part["status"] == OK].astype({measure: float, f"placebo_{measure}": float})
        cluster = used["case_id"] if clusters == "case" else used["case_id"] + "\0" + used["item"]
        beyond = excess(used, measure).dropna()
        moved = used[measure].dropna()
        means = beyond.groupby(cluster, sort=False).mean().to_numpy()
        row = {"fact type": name, "edges": len(used), "cases": used["case_id"].nunique()}
        row |= {status: int((part["status"] == status).sum()) for status in LEFT_OUT}
        of = {}
        for column, values in {"sensitivity": moved, "excess": beyond}.items():
            of[column] = bootstrap_mean(
                values.to_numpy(), clusters=cluster[values.index].tolist(), shares=False, **options
            )
            row |= bounded(column, of[column])
        row["placebo"] = used[f"placebo_{measure}"].mean()
        row["p"] = None
        if len(means) > 1:
            row["p"] = paired_randomization(means, **options).pvalue
        reason = _why_undefined(part) if beyond.empty else None
        row["reason"] = reason or of["sensitivity"].reason or of["excess"].reason
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame["p_holm"] = holm(frame["p"].tolist())
    numbers = frame.columns.drop(["fact type", "edges", "cases", *LEFT_OUT, "reason"])
    return frame.astype(dict.fromkeys(numbers, float))


def _why_undefined(part):
    reasons = part.loc[part["status"] == OK, "no_placebo"].mode()
    poor = part.loc[part["status"] == POOR_QUERY, "reason"]
    return next(iter([*reasons, *poor]), NOT_ASSESSED)


def case_scores(edges, measure=FOOTRULE, over_placebo=True, fact_types=FACT_TYPES):
    """Sensitivity of each case (row) to each fact type; NaN where it was not assessed."""
    used = edges[edges["status"] == OK]
    values = excess(used, measure) if over_placebo else used[measure]
    return _by_case(edges, used, values, fact_types)


def documented_scores(edges, cases=None, fact_types=FACT_TYPES):
    """Aggregate as documented: the mean over all edges of a type, no-ops too, and 0 without any.

    `cases` are the names of all cases, also of those without an edge.
    """
    used = edges[edges["status"].isin([OK, NOOP, POOR_QUERY])]
    scores = _by_case(edges, used, used[DISPLACEMENT], fact_types)
    return (scores if cases is None else scores.reindex(cases)).fillna(0.0)


def _by_case(edges, used, values, fact_types):
    table = used.assign(value=values.astype(float))
    means = table.pivot_table("value", "case_id", "fact_type", aggfunc="mean")
    cases = edges["case_id"].unique().tolist()
    return means.reindex(index=cases, columns=list(fact_types)).astype(float)


def shares_above(edges, placebos, annotations):
    """Each case's share of edits above the threshold: by what they change, and of placebos."""
    used = edges[edges["status"] == OK].merge(annotations, how="left", on=["case_id", "fact_type"])
    decides = used["dispositive"]
    groups = {
        "facts that decide": used[decides.eq(True)],
        "other facts": used[decides.eq(False)],
        "all facts": used,
        "placebos": placebos[placebos["status"] == OK],
    }
    shares = {
        name: (part[DISPLACEMENT] > DECISIVE_DISPLACEMENT).groupby(part["case_id"]).mean()
        for name, part in groups.items()
    }
    return pd.DataFrame(shares).astype(float)


# ---- scores against annotations


def stated_evaluation(scores, annotations, outcomes, threshold=DECISIVE_DISPLACEMENT):
    """Score as the document's sentences say: shares of all annotated facts and proposed edits.

    `outcomes` are the validator's decisions on all proposed edits.
    """
    pairs = score_pairs(scores, annotations)
    measures = {}
    for name, side in (("dispositive_accuracy", True), ("non_dispositive_accuracy", False)):
        assigned = pairs.loc[pairs["dispositive"] == side, "score"] > threshold
        measures[name] = _rounded_share(assigned == side)
    spearman = documented_evaluation(scores, annotations)["mean_spearman"]
    return measures | {
        "mean_spearman": spearman,
        "llm_accept_rate": _rounded_share(outcomes == ACCEPT),
    }


def _rounded_share(flags):
    return round(float(flags.mean()), 4) if len(flags) else None


def documented_evaluation(scores, annotations, edges=0, threshold=DECISIVE_DISPLACEMENT):
    """Score as the document's code does: averaged over cases, 0 for a case without annotations.

    Ties of the rank correlation are broken by the alphabet; the accept rate is 1 with any edge
    and 0 without.
    """
    pairs = score_pairs(scores, annotations)
    accuracies = []
    for decisive in (True, False):
        of_side = pairs[pairs["dispositive"] == decisive]
        correct = (of_side["score"] > threshold) == decisive
        of_cases = correct.groupby(of_side["case_id"]).mean()
        accuracies.append(round(float(of_cases.reindex(scores.index).fillna(0.0).mean()), 4))
    ranked = pairs.dropna(subset=["score", "importance"]).groupby("case_id")
    rhos = [_documented_spearman(part) for _, part in ranked if len(part) >= LEAST_COMMON]
    return {
        "dispositive_accuracy": accuracies[0],
        "non_dispositive_accuracy": accuracies[1],
        "mean_spearman": round(float(np.mean(rhos)), 4) if rhos else None,
        "llm_accept_rate": 1.0 if edges else 0.0,
    }


def _documented_spearman(of_case):
    by_name = of_case.sort_values("fact_type")
    by_score = by_name.sort_values("score", ascending=False, kind="stable")
    n = len(by_score)
    squares = (np.arange(1, n + 1) - by_score["importance"].astype(float)) ** 2
    return 1 - 6 * squares.sum() / (n * (n * n - 1))


def evaluate_sensitivity(scores, annotations, *, n_resamples=10_000, seed=0):
    """Score sensitivities (cases x fact types) against annotations, over pairs of case and type.

    Numbers of the book, with intervals over cases: ``auroc``, and ``spearman`` over cases with p of
    the exact null.
    """
    pairs = score_pairs(scores, annotations)
    decided = decided_pairs(scores, annotations)
    area = auroc(decided["dispositive"], decided["score"], clusters=decided["case_id"].tolist())
    spearman = _spearman_number(pairs, n_resamples=n_resamples, seed=seed)
    return {"auroc": area.number(0.5), "spearman": spearman}


def _spearman_number(pairs, *, n_resamples, seed):
    rankings = []
    for _, of_case in pairs.dropna(subset=["score", "importance"]).groupby("case_id"):
        if len(of_case) >= LEAST_COMMON:
            # A high score belongs to a low rank number.
            importance = -of_case["importance"].to_numpy(float)
            rankings.append((of_case["score"].to_numpy(float), importance))
    test = mean_spearman_test(rankings)
    rhos = np.array([value for value in test["values"] if value is not None])
    mean = bootstrap_mean(rhos, n_resamples=n_resamples, seed=seed)
    return mean.number(0.0) | {"p": test["p"], "undefined": test["undefined"]}


def score_pairs(scores, annotations):
    table = scores.rename_axis(index="case_id", columns=None).reset_index()
    table = table.melt("case_id", var_name="fact_type", value_name="score")
    return annotations.merge(table, how="left", on=["case_id", "fact_type"])


def decided_pairs(scores, annotations):
    """Pairs with a score of which somebody said whether the fact decides the case."""
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    return pairs.astype({"dispositive": bool})


def type_scores(scores, annotations):
    """Score by the fact type alone: a control that reads no case and searches nothing."""
    pairs = decided_pairs(scores, annotations)
    share = pairs.groupby("fact_type")["dispositive"].mean().reindex(scores.columns)
    return scores.notna().astype(float).mul(share).where(scores.notna())
