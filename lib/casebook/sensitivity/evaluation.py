"""From edges to scores: sensitivity to each fact type, its excess over placebos, and agreement with annotations."""

from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.measures.classification import auroc, auroc_difference, formulas
from casebook.measures.rankshift import mean_spearman_test
from casebook.sensitivity.facts import FACT_TYPES
from casebook.sensitivity.tree import EMPTY, INVALID, NOOP, OK, PARITY, POOR, PRIMARY, excess
from casebook.stats.intervals import bootstrap_mean, bounded, percentile_interval, resample_tables, too_few, unit_counts
from casebook.stats.samples import check_choice, number_or_none
from casebook.stats.tests import holm, paired_randomization

THRESHOLD = 1.5
"""Mean rank displacement above which a fact type is called decisive, documented."""
LEAST_COMMON = 3
"""Fact types that a documented rank correlation needs."""
CLUSTERS = ("case", "item")
NOT_ASSESSED = "not assessed: no edge"
NO_PLACEBO = "no matched placebo"


# ---- sensitivity of retrieval to each fact type


def sensitivity(edges, measure=PRIMARY, *, clusters="case", n_boot=10_000, seed=0):
    """Aggregate the edges of each fact type, beside their placebos.

    Parameters
    ----------
    edges : pandas.DataFrame
        From `casebook.sensitivity.tree.edge_frame`.
    measure : str
        One of `casebook.sensitivity.tree.MEASURES`; the normalised footrule, in [0, 1], by default.
    clusters : {"case", "item"}
        What is resampled together; an item is one fact of a case.
    n_boot, seed : int
        Resamples of intervals and tests.

    Returns
    -------
    pandas.DataFrame
        A row per fact type: edges and cases, counts of edges left out, ``sensitivity``, ``placebo`` and ``excess`` in
        the units of the measure with 95 % intervals, ``p`` (sign-flip test over clusters), ``p_holm``, and ``reason``
        where something is undefined. A type without an edge is not assessed, which is not 0.

    Raises
    ------
    InputError
        If `clusters` is unknown.

    Examples
    --------
    >>> edges = pd.DataFrame({"case_id": ["a", "b"], "fact_type": "Section", "status": "ok", "depth": 1})
    >>> edges = edges.assign(parent="r", item="s/0", footrule=[0.6, 0.2], placebo_footrule=[0.1, 0.1])
    >>> found = sensitivity(edges).set_index("fact type")
    >>> found.loc["Section", ["sensitivity", "excess", "p"]].astype(float).round(2).tolist()
    [0.4, 0.3, 0.5]
    >>> found.loc["Evidence", "reason"]
    'not assessed: no edge'
    """
    check_choice("clusters", clusters, CLUSTERS)
    options, rows = {"n_boot": n_boot, "seed": seed}, []
    for name in FACT_TYPES:
        part = edges[edges["fact_type"] == name]
        used = part[part["status"] == OK]
        row = {"fact type": name, "edges": len(used), "cases": used["case_id"].nunique()}
        row |= {status: int((part["status"] == status).sum()) for status in (NOOP, INVALID, EMPTY, POOR)}
        row |= _aggregate(used, measure, clusters, options)
        if not len(used) and row[POOR]:
            row["reason"] = part.loc[part["status"] == POOR, "reason"].iloc[0]
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.insert(frame.columns.get_loc("p") + 1, "p_holm", holm(frame["p"].tolist()))
    return frame.astype(
        {c: float for c in frame if c.startswith(("sensitivity", "excess", "placebo", "p_")) or c == "p"}
    )


def _aggregate(used, measure, clusters, options):
    """Mean, placebo mean, excess and p of one type."""
    case = used["case_id"]
    frame = pd.DataFrame({"cluster": case if clusters == "case" else case + "\0" + used["item"]})
    values = frame.assign(value=used[measure].astype(float)).dropna()
    beyond = frame.assign(value=excess(used, measure)).dropna()
    found, more = (
        bootstrap_mean(v["value"].to_numpy(float), clusters=v["cluster"].tolist(), **options) for v in (values, beyond)
    )
    reason = found.reason or more.reason
    if not len(values):
        reason = NOT_ASSESSED
    elif not len(beyond):
        reason = used["no_placebo"].dropna().mode().get(0, NO_PLACEBO) if "no_placebo" in used else NO_PLACEBO
    means, p = beyond.groupby("cluster", sort=False)["value"].mean(), None
    if len(means) > 1:
        p = paired_randomization(means.to_numpy(), n_resamples=options["n_boot"], seed=options["seed"]).pvalue
    placebo = used[f"placebo_{measure}"].astype(float).mean() if len(beyond) else None
    told = bounded("sensitivity", found) | {"placebo": placebo} | bounded("excess", more)
    return told | {"p": p, "reason": reason}


def case_scores(edges, measure=PRIMARY, over_placebo=True):
    """Give the sensitivity of each case (row) to each fact type; NaN where it was not assessed."""
    used = edges[edges["status"] == OK]
    return _by_case(edges, used, excess(used, measure) if over_placebo else used[measure])


def documented_scores(edges):
    """Aggregate as documented: the mean over all edges of a type, no-ops too, and 0 without any."""
    used = edges[edges["status"].isin([OK, NOOP, POOR])]
    return _by_case(edges, used, used[PARITY]).fillna(0.0)


def _by_case(edges, used, values):
    table = used.assign(value=values.astype(float))
    means = table.pivot_table("value", "case_id", "fact_type", aggfunc="mean")
    return means.reindex(index=edges["case_id"].unique().tolist(), columns=list(FACT_TYPES)).astype(float)


def coverage(edges, cases, least=1):
    """Count the cases, of so many, in which each fact type was assessed by at least so many edges."""
    used = edges[edges["status"] == OK]
    count = used.pivot_table("node", "case_id", "fact_type", aggfunc="count").reindex(columns=list(FACT_TYPES))
    count = np.vstack([count.fillna(0), np.zeros((cases - len(count), len(FACT_TYPES)))])
    frame = pd.DataFrame({"fact type": FACT_TYPES, "assessed": (count >= least).sum(0), "cases": cases})
    return frame.assign(share=frame["assessed"] / cases, **{"median edges": np.median(count, axis=0)})


def shares_above(edges, placebos, annotations, threshold=THRESHOLD):
    """Give each case's share of edits above a displacement: of facts that decide, other facts, all facts, placebos."""
    used = edges[edges["status"] == OK].merge(annotations, how="left", on=["case_id", "fact_type"])
    groups = {
        "facts that decide": used[used["dispositive"].eq(True)],
        "other facts": used[used["dispositive"].eq(False)],
    }
    groups |= {"all facts": used, "placebos": placebos[placebos["status"] == OK]}
    shares = {name: (part[PARITY] > threshold).groupby(part["case_id"]).mean() for name, part in groups.items()}
    return pd.DataFrame(shares).astype(float)


# ---- scores against annotations


def documented_evaluation(scores, annotations, threshold=THRESHOLD, edges=0):
    """Score as documented: shares called correctly, averaged over cases, a case without annotations counting 0.

    Parameters
    ----------
    scores : pandas.DataFrame
        Cases x fact types, from `documented_scores`.
    annotations : pandas.DataFrame
        From `casebook.sensitivity.cases.annotation_frame`.
    threshold : float
        Above it a type is called decisive.
    edges : int
        Number of edges; the documented accept rate is 1 with any and 0 without.

    Returns
    -------
    dict
        ``dispositive_accuracy``, ``non_dispositive_accuracy``, ``mean_spearman`` (ties broken by the alphabet; None
        where no case ranks three types) and ``llm_accept_rate``, rounded to four digits.

    Examples
    --------
    >>> from casebook.sensitivity.cases import annotation_frame
    >>> decides = {"case_id": "a", "dispositive_facts": ["Section"], "non_dispositive_facts": ["Numerical"]}
    >>> scores = pd.DataFrame({"Section": [2.0], "Numerical": [1.4]}, index=["a"])
    >>> documented_evaluation(scores, annotation_frame([decides]))["dispositive_accuracy"]
    1.0
    """
    shares, rhos = {True: [], False: []}, []
    for case in scores.index:
        own = annotations[annotations["case_id"] == case]
        for side, found in shares.items():
            types = own.loc[own["dispositive"] == side, "fact_type"]
            correct = int(((scores.loc[case, list(types)] > threshold) == side).sum())
            found.append(correct / max(len(types), 1))
        expert = own.dropna(subset="importance").set_index("fact_type")["importance"]
        common = sorted(set(expert.index) & set(scores.columns))
        if (n := len(common)) >= LEAST_COMMON:
            by_score = sorted(common, key=lambda name: -scores.loc[case, name])
            squares = sum((place - expert[name]) ** 2 for place, name in enumerate(by_score, 1))
            rhos.append(1 - 6 * squares / (n * (n * n - 1)))
    return {
        "dispositive_accuracy": round(float(np.mean(shares[True])), 4),
        "non_dispositive_accuracy": round(float(np.mean(shares[False])), 4),
        "mean_spearman": round(float(np.mean(rhos)), 4) if rhos else None,
        "llm_accept_rate": 1.0 if edges else 0.0,
    }


def evaluate(scores, annotations, threshold=None, *, n_boot=10_000, seed=0):
    """Score sensitivities against annotations over pairs of case and fact type.

    Parameters
    ----------
    scores : pandas.DataFrame
        Cases x fact types, NaN where a type was not assessed.
    annotations : pandas.DataFrame
        From `casebook.sensitivity.cases.annotation_frame`.
    threshold : float, optional
        A score above it counts as high; without one only what needs none is computed.
    n_boot, seed : int
        Bootstrap of cases.

    Returns
    -------
    dict of dict
        ``auroc``, ``balanced_accuracy``, ``mcc``, ``dispositive`` and ``non_dispositive`` (shares called correctly,
        pooled over pairs), each with value, ci (by case), n (pairs), control (of a scorer that knows nothing) and
        reason; ``spearman`` likewise, with ``p`` from the exact null and the number of ``undefined`` cases; its n
        counts cases.
    """
    pairs = score_pairs(scores, annotations)
    decided = pairs.dropna(subset=["score", "dispositive"])
    truth, values = decided["dispositive"].astype(bool).to_numpy(), decided["score"].to_numpy(float)
    cases = decided["case_id"].tolist()
    found = {"auroc": auroc(truth, values, clusters=cases).number(0.5)}
    if threshold is not None:
        found |= _decisions(truth, values > threshold, cases, n_boot, seed)
    ranked = [part for _, part in pairs.dropna(subset=["score", "importance"]).groupby("case_id")]
    # A high score belongs to a low rank number.
    sides = [(p["score"].to_numpy(float), -p["importance"].to_numpy(float)) for p in ranked if len(p) >= LEAST_COMMON]
    test = mean_spearman_test(sides)
    rhos = np.array([value for value in test["values"] if value is not None])
    mean = bootstrap_mean(rhos, n_boot=n_boot, seed=seed).number(0.0)
    return found | {"spearman": mean | {"p": test["p"], "undefined": test["undefined"]}}


def _decisions(truth, high, cases, n_boot, seed):
    """Measures of one threshold with intervals that resample cases."""
    units = unit_counts(_cells(truth, high), 6, cases)
    drawn = formulas(resample_tables(units, n_boot=n_boot, seed=seed).reshape(-1, 2, 3))
    seen, few = formulas(_table(truth, high)), too_few(units.n_units, cases)
    reason = "class_without_gold_or_prediction" if len(truth) else "no_units"
    names = {"balanced_accuracy": 0.5, "mcc": 0.0, "recall": None, "recall_not_supported": None}
    shown = {"recall": "dispositive", "recall_not_supported": "non_dispositive"}
    found = {}
    for name, control in names.items():
        value = number_or_none(float(seen[name]))
        interval = percentile_interval(value, drawn[name], len(truth), reason=reason)
        interval = replace(interval, reason=few) if few and value is not None else interval
        found[shown.get(name, name)] = interval.number(control)
    return found


def _cells(truth, high):
    """Cells of a table of two classes by the two decisions and none without one."""
    return 3 * (~truth).astype(int) + (~high).astype(int)


def _table(truth, high):
    return np.bincount(_cells(truth, high), minlength=6).reshape(2, 3)


def sweep(scores, annotations, thresholds, *, n_boot=10_000, seed=0):
    """Score at each threshold: a description, nothing is chosen by it."""
    rows = []
    for threshold in thresholds:
        found = evaluate(scores, annotations, threshold, n_boot=n_boot, seed=seed)
        for name in ("dispositive", "non_dispositive", "balanced_accuracy"):
            rows.append((threshold, name, found[name]["value"], *found[name]["ci"]))
    columns = ["threshold", "measure", "value", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def development_threshold(scores, annotations):
    """Choose the threshold of the largest balanced accuracy on a development split; None where nothing separates."""
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    truth, values = pairs["dispositive"].astype(bool).to_numpy(), pairs["score"].to_numpy(float)
    levels = np.unique(values)
    if len(levels) < 2 or truth.all() or not truth.any():
        return None
    middles = (levels[1:] + levels[:-1]) / 2
    tables = np.stack([_table(truth, values > middle) for middle in middles])
    return float(middles[int(np.argmax(formulas(tables)["balanced_accuracy"]))])


def placebo_threshold(placebos, measure, quantile=0.95):
    """Take a quantile of the cases' mean placebo as threshold; None without placebos."""
    means = placebos[placebos["status"] == OK].groupby("case_id")[measure].mean().dropna()
    return float(means.quantile(quantile)) if len(means) else None


def score_pairs(scores, annotations):
    """Join scores and annotations, pair by pair."""
    table = scores.rename_axis(index="case_id", columns=None).reset_index()
    table = table.melt("case_id", var_name="fact_type", value_name="score")
    return annotations.merge(table, how="left", on=["case_id", "fact_type"])


def auroc_contrasts(scores, against, annotations, level=0.95):
    """Contrast the AUROC of one system with that of simple ones, on the pairs that both assessed.

    ``scores`` and the values of ``against`` are cases x fact types; the intervals hold together (Bonferroni).
    """
    rows = []
    for name, simple in against.items():
        pairs = score_pairs(scores, annotations).assign(simple=score_pairs(simple, annotations)["score"])
        pairs = pairs.dropna(subset=["score", "simple", "dispositive"])
        truth, cases = pairs["dispositive"].astype(bool), pairs["case_id"].tolist()
        sides = [pairs[column].to_numpy(float) for column in ("score", "simple")]
        found = auroc_difference(truth, *sides, level=1 - (1 - level) / len(against), clusters=cases)
        areas = [auroc(truth, side).estimate for side in sides]
        bounds = (np.nan if bound is None else bound for bound in (found.low, found.high))
        rows.append((name, found.estimate, *bounds, found.n, len(set(cases)), *areas, found.reason))
    columns = ["against", "difference", "low", "high", "n", "groups", "level", "baseline", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"reason": object})


def type_scores(scores, annotations):
    """Score by the fact type alone: a control that reads no case and searches nothing."""
    pairs = score_pairs(scores, annotations).dropna(subset=["score", "dispositive"])
    share = pairs["dispositive"].astype(float).groupby(pairs["fact_type"]).mean().reindex(scores.columns)
    return scores.notna().astype(float).mul(share).where(scores.notna())
