"""From edges to scores: sensitivity to each fact type, and agreement with annotations."""

import numpy as np
import pandas as pd

from casebook.measures.rankshift import mean_spearman_test
from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.plausibility import ACCEPT
from casebook.sensitivity.tree import (
    DISPLACEMENT,
    FOOTRULE,
    NOOP,
    OK,
    POOR_QUERY,
    excess,
)
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.tests import holm, paired_randomization

# Mean rank displacement above which a fact type is called decisive, documented.
DECISIVE_DISPLACEMENT = 1.5


# ---- sensitivity of retrieval to each fact type


def sensitivity(
    edges, measure=FOOTRULE, *, fact_types=FACT_TYPES, n_resamples=10_000, seed=0
):
    """Excess of the edits of each fact type over their placebos, beside the change by both.

    A type without an edit is not assessed. Cases are clusters; p is the sign-flip test of their
    mean excess, adjusted by Holm.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    placebo = f"placebo_{measure}"
    rows = []
    for name in fact_types:
        part = edges[edges["fact_type"] == name]
        used = part[part["status"] == OK].astype({measure: float, placebo: float})
        beyond = excess(used, measure).dropna()
        cases = used.loc[beyond.index, "case_id"]
        of_cases = beyond.groupby(cases, sort=False)
        values = beyond.to_numpy()
        interval = bootstrap_mean(
            values, clusters=cases.tolist(), shares=False, **options
        )
        row = {
            "fact type": name,
            **interval.row(),
            "n": len(used),
            "groups": used["case_id"].nunique(),
            "noops": (part["status"] == NOOP).sum(),
            "change": used[measure].mean(),
            "change by placebos": used[placebo].mean(),
            "p": np.nan,
            "reason": why_undefined(part) if beyond.empty else interval.reason,
        }
        if len(of_cases) > 1:
            row["p"] = paired_randomization(
                of_cases.mean().to_numpy(), **options
            ).pvalue
        rows.append(row)
    numbers = dict.fromkeys(["value", "low", "high", "p"], float)
    frame = pd.DataFrame(rows).astype(numbers)
    adjusted = holm(frame["p"].tolist())
    return frame.assign(p_adjusted=np.array(adjusted, float))


def why_undefined(edges):
    reasons = edges.loc[edges["status"] == OK, "no_placebo"].mode()
    poor = edges.loc[edges["status"] == POOR_QUERY, "reason"]
    return next(iter([*reasons, *poor]), "a fact type without an edit")


def case_scores(
    edges, measure=FOOTRULE, over_placebo=True, fact_types=FACT_TYPES, statuses=(OK,)
):
    """Sensitivity of each case (row) to each fact type; NaN where it was not assessed."""
    used = edges[edges["status"].isin(statuses)]
    values = excess(used, measure) if over_placebo else used[measure]
    table = used.assign(value=values.astype(float))
    means = table.pivot_table("value", "case_id", "fact_type", aggfunc="mean")
    cases = edges["case_id"].unique().tolist()
    return means.reindex(index=cases, columns=list(fact_types)).astype(float)


def documented_scores(edges, cases=None, fact_types=FACT_TYPES):
    """Aggregate as documented: the mean over all edges of a type, no-ops too, and 0 without any.

    `cases` are the names of all cases, also of those without an edge.
    """
    scores = case_scores(edges, DISPLACEMENT, False, fact_types, (OK, NOOP, POOR_QUERY))
    return (scores if cases is None else scores.reindex(cases)).fillna(0.0)


# ---- scores against annotations


def stated_evaluation(scores, annotations, threshold, outcomes):
    """Score as the document's sentences say: shares of all annotated facts and proposed edits.

    `outcomes` are the validator's decisions on all proposed edits.
    """
    pairs = score_pairs(scores, annotations)
    is_above = pairs["score"] > threshold
    decides = pairs["dispositive"]
    return {
        "dispositive_accuracy": _rounded_share(is_above[decides == True]),  # noqa: E712
        "non_dispositive_accuracy": _rounded_share(~is_above[decides == False]),  # noqa: E712
        "mean_spearman": documented_evaluation(scores, annotations)["mean_spearman"],
        "llm_accept_rate": _rounded_share(outcomes == ACCEPT),
    }


def _rounded_share(flags):
    return round(float(flags.mean()), 4) if len(flags) else None


def documented_evaluation(
    scores, annotations, threshold=DECISIVE_DISPLACEMENT, edges=0
):
    """Score as the document's code does: averaged over cases, 0 for a case without annotations.

    Ties of the rank correlation are broken by the alphabet; the accept rate is 1 with any edge
    and 0 without.
    """
    pairs = score_pairs(scores, annotations)
    accuracies = []
    for decides in (True, False):
        of_side = pairs[pairs["dispositive"] == decides]
        correct = (of_side["score"] > threshold) == decides
        of_cases = correct.groupby(of_side["case_id"]).mean()
        accuracies.append(_rounded_share(of_cases.reindex(scores.index).fillna(0.0)))
    rhos = [_documented_spearman(of_case) for of_case in _ranked(pairs)]
    return {
        "dispositive_accuracy": accuracies[0],
        "non_dispositive_accuracy": accuracies[1],
        "mean_spearman": _rounded_share(np.array(rhos)),
        "llm_accept_rate": 1.0 if edges else 0.0,
    }


def _ranked(pairs):
    ranked = pairs.dropna(subset=["score", "importance"]).groupby("case_id")
    # The documented correlation needs three fact types: of two it is 1 or -1.
    return [of_case for _, of_case in ranked if len(of_case) >= 3]


def _documented_spearman(of_case):
    ranks = of_case.sort_values("fact_type")["score"].rank(
        ascending=False, method="first"
    )
    squares = (ranks - of_case["importance"].astype(float)) ** 2
    n = len(of_case)
    return 1 - 6 * squares.sum() / (n * (n * n - 1))


def importance_agreement(scores, annotations, *, n_resamples=10_000, seed=0):
    """Mean Spearman correlation of sensitivity and annotated importance.

    The interval is over cases, and p that of the exact null.
    """
    rankings = []
    for of_case in _ranked(score_pairs(scores, annotations)):
        # A high score belongs to a low rank number.
        importance = -of_case["importance"].to_numpy(float)
        rankings.append((of_case["score"].to_numpy(float), importance))
    test = mean_spearman_test(rankings)
    rhos = np.array([value for value in test["values"] if value is not None])
    mean = bootstrap_mean(rhos, n_resamples=n_resamples, seed=seed)
    return {
        "mean_spearman": mean.estimate,
        "exact_p": test["p"],
        "low": mean.low,
        "high": mean.high,
        "cases_ranked": mean.n,
    }


def score_pairs(scores, annotations):
    table = scores.rename_axis(index="case_id", columns=None).reset_index()
    table = table.melt("case_id", var_name="fact_type", value_name="score")
    return annotations.merge(table, how="left", on=["case_id", "fact_type"])


def decided_pairs(annotations, **scores):
    """Pairs of which somebody said whether the fact decides, with a column of each of the scores.

    Left out are pairs without one of these scores.
    """
    columns = {
        name: score_pairs(table, annotations)["score"] for name, table in scores.items()
    }
    pairs = annotations.assign(**columns).dropna(subset=["dispositive", *columns])
    return pairs.astype({"dispositive": bool})
