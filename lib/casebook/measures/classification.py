"""Verdicts against gold labels: as documented, and with outcomes, policies and intervals.

The table of counts keeps every outcome apart: four gold labels by six predicted outcomes. All
measures are functions of it, so that a million predictions cost one count and every bootstrap
resample is one draw of 24 numbers. (scikit-learn scores one sample of labels at a time; its
functions are what the tests compare with.)
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.stats.intervals import (
    Interval,
    cluster_codes,
    percentile_interval,
    resampled_clusters,
    resampled_counts,
    wilson,
)
from casebook.stats.samples import check_choice

SUPPORTED = "SUPPORTED"
NOT_SUPPORTED = "NOT_SUPPORTED"
INSUFFICIENT = "INSUFFICIENT"
CONFLICTING = "CONFLICTING"
OFF_LABEL = "off_label"
NO_VERDICT = "no_verdict"
GOLD_LABELS = (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT, CONFLICTING)
PREDICTED_OUTCOMES = (*GOLD_LABELS, OFF_LABEL, NO_VERDICT)
CELLS = len(GOLD_LABELS) * len(PREDICTED_OUTCOMES)
SYNONYMS = {"INSUFFICIENT_EVIDENCE": INSUFFICIENT}
BEHAVIOURS = ("S", "L")
OFF_LABEL_POLICIES = ("wrong", "drop", "negative")
CLASS_POLICIES = ("exclude", "negative", "three_class")
UNDEFINED_REASONS = {
    "accuracy": "no_units",
    "balanced_accuracy": "class_without_gold",
    "mcc": "no_variation",
    "precision": "no_supported_predictions",
    "recall": "no_supported_gold",
    "f1_binary": "no_supported_gold_or_predictions",
    "precision_not_supported": "no_not_supported_predictions",
    "recall_not_supported": "no_not_supported_gold",
    "f1_not_supported": "no_not_supported_gold_or_predictions",
    "f1_insufficient": "no_insufficient_gold_or_predictions",
    "f1_macro": "class_without_gold",
}


@dataclass(frozen=True, eq=False)
class Scores:
    """Measures of `score_predictions`, with counts, baselines and groups."""

    n: int
    policy: dict
    counts: pd.DataFrame
    measures: dict
    policies: dict
    excluded: dict
    parse_rate: Interval
    foreign: dict
    baselines: dict
    groups: dict
    parity: dict

    def __getitem__(self, measure):
        return self.measures[measure]

    def numbers(self):
        """Primary measures for ``numbers.json``, the majority's beside them."""
        majority = self.baselines["majority"]
        return {
            name: interval.number(majority[name].estimate)
            for name, interval in self.measures.items()
        }


def score_predictions(
    gold,
    predicted,
    *,
    labels=None,
    off_label="wrong",
    nei="exclude",
    conflict="exclude",
    clusters=None,
    groups=None,
    baselines=None,
    level=0.95,
    n_resamples=1000,
    seed=0,
):
    """Score verdicts against gold labels, row by row.

    Parameters
    ----------
    gold : array_like of str, shape [n]
        SUPPORTED, NOT_SUPPORTED, INSUFFICIENT or CONFLICTING.
    predicted : array_like of str, shape [n]
        The same, or anything else: None, NaN and empty text are runs without a
        verdict, other text is off-label. Neither argument is changed.
    labels : dict, optional
        Further spellings, such as ``{"REFUTES": "NOT_SUPPORTED"}``.
    off_label, nei, conflict : str
        Policies of the primary measures, as for `collapse`.
    clusters : array_like, shape [n], optional
        What belongs together (source page, question); whole clusters are resampled.
    groups : dict of array_like, optional
        Groupings such as category, difficulty, hops; a missing name is "unknown".
    baselines : dict of array_like, optional
        Predictions of further baselines, such as a claim-only model.
    level, n_resamples, seed
        Of the intervals: Wilson's for shares of independent rows, else bootstrap.

    Returns
    -------
    Scores
        Documented and corrected measures; every one with n, interval and reason.

    Raises
    ------
    InputError
        If the lengths differ, a gold label is missing or unknown, or a policy is.

    Examples
    --------
    >>> gold = ["SUPPORTED", "SUPPORTED", "NOT_SUPPORTED", "NOT_SUPPORTED"]
    >>> scores = score_predictions(gold, ["SUPPORTED", None, "NOT_SUPPORTED", "SUPPORTED"])
    >>> scores["accuracy"].estimate, scores.baselines["majority"]["accuracy"].estimate
    (0.5, 0.5)
    """
    policy = {"off_label": off_label, "nei": nei, "conflict": conflict}
    gold, predicted = paired_labels(gold, predicted)
    gold, predicted = spelled(gold, labels), spelled(predicted, labels)
    rows = _gold_codes(gold)
    columns, foreign = encode(predicted)
    cells = rows * len(PREDICTED_OUTCOMES) + columns
    codes = None if clusters is None else cluster_codes(clusters, len(rows))

    def sampled(cells, members=slice(None)):
        of_members = None if codes is None else codes[members]
        return _Sample(cells[members], of_members, level, n_resamples, seed)

    sample = sampled(cells)
    policies = {name: sample.measured(policy | {"off_label": name}) for name in OFF_LABEL_POLICIES}
    answers = sample.constant_answers(policy)
    # Further baselines are scored on the rows that count for the system.
    counted = collapse_cells(**policy).any((1, 2))[cells]
    without_drops = policy | {"off_label": off_label.replace("drop", "wrong")}
    for name, answer in (baselines or {}).items():
        _, answer = paired_labels(rows, answer)
        outcomes, _ = encode(spelled(answer, labels))
        baseline = sampled(rows * len(PREDICTED_OUTCOMES) + outcomes, counted)
        answers[name] = baseline.measured(without_drops)
    parity = {name: documented_metrics(gold, predicted, name) for name in BEHAVIOURS}
    parity["groups"] = {}
    measured_groups = {}
    for name, values in (groups or {}).items():
        members = _members(values, len(gold))
        measured_groups[name] = {
            group: sampled(cells, part).measured(policy) for group, part in members.items()
        }
        parity["groups"][name] = {
            group: documented_metrics(gold[part], predicted[part])
            for group, part in members.items()
        }
    table = sample.tables[0]
    return Scores(
        n=len(rows),
        policy=policy,
        counts=pd.DataFrame(table, index=list(GOLD_LABELS), columns=list(PREDICTED_OUTCOMES)),
        measures=policies[off_label],
        policies=policies,
        excluded=_excluded(table, policy),
        parse_rate=wilson(int(table[:, : len(GOLD_LABELS)].sum()), len(cells), level),
        foreign=foreign,
        baselines=answers,
        groups=measured_groups,
        parity=parity,
    )


def documented_metrics(gold, predicted, behaviour="S"):
    """Classification metrics exactly as documented, positive class SUPPORTED."""
    gold, predicted = paired_labels(gold, predicted)
    for labels in (gold, predicted):
        labels[pd.isna(labels) | (labels == "")] = NOT_SUPPORTED  # a missing verdict
    # Under S a pair with another label stands in no cell; under L another label is negative.
    n = len(gold)
    if behaviour == "S":
        counted = np.isin([gold, predicted], [SUPPORTED, NOT_SUPPORTED]).all(axis=0)
        gold = gold[counted]
        predicted = predicted[counted]
    truth = gold == SUPPORTED
    said = predicted == SUPPORTED
    tp = int((truth & said).sum())
    fp = int((~truth & said).sum())
    fn = int((truth & ~said).sum())
    precision = tp / max(tp + fp, 1)
    recall = tp / max(tp + fn, 1)
    return {
        "tp": tp,
        "tn": len(truth) - tp - fp - fn,
        "fp": fp,
        "fn": fn,
        "n": n,
        "accuracy": int((gold == predicted).sum()) / max(n, 1),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall or 1.0),
    }


# Tables of counts, policies that collapse them to classes, and the formulas.


def collapse(table, *, off_label="wrong", nei="exclude", conflict="exclude"):
    """Collapse tables of outcomes to classes under explicit policies."""
    check_choice("off_label policy", off_label, OFF_LABEL_POLICIES)
    check_choice("nei policy", nei, CLASS_POLICIES)
    check_choice("conflict policy", conflict, CLASS_POLICIES)
    k = 2 + ("three_class" in (nei, conflict))
    dropped = -1
    row_of = {"exclude": dropped, "negative": 1, "three_class": 2}
    gold = np.array([0, 1, row_of[nei], row_of[conflict]])
    no_class = {"wrong": k, "negative": 1, "drop": dropped}[off_label]
    answers = np.append(np.where(gold == dropped, no_class, gold), [no_class, no_class])
    rows = np.arange(k)[:, None] == gold
    columns = answers[:, None] == np.arange(k + 1)
    return rows.astype(np.int64) @ np.asarray(table) @ columns.astype(np.int64)


def collapse_cells(*, off_label="wrong", nei="exclude", conflict="exclude"):
    """Collapse, for every cell of the table of outcomes, the table that has one row there."""
    tables = np.eye(CELLS, dtype=int).reshape(-1, len(GOLD_LABELS), len(PREDICTED_OUTCOMES))
    return collapse(tables, off_label=off_label, nei=nei, conflict=conflict)


def formulas(table):
    """Compute every measure on one or many collapsed tables."""
    T = np.asarray(table, dtype=float)
    k = T.shape[-2]
    n = T.sum((-1, -2))
    gold = T.sum(-1)
    columns = T.sum(-2)
    hit = np.diagonal(T[..., :k], axis1=-2, axis2=-1)
    predicted = columns[..., :k]
    f1 = _ratio(2 * hit, gold + predicted)
    spread_predicted = n**2 - (columns**2).sum(-1)
    spread_gold = n**2 - (gold**2).sum(-1)
    spread = spread_predicted * spread_gold
    covariance = hit.sum(-1) * n - (predicted * gold).sum(-1)
    measures = {}
    for name, (hits, rows) in _shares(T).items():
        measures[name] = _ratio(hits, rows)
    for position, name in enumerate(["f1_binary", "f1_not_supported", "f1_insufficient"][:k]):
        measures[name] = f1[..., position]
    measures["balanced_accuracy"] = _ratio(hit, gold).mean(-1)
    measures["mcc"] = _ratio(covariance, np.sqrt(np.maximum(spread, 0)))
    has_all = (gold > 0).all(-1)
    measures["f1_macro"] = np.where(has_all, f1.mean(-1), np.nan)
    return {name: measures[name] for name in UNDEFINED_REASONS if name in measures}


def _shares(T):
    """Numerator and denominator of the measures that are shares of rows."""
    hit = np.diagonal(T, axis1=-2, axis2=-1)
    shares = {"accuracy": (hit.sum(-1), T.sum((-1, -2)))}
    for position, suffix in enumerate(["", "_not_supported"]):
        hits = hit[..., position]
        shares[f"precision{suffix}"] = (hits, T[..., position].sum(-1))
        shares[f"recall{suffix}"] = (hits, T[..., position, :].sum(-1))
    return shares


def _ratio(above, below):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)


def at_prevalence(sensitivity, specificity, prevalence):
    """Precision and F1 of SUPPORTED that the same system would have elsewhere."""
    share = np.asarray(prevalence, dtype=float)
    hit = sensitivity * share
    false = (1 - specificity) * (1 - share)
    return {
        "precision": _ratio(hit, hit + false),
        "f1_binary": _ratio(2 * hit, hit + false + share),
        "accuracy": hit + specificity * (1 - share),
    }


# Labels as numbers: which strings count as which outcome.


def spelled(labels, vocabulary=None):
    """Labels with those of a vocabulary replaced, for every computation alike."""
    for spelling, name in (vocabulary or {}).items():
        if name not in GOLD_LABELS:
            raise InputError(
                f"label {spelling!r} is mapped to {name!r}: use {', '.join(GOLD_LABELS)}"
            )
    return as_objects([(vocabulary or {}).get(label, label) for label in labels])


def encode(labels):
    """Turn verdicts into numbers of outcomes by exact comparison; also count foreign spellings."""
    label_of = dict(zip(GOLD_LABELS, GOLD_LABELS, strict=True)) | SYNONYMS
    codes, spellings = pd.factorize(as_objects(labels))
    outcomes = [
        label_of.get(spelling, OFF_LABEL) if str(spelling).strip() else NO_VERDICT
        for spelling in spellings
    ]
    counts = np.bincount(codes[codes >= 0], minlength=len(spellings))
    foreign = {
        str(spelling): int(count)
        for spelling, count, outcome in zip(spellings, counts, outcomes, strict=True)
        if outcome == OFF_LABEL
    }
    outcomes.append(NO_VERDICT)  # of code -1, a missing verdict
    return np.array([PREDICTED_OUTCOMES.index(name) for name in outcomes])[codes], foreign


def as_objects(labels):
    """Copy labels into an object array, shape [n], whatever they are."""
    return pd.Series(list(labels), dtype=object).to_numpy(copy=True)


def paired_labels(gold, predicted):
    """Give gold and predicted labels as object arrays of one length."""
    labelled = isinstance(gold, pd.Series) and isinstance(predicted, pd.Series)
    if labelled and not gold.index.equals(predicted.index):
        raise InputError("gold and predicted have different indices: join them by id first")
    if len(gold) != len(predicted):
        raise InputError(
            f"{len(gold)} gold labels and {len(predicted)} predictions: join them by id first"
        )
    return as_objects(gold), as_objects(predicted)


def _gold_codes(gold):
    codes, _ = encode(gold)
    unknown = np.flatnonzero(codes >= len(GOLD_LABELS))
    if len(unknown):
        raise InputError(
            f"{len(unknown)} of {len(gold)} gold labels are missing or unknown "
            f"(first: {gold[unknown[0]]!r} in row {unknown[0]}): see labels"
        )
    return codes


def _excluded(table, policy):
    """Count the rows that no primary measure sees."""
    insufficient = int(table[2].sum()) if policy["nei"] == "exclude" else 0
    conflicting = int(table[3].sum()) if policy["conflict"] == "exclude" else 0
    used = int(collapse(table, **policy).sum())
    return {
        "gold_insufficient": insufficient,
        "gold_conflicting": conflicting,
        "dropped_predictions": int(table.sum()) - used - insufficient - conflicting,
    }


def _members(values, n):
    """Each group's name and rows, in order of first occurrence."""
    if len(values) != n:
        raise InputError(f"a grouping has {len(values)} entries for {n} rows")
    names = pd.Series(list(values), dtype=object).fillna("unknown").map(str)
    return names.groupby(names, sort=False).indices


# Intervals: every resample is one draw of a table.


class _Sample:
    """Rows or clusters of rows by outcome: their table, and those of resamples."""

    def __init__(self, cells, clusters, level, n_resamples, seed):
        self.level = level
        self.reason = None
        if clusters is not None:
            clusters, self.reason = resampled_clusters(clusters, len(cells))
        self.is_clustered = clusters is not None
        tables, self.units = resampled_counts(
            cells, CELLS, clusters, n_resamples=n_resamples, seed=seed
        )
        self.tables = tables.reshape(-1, len(GOLD_LABELS), len(PREDICTED_OUTCOMES))

    def measured(self, policy):
        """Every measure with its interval under the policies."""
        return self.intervals(collapse(self.tables, **policy))

    def intervals(self, tables):
        """Wilson's for shares of independent rows, the bootstrap's for all else."""
        table = tables[0]
        draws = formulas(tables[1:])
        # Expected counts of a constant answer are no whole numbers: no Wilson interval.
        shares = _shares(table) if table.dtype.kind == "i" else {}
        intervals = {}
        for name, value in formulas(table).items():
            hits, n = shares.get(name, (0, 0))
            n = int(n)
            if n and not self.is_clustered:
                interval = wilson(int(hits), n, self.level)
            elif n and hits in (0, n):
                clusters = min(n, self.units)
                interval = wilson(clusters if hits else 0, clusters, self.level)
                interval = replace(interval, n=n, method="wilson-clusters")
            else:
                interval = percentile_interval(
                    value,
                    draws[name].round(12),  # resamples of a constant differ in the last digits
                    n or round(table.sum()),
                    level=self.level,
                    reason=UNDEFINED_REASONS[name],
                )
            intervals[name] = replace(interval, reason=interval.reason or self.reason)
        return intervals

    def constant_answers(self, policy):
        """Measures, in expectation, of answers drawn with fixed probabilities."""
        gold = collapse(self.tables, **policy).sum(-1)
        share = gold[0] / max(gold[0].sum(), 1)
        answers = {"majority": np.eye(len(share))[np.argmax(share)], "prior": share}
        return {
            name: self.intervals(gold[:, :, None] * np.append(answer, 0.0))
            for name, answer in answers.items()
        }
