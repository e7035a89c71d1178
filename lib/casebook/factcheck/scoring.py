"""The assembled report on one system's verdicts: documented and corrected parts."""

from dataclasses import dataclass

import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.comparing import compare_verdicts, is_right
from casebook.factcheck.joining import Joined, join_labels, read_labels
from casebook.inference.intervals import bounds_text
from casebook.measures import verdict_labels
from casebook.measures.calibration import Calibration, calibration
from casebook.measures.classification import (
    Scores,
    documented_metrics,
    score_predictions,
)

PARITY_NOTE = (
    "documented formulas: exact comparison, positive class SUPPORTED, a missing "
    "verdict counts as NOT_SUPPORTED, a zero denominator gives 0"
)


@dataclass(frozen=True, eq=False)
class FactcheckReport:
    """Everything that is said of one system's verdicts.

    Attributes
    ----------
    joined : casebook.factcheck.joining.Joined
        Rows and account of the join.
    scores : casebook.measures.classification.Scores
        Documented and corrected measures.
    calibration : casebook.measures.calibration.Calibration or None
        Of the confidence that a verdict is right; None without confidences.
    comparisons : pandas.DataFrame
        The system against each baseline on the same claims: discordant counts, exact,
        mid-p and Holm-corrected p, difference in accuracy and detectable difference.
    """

    joined: Joined
    scores: Scores
    calibration: Calibration | None
    comparisons: pd.DataFrame

    def as_dict(self):
        """Give the sections ``parity`` and ``corrected`` as plain values for JSON."""
        scores = self.scores
        parity = scores.parity["S"] | scores.parity | {"note": PARITY_NOTE}
        parity["zipped"] = documented_metrics(*self.joined.zipped)
        corrected = {
            "n": scores.n,
            "policy": scores.policy,
            "join": self.joined.account,
            "measures": scores.numbers(),
            "confusion": scores.counts.to_dict(orient="index"),
            "excluded": scores.excluded,
            "parse_rate": plain(scores.parse_rate),
            "off_label": scores.foreign,
            "policies": _nested(scores.policies),
            "baselines": _nested(scores.baselines),
            "groups": {name: _nested(g) for name, g in scores.groups.items()},
            "comparisons": _records(self.comparisons),
        }
        if self.calibration is not None:
            corrected["calibration"] = {
                "n": self.calibration.n,
                "missing": self.calibration.missing,
                "measures": {k: plain(v) for k, v in self.calibration.measures.items()},
                "controls": self.calibration.controls,
            }
        return {"parity": parity, "corrected": corrected}

    def as_text(self):
        """Give the report as lines for a terminal."""
        return "\n".join(_lines(self))


def plain(interval):
    """Give an interval as plain values.

    Parameters
    ----------
    interval : casebook.inference.intervals.Interval
        Interval.

    Returns
    -------
    dict
        value, ci, n, reason.
    """
    return {
        "value": interval.estimate,
        "ci": [interval.low, interval.high],
        "n": interval.n,
        "reason": interval.reason,
    }


def _records(frame):
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in frame.astype(object).to_dict(orient="records")
    ]


def _nested(parts):
    return {
        name: {measure: plain(found) for measure, found in part.items()}
        for name, part in parts.items()
    }


def score_files(gold, predicted, *, baseline=None, groups=(), cluster=None, **options):
    """Score a file of predictions against a file of gold labels.

    Parameters
    ----------
    gold, predicted : path-like
        CSV, JSON or JSONL with ``id`` and ``label``; predictions may have
        ``confidence`` in [0, 1], the probability that the verdict is right.
    baseline : path-like, optional
        Predictions of a model that sees the claims only.
    groups : sequence of str
        Columns of the gold file to score by.
    cluster : str, optional
        Column of the gold file whose values belong together.
    **options
        As for `score_joined`.

    Returns
    -------
    FactcheckReport
        Report.

    Raises
    ------
    InputError
        Names file, row and remedy.
    """
    frame = read_labels(gold)
    for name in [*groups, *([cluster] if cluster else [])]:
        if name not in frame:
            raise InputError(f"{gold}: no column {name!r}: it has {', '.join(frame)}")
    _check_gold(gold, frame, options.get("labels"))
    joined = join_labels(frame, read_labels(predicted), (gold, predicted))
    baselines = {}
    if baseline is not None:
        blind = join_labels(frame, read_labels(baseline), (gold, baseline))
        baselines["claim_only"] = blind.rows["predicted"]
    return score_joined(
        joined, baselines=baselines, groups=groups, cluster=cluster, **options
    )


def _check_gold(path, frame, labels):
    """Name the first gold label that is missing or unknown, and count them."""
    codes, _ = verdict_labels.encode(frame["label"], labels)
    wrong = frame[codes >= len(verdict_labels.GOLD)]
    if len(wrong):
        first = wrong.iloc[0]
        known = ", ".join(verdict_labels.GOLD)
        problem = (
            f"{len(wrong)} of {len(frame)} gold labels are missing or unknown (here "
            f"{first['label']!r}): use {known}, or name the spelling's meaning"
        )
        raise InputError.at(path, first["row"], problem)


def score_joined(
    joined,
    *,
    policy=None,
    baselines=None,
    groups=(),
    cluster=None,
    labels=None,
    n_boot=1000,
    seed=0,
):
    """Score joined rows: documented, corrected, calibrated, against baselines.

    Parameters
    ----------
    joined : casebook.factcheck.joining.Joined
        Gold rows with their predictions.
    policy : dict of str, optional
        off_label, nei, conflict; by default wrong, exclude, exclude.
    baselines : dict of array_like, optional
        Further predictions, in the order of the rows.
    groups : sequence of str
        Columns to score by.
    cluster : str, optional
        Column whose values are resampled together.
    labels : dict, optional
        Further spellings of labels.
    n_boot, seed
        Of the intervals.

    Returns
    -------
    FactcheckReport
        Report.
    """
    rows = joined.rows
    clusters = rows[cluster] if cluster else None
    options = {"clusters": clusters, "n_boot": n_boot, "seed": seed}
    scores = score_predictions(
        rows["gold"],
        rows["predicted"],
        labels=labels,
        groups={name: rows[name] for name in groups},
        baselines=baselines,
        **(policy or {}),
        **options,
    )
    right = is_right(rows["gold"], rows["predicted"], labels, scores.policy)
    majority = _majority(scores)
    rivals = {"majority": [majority] * len(rows)} if majority else {}
    answers = {
        name: is_right(rows["gold"], rival, labels, scores.policy)
        for name, rival in (rivals | (baselines or {})).items()
    }
    comparisons = compare_verdicts(right, answers, clusters=clusters)
    stated = None
    if "confidence" in rows:
        kept = right.notna()
        stated = calibration(
            right[kept].astype(bool),
            rows["confidence"][kept],
            **(options | {"clusters": None if clusters is None else clusters[kept]}),
        )
    return FactcheckReport(joined, scores, stated, comparisons)


def _majority(scores):
    """Give the label that is most frequent among the rows that count."""
    left_out = {
        label
        for label, policy in zip(
            verdict_labels.GOLD[2:], ("nei", "conflict"), strict=True
        )
        if scores.policy[policy] == "exclude"
    }
    totals = scores.counts.sum(axis=1).drop(list(left_out))
    return totals.idxmax() if totals.sum() else None


def _lines(report):
    scores, account = report.scores, report.joined.account
    yield (
        f"rows: {scores.n} gold, {account['matched']} with a prediction, "
        f"{account['missing']} missing, {account['extra']} extra, "
        f"{account['doubled_gold']} + {account['doubled_predictions']} doubled ids"
    )
    for name, ids in account["listed"].items():
        if ids:
            yield f"  {name}: {', '.join(ids)}"
    s = scores.parity["S"]
    yield "documented (S): " + ", ".join(
        f"{k} {s[k]:.4f}" if isinstance(s[k], float) else f"{k} {s[k]}" for k in s
    )
    rule = ", ".join(f"{k}={v}" for k, v in scores.policy.items())
    yield f"corrected ({rule}); excluded: {scores.excluded}"
    rate = scores.parse_rate
    if rate.estimate is not None:
        bounds = bounds_text(rate.low, rate.high)
        yield f"  {'parse rate':24} {rate.estimate:.4f}  {bounds}  n={rate.n}"
    majority = scores.baselines["majority"]
    for name, found in scores.measures.items():
        control = majority[name].estimate
        beside = "undefined" if control is None else f"{control:.4f}"
        if found.estimate is None:
            yield f"  {name:24} undefined ({found.reason})"
            continue
        bounds = bounds_text(found.low, found.high)
        yield (
            f"  {name:24} {found.estimate:.4f}  {bounds}  n={found.n}  "
            f"majority {beside}"
        )
    for spelling, count in list(scores.foreign.items())[:5]:
        yield f"  off-label {spelling!r}: {count}"
    yield "gold by outcome:"
    yield scores.counts.to_string()
