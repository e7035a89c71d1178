"""Scores of verdicts: as documented, and with outcomes, policies and intervals."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures import confusion, verdict_labels
from casebook.measures.classification_documented import BEHAVIOURS, documented_metrics
from casebook.measures.classification_scorer import VerdictScorer, members
from casebook.measures.verdict_labels import GOLD, OUTCOMES
from casebook.stats.intervals import Interval, wilson

__all__ = ["Scores", "documented_metrics", "score_predictions"]


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

    def numbers(self, control="majority"):
        """Give the primary measures for ``numbers.json``."""
        beside = self.baselines.get(control, {})
        return {
            name: found.number(beside[name].estimate if name in beside else None)
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
    gold, predicted = verdict_labels.paired_labels(gold, predicted)
    rows = _gold_codes(gold, labels)
    columns, foreign = verdict_labels.encode(predicted, labels)
    policy = {"off_label": off_label, "nei": nei, "conflict": conflict}
    options = {"level": level, "n_boot": n_boot, "seed": seed}
    scorer = VerdictScorer(rows, clusters, policy, options)
    cells = rows * len(OUTCOMES) + columns
    return Scores(
        n=len(rows),
        policy=policy,
        foreign=foreign,
        groups=scorer.grouped(cells, groups or {}),
        parity=_parity(gold, predicted, groups),
        **_overall(scorer, cells, baselines, labels),
    )


def _overall(scorer, cells, baselines, labels):
    """Score all rows together: every field of the scores that one table decides."""
    units = scorer.units(cells)
    table = units.table.reshape(len(GOLD), len(OUTCOMES))
    draws = scorer.resampled(units)
    policies = scorer.under_policies(units, draws)
    parsed = int(table[:, : len(GOLD)].sum())
    return {
        "counts": pd.DataFrame(table, index=list(GOLD), columns=list(OUTCOMES)),
        "measures": policies[scorer.policy["off_label"]],
        "policies": policies,
        "excluded": _excluded(table, scorer.policy),
        "parse_rate": wilson(parsed, len(cells), scorer.options["level"]),
        "baselines": scorer.baselines(cells, units.table, draws, baselines, labels),
    }


def _gold_codes(gold, labels):
    codes, foreign = verdict_labels.encode(gold, labels)
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
    found = {name: int(table[row].sum()) if row is not None else 0 for name, row in left_out.items()}
    used = confusion.collapse(table, **policy).sum()
    dropped = int(table.sum() - used) - sum(found.values())
    return found | {"dropped_predictions": dropped}


def _parity(gold, predicted, groups):
    found = {b: documented_metrics(gold, predicted, b) for b in BEHAVIOURS}
    return found | {
        "groups": {
            name: {group: documented_metrics(gold[rows], predicted[rows]) for group, rows in members(values, len(gold))}
            for name, values in (groups or {}).items()
        }
    }
