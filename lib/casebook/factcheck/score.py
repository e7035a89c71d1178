"""Scores of anyone's verdicts: as documented, corrected, compared on the same claims; and costs."""

from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from casebook.data.tables import read_roles, read_table, refusal
from casebook.errors import InputError
from casebook.factcheck.explain import explain_verdict, quality_rows, quality_table
from casebook.factcheck.model_judges import cost_of_judge
from casebook.factcheck.stance import CAUTION, PublicJudge
from casebook.factcheck.verdict import CLAIM_VERDICTS, INSUFFICIENT_EVIDENCE
from casebook.factcheck.words import yaml_table
from casebook.files import write_text
from casebook.frames import contrasts
from casebook.measures import classification
from casebook.measures.calibration import Calibration, calibration
from casebook.measures.classification import (
    GOLD_LABELS,
    SYNONYMS,
    Scores,
    documented_metrics,
)
from casebook.stats.intervals import bootstrap_mean, bounded, bounds_text
from casebook.stats.samples import number_or_none
from casebook.stats.tests import mcnemar

MOST_LISTED_IDS = 10
COMPARISON_COLUMNS = [
    "rival",
    "n",
    "groups",
    "accuracy",
    "rival accuracy",
    "system_only",
    "rival_only",
    "difference",
    "difference low",
    "difference high",
    "p",
    "p_adjusted",
    "verdict",
    "mcnemar",
    "reason",
]
PARITY_NOTE = (
    "documented formulas: exact comparison, positive class SUPPORTED, a missing "
    "verdict counts as NOT_SUPPORTED, a zero denominator gives 0"
)
LOG_WEIGHTS = pd.Series({"accuracy": 1.0, "evidence_quality": 0.3, "efficiency": 0.2})
#: What is measured of a run, by the name that readers see.
RUN_MEASURE_TITLES = yaml_table("names")["run"]


#: Columns of the joined rows that are no groups.
RESERVED_COLUMNS = ("label", "gold", "predicted", "confidence", "said")


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
        Tables with ``id`` and ``label`` (or ``predicted_label``, ``verdict``); predictions may have
        ``confidence`` in [0, 1].
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
        With ``as_text()`` and ``as_dict()``.

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
    further = [name for name in dict.fromkeys([*groups, cluster]) if name not in (None, "id")]
    for name in further:
        if name in RESERVED_COLUMNS:
            raise refusal(gold, f"column {name!r} groups nothing: name another one")
    told = {"columns": columns, "values": values, "rows": rows}
    true, reading = read_verdict_labels(gold, is_gold=True, further=further, **told)
    verdicts, predictions = read_verdict_labels(predicted, **told)
    joined, account = join_labels(true, verdicts, (gold, predicted))
    account["readings"] = [reading.record(), predictions.record()]
    baselines = None
    if baseline is not None:
        verdicts, predictions = read_verdict_labels(baseline, **told)
        claim_only, _ = join_labels(true, verdicts, (gold, baseline))
        baselines = {"claim_only": claim_only["predicted"]}
        account["readings"].append(predictions.record())
    return score_joined(
        joined,
        account,
        policy=policy,
        baselines=baselines,
        groups=groups,
        cluster=cluster,
        n_resamples=n_resamples,
        seed=seed,
    )


def read_verdict_labels(path, columns=None, values=None, rows=None, *, is_gold=False, further=()):
    """Labels of a file by ``id``, with ``confidence`` or columns to group by; and its reading.

    A gold label is one of ours. Of verdicts another word is off-label, unless it differs from one
    of ours, or from one that `values` names, in case or blanks only.
    """
    file, other = ("gold.", "predicted.") if is_gold else ("predicted.", "gold.")
    told = {"confidence": "-"} if is_gold else {}
    for role, column in (columns or {}).items():
        if not role.startswith(other):
            told[role.removeprefix(file)] = column
    table = read_table(path, rows)
    reading = read_roles(table, "labels", ["id", "label"], told, values, further=further)
    frame = pd.DataFrame({"id": reading.texts("id")})
    frame["label"] = reading.labels("label", (*GOLD_LABELS, *SYNONYMS), others=not is_gold)
    for row in frame.index[frame["label"] == ""] if is_gold else ():
        reading.refuse(row, "label is empty: give every claim of the gold file one")
    if "confidence" in reading:
        frame["confidence"] = reading.numbers("confidence")
        for row in frame.index[~frame["confidence"].fillna(0).between(0, 1)]:
            reading.refuse(row, f"confidence {frame['confidence'][row]:g} is not from 0 to 1")
    for name in further:
        frame[name] = reading.texts(name, may_be_empty=True)
    counts = frame["label"].replace("", "none").value_counts()
    reading.notes.append("labels " + ", ".join(f"{label} {n}" for label, n in counts.items()))
    return frame, reading


def join_labels(gold, predicted, names=("gold", "predictions")):
    """Join two frames of labels by id, and give the rows in gold order, and an account of the join.

    Missing, extra and doubled ids are counted and listed; ``zipped`` are the documented metrics of
    rows joined by position.
    """
    gold_name, predicted_name = names
    rows = _one_row_per_id(gold, gold_name)
    rows = rows.rename(columns={"label": "gold"})
    answers = _one_row_per_id(predicted, predicted_name)
    answers = answers.filter(["id", "said", "confidence"]).rename(columns={"said": "predicted"})
    missing = rows["id"][~rows["id"].isin(answers["id"])]
    extra = answers["id"][~answers["id"].isin(rows["id"])]
    if len(missing) == len(rows):
        raise InputError(
            f"{gold_name} and {predicted_name} have no id in common (first: "
            f"{rows['id'].iloc[0]!r} and {answers['id'].iloc[0]!r}): nothing to score"
        )
    rows = rows.drop(columns="said").merge(answers, on="id", how="left")
    rows["predicted"] = rows["predicted"].where(rows["predicted"].notna(), None)
    ids = {
        "missing": missing,
        "extra": extra,
        "doubled_gold": gold["id"][gold["id"].duplicated()].unique(),
        "doubled_predictions": predicted["id"][predicted["id"].duplicated()].unique(),
    }
    size = min(len(gold), len(predicted))
    zipped = documented_metrics(gold["label"].tolist()[:size], predicted["label"].tolist()[:size])
    return rows, {
        "gold": len(gold),
        "predictions": len(predicted),
        "matched": len(rows) - len(missing),
        **{name: len(values) for name, values in ids.items()},
        "listed": {name: list(values[:MOST_LISTED_IDS]) for name, values in ids.items()},
        "zipped": zipped,
    }


def _one_row_per_id(frame, name):
    """One row per id, with the label in ``said``, None if there is none; contradictions refused."""
    labels = frame["label"].map(
        lambda label: None if pd.isna(label) or not str(label).strip() else str(label)
    )
    rows = frame.assign(said=labels.astype(object)).drop_duplicates(["id", "said"])
    contradicted = rows["id"][rows["id"].duplicated()].unique()
    if len(contradicted):
        raise InputError(
            f"{name}: {len(contradicted)} ids stand more than once with different labels "
            f"(first: {', '.join(contradicted[:3])}); keep one row of each"
        )
    return rows


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
    """Score joined rows: documented, corrected, calibrated, against majority and baselines."""
    gold = rows["gold"]
    clusters = rows[cluster] if cluster else None
    scores = classification.score_predictions(
        gold,
        rows["predicted"],
        clusters=clusters,
        groups={name: rows[name] for name in groups},
        baselines=baselines,
        n_resamples=n_resamples,
        seed=seed,
        **(policy or {}),
    )
    right = is_right(gold, rows["predicted"], scores.policy)
    counted = right.notna()
    most = majority(gold[counted], scores.policy | {"off_label": "wrong"})
    rivals = {"majority": [most] * len(rows)} | (baselines or {})
    # Rows that the system's answers drop are dropped for all; no others are.
    rival_policy = scores.policy | {
        "off_label": scores.policy["off_label"].replace("drop", "wrong")
    }
    comparisons = compare_verdicts(
        right,
        {name: is_right(gold, verdicts, rival_policy) for name, verdicts in rivals.items()},
        clusters=clusters,
        n_resamples=n_resamples,
        seed=seed,
    )
    stated = None
    if "confidence" in rows:
        stated = calibration(
            right[counted].astype(bool),
            rows["confidence"][counted],
            clusters=clusters[counted] if cluster else None,
            n_resamples=n_resamples,
            seed=seed,
        )
    return FactcheckReport(account, scores, stated, comparisons)


def is_right(gold, predicted, policy=None):
    """Whether each verdict is right under the policies, None where the row is left out."""
    rows = classification.outcomes_of(gold).codes
    columns = classification.outcomes_of(predicted).codes
    right = classification.right_of(rows, columns, **(policy or {}))
    return pd.Series(right, index=gold.index if isinstance(gold, pd.Series) else None)


def majority(gold, policy=None):
    """The label whose constant answer is right most often under the policies."""
    n_right = {
        label: is_right(gold, [label] * len(gold), policy).eq(True).sum() for label in GOLD_LABELS
    }
    return max(n_right, key=n_right.get)


def compare_verdicts(
    right, rivals, *, clusters=None, margin=0.0, n_resamples=10_000, seed=0, not_measured=None
):
    """Compare a system with rivals on the same claims, as one family of contrasts.

    None leaves a claim out. ``not_measured`` names rivals that had no input, or the same one, with
    the reason. McNemar's exact p stands beside the sign-flip test over clusters only where every
    claim stands alone.
    """
    # Columns are numbers: a rival may be called "system".
    columns = dict(enumerate(rivals, start=1))
    table = pd.DataFrame(
        {0: list(right)} | {column: list(rivals[name]) for column, name in columns.items()},
        dtype=object,
    )
    counted = table.notna().all(axis=1)
    table = table[counted].astype(float)
    if not columns or table.empty:
        return pd.DataFrame(columns=COMPARISON_COLUMNS)
    groups = None if clusters is None else pd.Series(list(clusters))[counted]
    reasons = not_measured or {}
    comparisons = contrasts(
        table,
        [(0, column) for column in columns],
        groups,
        margin=margin,
        n_resamples=n_resamples,
        seed=seed,
        not_measured={
            (0, column): reasons[name] for column, name in columns.items() if name in reasons
        },
    )
    comparisons = comparisons.rename(columns={"low": "difference low", "high": "difference high"})
    system = table[0]
    others = table.drop(columns=0)
    comparisons["rival"] = list(rivals)
    comparisons["accuracy"] = system.mean()
    comparisons["rival accuracy"] = others.mean().array
    comparisons["system_only"] = others.lt(system, axis=0).sum().array
    comparisons["rival_only"] = others.gt(system, axis=0).sum().array
    comparisons["mcnemar"] = np.nan
    if groups is None or groups.is_unique:
        comparisons["mcnemar"] = [mcnemar(system, others[column]) for column in others]
    return comparisons[COMPARISON_COLUMNS]


@dataclass(frozen=True, eq=False)
class FactcheckReport:
    """Everything that is measured of one system's verdicts."""

    account: dict
    scores: Scores
    calibration: Calibration | None
    comparisons: pd.DataFrame

    def as_dict(self):
        """The sections ``parity`` and ``corrected`` as plain values for JSON."""
        scores = self.scores
        parity = scores.parity["S"] | scores.parity
        parity |= {"note": PARITY_NOTE, "zipped": self.account["zipped"]}
        corrected = {
            "n": scores.n,
            "policy": scores.policy,
            "join": {name: value for name, value in self.account.items() if name != "zipped"},
            "measures": scores.numbers(),
            "confusion": scores.counts.to_dict(orient="index"),
            "excluded": scores.excluded,
            "parse_rate": plain_values(scores.parse_rate),
            "off_label": scores.foreign,
            "policies": plain_values(scores.policies),
            "baselines": plain_values(scores.baselines),
            "groups": plain_values(scores.groups),
            "comparisons": plain_values(self.comparisons),
        }
        if self.calibration is not None:
            corrected["calibration"] = {
                "n": self.calibration.n,
                "missing": self.calibration.missing,
                "controls": self.calibration.controls,
                "measures": plain_values(self.calibration.measures),
            }
        return {"parity": parity, "corrected": corrected}

    def as_text(self):
        """The report as lines for a terminal."""
        lines = []
        for title, values in self._facts().items():
            if values:
                facts = [f"{name} {value}".strip() for name, value in values.items()]
                lines.append(f"{title}: {', '.join(facts)}")
        table = self._measures()
        lines.append(table.to_string(index=False, float_format="{:.4f}".format, na_rep="-"))
        return "\n".join([*lines, "gold by outcome:", self.scores.counts.to_string()])

    def _facts(self):
        """Counts, original metrics and policies, by the title of their line."""
        scores = self.scores
        account = self.account
        counts = {name: account[name] for name in ("gold", "matched", "missing", "extra")}
        counts["doubled ids"] = account["doubled_gold"] + account["doubled_predictions"]
        original = {name: round(value, 4) for name, value in scores.parity["S"].items()}
        return {
            "rows": counts,
            **{name: dict.fromkeys(ids, "") for name, ids in account["listed"].items()},
            "original definition (version S)": original,
            "standard definition": scores.policy,
            "excluded": scores.excluded,
            "off-label answers": dict(list(scores.foreign.items())[:MOST_LISTED_IDS]),
        }

    def _measures(self):
        """Every measure with its interval and that of the majority class."""
        control = self.scores.baselines["majority"]
        rows = []
        for name, value in {"parse rate": self.scores.parse_rate, **self.scores.measures}.items():
            rows.append(
                {
                    "measure": name,
                    "value": value.estimate,
                    "95 % interval": bounds_text(value.low, value.high),
                    "n": value.n,
                    "majority": control[name].estimate if name in control else None,
                    "reason": value.reason or "",
                }
            )
        return pd.DataFrame(rows).astype({"value": float, "majority": float})


def plain_values(values):
    """Give frames, and intervals in dicts of any depth, as plain values."""
    if isinstance(values, pd.DataFrame):
        return values.astype(object).where(values.notna(), None).to_dict("records")
    if isinstance(values, dict):
        return {name: plain_values(value) for name, value in values.items()}
    number = values.number()
    del number["control"]
    return number


# --- what checking costs, and the log of a run


def field_of_results(results, name, dtype=object):
    """One field of every result."""
    return pd.Series([getattr(result, name) for result in results], dtype=dtype)


def cost_rows(results):
    """What each checked claim cost, for tables beside its verdict."""
    return pd.DataFrame(
        {
            "id": [result.claim_id for result in results],
            "parts": [len(result.subclaims) for result in results],
            "queries": [len(result.queries) for result in results],
            "evidence": [len(result.evidence) for result in results],
            "high": [sum(item.level == "high" for item in result.evidence) for result in results],
            "seconds": [sum(result.timings.values()) for result in results],
        }
    )


def high_credibility(results):
    """Share of evidence of high credibility: of all items, and as a mean over claims with any."""
    rows = cost_rows(results).query("evidence > 0")
    if rows.empty:
        return {"macro": None, "pooled": None}
    macro = (rows["high"] / rows["evidence"]).mean()
    pooled = rows["high"].sum() / rows["evidence"].sum()
    return {"macro": float(macro), "pooled": float(pooled)}


def documented_performance(results):
    """The documented performance numbers as the document defines them; NaN without a whole check.

    Average time to verify a claim (all stages, also of claims that crashed), queries and evidence
    per claim (claims that retrieved nothing count 0), and the proportion of high-credibility
    sources.
    """
    completed = [result for result in results if result.error is None]
    seconds = cost_rows(results)["seconds"]
    costs = cost_rows(completed)
    numbers = {
        "mean_processing_time": seconds.mean(),
        "total_processing_time": seconds.sum(),
        "queries_per_claim": costs["queries"].mean(),
        "evidence_per_claim": costs["evidence"].mean(),
        "high_credibility_ratio": high_credibility(completed)["pooled"],
    }
    return pd.Series(numbers, dtype=float).to_dict()


def documented_performance_in_code(results):
    """The same numbers as the document's code computes them.

    Time is that of the verdict stage alone, the ratio a mean over the claims with evidence, and 0
    stands where there is nothing.
    """
    seconds = _verdict_seconds(results)
    completed = [result for result in results if result.error is None]
    numbers = documented_performance(results) | {
        "mean_processing_time": seconds.mean(),
        "total_processing_time": seconds.sum(),
        "high_credibility_ratio": high_credibility(completed)["macro"],
    }
    return pd.Series(numbers, dtype=float).fillna(0.0).to_dict()


def _verdict_seconds(results):
    return pd.Series([result.timings.get("verdict", 0.0) for result in results], dtype=float)


def performance(results):
    """Cost of a claim, one row a measure: as the document defines it, and in its code."""
    columns = {
        "original": documented_performance(results),
        "in its code": documented_performance_in_code(results),
    }
    table = pd.DataFrame(columns).drop("total_processing_time")
    return table.rename_axis("measure").reset_index()


def timings(results):
    """Seconds of every stage and of all together: mean, median, 95th percentile and n."""
    seconds = pd.DataFrame([result.timings for result in results], dtype=float).fillna(0.0)
    seconds["total"] = seconds.sum(axis=1)
    table = pd.DataFrame(
        {
            "mean": seconds.mean(),
            "median": seconds.median(),
            "p95": seconds.quantile(0.95),
            "n": len(seconds),
        }
    )
    return table.rename_axis("stage").reset_index()


def run_log(results, truths=None):
    """The run log, one row a run, with the documented columns.

    The accuracy of a run without a label is its own confidence.
    """
    costs = cost_rows(results)
    truths = pd.Series(truths or [None] * len(results), dtype=object)
    labelled = truths.map(bool)
    verdicts = field_of_results(results, "verdict")
    confidence = field_of_results(results, "confidence", float).fillna(0.0)
    return costs.assign(
        label=verdicts,
        gold=truths.where(labelled, None),
        probability=field_of_results(results, "support", float),
        labelled=labelled,
        accuracy=(verdicts == truths).astype(float).where(labelled, confidence),
        evidence_quality=(costs["high"] / costs["evidence"]).fillna(0.0),
        efficiency=1 / _verdict_seconds(results).clip(lower=0.1),
        error=field_of_results(results, "error"),
    )


def performance_score(log):
    """The documented score of a log, in [0, 3.3]: a fast wrong answer can beat a right one."""
    return float((log[LOG_WEIGHTS.index] @ LOG_WEIGHTS).mean()) if len(log) else 0.0


def honest_accuracy(log):
    """Accuracy of the labelled runs alone."""
    right = log.loc[log["labelled"], "accuracy"]
    return {
        "right": int(right.sum()),
        "labelled": len(right),
        "accuracy": number_or_none(right.mean()),
        "unlabelled": len(log) - len(right),
    }


def write_log(path, log):
    """Write the run log, which ``casebook factcheck score`` reads; crashed claims have no label."""
    return write_text(path, log.to_json(orient="records", lines=True, force_ascii=False))


# --- the report of ``casebook factcheck run``


def as_report(claims, results, config, judge=None, *, n_resamples=1000, seed=0):
    """Give the report on checked claims, and the scores of those with a label.

    ``judge`` is the one that read the evidence; of the default one it is said what it cannot see.
    """
    groups = {claim.id: claim.group for claim in claims}
    log = run_log(results, [claim.label for claim in claims])
    scored = None
    if log["labelled"].any():
        scored = score_labelled(claims, results, n_resamples=n_resamples, seed=seed)
    report = {
        "outcomes": outcomes(results),
        "log": log,
        "log_score": performance_score(log),
        "performance": {
            "document": documented_performance(results),
            "in_its_code": documented_performance_in_code(results),
            "stages": timings(results),
        },
        "explanations": quality_table(
            quality_rows(results, config.rule, seed), groups, n_resamples, seed
        ),
        "systems": verdict_shares(claims, results, n_resamples=n_resamples, seed=seed),
        "labels": scored and scored.as_dict(),
        "judge": {
            "caution": CAUTION if isinstance(judge, PublicJudge) else None,
            "costs": dict(getattr(judge, "costs", None) or {}),
            "cost": cost_of_judge(judge),
        },
        "claims": [_explained(result, config.rule) for result in results],
    }
    if scored:
        report["log_accuracy"] = honest_accuracy(log)
    return report, scored


def _explained(result, rule):
    """A result with its explanation and the smallest removal."""
    row = asdict(result) | {"explanation": None, "removal": None}
    if not result.error:
        explanation = explain_verdict(result, rule)
        row["explanation"] = explanation.text
        row["removal"] = explanation.removal and list(explanation.removal.ids)
    return row


def score_labelled(claims, results, *, n_resamples=1000, seed=0):
    """Scores of the claims with a label; INSUFFICIENT is a class of its own if any claim has it."""
    frame = pd.DataFrame(claims)[["id", "label", "group"]]
    answers = frame[["id"]].assign(label=field_of_results(results, "verdict"))
    labelled = frame["label"] != ""
    rows, account = join_labels(frame[labelled], answers[labelled])
    three_class = frame["label"].eq(INSUFFICIENT_EVIDENCE).any()
    return score_joined(
        rows,
        account,
        policy={"nei": "three_class"} if three_class else {},
        cluster=None if frame.loc[labelled, "group"].is_unique else "group",
        n_resamples=n_resamples,
        seed=seed,
    )


def verdict_shares(claims, results, *, n_resamples=1000, seed=0):
    """Share of each verdict by system of a log of answers, with intervals over questions.

    The system is the claims' category.
    """
    frame = pd.DataFrame(claims).assign(verdict=[result.verdict for result in results])
    rows = []
    for category, members in frame.groupby("category", sort=False):
        for verdict in CLAIM_VERDICTS:
            share = bootstrap_mean(
                (members["verdict"] == verdict).astype(float),
                clusters=members["group"],
                n_resamples=n_resamples,
                seed=seed,
            )
            row = {"category": category, "verdict": verdict, "n": share.n}
            rows.append(row | bounded("share", share))
    return pd.DataFrame(rows)


def outcomes(results):
    """How often checking ended with each verdict, or crashed where and why."""
    ends = []
    for result in results:
        if result.error:
            ends.append("crashed in " + ": ".join(result.error.split(": ", 2)[:2]))
        else:
            ends.append(result.verdict)
    return dict(Counter(ends).most_common())
