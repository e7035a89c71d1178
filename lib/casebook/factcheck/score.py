"""Scores of anyone's verdicts, joined by id: as documented, corrected, compared on the same claims; and their cost."""

from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from pydantic import BaseModel, StrictInt

from casebook.errors import InputError
from casebook.factcheck.claims import Filled, fitting, yaml_table
from casebook.factcheck.explain import explain, quality_rows, quality_table
from casebook.factcheck.verdict import INSUFFICIENT, VERDICTS
from casebook.files import write_text
from casebook.frames import contrasts
from casebook.measures import classification
from casebook.measures.calibration import Calibration, calibration
from casebook.measures.classification import GOLD_LABELS, Scores, documented_metrics, encode
from casebook.readers import read_records
from casebook.stats.intervals import bootstrap_mean, bounded, bounds_text
from casebook.stats.samples import number_or_none
from casebook.stats.tests import mcnemar

SHOWN = 10  # ids listed by name
COMPARED = [
    *("rival", "n", "groups", "accuracy", "rival accuracy", "system_only", "rival_only"),
    *(
        "difference",
        "difference low",
        "difference high",
        "p",
        "p_adjusted",
        "verdict",
        "mcnemar",
        "reason",
    ),
]
PARITY_NOTE = (
    "documented formulas: exact comparison, positive class SUPPORTED, a missing "
    "verdict counts as NOT_SUPPORTED, a zero denominator gives 0"
)
LOG_WEIGHTS = pd.Series({"accuracy": 1.0, "evidence_quality": 0.3, "efficiency": 0.2})
#: What is measured of a run, by the name that readers see.
TITLES = yaml_table("names")["run"]


_OURS = ("label", "gold", "predicted", "confidence", "said", "row")  # of the joined rows: no groups


def score_files(gold, predicted, *, baseline=None, groups=(), cluster=None, labels=None, **options):
    r"""Score a file of predictions against a file of gold labels.

    Parameters
    ----------
    gold, predicted : path
        CSV, JSON or JSONL with ``id`` and ``label``; predictions may have ``confidence`` in [0, 1].
    baseline : path, optional
        Predictions of a model that sees the claims alone.
    groups : sequence of str
        Columns of `gold` to score by.
    cluster : str, optional
        Column of `gold` whose values belong together.
    labels : dict, optional
        Further spellings, such as ``{"REFUTES": "NOT_SUPPORTED"}``.
    **options
        ``policy``, ``n_resamples`` and ``seed`` of `score_joined`.

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
    frame = read_labels(gold)
    fields = [name for name in frame if name not in _OURS]
    for name in (*groups, cluster or "id"):
        if name not in fields:
            raise InputError(f"{gold}: no column {name!r} to group by: it has {', '.join(fields)}")
        if frame[name].map(lambda value: isinstance(value, list | dict)).any():
            raise InputError(f"{gold}: column {name!r} holds lists or objects, which are no groups")
    wrong = frame[encode(frame["label"], labels)[0] >= len(GOLD_LABELS)]
    if len(wrong):
        problem = (
            f"{len(wrong)} of {len(frame)} gold labels are missing or unknown (here {wrong['label'].iloc[0]!r}): "
            f"use {', '.join(GOLD_LABELS)}, or name the spelling's meaning"
        )
        raise InputError.at(gold, wrong["row"].iloc[0], problem)
    rows, account = join_labels(frame, read_labels(predicted), (gold, predicted))
    if baseline is not None:
        blind, _ = join_labels(frame, read_labels(baseline), (gold, baseline))
        options["baselines"] = {"claim_only": blind["predicted"]}
    return score_joined(rows, account, groups=groups, cluster=cluster, labels=labels, **options)


class Labelled(BaseModel):
    """A row of a file of labels; what else it has is kept."""

    id: StrictInt | Filled
    label: str | bool | int | float | None


def read_labels(path):
    """Read a file of labels: ``id`` as text, ``label``, all other fields, and the ``row`` of the file."""
    rows = []
    for number, record in read_records(path)[0]:
        fitting(path, number, record, Labelled)
        rows.append(record | {"row": number, "id": str(record["id"])})
    return pd.DataFrame(rows).assign(label=pd.Series([row["label"] for row in rows], dtype=object))


def join_labels(gold, predicted, names=("gold", "predictions")):
    """Join two frames of labels by id: rows in the order of the gold ones, and an account of how they met.

    Missing, extra and doubled ids are counted and listed; ``zipped`` are the documented metrics of rows joined by
    position.
    """
    rows, told = (_once(frame, name) for frame, name in zip((gold, predicted), names, strict=True))
    rows = rows.drop(columns=["gold", "predicted", "confidence"], errors="ignore").rename(
        columns={"label": "gold"}
    )
    told = told.filter(["id", "said", "confidence"]).rename(columns={"said": "predicted"})
    missing, extra = (
        rows["id"][~rows["id"].isin(told["id"])],
        told["id"][~told["id"].isin(rows["id"])],
    )
    if len(missing) == len(rows):
        raise InputError(
            f"{names[0]} and {names[1]} have no id in common (first: "
            f"{rows['id'].iloc[0]!r} and {told['id'].iloc[0]!r}): nothing to score"
        )
    rows = rows.drop(columns="said").merge(told, on="id", how="left")
    rows["predicted"] = rows["predicted"].where(rows["predicted"].notna(), None)
    if "confidence" in rows:
        said = rows["confidence"].astype(object).replace("", None)
        rows["confidence"] = pd.to_numeric(
            said.where(said.map(np.isscalar), np.inf), errors="coerce"
        ).astype(float)
        wrong = rows["id"][said.notna() & ~rows["confidence"].between(0, 1)]
        if len(wrong):
            raise InputError(
                f"{names[1]}: {len(wrong)} values of 'confidence' are not from 0 to 1 (id {wrong.iloc[0]})"
            )
    doubled = [frame["id"][frame["id"].duplicated()].unique() for frame in (gold, predicted)]
    listed = {
        "missing": missing,
        "extra": extra,
        "doubled_gold": doubled[0],
        "doubled_predictions": doubled[1],
    }
    account = {
        "gold": len(gold),
        "predictions": len(predicted),
        "matched": len(rows) - len(missing),
    }
    account |= {name: len(ids) for name, ids in listed.items()}
    account["listed"] = {name: list(ids[:SHOWN]) for name, ids in listed.items()}
    size = min(len(gold), len(predicted))
    account["zipped"] = documented_metrics(
        gold["label"].tolist()[:size], predicted["label"].tolist()[:size]
    )
    return rows, account


def _once(frame, name):
    """One row per id, with what was ``said``: None where nothing was; contradictions are refused."""
    said = frame["label"].map(
        lambda label: None if pd.isna(label) or not str(label).strip() else str(label)
    )
    once = frame.assign(said=said.astype(object)).drop_duplicates(["id", "said"])
    unlike = once["id"][once["id"].duplicated()].unique()
    if len(unlike):
        raise InputError(
            f"{name}: {len(unlike)} ids stand more than once with different labels "
            f"(first: {', '.join(unlike[:3])}); keep one row of each"
        )
    return once


def score_joined(
    rows,
    account,
    *,
    policy=None,
    baselines=None,
    groups=(),
    cluster=None,
    labels=None,
    n_resamples=1000,
    seed=0,
):
    """Score joined rows: documented, corrected, calibrated, against the majority and the baselines."""
    clusters, gold = rows[cluster] if cluster else None, rows["gold"]
    options = {"labels": labels, "clusters": clusters, "n_resamples": n_resamples, "seed": seed} | (
        policy or {}
    )
    parts = {name: rows[name] for name in groups}
    scores = classification.score_predictions(
        gold, rows["predicted"], groups=parts, baselines=baselines, **options
    )
    right = is_right(gold, rows["predicted"], labels, scores.policy)
    kept = right.notna()
    # Rows that the system's answers drop are dropped for all; no others are.
    policy = scores.policy | {"off_label": scores.policy["off_label"].replace("drop", "wrong")}
    most = majority(gold[kept], labels, scores.policy | {"off_label": "wrong"})
    rivals = {"majority": [most] * len(rows)} | (baselines or {})
    answers = {name: is_right(gold, verdicts, labels, policy) for name, verdicts in rivals.items()}
    compared = compare_verdicts(
        right, answers, clusters=clusters, n_resamples=n_resamples, seed=seed
    )
    stated = None
    if "confidence" in rows:
        options = {
            "clusters": clusters[kept] if cluster else None,
            "n_resamples": n_resamples,
            "seed": seed,
        }
        stated = calibration(right[kept].astype(bool), rows["confidence"][kept], **options)
    return FactcheckReport(account, scores, stated, compared)


def is_right(gold, predicted, labels=None, policy=None):
    """Whether each verdict is right under the policies, None where the row is left out."""
    rows, _ = encode(gold, labels)
    columns, _ = encode(predicted, labels)
    tables = classification.collapse_cells(**(policy or {}))
    right = np.trace(tables, axis1=1, axis2=2).astype(bool).astype(object)
    right[~tables.any((1, 2))] = None
    index = gold.index if isinstance(gold, pd.Series) else None
    return pd.Series(
        right[rows * len(classification.PREDICTED_OUTCOMES) + columns], index=index, dtype=object
    )


def majority(gold, labels=None, policy=None):
    """The label whose constant answer is right most often under the policies."""
    hits = {
        label: is_right(gold, [label] * len(gold), labels, policy).eq(True).sum()
        for label in GOLD_LABELS
    }
    return max(hits, key=hits.get)


def compare_verdicts(
    right, rivals, *, clusters=None, margin=0.0, n_resamples=10_000, seed=0, not_measured=None
):
    """Compare a system with others on the same claims, as one family of contrasts; None leaves a claim out.

    ``not_measured`` names rivals that had no input, or the same one, with the reason. McNemar's exact p stands beside
    the sign-flip test over clusters only where every claim stands alone.
    """
    names = list(rivals)
    # Columns are numbers: a rival may be called "system".
    answers = [list(right), *(list(rivals[name]) for name in names)]
    table = pd.DataFrame(dict(enumerate(answers)), dtype=object)
    kept = table.notna().all(axis=1)
    table = table[kept].astype(float)
    if not names or table.empty:
        return pd.DataFrame(columns=COMPARED)
    groups = None if clusters is None else pd.Series(list(clusters))[kept]
    unmeasured = {
        (0, names.index(name) + 1): why
        for name, why in (not_measured or {}).items()
        if name in names
    }
    options = {
        "margin": margin,
        "n_resamples": n_resamples,
        "seed": seed,
        "not_measured": unmeasured,
    }
    found = contrasts(table, [(0, place) for place in table.columns[1:]], groups, **options)
    found = found.rename(columns={"low": "difference low", "high": "difference high"})
    ours = table[0]
    others = table.drop(columns=0)
    found["rival"] = names
    found["accuracy"] = ours.mean()
    found["rival accuracy"] = others.mean().array
    found["system_only"] = others.lt(ours, axis=0).sum().array
    found["rival_only"] = others.gt(ours, axis=0).sum().array
    found["mcnemar"] = np.nan
    if groups is None or groups.is_unique:
        found["mcnemar"] = [mcnemar(ours, others[place]).pvalue for place in others]
    return found[COMPARED]


@dataclass(frozen=True, eq=False)
class FactcheckReport:
    """Everything that is said of one system's verdicts."""

    account: dict
    scores: Scores
    calibration: Calibration | None
    comparisons: pd.DataFrame

    def as_dict(self):
        """The sections ``parity`` and ``corrected`` as plain values for JSON."""
        scores, stated = self.scores, self.calibration
        parity = (
            scores.parity["S"]
            | scores.parity
            | {"note": PARITY_NOTE, "zipped": self.account["zipped"]}
        )
        corrected = {
            "n": scores.n,
            "policy": scores.policy,
            "join": {name: value for name, value in self.account.items() if name != "zipped"},
            "measures": scores.numbers(),
            "confusion": scores.counts.to_dict(orient="index"),
            "excluded": scores.excluded,
            "parse_rate": _plain(scores.parse_rate),
            "off_label": scores.foreign,
            "policies": _plain(scores.policies),
            "baselines": _plain(scores.baselines),
            "groups": _plain(scores.groups),
            "comparisons": _plain(self.comparisons),
        }
        if stated is not None:
            told = {"n": stated.n, "missing": stated.missing, "controls": stated.controls}
            corrected["calibration"] = told | {"measures": _plain(stated.measures)}
        return {"parity": parity, "corrected": corrected}

    def as_text(self):
        """The report as lines for a terminal."""
        scores, account, control = self.scores, self.account, self.scores.baselines["majority"]
        counts = {name: account[name] for name in ("gold", "matched", "missing", "extra")}
        counts |= {"doubled ids": account["doubled_gold"] + account["doubled_predictions"]}
        original = {name: round(value, 4) for name, value in scores.parity["S"].items()}
        told = {"rows": counts} | {
            name: dict.fromkeys(ids, "") for name, ids in account["listed"].items() if ids
        }
        told |= {"original definition (version S)": original, "standard definition": scores.policy}
        told |= {
            "excluded": scores.excluded,
            "off-label answers": dict([*scores.foreign.items()][:SHOWN]),
        }
        lines = []
        for title, values in told.items():
            if values:
                lines.append(
                    f"{title}: "
                    + ", ".join(f"{name} {value}".strip() for name, value in values.items())
                )
        found = [
            {
                "measure": name,
                "value": one.estimate,
                "95 % interval": bounds_text(one.low, one.high),
                "n": one.n,
            }
            | {
                "majority": control[name].estimate if name in control else None,
                "reason": one.reason or "",
            }
            for name, one in {"parse rate": scores.parse_rate, **scores.measures}.items()
        ]
        table = pd.DataFrame(found).astype({"value": float, "majority": float})
        lines.append(table.to_string(index=False, float_format="{:.4f}".format, na_rep="-"))
        return "\n".join([*lines, "gold by outcome:", scores.counts.to_string()])


def _plain(found):
    """Frames, and intervals in dicts however deep, as plain values."""
    if isinstance(found, pd.DataFrame):
        return found.astype(object).where(found.notna(), None).to_dict("records")
    if isinstance(found, dict):
        return {name: _plain(one) for name, one in found.items()}
    return {
        "value": found.estimate,
        "ci": [found.low, found.high],
        "n": found.n,
        "reason": found.reason,
    }


# --- what checking costs, and the log of a run


def of_results(results, name, dtype=object):
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
    """Share of evidence of high credibility: of all items, and as a mean over the claims that have any."""
    rows = cost_rows(results).query("evidence > 0")
    if rows.empty:
        return {"macro": None, "pooled": None}
    macro = (rows["high"] / rows["evidence"]).mean()
    pooled = rows["high"].sum() / rows["evidence"].sum()
    return {"macro": float(macro), "pooled": float(pooled)}


def documented_performance(results):
    """The documented performance numbers as the document defines them; NaN where no claim was checked to the end.

    Average time to verify a claim (all stages, also of claims that crashed), queries and evidence per claim (claims
    that found nothing count 0), and the proportion of high-credibility sources.
    """
    whole = [result for result in results if result.error is None]
    seconds = cost_rows(results)["seconds"]
    costs = cost_rows(whole)
    numbers = {
        "mean_processing_time": seconds.mean(),
        "total_processing_time": seconds.sum(),
        "queries_per_claim": costs["queries"].mean(),
        "evidence_per_claim": costs["evidence"].mean(),
        "high_credibility_ratio": high_credibility(whole)["pooled"],
    }
    return pd.Series(numbers, dtype=float).to_dict()


def documented_performance_in_code(results):
    """The same numbers as the document's code computes them.

    Time is that of the verdict stage alone, the ratio a mean over the claims with evidence, and 0 stands where there
    is nothing.
    """
    times = _verdict_seconds(results)
    whole = [result for result in results if result.error is None]
    numbers = documented_performance(results) | {
        "mean_processing_time": times.mean(),
        "total_processing_time": times.sum(),
        "high_credibility_ratio": high_credibility(whole)["macro"],
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
    table = pd.DataFrame([result.timings for result in results], dtype=float).fillna(0.0)
    table["total"] = table.sum(axis=1)
    found = pd.DataFrame(
        {
            "mean": table.mean(),
            "median": table.median(),
            "p95": table.quantile(0.95),
            "n": len(table),
        }
    )
    return found.rename_axis("stage").reset_index()


def run_log(results, truths=None):
    """The run log, one row a run, with the documented columns: without a label its accuracy is its own confidence."""
    costs = cost_rows(results)
    truths = pd.Series(truths or [None] * len(results), dtype=object)
    labelled = truths.map(bool)
    verdicts = of_results(results, "verdict")
    confidence = of_results(results, "confidence", float).fillna(0.0)
    return costs.assign(
        label=verdicts,
        gold=truths.where(labelled, None),
        probability=of_results(results, "support", float),
        labelled=labelled,
        accuracy=(verdicts == truths).astype(float).where(labelled, confidence),
        evidence_quality=(costs["high"] / costs["evidence"]).fillna(0.0),
        efficiency=1 / _verdict_seconds(results).clip(lower=0.1),
        error=of_results(results, "error"),
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
    """Write the run log, which ``casebook factcheck score`` reads as predictions; crashed claims have no label."""
    return write_text(path, log.to_json(orient="records", lines=True, force_ascii=False))


# --- the report of ``casebook factcheck run``


def as_report(claims, results, config, *, n_resamples=1000, seed=0):
    """Everything that is known of checked claims, and the scores of those with a label."""
    told = []
    for result in results:
        text = removal = None
        if not result.error:
            explained = explain(result, config.rule)
            text = explained.text
            removal = explained.removal and list(explained.removal.ids)
        told.append(asdict(result) | {"explanation": text, "removal": removal})
    groups, log = (
        {claim.id: claim.group for claim in claims},
        run_log(results, [claim.label for claim in claims]),
    )
    scored = score_labelled(claims, results, n_resamples, seed) if log["labelled"].any() else None
    documented = documented_performance(results)
    report = {
        "outcomes": outcomes(results),
        "log": log,
        "log_score": performance_score(log),
        "performance": {
            "document": documented,
            "in_its_code": documented_performance_in_code(results),
            "all_stages": documented,
            "stages": timings(results),
        },
        "explanations": quality_table(
            quality_rows(results, config.rule, seed), groups, n_resamples, seed
        ),
        "systems": shares(claims, results, n_resamples=n_resamples, seed=seed),
        "labels": scored and scored.as_dict(),
        "claims": told,
    }
    return report | ({"log_accuracy": honest_accuracy(log)} if scored else {}), scored


def score_labelled(claims, results, n_resamples=1000, seed=0):
    """Scores of the claims that have a label; INSUFFICIENT is a class of its own if any claim has it."""
    frame = pd.DataFrame(claims)[["id", "label", "group"]]
    answers = frame[["id"]].assign(label=of_results(results, "verdict"))
    labelled = frame["label"] != ""
    policy = {"nei": "three_class"} if frame["label"].eq(INSUFFICIENT).any() else {}
    together = None if frame.loc[labelled, "group"].is_unique else "group"
    joined = join_labels(frame[labelled], answers[labelled])
    return score_joined(
        *joined, policy=policy, cluster=together, n_resamples=n_resamples, seed=seed
    )


def shares(claims, results, *, n_resamples=1000, seed=0):
    """Share of each verdict by system of a log of answers (the claims' category), with intervals over questions."""
    rows, frame = [], pd.DataFrame(claims).assign(verdict=[result.verdict for result in results])
    for name, mine in frame.groupby("category", sort=False):
        for verdict in VERDICTS:
            given = (mine["verdict"] == verdict).astype(float)
            mean = bootstrap_mean(given, clusters=mine["group"], n_resamples=n_resamples, seed=seed)
            rows.append(
                {"category": name, "verdict": verdict, "n": mean.n} | bounded("share", mean)
            )
    return pd.DataFrame(rows)


def outcomes(results):
    """How often checking ended with each verdict, or crashed where and why."""
    ends = [
        "crashed in " + ": ".join(r.error.split(": ", 2)[:2]) if r.error else r.verdict
        for r in results
    ]
    return dict(Counter(ends).most_common())
