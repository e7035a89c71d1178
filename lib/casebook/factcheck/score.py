"""Scores of anyone's verdicts: as documented, corrected, compared on the same claims; and costs."""

from collections import namedtuple

import numpy as np
import pandas as pd

from casebook.data.tables import read_roles, read_table, refusal
from casebook.errors import InputError
from casebook.factcheck.explain import explain_verdict, quality_table
from casebook.factcheck.judges import cost_of_judge
from casebook.factcheck.stance import CAUTION, PublicJudge
from casebook.factcheck.verdict import INSUFFICIENT_EVIDENCE
from casebook.frames import coefficients, contrasts, count_units
from casebook.measures import classification
from casebook.measures.classification import GOLD_LABELS, SYNONYMS

MOST_LISTED_IDS = 10
JOINED = ["gold", "matched", "missing", "extra"]
LOG_WEIGHTS = pd.Series({"accuracy": 1.0, "evidence_quality": 0.3, "efficiency": 0.2})
#: Columns of a checked claim: what it cost, and its answer.
RESULT = [
    *["id", "parts", "queries", "evidence", "high", "seconds", "verdict_seconds"],
    *["verdict", "confidence", "support", "error"],
]


def score_files(
    gold,
    predicted,
    *,
    baseline=None,
    groups=(),
    cluster=None,
    values=None,
    columns=None,
    rows=None,
    policy=None,
    n_resamples=1000,
    seed=0,
):
    r"""Score a file of predictions against a file of gold labels.

    Parameters
    ----------
    gold, predicted : path
        Tables with ``id`` and ``label`` (or ``predicted_label``, ``verdict``).
    baseline : path, optional
        Predictions of a model that sees the claims alone.
    groups : sequence of str
        Columns of `gold` to score by.
    cluster : str, optional
        Column of `gold` whose values belong together.
    values : dict, optional
        What words mean, ``{"REFUTES": "NOT_SUPPORTED"}``; it holds for every number.
    columns : dict, optional
        Role to its column, ``{"label": "verdict"}``; ``gold.label`` is that of `gold` alone,
        ``predicted.label`` that of the predictions.
    rows : str, optional
        Path of the list in a JSON file that is an object, or sheet of a workbook.
    policy : dict, optional
        ``off_label``, ``nei`` and ``conflict`` of `casebook.score_predictions`.
    n_resamples : int, default 1000
        Bootstrap draws, and sign patterns.
    seed : int, default 0
        Seed of both.

    Returns
    -------
    FactcheckReport
        With ``summary()`` and ``as_dict()``.

    Raises
    ------
    InputError
        If a file, a label or a column is wrong; with file and row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from casebook.factcheck.score import score_files
    >>> gold = Path(tempfile.mkdtemp(), "gold.csv")
    >>> _ = gold.write_text("id,label\n1,SUPPORTED\n2,NOT_SUPPORTED\n")
    >>> score_files(gold, gold, n_resamples=100).scores["accuracy"].estimate
    1.0
    """
    further = list(dict.fromkeys(filter(None, [*groups, cluster])))
    for name in {"gold", "predicted"}.intersection(further):
        raise refusal(gold, f"column {name!r} groups nothing: name another one")
    told = {"columns": columns, "values": values, "rows": rows}
    true, of_gold = read_verdict_labels(gold, is_gold=True, further=further, **told)
    verdicts, of_predicted = read_verdict_labels(predicted, **told)
    rows, account = join_labels(true, verdicts, (gold, predicted))
    account["readings"] = [of_gold.record(), of_predicted.record()]
    baselines = {}
    if baseline is not None:
        verdicts, of_baseline = read_verdict_labels(baseline, **told)
        blind, _ = join_labels(true, verdicts, (gold, baseline))
        account["readings"].append(of_baseline.record())
        baselines["claim_only"] = blind["predicted"]
    drawn = {"n_resamples": n_resamples, "seed": seed}
    return score_joined(
        rows,
        account,
        policy=policy,
        baselines=baselines,
        groups=groups,
        cluster=cluster,
        **drawn,
    )


def read_verdict_labels(
    path, columns=None, values=None, rows=None, *, is_gold=False, further=()
):
    """Labels of a file by ``id``, with columns to group by; and its reading.

    A gold label is one of ours. Of verdicts another word is off-label, unless it differs from one
    of ours, or from one that `values` names, in case or blanks only.
    """
    file = "gold." if is_gold else "predicted."
    told = {role.removeprefix(file): column for role, column in (columns or {}).items()}
    told = {role: column for role, column in told.items() if "." not in role}
    table = read_table(path, rows)
    reading = read_roles(
        table, "labels", ["id", "label"], told, values, further=further
    )
    allowed = (*GOLD_LABELS, *SYNONYMS)
    labels = reading.labels("label", allowed, not is_gold)
    frame = pd.DataFrame({"id": reading.texts("id"), "label": labels})
    reading.refuse_repeats("id")
    for row in frame.index[labels == ""] if is_gold else ():
        reading.refuse(row, "label is empty: give every claim of the gold file one")
    for name in further:
        frame[name] = reading.texts(name, may_be_empty=True)
    return frame, reading


def join_labels(gold, predicted, names=("gold", "predictions")):
    """Rows of two frames of labels joined by id, in gold order, and an account of the join."""
    missing = gold.loc[~gold["id"].isin(predicted["id"]), "id"].tolist()
    extra = predicted.loc[~predicted["id"].isin(gold["id"]), "id"].tolist()
    n_matched = len(gold) - len(missing)
    if not n_matched:
        first = f"{missing[0]!r} and {extra[0]!r}"
        problem = f"{names[0]} and {names[1]} have no id in common (first: {first})"
        raise InputError(f"{problem}: nothing to score")
    counts = [len(gold), n_matched, len(missing), len(extra)]
    account = dict(zip(JOINED, counts, strict=True))
    account["listed"] = {
        "missing": missing[:MOST_LISTED_IDS],
        "extra": extra[:MOST_LISTED_IDS],
    }
    rows = gold.rename(columns={"label": "gold"})
    answers = predicted[["id", "label"]].rename(columns={"label": "predicted"})
    return rows.merge(answers.astype(object), how="left", on="id"), account


def score_joined(
    rows,
    account,
    *,
    policy=None,
    baselines=None,
    groups=(),
    cluster=None,
    n_resamples=1000,
    seed=0,
):
    """Score joined rows: documented, corrected, against majority and baselines."""
    clusters = rows[cluster] if cluster else None
    options = {"n_resamples": n_resamples, "seed": seed}
    scores = classification.score_predictions(
        rows["gold"],
        rows["predicted"],
        groups={name: rows[name] for name in groups},
        baselines=baselines,
        clusters=clusters,
        **options,
        **(policy or {}),
    )
    right = is_right(rows["gold"], rows["predicted"], scores.policy)
    # Rows that the system's answers drop are dropped for all; no others are.
    kept = scores.policy["off_label"].replace("drop", "wrong")
    of_rivals = scores.policy | {"off_label": kept}
    most = majority(rows["gold"][right.notna()], of_rivals)
    rivals = {"majority": [most] * len(rows)} | (baselines or {})
    table = pd.DataFrame({"system": right})
    for name, said in rivals.items():
        table[name] = is_right(rows["gold"], said, of_rivals)
    table = table.dropna().astype(float)
    pairs = [("system", name) for name in rivals]
    counted = clusters[table.index] if cluster else None
    comparisons = contrasts(table, pairs, counted, **options).join(
        count_units(table, pairs)
    )
    return FactcheckReport(account, scores, comparisons)


def is_right(gold, predicted, policy=None):
    """Whether each verdict is right under the policies, None where the row is left out."""
    rows = classification.outcomes_of(gold).codes
    columns = classification.outcomes_of(predicted).codes
    return pd.Series(
        classification.right_of(rows, columns, **(policy or {})), gold.index
    )


def majority(gold, policy=None):
    def n_right(label):
        return is_right(gold, [label] * len(gold), policy).eq(True).sum()

    return max(GOLD_LABELS, key=n_right)


class FactcheckReport(namedtuple("FactcheckReport", "account scores comparisons")):
    """Everything that is measured of one system's verdicts."""

    def as_dict(self):
        scores = self.scores
        corrected = vars(scores) | {
            "join": self.account,
            "measures": scores.numbers(),
            "counts": scores.counts.to_dict(orient="index"),
            "comparisons": self.comparisons,
        }
        parity = corrected.pop("parity")
        return {"parity": parity["S"] | parity, "corrected": corrected}

    def summary(self):
        """Facts and tables by their titles."""
        scores = self.scores
        original = scores.parity["S"]
        facts = {
            "rows": {name: self.account[name] for name in JOINED},
            "original definition (version S)": {
                n: f"{x:.6g}" for n, x in original.items()
            },
            "standard definition": scores.policy,
            "excluded": scores.excluded,
            "off-label answers": scores.foreign,
        }
        lines = {}
        for title, values in facts.items():
            lines[title] = [f"{name} {value}" for name, value in values.items()]
        table = coefficients({"parse rate": scores.parse_rate, **scores.measures})
        majority = coefficients(scores.baselines["majority"]).set_index("system")
        table["control"] = table["system"].map(majority["value"])
        table = table.drop(columns="groups").rename(columns={"system": "measure"})
        counts = scores.counts.rename_axis("gold").reset_index()
        tables = {"measures": table, "gold labels by outcome": counts}
        return self.account["listed"] | lines | tables


# --- what checking costs, and the log of a run


def results_frame(results):
    """A row a checked claim: what it cost, and its verdict."""
    rows = []
    for result in results:
        levels = [item.level for item in result.evidence]
        counts = [
            len(result.subclaims),
            len(result.queries),
            len(levels),
            levels.count("high"),
        ]
        seconds = [
            float(sum(result.timings.values())),
            float(result.timings.get("verdict", 0)),
        ]
        answer = [result.verdict, result.confidence, result.support, result.error]
        rows.append([result.claim_id, *counts, *seconds, *answer])
    return pd.DataFrame(rows, columns=RESULT).astype(
        {"confidence": float, "support": float}
    )


def performance(results):
    """Cost of a claim, one row a measure: as the document defines it, and in its code.

    The document: average time to verify a claim (all stages, also of claims that crashed), queries
    and evidence per claim (claims that retrieved nothing count 0), and the proportion of
    high-credibility sources; NaN without a whole check. Its code: time of the verdict stage alone,
    the mean ratio of the claims with evidence, and 0 where there is nothing.
    """
    costs = results_frame(results)
    seconds = costs["seconds"]
    of_verdict = costs["verdict_seconds"]
    costs = costs[costs["error"].isna()]
    per_claim = [costs["queries"].mean(), costs["evidence"].mean()]
    costs = costs[costs["evidence"] > 0]
    ratio = costs["high"].sum() / (costs["evidence"].sum() or np.nan)
    mean_ratio = (costs["high"] / costs["evidence"]).mean()
    numbers = {
        "measure": [
            "mean_processing_time",
            "total_processing_time",
            "queries_per_claim",
            "evidence_per_claim",
            "high_credibility_ratio",
        ],
        "original": [seconds.mean(), seconds.sum(), *per_claim, ratio],
        "in its code": [of_verdict.mean(), of_verdict.sum(), *per_claim, mean_ratio],
    }
    return pd.DataFrame(numbers).fillna({"in its code": 0.0})


def run_log(results, truths=None):
    """The run log, one row a run, with the documented columns.

    The accuracy of a run without a label is its own confidence.
    """
    log = results_frame(results)
    truths = pd.Series(truths or [None] * len(results), dtype=object)
    labelled = truths.map(bool)
    right = (log["verdict"] == truths).astype(float)
    log["gold"] = truths.where(labelled, None)
    log["labelled"] = labelled
    log["accuracy"] = right.where(labelled, log["confidence"].fillna(0.0))
    log["evidence_quality"] = (log["high"] / log["evidence"]).fillna(0.0)
    log["efficiency"] = 1 / log["verdict_seconds"].clip(lower=0.1)
    return log.rename(columns={"verdict": "label", "support": "probability"})


def performance_score(log):
    return float((log[LOG_WEIGHTS.index] @ LOG_WEIGHTS).mean()) if len(log) else 0.0


# --- the report of ``casebook factcheck run``


def as_report(claims, results, config, judge, *, n_resamples=1000, seed=0):
    """The report on checked claims, and the scores of those with a label.

    ``judge`` is the one that read the evidence; of the default one it is said what it cannot see.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    frame = pd.DataFrame(claims).assign(verdict=[result.verdict for result in results])
    log = run_log(results, frame["label"].tolist())
    groups = frame.set_index("id")["group"].to_dict()
    scored = score_labelled(frame, **options) if log["labelled"].any() else None
    costs = performance(results).set_index("measure")
    report = {
        "outcomes": outcomes(results),
        "log": log,
        "log_score": performance_score(log),
        "performance": costs.set_axis(["document", "in_its_code"], axis=1).to_dict(),
        "explanations": quality_table(results, config.rule, groups, **options),
        "categories": pd.crosstab(frame["category"], frame["verdict"]).reset_index(),
        "labels": scored and scored.as_dict(),
        "judge": {
            "caution": CAUTION if isinstance(judge, PublicJudge) else None,
            "cost": cost_of_judge(judge),
        },
        "claims": [_explained(result, config.rule) for result in results],
    }
    return report, scored


def _explained(result, rule):
    row = result._asdict() | {"explanation": None, "removal": None}
    for name in ("subclaims", "dropped", "evidence", "subverdicts"):
        row[name] = [item._asdict() for item in row[name]]
    if not result.error:
        explanation = explain_verdict(result, rule)
        row["explanation"] = explanation.text
        row["removal"] = explanation.removal and explanation.removal.ids
    return row


def score_labelled(claims, **options):
    gold = claims.loc[claims["label"] != "", ["id", "label", "group"]]
    is_third = gold["label"].eq(INSUFFICIENT_EVIDENCE).any()
    options["policy"] = {"nei": "three_class" if is_third else "exclude"}
    options["cluster"] = None if gold["group"].is_unique else "group"
    return score_joined(
        *join_labels(gold, gold.assign(label=claims["verdict"])), **options
    )


def outcomes(results):
    ends = results_frame(results)
    causes = ends["error"].str.split(": ").str[:2].str.join(": ")
    return ends["verdict"].fillna("crashed in " + causes).value_counts().to_dict()
