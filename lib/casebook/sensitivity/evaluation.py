"""From edges to scores: sensitivity to each fact type, and agreement with annotations."""

import numpy as np
import pandas as pd

from casebook.measures.classification import formulas
from casebook.measures.rankshift import mean_spearman_test
from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.plausibility import ACCEPT
from casebook.sensitivity.tree import (
    BOTH_EMPTY,
    DISPLACEMENT,
    FOOTRULE,
    INVALID,
    NOOP,
    OK,
    POOR_QUERY,
    excess,
)
from casebook.stats.areas import auroc
from casebook.stats.intervals import (
    bootstrap_mean,
    bounded,
    percentile_interval,
    resampled_clusters,
    resampled_counts,
)
from casebook.stats.tests import holm, paired_randomization

DECISIVE_DISPLACEMENT = 1.5
"""Mean rank displacement above which a fact type is called decisive, documented."""
LEAST_COMMON = 3
"""Fact types that a documented rank correlation needs."""
CHANCE_LEVELS = {"balanced_accuracy": 0.5, "mcc": 0.0}
NOT_ASSESSED = "not assessed: no edge"
NO_PLACEBO = "no matched placebo"
LEFT_OUT = (NOOP, INVALID, BOTH_EMPTY, POOR_QUERY)


# ---- sensitivity of retrieval to each fact type


def sensitivity(
    edges,
    measure=FOOTRULE,
    *,
    clusters="case",
    fact_types=FACT_TYPES,
    n_resamples=10_000,
    seed=0,
):
    """Aggregate the edges of each fact type, beside their placebos.

    A type without an edge is not assessed. `clusters` is ``case``, or ``item``, a fact of a case;
    p is the sign-flip test of the clusters' mean excess.
    """
    rows = []
    for name in fact_types:
        part = edges[edges["fact_type"] == name]
        used = part[part["status"] == OK]
        row = {
            "fact type": name,
            "edges": len(used),
            "cases": used["case_id"].nunique(),
            **{status: int((part["status"] == status).sum()) for status in LEFT_OUT},
            **_aggregate(used, measure, clusters, n_resamples=n_resamples, seed=seed),
        }
        if not len(used) and row[POOR_QUERY]:
            row["reason"] = part.loc[part["status"] == POOR_QUERY, "reason"].iloc[0]
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.insert(frame.columns.get_loc("p") + 1, "p_holm", holm(frame["p"].tolist()))
    return frame.astype(
        dict.fromkeys(frame.columns[frame.columns.get_loc("sensitivity") : -1], float)
    )


def _aggregate(used, measure, clusters, *, n_resamples, seed):
    """Mean, placebo mean, excess and p of one type."""
    cluster = used["case_id"] if clusters == "case" else used["case_id"] + "\0" + used["item"]
    frame = pd.DataFrame(
        {"cluster": cluster, "value": used[measure].astype(float), "excess": excess(used, measure)}
    )
    moved = _cluster_mean(frame, "value", n_resamples=n_resamples, seed=seed)
    beyond = _cluster_mean(frame, "excess", n_resamples=n_resamples, seed=seed)
    with_excess = frame.dropna(subset="excess")
    reason = moved.reason or beyond.reason
    placebo = None
    if frame["value"].isna().all():
        reason = NOT_ASSESSED
    elif with_excess.empty:
        reason = NO_PLACEBO
        if "no_placebo" in used:
            reason = used["no_placebo"].dropna().mode().get(0, NO_PLACEBO)
    else:
        placebo = used[f"placebo_{measure}"].astype(float).mean()
    p = None
    means = with_excess.groupby("cluster", sort=False)["excess"].mean().to_numpy()
    if len(means) > 1:
        p = paired_randomization(means, n_resamples=n_resamples, seed=seed).pvalue
    return {
        **bounded("sensitivity", moved),
        "placebo": placebo,
        **bounded("excess", beyond),
        "p": p,
        "reason": reason,
    }


def _cluster_mean(frame, column, *, n_resamples, seed):
    defined = frame.dropna(subset=column)
    return bootstrap_mean(
        defined[column].to_numpy(float),
        clusters=defined["cluster"].tolist(),
        shares=False,
        n_resamples=n_resamples,
        seed=seed,
    )


def case_scores(edges, measure=FOOTRULE, over_placebo=True, fact_types=FACT_TYPES):
    """Give the sensitivity of each case (row) to each fact type; NaN where it was not assessed."""
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


def coverage(edges, cases, fact_types=FACT_TYPES):
    """Count the cases, of so many, in which each fact type was assessed."""
    used = edges[edges["status"] == OK]
    count = pd.crosstab(used["case_id"], used["fact_type"]).reindex(
        columns=list(fact_types), fill_value=0
    )
    count = np.vstack([count, np.zeros((cases - len(count), len(fact_types)))])
    assessed = (count > 0).sum(axis=0)
    return pd.DataFrame(
        {
            "fact type": fact_types,
            "assessed": assessed,
            "cases": cases,
            "share": assessed / cases,
            "median edges": np.median(count, axis=0),
        }
    )


def shares_above(edges, placebos, annotations):
    """Give each case's share of edits above the threshold: by what they change, and of placebos."""
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
    shares = {True: [], False: []}
    rhos = []
    for case in scores.index:
        of_types = scores.loc[case]
        of_case = annotations[annotations["case_id"] == case]
        for decisive in shares:
            types = of_case.loc[of_case["dispositive"] == decisive, "fact_type"]
            correct = (of_types[list(types)] > threshold) == decisive
            shares[decisive].append(int(correct.sum()) / max(len(types), 1))
        importance = of_case.dropna(subset="importance").set_index("fact_type")["importance"]
        rho = _documented_spearman(of_types, importance)
        if rho is not None:
            rhos.append(rho)
    return {
        "dispositive_accuracy": round(float(np.mean(shares[True])), 4),
        "non_dispositive_accuracy": round(float(np.mean(shares[False])), 4),
        "mean_spearman": round(float(np.mean(rhos)), 4) if rhos else None,
        "llm_accept_rate": 1.0 if edges else 0.0,
    }


def _documented_spearman(scores, importance):
    """Correlate the order of a case's scores with the experts'; None with too few fact types."""
    common = sorted(set(importance.index) & set(scores.index))
    n = len(common)
    if n < LEAST_COMMON:
        return None
    by_score = scores[common].sort_values(ascending=False, kind="stable").index
    squares = sum((rank - importance[name]) ** 2 for rank, name in enumerate(by_score, 1))
    return 1 - 6 * squares / (n * (n * n - 1))


def evaluate_sensitivity(scores, annotations, threshold=None, *, n_resamples=10_000, seed=0):
    """Score sensitivities (cases x fact types) against annotations, over pairs of case and type.

    Numbers of the book, with intervals over cases: ``auroc``; ``spearman`` over cases, with p of
    the exact null; and with a threshold, above which a score is high, ``balanced_accuracy``,
    ``mcc``, ``dispositive`` and ``non_dispositive``.
    """
    pairs = score_pairs(scores, annotations)
    decided = pairs.dropna(subset=["score", "dispositive"])
    truth = decided["dispositive"].astype(bool).to_numpy()
    values = decided["score"].to_numpy(float)
    cases = decided["case_id"].tolist()
    numbers = {"auroc": auroc(truth, values, clusters=cases).number(0.5)}
    if threshold is not None:
        numbers |= _threshold_numbers(
            truth, values > threshold, cases, n_resamples=n_resamples, seed=seed
        )
    numbers["spearman"] = _spearman_number(pairs, n_resamples=n_resamples, seed=seed)
    return numbers


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


def _threshold_numbers(truth, high, cases, *, n_resamples, seed):
    """Measures of one threshold with intervals that resample cases."""
    clusters, few = resampled_clusters(cases, len(truth))
    # Two classes by the two decisions, and none without one.
    cells = 3 * (~truth).astype(int) + (~high).astype(int)
    tables, _ = resampled_counts(cells, 6, clusters, n_resamples=n_resamples, seed=seed)
    resampled = formulas(tables.reshape(-1, 2, 3))
    reason = "class_without_gold_or_prediction" if len(truth) else "no_units"
    names = {
        "balanced_accuracy": "balanced_accuracy",
        "mcc": "mcc",
        "dispositive": "recall",
        "non_dispositive": "recall_not_supported",
    }
    numbers = {}
    for name, measure in names.items():
        value, *draws = resampled[measure]
        number = percentile_interval(value, draws, len(truth), reason=reason).number(
            CHANCE_LEVELS.get(name)
        )
        if number["value"] is not None:
            number["reason"] = number["reason"] or few
        numbers[name] = number
    return numbers


def accuracy_by_threshold(scores, annotations, thresholds, *, n_resamples=10_000, seed=0):
    """Score at each threshold: a description, nothing is chosen by it."""
    rows = []
    for threshold in thresholds:
        numbers = evaluate_sensitivity(
            scores, annotations, threshold, n_resamples=n_resamples, seed=seed
        )
        for name in ("dispositive", "non_dispositive", "balanced_accuracy"):
            number = numbers[name]
            rows.append((threshold, name, number["value"], *number["ci"]))
    columns = ["threshold", "measure", "value", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def development_threshold(scores, annotations):
    """Choose the threshold of the largest balanced accuracy on a development split.

    None where nothing separates.
    """
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    truth = pairs["dispositive"].astype(bool).to_numpy()
    values = pairs["score"].to_numpy(float)
    levels = np.unique(values)
    if len(levels) < 2 or truth.all() or not truth.any():
        return None

    def balanced_accuracy(threshold):
        high = values > threshold
        return high[truth].mean() + (~high[~truth]).mean()

    return float(max((levels[1:] + levels[:-1]) / 2, key=balanced_accuracy))


def placebo_threshold(placebos, measure, quantile=0.95):
    """Take a quantile of the cases' mean placebo as threshold; None without placebos."""
    means = placebos[placebos["status"] == OK].groupby("case_id")[measure].mean().dropna()
    return float(means.quantile(quantile)) if len(means) else None


def score_pairs(scores, annotations):
    """Join scores and annotations, pair by pair."""
    table = scores.rename_axis(index="case_id", columns=None).reset_index()
    table = table.melt("case_id", var_name="fact_type", value_name="score")
    return annotations.merge(table, how="left", on=["case_id", "fact_type"])


def type_scores(scores, annotations):
    """Score by the fact type alone: a control that reads no case and searches nothing."""
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    share = (
        pairs["dispositive"]
        .astype(float)
        .groupby(pairs["fact_type"])
        .mean()
        .reindex(scores.columns)
    )
    return scores.notna().astype(float).mul(share).where(scores.notna())
