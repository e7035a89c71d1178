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
        """Give one primary measure, an Interval."""
        return self.measures[measure]

    def numbers(self):
        """Give the primary measures for ``numbers.json``, the majority's beside them."""
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
    check_policies(off_label, nei, conflict)
    policy = {"off_label": off_label, "nei": nei, "conflict": conflict}
    gold, predicted = paired_labels(gold, predicted)
    rows = _gold_codes(gold, labels)
    columns, foreign = encode(predicted, labels)
    cells = rows * len(PREDICTED_OUTCOMES) + columns
    codes = None if clusters is None else cluster_codes(clusters, len(rows))
    scorer = _Scorer(codes, policy, level, n_resamples, seed)
    sample = scorer.resampled(cells)
    table = sample.tables[0]
    policies = {name: scorer.measured(sample, off_label=name) for name in OFF_LABEL_POLICIES}
    measured_groups = {}
    documented_groups = {}
    for name, values in (groups or {}).items():
        measured_groups[name] = {}
        documented_groups[name] = {}
        for group, members in _members(values, len(gold)):
            documented = documented_metrics(gold[members], predicted[members])
            documented_groups[name][group] = documented
            measured_groups[name][group] = scorer.measured(scorer.resampled(cells, members))
    parity = {name: documented_metrics(gold, predicted, name) for name in BEHAVIOURS}
    parity["groups"] = documented_groups
    return Scores(
        n=len(rows),
        policy=policy,
        counts=pd.DataFrame(table, index=list(GOLD_LABELS), columns=list(PREDICTED_OUTCOMES)),
        measures=policies[off_label],
        policies=policies,
        excluded=_excluded(table, policy),
        parse_rate=wilson(int(table[:, : len(GOLD_LABELS)].sum()), len(cells), level),
        foreign=foreign,
        baselines=scorer.constant_answers(sample)
        | scorer.further_baselines(cells, rows, baselines, labels),
        groups=measured_groups,
        parity=parity,
    )


def documented_metrics(gold, predicted, behaviour="S"):
    """Classification metrics exactly as documented, positive class SUPPORTED."""
    gold, predicted = paired_labels(gold, predicted)
    for labels in (gold, predicted):
        labels[pd.isna(labels) | (labels == "")] = NOT_SUPPORTED  # a missing verdict
    gold_positive = gold == SUPPORTED
    predicted_positive = predicted == SUPPORTED
    if behaviour == "S":  # other labels stand in no cell
        gold_negative = gold == NOT_SUPPORTED
        predicted_negative = predicted == NOT_SUPPORTED
    else:
        gold_negative = ~gold_positive
        predicted_negative = ~predicted_positive
    correct = (gold == predicted) & (gold_positive | gold_negative)
    tp = int((gold_positive & predicted_positive).sum())
    tn = int((gold_negative & predicted_negative).sum())
    fp = int((gold_negative & predicted_positive).sum())
    fn = int((gold_positive & predicted_negative).sum())
    precision = _or_zero(tp, tp + fp)
    recall = _or_zero(tp, tp + fn)
    return {
        "tp": tp,
        "tn": tn,
        "fp": fp,
        "fn": fn,
        "n": len(gold),
        "accuracy": _or_zero(int(correct.sum()), len(gold)),
        "precision": precision,
        "recall": recall,
        "f1": _or_zero(2 * precision * recall, precision + recall),
    }


def _or_zero(above, below):
    return above / below if below else 0.0


# Tables of counts, policies that collapse them to classes, and the formulas.


def collapse(table, *, off_label="wrong", nei="exclude", conflict="exclude"):
    """Collapse tables of outcomes to classes under explicit policies."""
    check_policies(off_label, nei, conflict)
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


def check_policies(off_label, nei, conflict):
    """Raise InputError unless the three policies are known ones."""
    check_choice("off_label policy", off_label, OFF_LABEL_POLICIES)
    check_choice("nei policy", nei, CLASS_POLICIES)
    check_choice("conflict policy", conflict, CLASS_POLICIES)


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
    spread = (n**2 - (columns**2).sum(-1)) * (n**2 - (gold**2).sum(-1))
    covariance = hit.sum(-1) * n - (predicted * gold).sum(-1)
    measures = {name: _ratio(hits, rows) for name, (hits, rows) in _shares(T).items()}
    for position, name in enumerate(["f1_binary", "f1_not_supported", "f1_insufficient"][:k]):
        measures[name] = f1[..., position]
    measures["balanced_accuracy"] = _ratio(hit, gold).mean(-1)
    measures["mcc"] = _ratio(covariance, np.sqrt(np.maximum(spread, 0)))
    measures["f1_macro"] = f1.mean(-1) * np.where((gold > 0).all(-1), 1.0, np.nan)
    return {name: measures[name] for name in UNDEFINED_REASONS if name in measures}


def _shares(T):
    """Numerator and denominator of the measures that are shares of rows."""
    hit = np.diagonal(T, axis1=-2, axis2=-1)
    gold = T.sum(-1)
    predicted = T.sum(-2)
    return {
        "accuracy": (hit.sum(-1), T.sum((-1, -2))),
        "precision": (hit[..., 0], predicted[..., 0]),
        "recall": (hit[..., 0], gold[..., 0]),
        "precision_not_supported": (hit[..., 1], predicted[..., 1]),
        "recall_not_supported": (hit[..., 1], gold[..., 1]),
    }


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


def encode(labels, vocabulary=None):
    """Turn verdicts into numbers of outcomes by exact comparison; also count foreign spellings."""
    label_of = dict(zip(GOLD_LABELS, GOLD_LABELS, strict=True)) | SYNONYMS | (vocabulary or {})
    for spelling, name in label_of.items():
        if name not in GOLD_LABELS:
            raise InputError(
                f"label {spelling!r} is mapped to {name!r}: use {', '.join(GOLD_LABELS)}"
            )
    codes, spellings = pd.factorize(as_objects(labels))
    counts = np.bincount(codes[codes >= 0], minlength=len(spellings))
    outcomes = []
    foreign = {}
    for spelling, count in zip(spellings, counts, strict=True):
        if isinstance(spelling, str) and not spelling.strip():
            outcome = NO_VERDICT
        else:
            outcome = label_of.get(spelling, OFF_LABEL)
        if outcome == OFF_LABEL:
            foreign[str(spelling)] = int(count)
        outcomes.append(PREDICTED_OUTCOMES.index(outcome))
    outcomes.append(PREDICTED_OUTCOMES.index(NO_VERDICT))  # of code -1, a missing verdict
    return np.array(outcomes, dtype=np.int64)[codes], foreign


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


def _gold_codes(gold, labels):
    codes, _ = encode(gold, labels)
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
    names = pd.Series(
        ["unknown" if pd.isna(value) else str(value) for value in values], dtype=object
    )
    return names.groupby(names, sort=False).indices.items()


# Intervals: every resample is one draw of a table.


@dataclass(frozen=True)
class _Sample:
    """Tables of outcomes, the sample's and then its resamples', of `units` rows or clusters."""

    tables: np.ndarray
    units: int
    clustered: bool
    reason: str | None


@dataclass(frozen=True)
class _Scorer:
    """Measures with intervals under one set of policies."""

    clusters: np.ndarray | None
    policy: dict
    level: float
    n_resamples: int
    seed: int

    def resampled(self, cells, rows=slice(None)):
        """Count the outcomes of some rows, and of their resamples."""
        cells = cells[rows]
        clusters = None
        reason = None
        if self.clusters is not None:
            clusters, reason = resampled_clusters(self.clusters[rows], len(cells))
        tables, units = resampled_counts(
            cells, CELLS, clusters, n_resamples=self.n_resamples, seed=self.seed
        )
        tables = tables.reshape(-1, len(GOLD_LABELS), len(PREDICTED_OUTCOMES))
        return _Sample(tables, units, clusters is not None, reason)

    def measured(self, sample, off_label=None):
        """Give every measure with its interval, under the policies or another for off-label."""
        policy = self.policy if off_label is None else self.policy | {"off_label": off_label}
        return self.intervals(collapse(sample.tables, **policy), sample)

    def intervals(self, tables, sample):
        """Wilson's for shares of independent rows, the bootstrap's for all else."""
        table = tables[0]
        # Without the last digits, in which the resamples of a constant differ.
        draws = {name: values.round(12) for name, values in formulas(tables[1:]).items()}
        # Expected counts of a constant answer are no whole numbers: no Wilson interval.
        shares = _shares(table) if table.dtype.kind == "i" else {}
        intervals = {}
        for name, value in formulas(table).items():
            hits, n = map(int, shares.get(name, (0, 0)))
            if n and not sample.clustered:
                interval = wilson(hits, n, self.level)
            elif n and hits in (0, n):
                clusters = min(n, sample.units)
                interval = wilson(clusters if hits else 0, clusters, self.level)
                interval = replace(interval, n=n, method="wilson-clusters")
            else:
                interval = percentile_interval(
                    value,
                    draws[name],
                    n or round(table.sum()),
                    level=self.level,
                    reason=UNDEFINED_REASONS[name],
                )
            if not interval.reason:
                interval = replace(interval, reason=sample.reason)
            intervals[name] = interval
        return intervals

    def constant_answers(self, sample):
        """Give, in expectation, the measures of answers drawn with fixed probabilities."""
        gold = collapse(sample.tables, **self.policy).sum(-1)
        share = gold[0] / max(gold[0].sum(), 1)
        answers = {"majority": np.eye(len(share))[np.argmax(share)], "prior": share}
        return {
            name: self.intervals(gold[:, :, None] * np.append(answer, 0.0), sample)
            for name, answer in answers.items()
        }

    def further_baselines(self, cells, rows, baselines, labels):
        """Give the measures of further baselines, on the rows that count for the system."""
        scored = collapse_cells(**self.policy).any((1, 2))[cells]
        off_label = self.policy["off_label"].replace("drop", "wrong")
        measures = {}
        for name, predicted in (baselines or {}).items():
            _, predicted = paired_labels(rows, predicted)
            columns, _ = encode(predicted, labels)
            sample = self.resampled(rows * len(PREDICTED_OUTCOMES) + columns, scored)
            measures[name] = self.measured(sample, off_label=off_label)
        return measures
