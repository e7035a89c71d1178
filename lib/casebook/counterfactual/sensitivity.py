"""Sensitivity of retrieval to each fact type, and its excess over placebo edits.

How far single-fact edits move the results, and how much further than edits of the same
size that have no legal weight.
"""

import pandas as pd

from casebook.counterfactual.edges import EMPTY, INVALID, MANUAL, NOOP, OK, PARITY, POOR, PRIMARY, excess
from casebook.counterfactual.facts import FACT_TYPES
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.samples import check_choice
from casebook.stats.tests import holm, paired_randomization

CLUSTERS = ("case", "parent", "item")
WEIGHTS = ("edge", "item", "case")
NOT_ASSESSED = "not assessed: no edge"
NO_PLACEBO = "no matched placebo"


def sensitivity(
    edges, measure=PRIMARY, *, clusters="case", weight="edge", level_one=False, noops=False, n_boot=10_000, seed=0
):
    """Aggregate the edges of each fact type."""
    check_choice("clusters", clusters, CLUSTERS)
    check_choice("weight", weight, WEIGHTS)
    if level_one:
        edges = edges[edges["depth"] == 1]
    options = {"n_boot": n_boot, "seed": seed}
    rows = []
    for name in FACT_TYPES:
        part = edges[edges["fact_type"] == name]
        used = part[part["status"].isin([OK, NOOP] if noops else [OK])]
        rows.append(
            {"fact type": name, "edges": len(used), "cases": used["case_id"].nunique()}
            | {s: int((part["status"] == s).sum()) for s in (NOOP, INVALID, EMPTY, MANUAL, POOR)}
            | _aggregate(used, measure, clusters, weight, options)
        )
        if not len(used) and rows[-1][POOR]:
            rows[-1]["reason"] = part.loc[part["status"] == POOR, "reason"].iloc[0]
    frame = pd.DataFrame(rows)
    frame.insert(frame.columns.get_loc("p") + 1, "p_holm", holm(frame["p"].tolist()))
    numbers = [c for c in frame if c.startswith(("sens", "plac", "exc", "p"))]
    return frame.astype(dict.fromkeys(numbers, float))


def documented_scores(edges):
    """Aggregate as documented: the mean over all edges of a type, 0 without any."""
    used = edges[edges["status"].isin([OK, NOOP, MANUAL, POOR])]
    means = used.pivot_table(PARITY, "case_id", "fact_type", aggfunc="mean")
    cases = list(dict.fromkeys(edges["case_id"]))
    return means.reindex(index=cases, columns=list(FACT_TYPES)).fillna(0.0)


def case_scores(edges, measure=PRIMARY, over_placebo=True, level_one=False):
    """Give the sensitivity of each case to each fact type."""
    used = edges[edges["status"] == OK]
    if level_one:
        used = used[used["depth"] == 1]
    values = excess(used, measure) if over_placebo else used[measure]
    table = used.assign(value=values.astype(float))
    means = table.pivot_table("value", "case_id", "fact_type", aggfunc="mean")
    cases = list(dict.fromkeys(edges["case_id"]))
    return means.reindex(index=cases, columns=list(FACT_TYPES)).astype(float)


def _aggregate(used, measure, clusters, weight, options):
    """Mean, placebo mean and excess of one type."""
    values = _weighted(used, used[measure], weight, clusters)
    moved = _weighted(used, excess(used, measure), weight, clusters)
    found = bootstrap_mean(values["value"].to_numpy(float), clusters=values["cluster"].tolist(), **options)
    beyond = bootstrap_mean(moved["value"].to_numpy(float), clusters=moved["cluster"].tolist(), **options)
    reason = found.reason or beyond.reason
    if not len(values):
        reason = NOT_ASSESSED
    elif not len(moved):
        reason = NO_PLACEBO
        if "no_placebo" in used:
            reason = used["no_placebo"].dropna().mode().get(0, NO_PLACEBO)
    placebo = used[f"placebo_{measure}"].astype(float).mean() if len(moved) else None
    return {
        **bounded("sensitivity", found),
        "placebo": placebo,
        **bounded("excess", beyond),
        "p": _sign_flip(moved, options),
        "reason": reason,
    }


def _weighted(used, values, weight, clusters):
    """Give one value and its cluster per edge, item or case, if it is defined."""
    item = used["case_id"] + "\0" + used["item"]
    labels = {"case": used["case_id"], "parent": used["case_id"] + "\0" + used["parent"], "item": item}
    frame = pd.DataFrame({"value": values.astype(float), "cluster": labels[clusters], "item": item}).dropna(
        subset="value"
    )
    if weight == "edge":
        return frame
    # An item or a case may spread over several parents: equal shares of each cluster.
    by = ["item", "cluster"] if weight == "item" else ["cluster"]
    return frame.groupby(by, sort=False)["value"].mean().reset_index()


def _sign_flip(moved, options):
    """Two-sided p of the clusters' mean excess; None with fewer than two clusters."""
    means = moved.groupby("cluster", sort=False)["value"].mean()
    if len(means) < 2:
        return None
    draws = {"n_resamples": options["n_boot"], "seed": options["seed"]}
    return paired_randomization(means.to_numpy(), **draws).pvalue
