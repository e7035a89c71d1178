"""How far judges agree on the same claims and evidence, and what each of them costs."""

from itertools import combinations

import numpy as np
import pandas as pd

from casebook.factcheck.model_judges import EntailmentStance
from casebook.factcheck.verdict import CLAIM_VERDICTS
from casebook.models.answers import money, prices_of_tokens
from casebook.stats.intervals import percentile_interval, resampled_counts

AGREEMENT_COLUMNS = [
    "dataset",
    "system",
    "against",
    "value",
    "low",
    "high",
    "n",
    "agreed",
    "missing",
]
COST_COLUMNS = ["dataset", "system", "claims", "ms", "questions", "cached", "requests", "tokens"]


def kappa(verdicts, rivals, clusters=None, *, n_resamples=1000, seed=0):
    """Cohen's kappa of two judges' verdicts, with the percentile interval over claims or clusters.

    Both are lists of `CLAIM_VERDICTS`. Undefined where both give one verdict to all.
    """
    size = len(CLAIM_VERDICTS)
    codes = [pd.Categorical(each, CLAIM_VERDICTS).codes for each in (verdicts, rivals)]
    cells = codes[0].astype(int) * size + codes[1]
    if not len(cells):
        return percentile_interval(None, [], 0)
    counts, units = resampled_counts(cells, size**2, clusters, n_resamples=n_resamples, seed=seed)
    values = _kappas(counts.reshape(-1, size, size))
    reason = None if np.isfinite(values[0]) else "one_verdict_for_all"
    return percentile_interval(values[0], values[1:], units, reason=reason)


def _kappas(tables):
    """Kappa of each table of counts, NaN where chance alone would agree always."""
    tables = tables / tables.sum(axis=(1, 2), keepdims=True)
    observed = np.trace(tables, axis1=1, axis2=2)
    expected = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    possible = 1 - expected
    certain = np.isclose(possible, 0, atol=1e-12)
    return np.where(certain, np.nan, (observed - expected) / np.where(certain, 1, possible))


def agreement_of_judges(answers, *, n_resamples=1000, seed=0):
    """Agreement of every pair of judges on every set.

    ``answers`` are those of `casebook.factcheck.transfer.run_transfer`, by set: the claims with
    their ``group``, and the frame of verdicts of each judge. ``agreed`` is the share of equal
    verdicts; a claim on which a judge failed is ``missing``.
    """
    rows = []
    for dataset, (gold, by_judge) in answers.items():
        for judge, rival in combinations(by_judge, 2):
            pair = pd.DataFrame(
                {"judge": by_judge[judge]["verdict"], "rival": by_judge[rival]["verdict"]}
            )
            pair["group"] = gold["group"].tolist()
            answered = pair.dropna()
            clusters = None if answered["group"].is_unique else answered["group"]
            value = kappa(
                answered["judge"], answered["rival"], clusters, n_resamples=n_resamples, seed=seed
            )
            row = {"dataset": dataset, "system": judge, "against": rival}
            row |= {
                "value": value.estimate,
                "low": value.low,
                "high": value.high,
                "n": len(answered),
            }
            row["agreed"] = (answered["judge"] == answered["rival"]).mean()
            row["missing"] = len(pair) - len(answered)
            rows.append(row | {"reason": value.reason})
    table = pd.DataFrame(rows, columns=[*AGREEMENT_COLUMNS, "reason"])
    return table.astype(dict.fromkeys(["value", "low", "high", "agreed"], float))


def costs_of_judges(answers, judges):
    """What each judge cost on every set: median milliseconds a claim, questions, tokens, money.

    ``judges`` gives the judges of a set by its name. What the cache held cost nothing this time:
    ``cached`` says how many questions of a judge it answered, over all sets.
    """
    prices = prices_of_tokens()
    rows = []
    for dataset, (_, by_judge) in answers.items():
        judges_of_set = judges(dataset)
        for name, table in by_judge.items():
            costs = getattr(judges_of_set[name], "costs", None) or {}
            row = {"dataset": dataset, "system": name, "claims": len(table)}
            row["ms"] = 1000 * table["seconds"].median()
            row["questions"] = costs.get("questions")
            row["cached"] = costs.get("from the cache")
            row["requests"] = costs.get("requests")
            row["tokens"] = costs.get("prompt tokens", 0) + costs.get("answer tokens", 0) or None
            row["cost"] = None
            if costs and not isinstance(judges_of_set[name], EntailmentStance):
                row["cost"] = money(costs, prices)
            rows.append(row)
    table = pd.DataFrame(rows, columns=[*COST_COLUMNS, "cost"])
    return table.astype(dict.fromkeys(table.columns[3:], float))
