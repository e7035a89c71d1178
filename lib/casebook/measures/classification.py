"""Scores of verdicts: as documented, and with outcomes, policies and intervals."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference import counts
from casebook.inference.intervals import Interval
from casebook.inference.proportions import wilson
from casebook.inference.samples import check_choice
from casebook.measures import confusion
from casebook.measures.auroc import auroc
from casebook.measures.confusion import GOLD, NOT_SUPPORTED, OUTCOMES, SUPPORTED

__all__ = ["Scores", "auroc", "documented_metrics", "score_predictions"]

BEHAVIOURS = ("S", "L")
UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Scores:
    """What `score_predictions` found.

    Attributes
    ----------
    n : int
        Rows, none left out.
    policy : dict of str
        The policies of the primary measures: off_label, nei, conflict.
    counts : pandas.DataFrame, shape [4, 6]
        Gold labels by outcomes before any collapse.
    measures : dict of Interval
        Primary measures by name.
    policies : dict of dict of Interval
        The same under each off-label policy.
    excluded : dict of int
        Gold rows that the policies for INSUFFICIENT and CONFLICTING leave out, and
        rows without a class that ``drop`` leaves out.
    parse_rate : Interval
        Share of predictions that are one of the four labels.
    foreign : dict of int
        Off-label spellings and how often each occurs.
    baselines : dict of dict of Interval
        Majority, prior and given predictions, under the primary policies.
    groups : dict of dict of dict of Interval
        Grouping to group to measure.
    parity : dict of dict
        Documented metrics by behaviour, ``"S"`` and ``"L"``, and with groupings under
        ``"groups"``.
    """

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

    def numbers(self, control="majority"):
        """Give the primary measures for ``numbers.json``.

        Parameters
        ----------
        control : str
            Which baseline stands beside each measure.

        Returns
        -------
        dict
            {measure: {"value", "ci", "n", "control", "reason"}}.
        """
        beside = self.baselines.get(control, {})
        return {
            name: {
                "value": found.estimate,
                "ci": [found.low, found.high],
                "n": found.n,
                "control": beside[name].estimate if name in beside else None,
                "reason": found.reason,
            }
            for name, found in self.measures.items()
        }


def documented_metrics(gold, predicted, behaviour="S"):
    """Classification metrics exactly as documented, positive class SUPPORTED.

    Parameters
    ----------
    gold, predicted : array_like of str, shape [n]
        Labels, compared exactly. A missing one counts as NOT_SUPPORTED, as documented.
    behaviour : {"S", "L"}
        ``S``: a row is counted only if both labels are SUPPORTED or NOT_SUPPORTED, but
        stays in the denominator of accuracy. ``L``: whatever is not SUPPORTED is
        negative, and accuracy is the share of equal strings.

    Returns
    -------
    dict
        tp, tn, fp, fn, n; accuracy, precision, recall, f1, where a zero denominator
        gives 0 as documented.

    Raises
    ------
    InputError
        If the lengths differ or the behaviour is unknown.
    """
    check_choice("behaviour", behaviour, BEHAVIOURS)
    gold, predicted = _paired(gold, predicted)
    codes, spellings = confusion.factorise(np.concatenate([gold, predicted]))
    roles = [_role(spelling) for spelling in spellings] + [1]
    role = np.array(roles, dtype=np.int64)[codes]
    missing = (codes < 0) | (role == 1)
    same = np.where(missing, -1, codes).reshape(2, -1)
    return _documented(role.reshape(2, -1), (same[0] == same[1]).sum(), behaviour)


def _role(spelling):
    return {SUPPORTED: 0, NOT_SUPPORTED: 1, "": 1}.get(spelling, 2)


def _documented(role, equal, behaviour):
    """Count by role: 0 SUPPORTED, 1 NOT_SUPPORTED, 2 any other string."""
    n = role.shape[1]
    table = np.bincount(role[0] * 3 + role[1], minlength=9).reshape(3, 3)
    if behaviour == "L":
        table = np.array(
            [
                [table[0, 0], table[0, 1:].sum()],
                [table[1:, 0].sum(), table[1:, 1:].sum()],
            ]
        )
    tp, fn, fp, tn = (int(x) for x in table[:2, :2].ravel())
    accuracy = int(equal) if behaviour == "L" else tp + tn
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "tp": tp,
        "tn": tn,
        "fp": fp,
        "fn": fn,
        "n": n,
        "accuracy": accuracy / n if n else 0.0,
        "precision": precision,
        "recall": recall,
        "f1": f1,
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
    n_boot=1000,
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
        Policies of the primary measures, as for `casebook.measures.confusion.collapse`.
    clusters : array_like, shape [n], optional
        What belongs together (source page, question); whole clusters are resampled.
    groups : dict of array_like, optional
        Groupings such as category, difficulty, hops; a missing name is "unknown".
    baselines : dict of array_like, optional
        Predictions of further baselines, such as a claim-only model.
    level, n_boot, seed
        Of the intervals: Wilson's for shares of independent rows, else bootstrap.

    Returns
    -------
    Scores
        Documented and corrected measures; every one with n, interval and reason.

    Raises
    ------
    InputError
        If the lengths differ, a gold label is missing or unknown, or a policy is.
    """
    confusion.check_policies(off_label, nei, conflict)
    gold, predicted = _paired(gold, predicted)
    rows = _gold_codes(gold, labels)
    columns, foreign = confusion.encode(predicted, labels)
    policy = {"off_label": off_label, "nei": nei, "conflict": conflict}
    options = {"level": level, "n_boot": n_boot, "seed": seed}
    scorer = _Scorer(rows, clusters, policy, options)
    cells = rows * len(OUTCOMES) + columns
    units = scorer.units(cells)
    table = units.table.reshape(len(GOLD), len(OUTCOMES))
    draws = counts.resample_counts(units, n_boot=n_boot, seed=seed)
    policies = {
        name: scorer.measured(units.table, draws, off_label=name)
        for name in confusion.OFF_LABEL_POLICIES
    }
    return Scores(
        n=len(rows),
        policy=policy,
        counts=pd.DataFrame(table, index=list(GOLD), columns=list(OUTCOMES)),
        measures=policies[off_label],
        policies=policies,
        excluded=_excluded(table, policy),
        parse_rate=wilson(int(table[:, : len(GOLD)].sum()), len(rows), level),
        foreign=foreign,
        baselines=scorer.baselines(units.table, draws, baselines, labels),
        groups={
            name: scorer.grouped(cells, values)
            for name, values in (groups or {}).items()
        },
        parity=_parity(gold, predicted, groups),
    )


def _paired(gold, predicted):
    """Give both as object arrays of one length; series must share their index."""
    labelled = isinstance(gold, pd.Series) and isinstance(predicted, pd.Series)
    if labelled and not gold.index.equals(predicted.index):
        raise InputError(
            "gold and predicted have different indices: join them by id first"
        )
    if len(gold) != len(predicted):
        raise InputError(
            f"{len(gold)} gold labels and {len(predicted)} predictions: lengths must "
            "be equal; join them by id first"
        )
    return confusion.as_objects(gold), confusion.as_objects(predicted)


def _gold_codes(gold, labels):
    codes, foreign = confusion.encode(gold, labels)
    bad = np.flatnonzero(codes >= len(GOLD))
    if len(bad):
        named = ", ".join(f"{s!r} ({c})" for s, c in list(foreign.items())[:5])
        raise InputError(
            f"{len(bad)} of {len(gold)} gold labels are missing or unknown (first: row "
            f"{bad[0]}){': ' + named if named else ''}; name their meaning in labels, "
            f"which are {', '.join(GOLD)}"
        )
    return codes


def _excluded(table, policy):
    """Count the rows that no primary measure sees."""
    left_out = {
        "gold_insufficient": 2 if policy["nei"] == "exclude" else None,
        "gold_conflicting": 3 if policy["conflict"] == "exclude" else None,
    }
    found = {
        name: int(table[row].sum()) if row is not None else 0
        for name, row in left_out.items()
    }
    used = confusion.collapse(table, **policy).sum()
    dropped = int(table.sum() - used) - sum(found.values())
    return found | {"dropped_predictions": dropped}


def _parity(gold, predicted, groups):
    found = {b: documented_metrics(gold, predicted, b) for b in BEHAVIOURS}
    return found | {
        "groups": {
            name: {
                group: documented_metrics(gold[rows], predicted[rows])
                for group, rows in _members(values, len(gold))
            }
            for name, values in (groups or {}).items()
        }
    }


def _members(values, n):
    """Yield each group's name and rows, in order of first occurrence."""
    if len(values) != n:
        raise InputError(f"a grouping has {len(values)} entries for {n} rows")
    values = confusion.as_objects(values)
    values[pd.isna(values)] = UNKNOWN
    codes, names = confusion.factorise(values)
    for code, name in enumerate(names):
        yield str(name), np.flatnonzero(codes == code)


class _Scorer:
    """Measures with intervals under one set of policies."""

    def __init__(self, gold, clusters, policy, options):
        self.gold, self.policy, self.options = gold, policy, options
        self.clusters = clusters
        if clusters is not None:
            self.clusters = counts.cluster_codes(clusters, len(gold))

    def units(self, cells, rows=slice(None)):
        """Count the cells of some rows, cluster by cluster if there are any."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return counts.unit_counts(cells[rows], confusion.CELLS, clusters)

    def measured(self, table, draws, **changes):
        """Give every measure of one table of counts with its interval."""
        policy, shape = self.policy | changes, (-1, len(GOLD), len(OUTCOMES))
        flat = confusion.collapse(np.reshape(table, shape)[0], **policy)
        resampled = confusion.collapse(draws.reshape(shape), **policy)
        values, spread = confusion.formulas(flat), confusion.formulas(resampled)
        # Expected counts of a blind baseline are no whole numbers: no Wilson interval.
        counted = self.clusters is None and flat.dtype.kind == "i"
        shares = _shares(flat) if counted else {}
        return {
            name: wilson(*shares[name], self.options["level"])
            if name in shares and shares[name][1]
            else counts.percentile_interval(
                values[name],
                spread[name],
                round(flat.sum()),
                level=self.options["level"],
                reason=confusion.REASONS[name],
            )
            for name in values
        }

    def grouped(self, cells, values):
        """Give the primary measures of every group."""
        n_boot, seed = self.options["n_boot"], self.options["seed"]
        found = {}
        for name, rows in _members(values, len(cells)):
            units = self.units(cells, rows)
            draws = counts.resample_counts(units, n_boot=n_boot, seed=seed)
            found[name] = self.measured(units.table, draws)
        return found

    def baselines(self, table, draws, given, labels):
        """Give the measures of predictions that do not look at the evidence."""
        shape = (-1, len(GOLD), len(OUTCOMES))
        gold = np.reshape(table, shape)[0].sum(-1)
        share = gold / max(gold.sum(), 1)
        majority = np.eye(len(GOLD))[np.argmax(gold)]
        marginals = draws.reshape(shape).sum(-1)
        found = {
            name: self._blind(gold, marginals, answer)
            for name, answer in (("majority", majority), ("prior", share))
        }
        for name, predicted in (given or {}).items():
            _, predicted = _paired(self.gold, predicted)
            columns, _ = confusion.encode(predicted, labels)
            units = self.units(self.gold * len(OUTCOMES) + columns)
            draws = counts.resample_counts(
                units, n_boot=self.options["n_boot"], seed=self.options["seed"]
            )
            found[name] = self.measured(units.table, draws)
        return found

    def _blind(self, gold, marginals, answer):
        """Score answers drawn with fixed probabilities, in expectation."""
        answer = np.concatenate([answer, [0.0, 0.0]])
        table, draws = gold[:, None] * answer, marginals[:, :, None] * answer
        return self.measured(table, draws)


def _shares(flat):
    """Numerator and denominator of the measures that are shares of rows."""
    hit, columns, gold = np.diagonal(flat), flat.sum(0), flat.sum(1)
    return {
        "accuracy": (hit.sum(), flat.sum()),
        "precision": (hit[0], columns[0]),
        "recall": (hit[0], gold[0]),
        "precision_not_supported": (hit[1], columns[1]),
        "recall_not_supported": (hit[1], gold[1]),
    }
