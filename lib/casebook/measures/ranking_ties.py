"""How much the order of tied documents matters to a measure.

A run that gives several documents one score leaves their order to the evaluator. The
value under the fixed rule of `casebook.measures.ranking` is then one of many; here are
the lowest, the highest and the mean over all orders, each equally likely.
"""

from dataclasses import dataclass, replace

import numpy as np

from casebook.measures.ranking import DEFAULT, load_judged, parse_measures
from casebook.measures.ranking_inputs import Accounting
from casebook.measures.ranking_names import Measure


@dataclass(frozen=True)
class TieBounds:
    """Values of some measures over all orders of tied documents."""

    query_ids: list[str]
    measures: tuple[Measure, ...]
    low: np.ndarray
    expected: np.ndarray
    actual: np.ndarray
    high: np.ndarray
    tie_mass: np.ndarray
    accounting: Accounting

    def frame(self):
        """Summarise over the queries."""
        import pandas as pd  # most callers need no frame and start faster without

        rows = {}
        for i, measure in enumerate(self.measures):
            rows[measure.name] = {
                kind: measure.summarise(getattr(self, kind)[:, i]) for kind in ("low", "expected", "actual", "high")
            }
            if measure.aggregate == "geometric":
                rows[measure.name]["expected"] = float("nan")
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("measure")


def tie_bounds(qrels, run, measures=DEFAULT, *, judged_only=False, missing="zero", no_relevant="zero"):
    """Bound the measures of a run over all orders of its tied documents."""
    parsed = parse_measures(measures)
    judged, accounting = load_judged(qrels, run, judged_only=judged_only, missing=missing, no_relevant=no_relevant)
    shared = judged.total(judged.found & (judged.tied > 1))
    found = judged.total(judged.found)
    return TieBounds(
        judged.query_ids,
        parsed,
        low=_scores(parsed, _worst(judged)),
        expected=_expected(parsed, judged),
        actual=_scores(parsed, judged),
        high=_scores(parsed, _best(judged)),
        tie_mass=np.divide(shared, found, out=found * np.nan, where=found > 0),
        accounting=accounting,
    )


def _scores(measures, judged):
    return np.column_stack([measure.formula.score(judged) for measure in measures])


def _expected(measures, judged):
    unknown = np.full(len(judged.query_ids), np.nan)
    columns = [measure.formula.expected(judged) for measure in measures]
    return np.column_stack([unknown if col is None else col for col in columns])


def _best(judged):
    """Rank the judged documents of each tie first, by descending grade."""
    place = _place_in_tie(judged, -judged.grade)
    rank = np.where(judged.found, judged.ahead + 1.0 + place, np.inf)
    return replace(judged, rank=rank).sorted_by_rank()


def _worst(judged):
    """Rank the judged documents of each tie last, by ascending grade."""
    group, _ = judged.ties
    unjudged = judged.tied - np.bincount(group)[group]
    place = _place_in_tie(judged, judged.grade)
    rank = np.where(judged.found, judged.ahead + 1.0 + unjudged + place, np.inf)
    return replace(judged, rank=rank).sorted_by_rank()


def _place_in_tie(judged, key):
    """Give each judged document its place in its tie, from 0 by ascending key."""
    group, first = judged.ties
    order = np.lexsort((key, group))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - first[group]
    return place
