"""Verdicts against gold labels: as documented, and with outcomes, policies and intervals.

The table of counts keeps every outcome apart: four gold labels by six predicted outcomes. All
measures are functions of it, so that a million predictions cost one count and every bootstrap
resample is one draw of 24 numbers. (scikit-learn scores one sample of labels at a time; its
functions are what the tests compare with.)
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.stats.intervals import (
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
TABLE = (len(GOLD_LABELS), len(PREDICTED_OUTCOMES))
SYNONYMS = {"INSUFFICIENT_EVIDENCE": INSUFFICIENT}
OFF_LABEL_POLICIES = ("wrong", "drop", "negative")
CLASS_POLICIES = ("exclude", "negative", "three_class")
DROPPED = -1
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


class Scores(SimpleNamespace):
    """Measures of `score_predictions`, with counts, baselines and groups."""

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
    rows = outcomes_of(gold).codes
    unknown = np.flatnonzero(rows >= len(GOLD_LABELS))
    if len(unknown):
        raise InputError(
            f"{len(unknown)} of {len(gold)} gold labels are missing or unknown "
            f"(first: {gold[unknown[0]]!r} in row {unknown[0]}): use {', '.join(GOLD_LABELS)}"
        )
    columns = outcomes_of(predicted).codes
    clusters = None if clusters is None else np.asarray(clusters, dtype=object)

    def sampled(columns, members=slice(None)):
        cells = len(PREDICTED_OUTCOMES) * rows[members] + columns[members]
        of_members = None if clusters is None else clusters[members]
        return _Sample(cells, of_members, level, n_resamples, seed)

    sample = sampled(columns)
    table = sample.tables[0]
    counts = pd.DataFrame(table, list(GOLD_LABELS), list(PREDICTED_OUTCOMES))
    answers = sample.constant_answers(policy)
    # Further baselines are scored on the rows that count for the system.
    counted = pd.notna(right_of(rows, columns, **policy))
    without_drops = policy | {"off_label": off_label.replace("drop", "wrong")}
    for name, answer in (baselines or {}).items():
        _, answer = paired_labels(gold, answer)
        answers[name] = sampled(outcomes_of(answer).codes, counted).measured(
            without_drops
        )
    parity = {
        "S": documented_metrics(gold, predicted),
        "L": documented_metrics(gold, predicted, "L"),
        "groups": {},
    }
    measures_of_groups = {}
    for grouping, names in (groups or {}).items():
        if len(names) != len(gold):
            raise InputError(
                f"a grouping has {len(names)} entries for {len(gold)} rows"
            )
        names = pd.Series(list(names), dtype=object).fillna("unknown").map(str)
        documented = parity["groups"][grouping] = {}
        measured = measures_of_groups[grouping] = {}
        for name, part in names.groupby(names, sort=False).indices.items():
            documented[name] = documented_metrics(gold[part], predicted[part])
            measured[name] = sampled(columns, part).measured(policy)
    excluded = {"gold_insufficient": 0, "gold_conflicting": 0}
    if nei == "exclude":
        excluded["gold_insufficient"] = int(table[2].sum())
    if conflict == "exclude":
        excluded["gold_conflicting"] = int(table[3].sum())
    n_left_out = int((~counted).sum())
    excluded["dropped_predictions"] = n_left_out - sum(excluded.values())
    n_parsed = int(table[:, : len(GOLD_LABELS)].sum())
    foreign = pd.Series(predicted[columns == 4]).map(str)
    return Scores(
        n=len(rows),
        policy=policy,
        counts=counts,
        measures=sample.measured(policy),
        excluded=excluded,
        parse_rate=wilson(n_parsed, len(rows), level),
        foreign=foreign.value_counts(sort=False).to_dict(),
        baselines=answers,
        groups=measures_of_groups,
        parity=parity,
    )


def documented_metrics(gold, predicted, behaviour="S"):
    """Classification metrics exactly as documented, positive class SUPPORTED."""
    gold, predicted = paired_labels(gold, predicted)
    pairs = pd.DataFrame({"gold": gold, "said": predicted})
    n = len(pairs)
    if behaviour == "S":  # another label, or none, is in no cell
        pairs = pairs[pairs.isin([SUPPORTED, NOT_SUPPORTED]).all(axis=1)]
    else:  # another label is negative, and none is NOT_SUPPORTED
        pairs = pairs.mask(pairs == "").fillna(NOT_SUPPORTED)
    truth = pairs["gold"] == SUPPORTED
    said = pairs["said"] == SUPPORTED
    tn, fp, fn, tp = np.bincount(2 * truth + said, minlength=4).tolist()
    n_equal = int((pairs["gold"] == pairs["said"]).sum())
    return {
        "tp": tp,
        "tn": tn,
        "fp": fp,
        "fn": fn,
        "n": n,
        "accuracy": n_equal / max(n, 1),
        "precision": tp / max(tp + fp, 1),
        "recall": tp / max(tp + fn, 1),
        "f1": 2 * tp / max(2 * tp + fp + fn, 1),
    }


# Policies that collapse outcomes to classes, and the formulas.


def _classes(off_label="wrong", nei="exclude", conflict="exclude"):
    """Class of each gold label and of each outcome under the policies, and how many there are."""
    check_choice("off_label policy", off_label, OFF_LABEL_POLICIES)
    check_choice("nei policy", nei, CLASS_POLICIES)
    check_choice("conflict policy", conflict, CLASS_POLICIES)
    class_of = {"exclude": DROPPED, "negative": 1, "three_class": 2}
    gold = np.array([0, 1, class_of[nei], class_of[conflict]])
    k = gold.max() + 1
    # An answer that is no class is in the column after the classes.
    no_class = {"wrong": k, "negative": 1, "drop": DROPPED}[off_label]
    answers = np.where(gold == DROPPED, no_class, gold)
    return gold, np.append(answers, [no_class, no_class]), k


def right_of(rows, columns, **policy):
    """Whether each answer is right, by the codes of gold labels and outcomes; None if left out."""
    gold, answers, _ = _classes(**policy)
    right = (gold[rows] == answers[columns]).astype(object)
    right[(gold[rows] == DROPPED) | (answers[columns] == DROPPED)] = None
    return right


def collapse(table, **policy):
    """Tables of outcomes collapsed to classes under ``off_label``, ``nei`` and ``conflict``."""
    gold, answers, k = _classes(**policy)
    rows = np.arange(k)[:, None] == gold
    columns = answers[:, None] == np.arange(k + 1)
    return rows.astype(int) @ np.asarray(table) @ columns.astype(int)


def formulas(table):
    """Every measure of one or of many collapsed tables."""
    T = np.asarray(table, dtype=float)
    k = T.shape[-2]
    hit = np.diagonal(T[..., :k], axis1=-2, axis2=-1)
    n = T.sum((-1, -2))
    gold = T.sum(-1)
    said = T.sum(-2)
    said_class = said[..., :k]
    precision = _ratio(hit, said_class)
    recall = _ratio(hit, gold)
    f1 = _ratio(2 * hit, gold + said_class)
    n_right = hit.sum(-1)
    covariance = n_right * n - (said_class * gold).sum(-1)
    spread_of_gold = n**2 - (gold**2).sum(-1)
    spread_of_said = n**2 - (said**2).sum(-1)
    spread = np.sqrt(np.maximum(spread_of_said * spread_of_gold, 0))
    measures = {
        "accuracy": _ratio(n_right, n),
        "balanced_accuracy": recall.mean(-1),
        "mcc": _ratio(covariance, spread),
        "precision": precision[..., 0],
        "recall": recall[..., 0],
        "f1_binary": f1[..., 0],
        "precision_not_supported": precision[..., 1],
        "recall_not_supported": recall[..., 1],
        "f1_not_supported": f1[..., 1],
    }
    if k == 3:
        measures["f1_insufficient"] = f1[..., 2]
    has_all = (gold > 0).all(-1)
    measures["f1_macro"] = np.where(has_all, f1.mean(-1), np.nan)
    return measures


def _ratio(above, below):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)


# Labels: which strings count as which outcome.


def outcomes_of(labels):
    """Outcomes of verdicts by exact comparison, as a categorical of `PREDICTED_OUTCOMES`."""
    codes, spellings = pd.factorize(
        pd.Series(labels, dtype=object), use_na_sentinel=False
    )
    outcomes = np.array([_outcome(spelling) for spelling in spellings], dtype=object)
    return pd.Categorical(outcomes[codes], PREDICTED_OUTCOMES)


def _outcome(label):
    if pd.isna(label) or not str(label).strip():
        return NO_VERDICT
    label = SYNONYMS.get(label, label)
    return label if label in GOLD_LABELS else OFF_LABEL


def paired_labels(gold, predicted):
    """Gold and predicted labels as object arrays of one length."""
    labelled = isinstance(gold, pd.Series) and isinstance(predicted, pd.Series)
    if labelled and not gold.index.equals(predicted.index):
        raise InputError(
            "gold and predicted have different indices: join them by id first"
        )
    if len(gold) != len(predicted):
        raise InputError(
            f"{len(gold)} gold labels and {len(predicted)} predictions: join them by id first"
        )
    return [
        pd.Series(list(labels), dtype=object).to_numpy() for labels in (gold, predicted)
    ]


# Intervals: every resample is one draw of a table.


class _Sample:
    """Rows by outcome: their table, and those of resamples of rows or of clusters."""

    def __init__(self, cells, clusters, level, n_resamples, seed):
        self.level = level
        self.reason = None
        if clusters is not None:
            clusters, self.reason = resampled_clusters(clusters, len(cells))
        tables, units = resampled_counts(
            cells, np.prod(TABLE), clusters, n_resamples=n_resamples, seed=seed
        )
        self.tables = tables.reshape(-1, *TABLE)
        self.clusters = None if clusters is None else units

    def measured(self, policy):
        """Every measure with its interval under the policies."""
        tables = collapse(self.tables, **policy)
        columns = tables[0].sum(0)
        rows = tables[0].sum(1)
        sizes_of_shares = {
            "accuracy": rows.sum(),
            "precision": columns[0],
            "recall": rows[0],
            "precision_not_supported": columns[1],
            "recall_not_supported": rows[1],
        }
        return self._intervals(tables, sizes_of_shares)

    def constant_answers(self, policy):
        """Measures, in expectation, of answers drawn with fixed probabilities."""
        gold = collapse(self.tables, **policy).sum(-1)
        share = gold[0] / max(gold[0].sum(), 1)
        most = np.zeros(len(share))
        most[np.argmax(share)] = 1.0
        found = {}
        for name, answer in {"majority": most, "prior": share}.items():
            expected = gold[:, :, None] * np.append(answer, 0.0)
            # Expected counts are no whole numbers: no Wilson interval.
            found[name] = self._intervals(expected, {})
        return found

    def _intervals(self, tables, sizes_of_shares):
        """Wilson's for shares of independent rows, the bootstrap's for all else."""
        draws = formulas(tables[1:])
        intervals = {}
        for name, value in formulas(tables[0]).items():
            n = int(sizes_of_shares.get(name, 0))
            if n and self.clusters is None:
                n_right = round(float(value * n))
                interval = wilson(n_right, n, self.level)
            elif n and value in (0, 1):
                clusters = min(n, self.clusters)
                of_clusters = wilson(clusters * int(value), clusters, self.level)
                interval = of_clusters._replace(n=n)
            else:
                n = n or round(tables[0].sum())
                # Draws of a constant differ in the last digits.
                of_draws = draws[name].round(12)
                why = UNDEFINED_REASONS[name]
                interval = percentile_interval(
                    value, of_draws, n, level=self.level, reason=why
                )
            intervals[name] = interval._replace(reason=interval.reason or self.reason)
        return intervals
