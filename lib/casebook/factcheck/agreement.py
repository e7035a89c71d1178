"""How far judges agree on the same claims and evidence, and what each of them costs."""

from itertools import combinations

import pandas as pd

from casebook.factcheck.model_judges import EntailmentStance
from casebook.factcheck.verdict import CLAIM_VERDICTS
from casebook.measures.agreement import cohen_kappa
from casebook.models.answers import money, prices_of_tokens

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


def agreement_of_judges(answers, *, n_resamples=1000, seed=0):
    """Agreement of every pair of judges on every set: Cohen's kappa over groups of claims.

    ``answers`` are those of `casebook.factcheck.transfer.run_transfer`, by set: the claims with
    their ``group``, and the frame of verdicts of each judge. ``agreed`` is the share of equal
    verdicts; a claim on which a judge failed is ``missing``.
    """
    rows = []
    for dataset, (gold, by_judge) in answers.items():
        for judge, rival in combinations(by_judge, 2):
            verdicts = pd.DataFrame(
                {"judge": by_judge[judge]["verdict"], "rival": by_judge[rival]["verdict"]}
            )
            clusters = None if gold["group"].is_unique else gold["group"]
            kappa = cohen_kappa(
                verdicts,
                categories=CLAIM_VERDICTS,
                wide=True,
                clusters=clusters,
                n_resamples=n_resamples,
                seed=seed,
            )
            low, high = kappa.panel_ci or (None, None)
            row = {
                "dataset": dataset,
                "system": judge,
                "against": rival,
                "value": kappa.estimate,
                "low": low,
                "high": high,
                "n": kappa.n_items,
                "agreed": kappa.percent_agreement,
                "missing": kappa.n_left_out,
                "reason": kappa.reasons.get("estimate") or kappa.reasons.get("panel_ci"),
            }
            rows.append(row)
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
