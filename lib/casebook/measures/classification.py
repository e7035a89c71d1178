"""Verdicts against gold labels: as documented, and with outcomes, policies and intervals; AUROC.

The table of counts keeps every outcome apart: four gold labels by six predicted outcomes. All
measures are functions of it, so that a million predictions cost one count and every bootstrap
resample is one draw of 24 numbers. (scikit-learn scores one sample of labels at a time; its
functions are what the tests compare with.)
"""

import math
from collections import namedtuple
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

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
from casebook.verdicts import INTERVAL_BY_UNIT, NO_UNIT_DIFFERS

SUPPORTED, NOT_SUPPORTED = "SUPPORTED", "NOT_SUPPORTED"
INSUFFICIENT, CONFLICTING = "INSUFFICIENT", "CONFLICTING"
OFF_LABEL, NO_VERDICT = "off_label", "no_verdict"
GOLD = (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT, CONFLICTING)
OUTCOMES = (*GOLD, OFF_LABEL, NO_VERDICT)
CELLS = len(GOLD) * len(OUTCOMES)
SYNONYMS = {"INSUFFICIENT_EVIDENCE": INSUFFICIENT}
BEHAVIOURS = ("S", "L")
OFF_LABEL_POLICIES = ("wrong", "drop", "negative")
CLASS_POLICIES = ("exclude", "negative", "three_class")
REASONS = {
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
    """What `score_predictions` found."""

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
        return {
            name: found.number(self.baselines["majority"][name].estimate)
            for name, found in self.measures.items()
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
    cells = rows * len(OUTCOMES) + columns
    scorer = _Scorer(
        None if clusters is None else cluster_codes(clusters, len(rows)),
        policy,
        level,
        n_resamples,
        seed,
    )
    counted = scorer.resampled(cells)
    table = counted[0][0]
    policies = {name: scorer.measured(*counted, off_label=name) for name in OFF_LABEL_POLICIES}
    measured, documented = {}, {}
    for name, values in (groups or {}).items():
        members = _members(values, len(gold))
        measured[name] = {
            group: scorer.measured(*scorer.resampled(cells, own)) for group, own in members
        }
        documented[name] = {
            group: documented_metrics(gold[own], predicted[own]) for group, own in members
        }
    return Scores(
        n=len(rows),
        policy=policy,
        counts=pd.DataFrame(table, index=list(GOLD), columns=list(OUTCOMES)),
        measures=policies[off_label],
        policies=policies,
        excluded=_excluded(table, policy),
        parse_rate=wilson(int(table[:, : len(GOLD)].sum()), len(cells), level),
        foreign=foreign,
        baselines=scorer.blind(*counted) | scorer.given(cells, rows, baselines, labels),
        groups=measured,
        parity={b: documented_metrics(gold, predicted, b) for b in BEHAVIOURS}
        | {"groups": documented},
    )


def documented_metrics(gold, predicted, behaviour="S"):
    """Classification metrics exactly as documented, positive class SUPPORTED."""
    gold, predicted = paired_labels(gold, predicted)
    for labels in (gold, predicted):
        labels[pd.isna(labels) | (labels == "")] = NOT_SUPPORTED  # a missing verdict
    gold_s, said_s = gold == SUPPORTED, predicted == SUPPORTED
    gold_n, said_n = ~gold_s, ~said_s
    right = gold == predicted
    if behaviour == "S":  # other labels stand in no cell
        gold_n, said_n = gold == NOT_SUPPORTED, predicted == NOT_SUPPORTED
        right = right & (gold_s | gold_n)
    cells = {
        "tp": gold_s & said_s,
        "tn": gold_n & said_n,
        "fp": gold_n & said_s,
        "fn": gold_s & said_n,
    }
    found = {name: int(cell.sum()) for name, cell in cells.items()} | {"n": len(gold)}
    precision = _or_zero(found["tp"], found["tp"] + found["fp"])
    recall = _or_zero(found["tp"], found["tp"] + found["fn"])
    f1 = _or_zero(2 * precision * recall, precision + recall)
    accuracy = _or_zero(int(right.sum()), len(gold))
    return found | {"accuracy": accuracy, "precision": precision, "recall": recall, "f1": f1}


def _or_zero(above, below):
    return above / below if below else 0.0


def auroc(positive, scores, against=None, *, level=0.95, clusters=None):
    """Probability that a positive scores above a negative, ties counting half; its interval is on the logit scale.

    With `against`, the AUROC of the scores minus that of others on the same units, with Student's interval.
    """
    positive = np.asarray(positive, dtype=bool)
    alone = against is None
    scored = np.array([scores] if alone else [scores, against], dtype=float)
    n = len(positive)
    if not np.isfinite(scored).all():
        raise InputError(f"{(~np.isfinite(scored)).sum()} scores are not finite")
    by_unit = clusters is None
    clusters, why = resampled_clusters(clusters, n)
    method = ("delong" if clusters is None else "obuchowski") + ("-logit" if alone else "-t")

    def interval(value, low=None, high=None, reason=None):
        return Interval(value, low, high, level, n, method, reason)

    if positive.all() or not positive.any():
        return interval(None, reason="class_without_gold")
    placed = [_placements(positive, scores) for scores in scored]
    above, below = placed[0] if alone else (one - other for one, other in zip(*placed, strict=True))
    value = float(above.mean())
    if not alone and not above.any() and not below.any():
        return interval(0.0, reason=NO_UNIT_DIFFERS)
    if why == "fewer_than_six_units" and not (alone and by_unit):
        return interval(value, reason=why)
    codes = np.arange(n) if clusters is None else cluster_codes(clusters, n)
    reason = why if why == INTERVAL_BY_UNIT else None
    variance = _variance(value, above, below, codes[positive], codes[~positive])
    if variance is None:
        return interval(value, reason="fewer_than_two_clusters")
    if not alone:
        half = special.stdtrit(len(np.unique(codes)) - 1, (1 + level) / 2) * math.sqrt(variance)
        return interval(value, max(value - half, -1.0), min(value + half, 1.0), reason)
    if not variance or value in (0.0, 1.0):
        return interval(value, reason="no_variation")
    half = special.ndtri((1 + level) / 2) * math.sqrt(variance) / (value * (1 - value))
    low, high = special.expit(special.logit(value) + np.array([-half, half]))
    return interval(value, float(low), float(high), reason)


def _placements(positive, scores):
    """Share of the other class that each positive beats, and that each negative loses to."""
    x = scores[positive]
    y = scores[~positive]
    return mid_ranks(y, x) / len(y), 1 - mid_ranks(x, y) / len(x)


def mid_ranks(others, values):
    """How many of the others each value exceeds, equal ones counting half."""
    ordered = np.sort(others)
    left = np.searchsorted(ordered, values, "left")
    return (left + np.searchsorted(ordered, values, "right")) / 2


def _variance(area, above, below, positive_codes, negative_codes):
    """Obuchowski's variance; None if a class lies in fewer than two clusters."""
    m = len(above)
    n = len(below)
    in_x = np.unique(positive_codes)
    in_y = np.unique(negative_codes)
    if len(in_x) < 2 or len(in_y) < 2:
        return None
    size = max(positive_codes.max(), negative_codes.max()) + 1
    x = np.bincount(positive_codes, above - area, minlength=size) / m
    y = np.bincount(negative_codes, below - area, minlength=size) / n
    pairs = [(x, x, in_x), (y, y, in_y), (x, 2 * y, np.union1d(in_x, in_y))]
    variance = sum(
        one @ other * len(clusters) / (len(clusters) - 1) for one, other, clusters in pairs
    )
    # Shared clusters can cancel all variance; rounding then leaves less than nothing.
    return max(0.0, float(variance))


# Tables of counts, policies that collapse them to classes, and the formulas.


def collapse(table, *, off_label="wrong", nei="exclude", conflict="exclude"):
    """Collapse tables of outcomes to classes under explicit policies."""
    check_policies(off_label, nei, conflict)
    k = 2 + ("three_class" in (nei, conflict))
    dropped = -1
    place = {"exclude": dropped, "negative": 1, "three_class": 2}
    gold = np.array([0, 1, place[nei], place[conflict]])
    elsewhere = {"wrong": k, "negative": 1, "drop": dropped}[off_label]
    answers = np.append(np.where(gold == dropped, elsewhere, gold), [elsewhere] * 2)
    rows = np.arange(k)[:, None] == gold
    columns = answers[:, None] == np.arange(k + 1)
    return rows.astype(np.int64) @ np.asarray(table) @ columns.astype(np.int64)


def collapse_cells(**policy):
    """Collapse, for every cell of the table of outcomes, the table that has one row there."""
    return collapse(np.eye(CELLS, dtype=int).reshape(-1, len(GOLD), len(OUTCOMES)), **policy)


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
    found = {name: _ratio(*parts) for name, parts in _shares(T).items()}
    names = ("f1_binary", "f1_not_supported", "f1_insufficient")
    found |= dict(zip(names, np.moveaxis(f1, -1, 0), strict=False))
    found["balanced_accuracy"] = _ratio(hit, gold).mean(-1)
    found["mcc"] = _ratio(covariance, np.sqrt(np.maximum(spread, 0)))
    found["f1_macro"] = f1.mean(-1) * np.where((gold > 0).all(-1), 1.0, np.nan)
    return {name: found[name] for name in REASONS if name in found}


def _shares(T):
    """Numerator and denominator of the measures that are shares of rows."""
    hit = np.diagonal(T, axis1=-2, axis2=-1)
    gold = T.sum(-1)
    columns = T.sum(-2)
    found = {"accuracy": (hit.sum(-1), T.sum((-1, -2)))}
    for place, label in enumerate(("", "_not_supported")):
        found[f"precision{label}"] = hit[..., place], columns[..., place]
        found[f"recall{label}"] = hit[..., place], gold[..., place]
    return found


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
    """Turn verdicts into outcome numbers by exact, case-sensitive comparison; count foreign spellings."""
    known = dict(zip(GOLD, GOLD, strict=True)) | SYNONYMS | (vocabulary or {})
    for spelling, name in known.items():
        if name not in GOLD:
            raise InputError(f"label {spelling!r} is mapped to {name!r}: use {', '.join(GOLD)}")
    codes, spellings = pd.factorize(as_objects(labels))
    outcomes = [
        NO_VERDICT
        if isinstance(spelling, str) and not spelling.strip()
        else known.get(spelling, OFF_LABEL)
        for spelling in spellings
    ]
    counts = np.bincount(codes[codes >= 0], minlength=len(spellings))
    foreign = {
        str(s): int(n)
        for s, n, o in zip(spellings, counts, outcomes, strict=True)
        if o == OFF_LABEL
    }
    numbers = [OUTCOMES.index(outcome) for outcome in (*outcomes, NO_VERDICT)]
    return np.array(numbers, dtype=np.int64)[codes], foreign


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
    bad = np.flatnonzero(codes >= len(GOLD))
    if len(bad):
        first = f"first: {gold[bad[0]]!r} in row {bad[0]}"
        raise InputError(
            f"{len(bad)} of {len(gold)} gold labels are missing or unknown ({first}): see labels"
        )
    return codes


def _excluded(table, policy):
    """Count the rows that no primary measure sees."""
    found = {
        "gold_insufficient": int(table[2].sum()) if policy["nei"] == "exclude" else 0,
        "gold_conflicting": int(table[3].sum()) if policy["conflict"] == "exclude" else 0,
    }
    used = int(collapse(table, **policy).sum())
    return found | {"dropped_predictions": int(table.sum()) - used - sum(found.values())}


def _members(values, n):
    """Each group's name and rows, in order of first occurrence."""
    if len(values) != n:
        raise InputError(f"a grouping has {len(values)} entries for {n} rows")
    names = pd.Series(
        ["unknown" if pd.isna(value) else str(value) for value in values], dtype=object
    )
    return names.groupby(names, sort=False).indices.items()


# Intervals: every resample is one draw of a table.


#: What is resampled: how many rows or clusters, and why it is rows where there are clusters.
_Units = namedtuple("_Units", "n clustered reason")


@dataclass(frozen=True)
class _Scorer:
    """Measures with intervals under one set of policies."""

    clusters: np.ndarray | None
    policy: dict
    level: float
    n_resamples: int
    seed: int

    def resampled(self, cells, rows=slice(None)):
        """Tables of outcomes of some rows, the sample's and then its resamples', and the units that were drawn."""
        cells = cells[rows]
        clusters = reason = None
        if self.clusters is not None:
            clusters, reason = resampled_clusters(self.clusters[rows], len(cells))
        tables, units = resampled_counts(
            cells, CELLS, clusters, n_resamples=self.n_resamples, seed=self.seed
        )
        return tables.reshape(-1, len(GOLD), len(OUTCOMES)), _Units(
            units, clusters is not None, reason
        )

    def measured(self, tables, units, **changes):
        """Give every measure of some rows with its interval, under the policies."""
        return self.intervals(collapse(tables, **self.policy | changes), units)

    def intervals(self, tables, units):
        """Wilson's for shares of independent rows, the bootstrap's for all else."""
        flat, found = tables[0], {}
        # Without the last digits, in which the resamples of a constant differ.
        spread = {name: draws.round(12) for name, draws in formulas(tables[1:]).items()}
        # Expected counts of a blind baseline are no whole numbers: no Wilson interval.
        shares = _shares(flat) if flat.dtype.kind == "i" else {}
        for name, value in formulas(flat).items():
            hits, n = map(int, shares.get(name, (0, 0)))
            if n and not units.clustered:
                interval = wilson(hits, n, self.level)
            elif n and hits in (0, n):
                clusters = min(n, units.n)
                interval = wilson(clusters if hits else 0, clusters, self.level)
                interval = replace(interval, n=n, method="wilson-clusters")
            else:
                n = n or round(flat.sum())
                interval = percentile_interval(
                    value, spread[name], n, level=self.level, reason=REASONS[name]
                )
            found[name] = interval if interval.reason else replace(interval, reason=units.reason)
        return found

    def blind(self, tables, units):
        """Give, in expectation, the measures of answers drawn with fixed probabilities."""
        gold = collapse(tables, **self.policy).sum(-1)
        share = gold[0] / max(gold[0].sum(), 1)
        answers = {"majority": np.eye(len(share))[np.argmax(share)], "prior": share}
        return {
            name: self.intervals(gold[:, :, None] * np.append(answer, 0.0), units)
            for name, answer in answers.items()
        }

    def given(self, cells, rows, predictions, labels):
        """Give the measures of further baselines, on the rows that count for the system."""
        counts = collapse_cells(**self.policy).any((1, 2))[cells]
        off_label = self.policy["off_label"].replace("drop", "wrong")
        found = {}
        for name, predicted in (predictions or {}).items():
            _, predicted = paired_labels(rows, predicted)
            drawn = self.resampled(rows * len(OUTCOMES) + encode(predicted, labels)[0], counts)
            found[name] = self.measured(*drawn, off_label=off_label)
        return found
